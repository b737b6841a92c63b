#![cfg_attr(
    lint_writes,
    expect(
        clippy::disallowed_methods,
        reason = "sweeps: in the folder of a result, which this process made or whose lock it holds; names that are there are replaced, links not followed"
    )
)]

use std::collections::HashSet;
use std::fs::{self, File};
use std::path::{Path, PathBuf};

use flashscope_document::sweep::{ExploredSweep, Row, SWEEP_VERSION, Sweep};

use super::points;
use crate::Error;
use crate::folder::{check_version, lock, read_json, sync_folder, write_json};
use crate::staging::Staged;

const SWEEP: &str = "sweep.json";
const POINTS: &str = "points.parquet";
const PARTS: &str = "parts";

/// Where the result of a sweep lies; nobody else can go on with it meanwhile.
#[derive(Debug)]
pub struct SweepFolder {
    path: PathBuf,
    /// Parts so far.
    parts: u32,
    _lock: File,
}

impl SweepFolder {
    /// Creates the folder. It appears together with what is known of the sweep before anything is simulated, so that it
    /// can be resumed from its first instant on.
    ///
    /// # Errors
    /// [`Error::Exists`], [`Error::Busy`] where another process creates one of this name, and where nothing can be
    /// written.
    pub fn create(path: &Path, sweep: &Sweep) -> Result<SweepFolder, Error> {
        let mut staged = Staged::create(path, Some(PARTS))?;
        write_json(&staged.place().join(SWEEP), sweep)?;
        staged.publish()?;
        Ok(SweepFolder { path: path.into(), parts: 0, _lock: staged.into_lock()? })
    }

    /// Opens the folder of a sweep that is gone on with, with all rows that it has, in no order.
    ///
    /// # Errors
    /// [`Error::NoSweep`], [`Error::Busy`] where another program goes on with it, [`Error::Version`]
    /// where a later version wrote it, and where something is damaged.
    pub fn resume(path: &Path) -> Result<(SweepFolder, Sweep, Vec<Row>), Error> {
        let sweep = read_sweep(path)?;
        let lock = lock(path)?;
        let rows = rows(path, &sweep.factors, None)?;
        let parts = u32::try_from(parts(path).count()).unwrap_or(u32::MAX);
        Ok((SweepFolder { path: path.into(), parts, _lock: lock }, sweep, rows))
    }

    /// Keeps rows; after this they survive whatever happens.
    ///
    /// # Errors
    /// Where they cannot be written.
    pub fn keep(&mut self, factors: &[String], rows: &[Row]) -> Result<(), Error> {
        let parts = self.path.join(PARTS);
        if self.parts == 0 {
            fs::create_dir_all(&parts).map_err(Error::io("create", &parts))?;
        }
        points::write_part(&parts.join(part(self.parts)), factors, rows)?;
        self.parts += 1;
        Ok(())
    }

    /// Writes what came of a sweep that is at its end, and the table of all its rows, which are in the
    /// order of the points.
    ///
    /// # Errors
    /// Where it cannot be written.
    pub fn finish(&mut self, sweep: &Sweep, rows: &[Row]) -> Result<(), Error> {
        points::write(&self.path.join(POINTS), &sweep.factors, rows)?;
        self.write(sweep)?;
        let parts = self.path.join(PARTS);
        match fs::remove_dir_all(&parts) {
            Err(error) if parts.exists() => Err(Error::io("remove", &parts)(error)),
            _ => sync_folder(&self.path),
        }
    }

    /// Writes what came of it so far; at every instant the file is whole.
    ///
    /// # Errors
    /// Where it cannot be written.
    pub fn write(&self, sweep: &Sweep) -> Result<(), Error> {
        write_json(&self.path.join(SWEEP), sweep)
    }
}

/// The files of the rows that lie at `path`: the table of all, or the parts so far.
fn parts(path: &Path) -> impl Iterator<Item = PathBuf> {
    let folder = path.join(PARTS);
    (0..).map(move |number| folder.join(part(number))).take_while(|part| part.is_file())
}

/// The rows in the folder of a sweep, in no order; with these numbers alone, where some are given.
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

/// In the order of points and repeats. A crash between the table of all and the end of the parts leaves
/// rows in both.
fn in_order(mut rows: Vec<Row>) -> Vec<Row> {
    rows.sort_by_key(|row| (row.point, row.repeat));
    rows.dedup_by_key(|row| (row.point, row.repeat));
    rows
}

fn part(number: u32) -> String {
    format!("part-{number:05}.parquet")
}

/// Reads a sweep, at its end or not, with its rows so far in the order of points and repeats.
///
/// # Errors
/// As [`read_sweep`], and where something is damaged.
pub fn read_rows(path: &Path) -> Result<(Sweep, Vec<Row>), Error> {
    let sweep = read_sweep(path)?;
    let rows = rows(path, &sweep.factors, None)?;
    Ok((sweep, in_order(rows)))
}

/// Reads a sweep, complete or not, for a chart.
///
/// # Errors
/// The same as for [`read_rows`].
pub fn read_explored(path: &Path) -> Result<ExploredSweep, Error> {
    let (sweep, rows) = read_objectives(path)?;
    Ok(ExploredSweep::of(sweep, &rows))
}

/// The same as [`read_rows`], with the objectives as the only numbers of a row.
fn read_objectives(path: &Path) -> Result<(Sweep, Vec<Row>), Error> {
    let sweep = read_sweep(path)?;
    let fields = sweep.objectives.iter().map(|objective| objective.field.as_str()).collect();
    let rows = rows(path, &sweep.factors, Some(&fields))?;
    Ok((sweep, in_order(rows)))
}

/// Whether the folder at `path` holds a sweep.
pub fn is_sweep(path: &Path) -> bool {
    path.join(SWEEP).is_file()
}

/// Reads the `sweep.json` of the folder at `path`.
///
/// # Errors
/// [`Error::NoSweep`], [`Error::Json`] where it is damaged, [`Error::Version`] where a later version
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
