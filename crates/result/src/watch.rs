//! The result folder of a watch: `watch.json`, and `readings.jsonl` with one reading per line.
//!
//! A reading is appended and made durable in one step. A crash may leave an incomplete last line,
//! which readers skip and the next writer removes.

#![cfg_attr(
    lint_writes,
    expect(
        clippy::disallowed_methods,
        reason = "readings of drives: in the folder of a result, which this process made or whose lock it holds; lines are added at the end, links are not followed"
    )
)]

use std::fs::{self, File, OpenOptions};
use std::io::{BufRead, BufReader, Read, Write};
use std::path::{Path, PathBuf};

use flashscope_document::watch::{WATCH_VERSION, WatchHeader, WatchReading};

use crate::Error;
use crate::files::{check_version, lock, read_json, sync_folder, write_json};
use crate::staging::StagingFolder;

const WATCH: &str = "watch.json";
const READINGS: &str = "readings.jsonl";

/// The maximum length of a line in bytes; readings have about 1,500 bytes.
const LONGEST_LINE: u64 = 1 << 20;

/// The folder of a watch, locked against other writers.
#[derive(Debug)]
pub struct WatchFolder {
    path: PathBuf,
    readings: File,
    /// The length of the complete lines in bytes.
    len: u64,
    _lock: File,
}

impl WatchFolder {
    /// Creates the folder, or opens an existing one to continue it. Passes its readings to `each`.
    ///
    /// # Errors
    /// [`Error::NoWatch`] if the path exists but is not a watch, [`Error::Busy`] if another program
    /// writes it, [`Error::Version`] if a later version wrote it, or a file is damaged or cannot be
    /// written.
    pub fn open(
        path: &Path,
        header: &WatchHeader,
        each: &mut dyn FnMut(WatchReading),
    ) -> Result<WatchFolder, Error> {
        let lock = match path.symlink_metadata() {
            Ok(_) => {
                read_header(path)?;
                lock(path)?
            }
            Err(_) => create(path, header)?,
        };
        let len = read_readings(path, each)?;
        let file = path.join(READINGS);
        let readings = open_readings(&file)?;
        // Remove the incomplete line that a crash left.
        readings.set_len(len).map_err(Error::io("write", &file))?;
        Ok(WatchFolder { path: path.into(), readings, len, _lock: lock })
    }

    /// Appends a reading durably.
    ///
    /// # Errors
    /// The reading cannot be written. The folder then holds the earlier ones.
    pub fn keep(&mut self, reading: &WatchReading) -> Result<(), Error> {
        let file = self.path.join(READINGS);
        let mut line = serde_json::to_vec(reading)
            .map_err(|source| Error::Json { path: file.clone(), source })?;
        line.push(b'\n');
        let written = self.readings.write_all(&line).and_then(|()| self.readings.sync_data());
        if let Err(error) = written {
            // Remove the incomplete line, so that the next reading begins a new line. If the
            // removal fails too, readers skip the incomplete line as long as it is the last.
            let _ = self.readings.set_len(self.len);
            return Err(Error::io("write", &file)(error));
        }
        self.len += line.len() as u64;
        Ok(())
    }

    /// Returns the path.
    pub fn path(&self) -> &Path {
        &self.path
    }
}

/// Creates the folder, which appears together with its files. Returns its lock.
fn create(path: &Path, header: &WatchHeader) -> Result<File, Error> {
    let mut staged = StagingFolder::create(path, None)?;
    let readings = staged.path().join(READINGS);
    let file = File::create_new(&readings).map_err(Error::io("create", &readings))?;
    file.sync_all().map_err(Error::io("write", &readings))?;
    write_json(&staged.path().join(WATCH), header)?;
    staged.publish()?;
    sync_folder(path)?;
    staged.into_lock()
}

/// Opens the readings for appending. Follows no link, which could lead to another user's file.
fn open_readings(file: &Path) -> Result<File, Error> {
    let found = fs::symlink_metadata(file).map_err(Error::io("open", file))?;
    if !found.is_file() {
        return Err(Error::NoFile(file.into()));
    }
    OpenOptions::new().append(true).open(file).map_err(Error::io("open", file))
}

/// Returns true if the folder at `path` contains readings of a watch.
pub(crate) fn is_watch(path: &Path) -> bool {
    path.join(WATCH).is_file()
}

/// Reads the header of the folder at `path`.
///
/// # Errors
/// [`Error::NoWatch`], [`Error::Json`] if it is damaged, [`Error::Version`] if a later version
/// wrote it.
pub(crate) fn read_header(path: &Path) -> Result<WatchHeader, Error> {
    if !is_watch(path) {
        return Err(Error::NoWatch(path.into()));
    }
    let file = path.join(WATCH);
    check_version(&file, WATCH_VERSION)?;
    read_json(&file)
}

/// Passes the readings of the folder at `path` to `each`, and returns the length of their lines in
/// bytes. Skips an incomplete last line.
///
/// # Errors
/// A line is damaged, or the file cannot be read.
pub(crate) fn read_readings(path: &Path, each: &mut dyn FnMut(WatchReading)) -> Result<u64, Error> {
    let file = path.join(READINGS);
    let damaged = |number: u64, reason: String| Error::Records {
        path: file.clone(),
        reason: format!("line {number}: {reason}"),
    };
    let mut input = BufReader::new(File::open(&file).map_err(Error::io("open", &file))?);
    let (mut len, mut line) = (0, Vec::new());
    for number in 1.. {
        line.clear();
        let read = input.by_ref().take(LONGEST_LINE).read_until(b'\n', &mut line);
        let read = read.map_err(Error::io("read", &file))? as u64;
        if line.last() != Some(&b'\n') {
            if read == LONGEST_LINE {
                return Err(damaged(number, "it is too long".into()));
            }
            break;
        }
        len += read;
        // Skip empty lines, which an editor may leave.
        if line.trim_ascii().is_empty() {
            continue;
        }
        let reading = serde_json::from_slice(&line);
        each(reading.map_err(|error| damaged(number, error.to_string()))?);
    }
    Ok(len)
}

#[cfg(test)]
mod tests;
