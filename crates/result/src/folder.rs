#![cfg_attr(
    lint_writes,
    expect(
        clippy::disallowed_methods,
        reason = "results: in the folder of a result, which this process made or whose lock it holds; existing names are replaced, and links not followed"
    )
)]

use std::fs::{self, File};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use flashscope_block::Nanos;
use serde::Serialize;

use crate::activity::Activities;
use crate::files::{check_version, lock, read_json, sync_folder, write_json};
use crate::names::{
    ACTIVITIES, RECORDS, activities_file, activities_path, files_of, files_prefix, records_path,
};
use crate::staging::StagingFolder;
use crate::{Error, Recorder, Rows, activities};
use flashscope_document::Manifest;
use flashscope_document::grid::{GRID_SCHEMA_VERSION, Grid};
use flashscope_document::manifest::{Run, SCHEMA_VERSION};
use flashscope_document::marks::Marks;

const MANIFEST: &str = "manifest.json";
const FACTS: &str = "facts.json";
const GRID: &str = "grid.json";
const MARKS: &str = "marks.json";

/// The folder of a result.
#[derive(Debug, Clone)]
pub struct ResultFolder {
    path: PathBuf,
    /// Ends the reading of records once it is set.
    stop: Option<Arc<AtomicBool>>,
}

/// Two folders are equal if their paths are.
impl PartialEq for ResultFolder {
    fn eq(&self, other: &ResultFolder) -> bool {
        self.path == other.path
    }
}

impl Eq for ResultFolder {}

/// Opens the records of run `run` of the measurement or probe in `folder`; empty if the run was not
/// executed.
///
/// # Errors
/// A file is damaged or is not a file of records.
pub fn rows(folder: &Path, run: u32) -> Result<Rows, Error> {
    Rows::open(files_of(&folder.join(RECORDS), run))
}

/// Removes the files of a folder whose names begin with one of `prefixes`, without a digit after
/// it.
fn discard(folder: &Path, prefixes: &[String]) -> Result<(), Error> {
    for entry in fs::read_dir(folder).map_err(Error::io("list", folder))? {
        let entry = entry.map_err(Error::io("list", folder))?;
        let name = entry.file_name().to_string_lossy().into_owned();
        let rest = |prefix: &String| name.strip_prefix(prefix.as_str()).map(str::as_bytes);
        let of = |rest: &[u8]| rest.first().is_none_or(|next| !next.is_ascii_digit());
        if prefixes.iter().filter_map(rest).any(of) {
            fs::remove_file(entry.path()).map_err(Error::io("remove", &entry.path()))?;
        }
    }
    sync_folder(folder)
}

impl ResultFolder {
    /// Creates a new result at `path`. The folder appears together with `manifest`, which makes it
    /// resumable from the start.
    ///
    /// # Errors
    /// [`Error::Exists`], or [`Error::Busy`] if another process creates a result of this name, or
    /// the folder cannot be written.
    pub fn create(path: &Path, manifest: &Manifest) -> Result<ResultFolder, Error> {
        let mut staged = StagingFolder::create(path, Some(RECORDS))?;
        write_json(&staged.path().join(MANIFEST), manifest)?;
        staged.publish()?;
        Ok(ResultFolder { path: path.into(), stop: None })
    }

    /// Opens the result at `path` and reads its manifest.
    pub fn open(path: &Path) -> Result<(ResultFolder, Manifest), Error> {
        let file = path.join(MANIFEST);
        if !file.exists() {
            return Err(Error::NoResult(path.into()));
        }
        check_version(&file, SCHEMA_VERSION)?;
        let manifest: Manifest = read_json(&file)?;
        manifest.check().map_err(|reason| Error::Records { path: file, reason })?;
        Ok((ResultFolder { path: path.into(), stop: None }, manifest))
    }

    /// Adds a flag that cancels reading: records end with [`Error::Stopped`] once `stop` is set.
    #[must_use]
    pub fn stopped_by(self, stop: &Arc<AtomicBool>) -> ResultFolder {
        ResultFolder { stop: Some(Arc::clone(stop)), ..self }
    }

    /// Returns the path.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Locks the result against other writers while the returned file is open.
    ///
    /// # Errors
    /// [`Error::Busy`] if another program holds the lock.
    pub fn lock(&self) -> Result<File, Error> {
        lock(&self.path)
    }

