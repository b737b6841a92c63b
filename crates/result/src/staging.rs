//! Folders that appear atomically once they can be read or resumed.
//!
//! Until then, a folder is next to its final path as `.NAME.flashscope-unfinished-PID-NUMBER`, and
//! its process holds a lock on it. A killed process leaves such a folder without a lock. The next
//! process that creates a result in the same place removes it.

#![cfg_attr(
    lint_writes,
    expect(
        clippy::disallowed_methods,
        reason = "folders of results before they have their name: a name is given only if nothing has it, and only unlocked folders of this user, with the name of an unfinished one, are removed"
    )
)]

use std::ffi::{OsStr, OsString};
use std::fs::{self, File};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io;
use std::path::{Path, PathBuf};

use crate::Error;
use crate::files::{lock, sync_folder};
use crate::system::{is_own, is_same, rename_new};

/// The infix between the name of a result and the numbers of an unfinished folder.
const MARK: &str = ".flashscope-unfinished-";

/// The maximum length in bytes of the result name within an unfinished folder's name, because file
/// systems limit names to 255 bytes. A hash replaces a longer name.
const LONGEST_NAME: usize = 200;

/// The number of names tried before an error.
const MAX_NAMES: u32 = 1000;

/// A folder that is removed on drop unless it was published.
#[derive(Debug)]
pub(crate) struct StagingFolder {
    /// The final path.
    path: PathBuf,
    /// The current path.
    unfinished: PathBuf,
    /// The lock that shows other processes that this one is alive. `None` on a file system without
    /// locks, where no process removes leftovers.
    lock: Option<File>,
    published: bool,
}

impl StagingFolder {
    /// Creates a folder with the subfolder `inner`, to be published at `path`, which must not
    /// exist.
    ///
    /// # Errors
    /// [`Error::Exists`], or [`Error::Busy`] if another process writes a result of this name, or
    /// the folder cannot be created.
    pub(crate) fn create(path: &Path, inner: Option<&str>) -> Result<StagingFolder, Error> {
        // A dangling link counts as existing, too.
        if path.symlink_metadata().is_ok() {
            return Err(Error::Exists(path.into()));
        }
        let Some(name) = path.file_name() else {
            let source = io::Error::new(io::ErrorKind::InvalidInput, "this is not a folder name");
            return Err(Error::io("create", path)(source));
        };
        let parent = parent_of(path);
        create_folders(parent)?;
        remove_leftovers(path, parent, &prefix_of(name))?;
        let (unfinished, lock) = create_locked(parent, name)?;
        let staged = StagingFolder { path: path.into(), unfinished, lock, published: false };
        if let Some(inner) = inner {
            let inner = staged.unfinished.join(inner);
            fs::create_dir(&inner).map_err(Error::io("create", &inner))?;
        }
        Ok(staged)
    }

    /// Returns the current path: a temporary one until the folder is published.
    pub(crate) fn path(&self) -> &Path {
        if self.published { &self.path } else { &self.unfinished }
    }

    /// Publishes the folder at its final path. Its content must be on stable storage.
    ///
    /// # Errors
    /// [`Error::Exists`] if the name was taken in the meantime, or renaming fails. Dropping `self`
    /// then removes the folder.
    pub(crate) fn publish(&mut self) -> Result<(), Error> {
        rename_new(&self.unfinished, &self.path).map_err(|error| match error.kind() {
            io::ErrorKind::AlreadyExists => Error::Exists(self.path.clone()),
            _ => Error::io("name", &self.path)(error),
        })?;
        self.published = true;
        sync_folder(parent_of(&self.path))
    }

    /// Publishes a folder that contains hours of work. If the name was taken in the meantime, keeps
    /// the folder under another name, which the error contains.
    ///
    /// # Errors
    /// [`Error::Taken`] in that case, or the errors of [`StagingFolder::publish`].
    pub(crate) fn publish_anyway(&mut self) -> Result<(), Error> {
        match self.publish() {
            Err(Error::Exists(path)) => {
                let kept = self.keep_beside()?;
                self.path.clone_from(&kept);
                sync_folder(parent_of(&kept))?;
                Err(Error::Taken { path, kept })
            }
            published => published,
        }
    }

    /// Renames the folder to `NAME-2`, or uses the first free number above 2.
    fn keep_beside(&mut self) -> Result<PathBuf, Error> {
        let name = self.path.file_name().unwrap_or_default();
        let (stem, ending) = match Path::new(name).extension() {
            Some(ending) if ending == "flashscope" => {
                (Path::new(name).file_stem().unwrap_or(name), ".flashscope")
            }
            _ => (name, ""),
        };
        let numbered = |number: u32| {
            let mut name = stem.to_os_string();
            name.push(format!("-{number}{ending}"));
            self.path.with_file_name(name)
        };
        for kept in (2..MAX_NAMES).map(numbered) {
            match rename_new(&self.unfinished, &kept) {
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                renamed => {
                    renamed.map_err(Error::io("name", &kept))?;
                    self.published = true;
                    return Ok(kept);
                }
            }
        }
        Err(Error::Exists(self.path.clone()))
    }

