#![cfg_attr(
    lint_writes,
    expect(
        clippy::disallowed_methods,
        reason = "sweeps: in the folder of a result, which this process made or whose lock it holds; existing names are replaced, and links not followed"
    )
)]

use std::collections::HashSet;
use std::fs::{self, File};
use std::path::{Path, PathBuf};

use flashscope_document::sweep::{ExploredSweep, Row, SWEEP_VERSION, Sweep};

use super::points;
use crate::Error;
use crate::files::{check_version, lock, read_json, sync_folder, write_json};
use crate::staging::StagingFolder;

const SWEEP: &str = "sweep.json";
const POINTS: &str = "points.parquet";
const PARTS: &str = "parts";

/// The folder of a sweep, locked against other writers.
#[derive(Debug)]
pub struct SweepFolder {
    path: PathBuf,
    /// The number of parts written.
    parts: u32,
    _lock: File,
}

impl SweepFolder {
    /// Creates the folder. It appears together with the description of the sweep before the first
    /// simulation, which makes it resumable from the start.
    ///
    /// # Errors
    /// [`Error::Exists`], or [`Error::Busy`] if another process creates a sweep of this name, or
    /// the folder cannot be written.
    pub fn create(path: &Path, sweep: &Sweep) -> Result<SweepFolder, Error> {
        let mut staged = StagingFolder::create(path, Some(PARTS))?;
        write_json(&staged.path().join(SWEEP), sweep)?;
        staged.publish()?;
        Ok(SweepFolder { path: path.into(), parts: 0, _lock: staged.into_lock()? })
    }

    /// Opens the folder of a sweep to resume it. Also returns all its rows, unsorted.
    ///
    /// # Errors
    /// [`Error::NoSweep`], [`Error::Busy`] if another program is writing it, [`Error::Version`] if
    /// a later version wrote it, or a file is damaged.
    pub fn resume(path: &Path) -> Result<(SweepFolder, Sweep, Vec<Row>), Error> {
        let sweep = read_sweep(path)?;
        let lock = lock(path)?;
        let rows = rows(path, &sweep.factors, None)?;
        let parts = u32::try_from(parts(path).count()).unwrap_or(u32::MAX);
        Ok((SweepFolder { path: path.into(), parts, _lock: lock }, sweep, rows))
    }

    /// Stores rows durably.
    ///
    /// # Errors
    /// The rows cannot be written.
    pub fn keep(&mut self, factors: &[String], rows: &[Row]) -> Result<(), Error> {
        let parts = self.path.join(PARTS);
        if self.parts == 0 {
            fs::create_dir_all(&parts).map_err(Error::io("create", &parts))?;
        }
        points::write_part(&parts.join(part(self.parts)), factors, rows)?;
        self.parts += 1;
        Ok(())
    }

    /// Writes the outcome of a finished sweep, and the table of all its rows, which must be in the
    /// order of the points.
    ///
    /// # Errors
    /// A file cannot be written.
    pub fn finish(&mut self, sweep: &Sweep, rows: &[Row]) -> Result<(), Error> {
        points::write(&self.path.join(POINTS), &sweep.factors, rows)?;
        self.write(sweep)?;
        let parts = self.path.join(PARTS);
        match fs::remove_dir_all(&parts) {
            Err(error) if parts.exists() => Err(Error::io("remove", &parts)(error)),
            _ => sync_folder(&self.path),
        }
    }

    /// Writes the state of the sweep atomically.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn write(&self, sweep: &Sweep) -> Result<(), Error> {
        write_json(&self.path.join(SWEEP), sweep)
    }
}

/// Returns the files that contain the rows at `path`: the full table, or the parts.
fn parts(path: &Path) -> impl Iterator<Item = PathBuf> {
    let folder = path.join(PARTS);
    (0..).map(move |number| folder.join(part(number))).take_while(|part| part.is_file())
}

/// Reads the rows of a sweep, unsorted. `numbers` names the number columns to read; `None` reads
/// all.
fn rows(
    path: &Path,
    factors: &[String],
    numbers: Option<&HashSet<&str>>,
) -> Result<Vec<Row>, Error> {
    let all = Some(path.join(POINTS)).filter(|all| all.is_file());
    let mut rows = Vec::new();
    for file in all.into_iter().chain(parts(path)) {
        rows.extend(points::read(&file, factors, numbers)?);
    }
    Ok(rows)
}

/// Sorts rows by point and repeat, and removes duplicates: a crash between writing the full table
/// and removing the parts leaves rows in both.
fn in_order(mut rows: Vec<Row>) -> Vec<Row> {
    rows.sort_by_key(|row| (row.point, row.repeat));
    rows.dedup_by_key(|row| (row.point, row.repeat));
    rows
}

fn part(number: u32) -> String {
    format!("part-{number:05}.parquet")
}

/// Reads a sweep, finished or not, with its rows sorted by point and repeat.
///
/// # Errors
/// The errors of [`read_sweep`], or a file is damaged.
pub fn read_rows(path: &Path) -> Result<(Sweep, Vec<Row>), Error> {
    let sweep = read_sweep(path)?;
    let rows = rows(path, &sweep.factors, None)?;
    Ok((sweep, in_order(rows)))
}

/// Reads a sweep, finished or not, for a chart.
///
/// # Errors
/// The errors of [`read_rows`].
pub fn read_explored(path: &Path) -> Result<ExploredSweep, Error> {
    let (sweep, rows) = read_objectives(path)?;
    Ok(ExploredSweep::of(sweep, &rows))
}

/// Reads like [`read_rows`], but only the objectives among the numbers of each row.
fn read_objectives(path: &Path) -> Result<(Sweep, Vec<Row>), Error> {
    let sweep = read_sweep(path)?;
    let fields = sweep.objectives.iter().map(|objective| objective.field.as_str()).collect();
    let rows = rows(path, &sweep.factors, Some(&fields))?;
    Ok((sweep, in_order(rows)))
}

/// Returns true if the folder at `path` contains a sweep.
pub fn is_sweep(path: &Path) -> bool {
    path.join(SWEEP).is_file()
}

/// Reads the `sweep.json` of the folder at `path`.
///
/// # Errors
/// [`Error::NoSweep`], [`Error::Json`] if it is damaged, [`Error::Version`] if a later version
/// wrote it.
pub fn read_sweep(path: &Path) -> Result<Sweep, Error> {
    if !is_sweep(path) {
        return Err(Error::NoSweep(path.into()));
    }
    let file = path.join(SWEEP);
    check_version(&file, SWEEP_VERSION)?;
    read_json(&file)
}

#[cfg(test)]
mod tests;