    /// Removes the records and activities, complete or not, of runs that the manifest does not list
    /// as executed.
    pub fn discard_unfinished(&self, manifest: &Manifest) -> Result<(), Error> {
        let runs = manifest.runs().filter(|run| run.progress.ios() == 0);
        let unfinished: Vec<String> = runs.map(|run| files_prefix(run.id)).collect();
        discard(&self.path.join(RECORDS), &unfinished)?;
        let activities = self.path.join(ACTIVITIES);
        if activities.exists() { discard(&activities, &unfinished) } else { Ok(()) }
    }

    /// Replaces the manifest.
    pub fn write_manifest(&self, manifest: &Manifest) -> Result<(), Error> {
        write_json(&self.path.join(MANIFEST), manifest)
    }

    /// Replaces the facts.
    pub fn write_facts(&self, facts: &impl Serialize) -> Result<(), Error> {
        write_json(&self.path.join(FACTS), facts)
    }

    /// Replaces the measurements of uniform writes.
    pub fn write_grid(&self, grid: &Grid) -> Result<(), Error> {
        write_json(&self.path.join(GRID), grid)
    }

    /// Reads the measurements of uniform writes; `None` if the result has none, or none yet.
    ///
    /// # Errors
    /// The errors of [`ResultFolder::open`].
    pub fn grid(&self) -> Result<Option<Grid>, Error> {
        let file = self.path.join(GRID);
        if !file.exists() {
            return Ok(None);
        }
        check_version(&file, GRID_SCHEMA_VERSION)?;
        read_json(&file).map(Some)
    }

    /// Reads the corrections of the summary grid; empty if there are none.
    pub fn marks(&self) -> Result<Marks, Error> {
        let file = self.path.join(MARKS);
        if file.exists() { read_json(&file) } else { Ok(Marks::default()) }
    }

    /// Replaces the corrections of the summary grid.
    pub fn write_marks(&self, marks: &Marks) -> Result<(), Error> {
        write_json(&self.path.join(MARKS), marks)
    }

    /// Returns a recorder for the runs of this result.
    pub fn recorder(&self) -> Recorder {
        Recorder::start(self.path.join(RECORDS))
    }

    /// Opens the records of `run`, and checks their number against the manifest.
    ///
    /// # Errors
    /// The errors of [`ResultFolder::rows`], or [`Error::Records`] if the number differs.
    pub fn records(&self, run: &Run) -> Result<Rows, Error> {
        let rows = self.rows(run.id)?;
        let (found, wanted) = (rows.total(), run.progress.ios());
        if found != wanted {
            let reason = match found < wanted {
                true => format!("{found} of the {wanted} IOs of run {} are there", run.id),
                false => format!("it holds {found} IOs of run {} instead of {wanted}", run.id),
            };
            return Err(Error::Records { path: self.path.join(RECORDS), reason });
        }
        Ok(rows)
    }

    /// Returns the path of part `part`, from 0, of the records of run `run`. The file need not
    /// exist.
    pub fn records_path(&self, run: u32, part: u32) -> PathBuf {
        records_path(&self.path, run, part)
    }

    /// Opens the records of run `run`; empty if the run was not executed.
    pub fn rows(&self, run: u32) -> Result<Rows, Error> {
        Ok(rows(&self.path, run)?.stopped_by(self.stop.clone()))
    }

    /// Writes the internal operations of the drive during run `run`, and replaces an earlier file.
    pub fn write_activities(&self, run: u32, activities: &Activities) -> Result<(), Error> {
        let folder = self.path.join(ACTIVITIES);
        fs::create_dir_all(&folder).map_err(Error::io("create", &folder))?;
        activities::write(&folder.join(activities_file(run)), activities)
    }

    /// Returns the path of the internal operations during run `run`. The file need not exist.
    pub fn activities_path(&self, run: u32) -> PathBuf {
        activities_path(&self.path, run)
    }

    /// Returns true if the file of internal operations of run `run` exists.
    pub fn has_activities(&self, run: u32) -> bool {
        self.activities_path(run).exists()
    }

    /// Reads the internal operations during run `run` that overlap with `window`, which is relative
    /// to the start of the run. Empty for real drives, which do not report any.
    pub fn activities(&self, run: u32, window: Range<Nanos>) -> Result<Activities, Error> {
        activities::read(&self.activities_path(run), &window)
    }
}