    /// Returns true if the folder was published, possibly under another name.
    pub(crate) fn is_published(&self) -> bool {
        self.published
    }

    /// Returns the lock of a published folder, for a process that continues to write it.
    ///
    /// # Errors
    /// The file system has no locks.
    pub(crate) fn into_lock(mut self) -> Result<File, Error> {
        self.lock.take().map_or_else(|| lock(&self.path), Ok)
    }
}

impl Drop for StagingFolder {
    fn drop(&mut self) {
        if !self.published {
            // The next process that creates a result here removes leftovers.
            let _ = fs::remove_dir_all(&self.unfinished);
        }
    }
}

/// Returns true if `name` is that of an unfinished folder.
#[must_use]
pub fn is_unfinished(name: &OsStr) -> bool {
    let name = name.to_string_lossy();
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|c| c.is_ascii_digit());
    let numbers = name.strip_prefix('.').and_then(|name| name.rsplit_once(MARK));
    let numbers = numbers.and_then(|(_, numbers)| numbers.split_once('-'));
    numbers.is_some_and(|(process, number)| is_number(process) && is_number(number))
}

/// Returns the name prefix of the unfinished folders of a result.
fn prefix_of(name: &OsStr) -> OsString {
    let mut prefix = OsString::from(".");
    if name.len() <= LONGEST_NAME {
        prefix.push(name);
    } else {
        let mut hash = DefaultHasher::new();
        name.hash(&mut hash);
        prefix.push(format!("{:016x}", hash.finish()));
    }
    prefix.push(MARK);
    prefix
}

/// Creates an unfinished folder in `parent` and locks it.
fn create_locked(parent: &Path, name: &OsStr) -> Result<(PathBuf, Option<File>), Error> {
    let process = std::process::id();
    for number in 0..MAX_NAMES {
        let mut unfinished = prefix_of(name);
        unfinished.push(format!("{process}-{number}"));
        let path = parent.join(unfinished);
        match fs::create_dir(&path) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => continue,
            created => created.map_err(Error::io("create", &path))?,
        }
        // Before the lock, another process may remove the folder as a leftover. Then try the next
        // name.
        match lock(&path) {
            Err(Error::Busy(_)) => {}
            Ok(lock) if is_same(&lock, &path) => return Ok((path, Some(lock))),
            Err(_) if path.exists() => return Ok((path, None)),
            _ => {}
        }
    }
    let source = io::Error::other(
        "too many unfinished folders, `.*.flashscope-unfinished-*`, are here: remove them",
    );
    Err(Error::io("create", parent)(source))
}

fn begins_with(name: &OsStr, prefix: &OsStr) -> bool {
    name.as_encoded_bytes().starts_with(prefix.as_encoded_bytes())
}

/// Removes the unfinished folders in `parent` that killed processes of this user left. A lock
/// protects the folders of running processes.
///
/// # Errors
/// [`Error::Busy`] if a running process writes a folder that begins with `prefix`, which means the
/// same result name.
fn remove_leftovers(path: &Path, parent: &Path, prefix: &OsStr) -> Result<(), Error> {
    // Leave folders that cannot be examined.
    for entry in fs::read_dir(here(parent)).into_iter().flatten().flatten() {
        let name = entry.file_name();
        if !is_unfinished(&name) || !entry.metadata().is_ok_and(|found| is_own(&found)) {
            continue;
        }
        match lock(&entry.path()) {
            // Its process has ended, and the lock keeps other processes away.
            Ok(_lock) => drop(fs::remove_dir_all(entry.path())),
            Err(Error::Busy(_)) if begins_with(&name, prefix) => {
                return Err(Error::Busy(path.into()));
            }
            Err(_) => {}
        }
    }
    Ok(())
}

/// Creates a folder and its missing parents, each of them durable.
fn create_folders(path: &Path) -> Result<(), Error> {
    let path = here(path);
    if path.is_dir() {
        return Ok(());
    }
    if let Some(parent) = path.parent() {
        create_folders(parent)?;
    }
    match fs::create_dir(path) {
        // Another process created it first.
        Err(_) if path.is_dir() => {}
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
            return Err(Error::io("create", path)(io::ErrorKind::NotADirectory.into()));
        }
        created => created.map_err(Error::io("create", path))?,
    }
    sync_folder(parent_of(path))
}

fn parent_of(path: &Path) -> &Path {
    here(path.parent().unwrap_or(Path::new("")))
}

/// Returns the current folder for an empty path.
fn here(path: &Path) -> &Path {
    if path.as_os_str().is_empty() { Path::new(".") } else { path }
}

#[cfg(test)]
mod tests;
