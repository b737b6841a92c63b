use std::fs::{self, File, TryLockError};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::manifest::{Run, SCHEMA_VERSION};
use crate::writer::files_of;
use crate::{Error, Manifest, Recorder, Rows};

const MANIFEST: &str = "manifest.json";
const FACTS: &str = "facts.json";
const RECORDS: &str = "records";

/// Where a result lies.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ResultFolder {
    path: PathBuf,
}

/// The name of a file of records: part `part` of run `run`.
pub(crate) fn records_file(run: u32, part: u32) -> String {
    format!("{}{part:03}.parquet", records_prefix(run))
}

/// How the names of all files of run `run` begin.
fn records_prefix(run: u32) -> String {
    format!("run-{run:05}-")
}

/// Makes the names of files in `folder` durable.
pub(crate) fn sync_folder(folder: &Path) -> Result<(), Error> {
    File::open(folder).and_then(|f| f.sync_all()).map_err(Error::io("write", folder))
}

impl ResultFolder {
    /// Makes a new result at `path`, with `manifest` in it. Nothing may be there yet.
    pub fn create(path: &Path, manifest: &Manifest) -> Result<ResultFolder, Error> {
        if path.exists() {
            return Err(Error::Exists(path.into()));
        }
        let records = path.join(RECORDS);
        fs::create_dir_all(&records).map_err(Error::io("create", &records))?;
        let folder = ResultFolder { path: path.into() };
        folder.write_manifest(manifest)?;
        Ok(folder)
    }

    /// Opens the result at `path` and reads its manifest.
    pub fn open(path: &Path) -> Result<(ResultFolder, Manifest), Error> {
        let file = path.join(MANIFEST);
        if !file.exists() {
            return Err(Error::NoResult(path.into()));
        }
        #[derive(serde::Deserialize)]
        struct Version {
            schema_version: u32,
        }
        let Version { schema_version: found } = read_json(&file)?;
        if found > SCHEMA_VERSION {
            return Err(Error::Version { path: file, found, known: SCHEMA_VERSION });
        }
        let manifest = read_json(&file)?;
        Ok((ResultFolder { path: path.into() }, manifest))
    }

    /// Where it lies.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Keeps others from going on with the result as long as the file that is returned is open.
    ///
    /// # Errors
    /// [`Error::Busy`] where another program does so.
    pub fn lock(&self) -> Result<File, Error> {
        let folder = File::open(&self.path).map_err(Error::io("open", &self.path))?;
        match folder.try_lock() {
            Ok(()) => Ok(folder),
            Err(TryLockError::WouldBlock) => Err(Error::Busy(self.path.clone())),
            Err(TryLockError::Error(error)) => Err(Error::io("lock", &self.path)(error)),
        }
    }

    /// Removes the records, whole or not, of runs that the manifest says are not run.
    pub fn discard_unfinished(&self, manifest: &Manifest) -> Result<(), Error> {
        let of_run = |run: &Run| (run.progress.ios() == 0).then(|| records_prefix(run.id));
        let unfinished: Vec<String> = manifest.runs().filter_map(of_run).collect();
        let records = self.path.join(RECORDS);
        for entry in fs::read_dir(&records).map_err(Error::io("list", &records))? {
            let entry = entry.map_err(Error::io("list", &records))?;
            let name = entry.file_name().to_string_lossy().into_owned();
            if unfinished.iter().any(|prefix| name.starts_with(prefix)) {
                fs::remove_file(entry.path()).map_err(Error::io("remove", &entry.path()))?;
            }
        }
        sync_folder(&records)
    }

    /// Replaces the manifest.
    pub fn write_manifest(&self, manifest: &Manifest) -> Result<(), Error> {
        write_json(&self.path.join(MANIFEST), manifest)
    }

    /// Replaces the facts.
    pub fn write_facts(&self, facts: &impl Serialize) -> Result<(), Error> {
        write_json(&self.path.join(FACTS), facts)
    }

    /// A recorder for the runs of this result.
    pub fn recorder(&self) -> Recorder {
        Recorder::start(self.path.join(RECORDS))
    }

    /// The records that the manifest says `run` has.
    ///
    /// # Errors
    /// As [`ResultFolder::rows`], and [`Error::Records`] where some are missing.
    pub fn records(&self, run: &Run) -> Result<Rows, Error> {
        let rows = self.rows(run.id)?;
        let (found, wanted) = (rows.total(), run.progress.ios());
        if found < wanted {
            let reason = format!("{found} of the {wanted} IOs of run {} are there", run.id);
            return Err(Error::Records { path: self.path.join(RECORDS), reason });
        }
        Ok(rows)
    }

    /// The records of run `run`; none where it was not run.
    pub fn rows(&self, run: u32) -> Result<Rows, Error> {
        Rows::open(files_of(&self.path.join(RECORDS), run))
    }
}

fn read_json<T: DeserializeOwned>(path: &Path) -> Result<T, Error> {
    let text = fs::read(path).map_err(Error::io("read", path))?;
    serde_json::from_slice(&text).map_err(|source| Error::Json { path: path.into(), source })
}

/// Writes `value` so that at every instant the file is either the old or the new one.
fn write_json(path: &Path, value: &impl Serialize) -> Result<(), Error> {
    let unfinished = path.with_extension("json.unfinished");
    let write = || -> io::Result<()> {
        let mut text = serde_json::to_vec_pretty(value)?;
        text.push(b'\n');
        let mut file = File::create(&unfinished)?;
        file.write_all(&text)?;
        file.sync_all()?;
        fs::rename(&unfinished, path)
    };
    write().map_err(|error| {
        // The error that led here says more than one about the removal.
        let _ = fs::remove_file(&unfinished);
        Error::io("write", path)(error)
    })?;
    path.parent().map_or(Ok(()), sync_folder)
}
