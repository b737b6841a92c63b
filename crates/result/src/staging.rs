//! Folders that appear under their name in one step, once they can be read or resumed.
//!
//! Until then a folder lies beside that place as `.NAME.flashscope-unfinished-PID-NUMBER`, locked by the
//! process that writes it. A process that is killed leaves such a folder without a lock; the next one that
//! creates a result in the same place removes it.

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
use crate::folder::{lock, sync_folder};
use crate::system::{is_own, is_same, rename_new};

/// What stands between the name of a result and the numbers of an unfinished folder.
const MARK: &str = ".flashscope-unfinished-";

/// Bytes of the longest name that an unfinished folder repeats: file systems end names at 255.
const LONGEST_NAME: usize = 200;

/// How many names are tried before a folder is given up.
const MOST_NAMES: u32 = 1000;

/// A folder that is removed again, unless it is published under its name.
#[derive(Debug)]
pub(crate) struct Staged {
    /// Where it will appear.
    path: PathBuf,
    /// Where it lies.
    unfinished: PathBuf,
    /// Tells other processes that this one is alive. A file system without locks has none, and nothing on it
    /// is removed as a leftover.
    lock: Option<File>,
    published: bool,
}

impl Staged {
    /// Creates a folder, with the folder `inner` in it, that will appear at `path`. Nothing may be there.
    ///
    /// # Errors
    /// [`Error::Exists`], [`Error::Busy`] where another process writes a result of this name, and where no
    /// folder can be created.
    pub fn create(path: &Path, inner: Option<&str>) -> Result<Staged, Error> {
        // A link that leads nowhere is something, too.
        if path.symlink_metadata().is_ok() {
            return Err(Error::Exists(path.into()));
        }
        let Some(name) = path.file_name() else {
            let source = io::Error::new(io::ErrorKind::InvalidInput, "this is no name of a folder");
            return Err(Error::io("create", path)(source));
        };
        let parent = parent_of(path);
        create_folders(parent)?;
        remove_leftovers(path, parent, &prefix_of(name))?;
        let (unfinished, lock) = create_locked(parent, name)?;
        let staged = Staged { path: path.into(), unfinished, lock, published: false };
        if let Some(inner) = inner {
            let inner = staged.unfinished.join(inner);
            fs::create_dir(&inner).map_err(Error::io("create", &inner))?;
        }
        Ok(staged)
    }

    /// Where the folder lies: beside its place, until it is published.
    pub fn place(&self) -> &Path {
        if self.published { &self.path } else { &self.unfinished }
    }

    /// Lets the folder appear under its name. What is in it has to be on stable storage.
    ///
    /// # Errors
    /// [`Error::Exists`] where the name was taken in the meantime, and where it cannot be renamed. Then nothing of
    /// the folder stays.
    pub fn publish(&mut self) -> Result<(), Error> {
        rename_new(&self.unfinished, &self.path).map_err(|error| match error.kind() {
            io::ErrorKind::AlreadyExists => Error::Exists(self.path.clone()),
            _ => Error::io("name", &self.path)(error),
        })?;
        self.published = true;
        sync_folder(parent_of(&self.path))
    }

    /// The same for a folder that holds hours of work: where its name was taken in the meantime, it stays beside
    /// that, under a name that the error tells.
    ///
    /// # Errors
    /// [`Error::Taken`] then; else as [`Staged::publish`].
    pub fn publish_anyway(&mut self) -> Result<(), Error> {
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

    /// Names the folder `NAME-2`, or with the first number that is free.
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
        for kept in (2..MOST_NAMES).map(numbered) {
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

    /// Returns whether the folder has its name.
    pub fn is_published(&self) -> bool {
        self.published
    }

    /// The lock of a published folder, for a process that goes on writing it.
    ///
    /// # Errors
    /// Where the file system has no locks.
    pub fn into_lock(mut self) -> Result<File, Error> {
        self.lock.take().map_or_else(|| lock(&self.path), Ok)
    }
}

impl Drop for Staged {
    fn drop(&mut self) {
        if !self.published {
            // What remains is removed by the next process that creates a result here.
            let _ = fs::remove_dir_all(&self.unfinished);
        }
    }
}

/// Returns whether `name` is that of a folder that is not finished, or never will be: no result.
#[must_use]
pub fn is_unfinished(name: &OsStr) -> bool {
    let name = name.to_string_lossy();
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|c| c.is_ascii_digit());
    let numbers = name.strip_prefix('.').and_then(|name| name.rsplit_once(MARK));
    let numbers = numbers.and_then(|(_, numbers)| numbers.split_once('-'));
    numbers.is_some_and(|(process, number)| is_number(process) && is_number(number))
}

/// How the names of the unfinished folders of a result of this name begin.
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

/// Creates an unfinished folder in `parent`, and locks it.
fn create_locked(parent: &Path, name: &OsStr) -> Result<(PathBuf, Option<File>), Error> {
    let process = std::process::id();
    for number in 0..MOST_NAMES {
        let mut unfinished = prefix_of(name);
        unfinished.push(format!("{process}-{number}"));
        let path = parent.join(unfinished);
        match fs::create_dir(&path) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => continue,
            created => created.map_err(Error::io("create", &path))?,
        }
        // Until it is locked, another process may take it for a leftover. Then the next one is tried.
        match lock(&path) {
            Err(Error::Busy(_)) => {}
            Ok(lock) if is_same(&lock, &path) => return Ok((path, Some(lock))),
            Err(_) if path.exists() => return Ok((path, None)),
            _ => {}
        }
    }
    let source = io::Error::other("too many unfinished folders are here: remove them");
    Err(Error::io("create", parent)(source))
}

fn begins_with(name: &OsStr, prefix: &OsStr) -> bool {
    name.as_encoded_bytes().starts_with(prefix.as_encoded_bytes())
}

/// Removes the unfinished folders in `parent` that this user's processes left when they were killed. The
/// folders of running processes are locked.
///
/// # Errors
/// [`Error::Busy`] where a running process writes a folder that begins with `prefix`: one of the same name.
fn remove_leftovers(path: &Path, parent: &Path, prefix: &OsStr) -> Result<(), Error> {
    // What cannot be looked at is left where it is.
    for entry in fs::read_dir(here(parent)).into_iter().flatten().flatten() {
        let name = entry.file_name();
        if !is_unfinished(&name) || !entry.metadata().is_ok_and(|found| is_own(&found)) {
            continue;
        }
        match lock(&entry.path()) {
            // Its process removes nothing any more, and no other takes it while it is locked.
            Ok(_lock) => drop(fs::remove_dir_all(entry.path())),
            Err(Error::Busy(_)) if begins_with(&name, prefix) => {
                return Err(Error::Busy(path.into()));
            }
            Err(_) => {}
        }
    }
    Ok(())
}

/// Creates a folder and those above it that are missing, each of them durable.
fn create_folders(path: &Path) -> Result<(), Error> {
    let path = here(path);
    if path.is_dir() {
        return Ok(());
    }
    if let Some(parent) = path.parent() {
        create_folders(parent)?;
    }
    match fs::create_dir(path) {
        // Another process was faster.
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

/// The folder that an empty path stands for.
fn here(path: &Path) -> &Path {
    if path.as_os_str().is_empty() { Path::new(".") } else { path }
}

#[cfg(test)]
mod tests;
