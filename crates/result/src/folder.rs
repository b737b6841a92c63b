#![cfg_attr(
    lint_writes,
    expect(
        clippy::disallowed_methods,
        reason = "results, and files of output by their names: in the folder of a result, which this process made or whose lock it holds; names that are there are replaced, links not followed; callers who name other files are in this table"
    )
)]

use std::fs::{self, File, TryLockError};
use std::io::{self, BufWriter, Write};
use std::ops::Range;
use std::path::{Path, PathBuf};

use flashscope_block::Nanos;
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::activity::Activities;
use crate::staging::Staged;
use crate::system;
use crate::writer::files_of;
use crate::{Error, Recorder, Rows, activities};
use flashscope_document::Manifest;
use flashscope_document::grid::{GRID_SCHEMA_VERSION, Grid};
use flashscope_document::manifest::{Run, SCHEMA_VERSION};
use flashscope_document::marks::Marks;

const MANIFEST: &str = "manifest.json";
const FACTS: &str = "facts.json";
const GRID: &str = "grid.json";
const MARKS: &str = "marks.json";
const RECORDS: &str = "records";
const ACTIVITIES: &str = "activities";

/// Where a result lies.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ResultFolder {
    path: PathBuf,
}

/// The name of a file of records: part `part` of run `run`.
pub(crate) fn records_file(run: u32, part: u32) -> String {
    format!("{}-{part:03}.parquet", files_prefix(run))
}

/// How the names of all files of run `run` begin, up to what is no digit.
fn files_prefix(run: u32) -> String {
    format!("run-{run:05}")
}

/// Where part `part`, from 0, of the records of run `run` of the measurement or the probe in `folder` lies,
/// or would.
pub fn records_path(folder: &Path, run: u32, part: u32) -> PathBuf {
    folder.join(RECORDS).join(records_file(run, part))
}

/// Where what a simulated drive did inside during run `run` of the measurement in `folder` lies, or would.
pub fn activities_path(folder: &Path, run: u32) -> PathBuf {
    folder.join(ACTIVITIES).join(activities_file(run))
}

/// The records of run `run` of the measurement or the probe in `folder`; none where it was not run.
///
/// # Errors
/// A file is none of records, or damaged.
pub fn rows(folder: &Path, run: u32) -> Result<Rows, Error> {
    Rows::open(files_of(&folder.join(RECORDS), run))
}

/// Removes files of a folder whose names begin so, and go on with what is no digit.
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

/// The name of the file of the activities of run `run`.
fn activities_file(run: u32) -> String {
    format!("{}.parquet", files_prefix(run))
}

/// Keeps others from going on with the result at `path` as long as the file that is returned is open.
pub(crate) fn lock(path: &Path) -> Result<File, Error> {
    match system::lock(path).map_err(Error::io("open", path))? {
        Ok(folder) => Ok(folder),
        Err(TryLockError::WouldBlock) => Err(Error::Busy(path.into())),
        Err(TryLockError::Error(error)) => Err(Error::io("lock", path)(error)),
    }
}

/// Has `write` make a file under another name, which it gets once it is whole: at every instant it
/// is, or is not there.
pub(crate) fn write_named(
    path: &Path,
    write: impl FnOnce(&Path) -> Result<(), Error>,
) -> Result<(), Error> {
    let unfinished = path.with_extension("unfinished");
    let removed = match fs::remove_file(&unfinished) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    };
    removed.map_err(Error::io("remove", &unfinished))?;
    let written = write(&unfinished).and_then(|()| {
        fs::rename(&unfinished, path).map_err(Error::io("name", path))?;
        path.parent().map_or(Ok(()), sync_folder)
    });
    if written.is_err() {
        // The error that led here says more than one about the removal.
        let _ = fs::remove_file(&unfinished);
    }
    written
}

