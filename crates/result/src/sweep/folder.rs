use std::fs::{self, File};
use std::path::{Path, PathBuf};

use super::found::{Row, SWEEP_VERSION, Sweep};
use super::points;
use crate::Error;
use crate::folder::{check_version, lock, read_json, sync_folder, write_json};

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
    /// Makes the folder, with what is known of the sweep before anything is simulated. Nothing may be
    /// there yet.
    ///
    /// # Errors
    /// [`Error::Exists`], and where nothing can be written.
    pub fn create(path: &Path, sweep: &Sweep) -> Result<SweepFolder, Error> {
        if path.exists() {
            return Err(Error::Exists(path.into()));
        }
        let parts = path.join(PARTS);
        fs::create_dir_all(&parts).map_err(Error::io("create", &parts))?;
        let folder = SweepFolder { path: path.into(), parts: 0, _lock: lock(path)? };
        folder.write(sweep)?;
        Ok(folder)
    }

    /// Opens the folder of a sweep that is gone on with, with all rows that it has, in no order.
    ///
    /// # Errors
    /// [`Error::NoSweep`], [`Error::Busy`] where another program goes on with it, [`Error::Version`]
    /// where a later version wrote it, and where something is damaged.
    pub fn resume(path: &Path) -> Result<(SweepFolder, Sweep, Vec<Row>), Error> {
        let sweep = read_sweep(path)?;
        let lock = lock(path)?;
        let (rows, parts) = rows(path, &sweep)?;
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
        points::write(&parts.join(part(self.parts)), factors, rows)?;
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

fn part(number: u32) -> String {
    format!("part-{number:05}.parquet")
}

/// The rows in the folder of a sweep, in no order, and the number of parts that some of them are in.
fn rows(path: &Path, sweep: &Sweep) -> Result<(Vec<Row>, u32), Error> {
    let (mut rows, mut parts) = (Vec::new(), 0);
    let all = path.join(POINTS);
    if all.is_file() {
        rows = points::read(&all, &sweep.factors)?;
    }
    let folder = path.join(PARTS);
    while folder.join(part(parts)).is_file() {
        rows.extend(points::read(&folder.join(part(parts)), &sweep.factors)?);
        parts += 1;
    }
    Ok((rows, parts))
}

/// Reads a sweep, at its end or not, with its rows so far in the order of points and repeats.
///
/// # Errors
/// As [`read_sweep`], and where something is damaged.
pub fn read_rows(path: &Path) -> Result<(Sweep, Vec<Row>), Error> {
    let sweep = read_sweep(path)?;
    let (mut rows, _) = rows(path, &sweep)?;
    rows.sort_by_key(|row| (row.point, row.repeat));
    // A crash between the table of all and the end of the parts leaves both.
    rows.dedup_by_key(|row| (row.point, row.repeat));
    Ok((sweep, rows))
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
