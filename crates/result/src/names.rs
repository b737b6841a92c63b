//! The names of the files of a run.

use std::path::{Path, PathBuf};

pub(crate) const RECORDS: &str = "records";
pub(crate) const ACTIVITIES: &str = "activities";

/// Returns the name of a file of records: part `part` of run `run`.
pub(crate) fn records_file(run: u32, part: u32) -> String {
    format!("{}-{part:03}.parquet", files_prefix(run))
}

/// Returns the common prefix of the file names of run `run`; a non-digit follows it.
pub(crate) fn files_prefix(run: u32) -> String {
    format!("run-{run:05}")
}

/// Returns the file name of the activities of run `run`.
pub(crate) fn activities_file(run: u32) -> String {
    format!("{}.parquet", files_prefix(run))
}

/// Returns the path of part `part`, from 0, of the records of run `run` of the measurement or probe
/// in `folder`. The file need not exist.
pub fn records_path(folder: &Path, run: u32, part: u32) -> PathBuf {
    folder.join(RECORDS).join(records_file(run, part))
}

/// Returns the path of the file with the internal operations of a simulated drive during run `run`.
/// The file need not exist.
pub fn activities_path(folder: &Path, run: u32) -> PathBuf {
    folder.join(ACTIVITIES).join(activities_file(run))
}

/// Returns the files of run `run`, in order.
pub(crate) fn files_of(folder: &Path, run: u32) -> impl Iterator<Item = PathBuf> {
    let folder = folder.to_path_buf();
    (0..).map(move |part| folder.join(records_file(run, part))).take_while(|path| path.exists())
}