/// Writes what somebody named: a file as [`write_text`] does, a pipe or a terminal as it is. A disk is not written over.
///
/// # Errors
/// Where it cannot be written, and where it is a disk or a folder.
pub fn write_output(path: &Path, text: &str) -> Result<(), Error> {
    let kind = fs::metadata(path).ok().map(|found| found.file_type());
    match kind {
        // A link of the system to an open file, such as /dev/stdout, is not replaced by a file.
        Some(_) if path.is_symlink() && (path.starts_with("/dev") || path.starts_with("/proc")) => {
            fs::write(path, text).map_err(Error::io("write", path))
        }
        Some(kind) if system::is_stream(kind) => {
            fs::write(path, text).map_err(Error::io("write", path))
        }
        Some(kind) if !kind.is_file() => Err(Error::NoFile(path.into())),
        _ => write_text(path, text),
    }
}

/// Writes a file so that at every instant it is whole: the new one, or what was there before. A link is replaced, not
/// followed: what it leads to may be of somebody else.
///
/// # Errors
/// Where it cannot be written.
pub fn write_text(path: &Path, text: &str) -> Result<(), Error> {
    write_named(path, |unfinished| {
        let mut file = File::create_new(unfinished).map_err(Error::io("write", path))?;
        let written = file.write_all(text.as_bytes()).and_then(|()| file.sync_all());
        written.map_err(Error::io("write", path))
    })
}

/// Makes the names of files in `folder` durable.
pub(crate) fn sync_folder(folder: &Path) -> Result<(), Error> {
    let folder = if folder == Path::new("") { Path::new(".") } else { folder };
    system::sync(folder).map_err(Error::io("write", folder))
}

impl ResultFolder {
    /// Creates a new result at `path`. It appears together with `manifest`, so that it can be resumed from its first
    /// instant on.
    ///
    /// # Errors
    /// [`Error::Exists`], [`Error::Busy`] where another process creates one of this name, and where it cannot be
    /// written.
    pub fn create(path: &Path, manifest: &Manifest) -> Result<ResultFolder, Error> {
        let mut staged = Staged::create(path, Some(RECORDS))?;
        write_json(&staged.place().join(MANIFEST), manifest)?;
        staged.publish()?;
        Ok(ResultFolder { path: path.into() })
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
        lock(&self.path)
    }

    /// Removes the records and activities, whole or not, of runs that the manifest says are not run.
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

    /// Replaces what uniform writes came to.
    pub fn write_grid(&self, grid: &Grid) -> Result<(), Error> {
        write_json(&self.path.join(GRID), grid)
    }

    /// What uniform writes came to; `None` of a result that is not about that, or not measured yet.
    ///
    /// # Errors
    /// As [`ResultFolder::open`].
    pub fn grid(&self) -> Result<Option<Grid>, Error> {
        let file = self.path.join(GRID);
        if !file.exists() {
            return Ok(None);
        }
        check_version(&file, GRID_SCHEMA_VERSION)?;
        read_json(&file).map(Some)
    }

    /// The corrections of the summary grid; none where nobody made any.
    pub fn marks(&self) -> Result<Marks, Error> {
        let file = self.path.join(MARKS);
        if file.exists() { read_json(&file) } else { Ok(Marks::default()) }
    }

    /// Replaces the corrections of the summary grid.
    pub fn write_marks(&self, marks: &Marks) -> Result<(), Error> {
        write_json(&self.path.join(MARKS), marks)
    }

    /// A recorder for the runs of this result.
    pub fn recorder(&self) -> Recorder {
        Recorder::start(self.path.join(RECORDS))
    }

    /// The records that the manifest says `run` has.
    ///
    /// # Errors
    /// As [`ResultFolder::rows`], and [`Error::Records`] where they are not as many.
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

    /// Where part `part`, from 0, of the records of run `run` lies, or would.
    pub fn records_path(&self, run: u32, part: u32) -> PathBuf {
        records_path(&self.path, run, part)
    }

    /// The records of run `run`; none where it was not run.
    pub fn rows(&self, run: u32) -> Result<Rows, Error> {
        rows(&self.path, run)
    }

    /// Writes what the drive did inside during run `run`; an earlier file of the run is replaced.
    pub fn write_activities(&self, run: u32, activities: &Activities) -> Result<(), Error> {
        let folder = self.path.join(ACTIVITIES);
        fs::create_dir_all(&folder).map_err(Error::io("create", &folder))?;
        activities::write(&folder.join(activities_file(run)), activities)
    }

    /// Where what the drive did inside during run `run` lies, or would.
    pub fn activities_path(&self, run: u32) -> PathBuf {
        activities_path(&self.path, run)
    }

    /// Whether there is a file of what the drive did inside during run `run`.
    pub fn has_activities(&self, run: u32) -> bool {
        self.activities_path(run).exists()
    }

    /// What the drive did inside during run `run` at any time in `window`, which counts from the
    /// begin of the run; nothing where that is not known, as of every real drive.
    pub fn activities(&self, run: u32, window: Range<Nanos>) -> Result<Activities, Error> {
        activities::read(&self.activities_path(run), &window)
    }
}

/// Refuses a file of a later version of its format than is known.
pub(crate) fn check_version(path: &Path, known: u32) -> Result<(), Error> {
    #[derive(serde::Deserialize)]
    struct Version {
        schema_version: u32,
    }
    let Version { schema_version: found } = read_json(path)?;
    match found > known {
        true => Err(Error::Version { path: path.into(), found, known }),
        false => Ok(()),
    }
}

pub(crate) fn read_json<T: DeserializeOwned>(path: &Path) -> Result<T, Error> {
    let text = fs::read(path).map_err(Error::io("read", path))?;
    serde_json::from_slice(&text).map_err(|source| Error::Json { path: path.into(), source })
}

/// Writes `value` so that at every instant the file is either the old or the new one.
pub(crate) fn write_json(path: &Path, value: &impl Serialize) -> Result<(), Error> {
    write_whole(path, |file| Ok(serde_json::to_writer_pretty(file, value)?))
}

/// Writes a file of lines so that at every instant it is either the old or the new one. Links are
/// replaced, not followed: what they lead to is not of this result.
pub(crate) fn write_whole(
    path: &Path,
    content: impl FnOnce(&mut BufWriter<File>) -> io::Result<()>,
) -> Result<(), Error> {
    let unfinished = path.with_extension("json.unfinished");
    let write = || -> io::Result<()> {
        match fs::remove_file(&unfinished) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        let mut file = BufWriter::new(File::create_new(&unfinished)?);
        content(&mut file)?;
        file.write_all(b"\n")?;
        file.into_inner().map_err(io::IntoInnerError::into_error)?.sync_all()?;
        fs::rename(&unfinished, path)
    };
    write().map_err(|error| {
        // The error that led here says more than one about the removal.
        let _ = fs::remove_file(&unfinished);
        Error::io("write", path)(error)
    })?;
    path.parent().map_or(Ok(()), sync_folder)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    // Is a link that the system made to an open file written through, and not replaced? Root may replace it.
    #[test]
    fn a_link_to_standard_output_stays() {
        use std::os::fd::AsRawFd;
        let place = tempfile::tempdir().unwrap();
        let page = File::create(place.path().join("page")).unwrap();
        let path = PathBuf::from(format!("/proc/self/fd/{}", page.as_raw_fd()));
        write_output(&path, "one").unwrap();
        assert_eq!(fs::read(place.path().join("page")).unwrap(), b"one");
    }

    // Is what was there replaced as a whole, a link replaced and not followed, wherever it is, what is no file written to
    // and not replaced, and nothing lost where it cannot be written?
    #[test]
    fn texts_are_whole() {
        let place = tempfile::tempdir().unwrap();
        let at = |name: &str| place.path().join(name);
        let of = |name: &str| fs::read_to_string(at(name)).unwrap();
        write_output(&at("a.txt"), "one").unwrap();
        for link in ["link.txt", "other.unfinished"] {
            symlink("a.txt", at(link)).unwrap();
        }
        write_text(&at("link.txt"), "two").unwrap();
        write_text(&at("other.txt"), "three").unwrap();
        assert_eq!([of("a.txt"), of("link.txt"), of("other.txt")], ["one", "two", "three"]);
        symlink("/dev/null", at("null")).unwrap();
        write_output(&at("null"), "nothing").unwrap();
        assert!(at("null").is_symlink());
        assert!(matches!(write_output(place.path(), "nothing"), Err(Error::NoFile(_))));
        fs::create_dir(at("a.unfinished")).unwrap();
        assert!(write_text(&at("a.txt"), "four").is_err());
        assert_eq!(of("a.txt"), "one");
    }
}
