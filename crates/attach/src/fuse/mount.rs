//! Mounting, and seeing to it that nothing stays mounted.

#![cfg_attr(
    lint_writes,
    expect(
        clippy::disallowed_methods,
        reason = "/dev/fuse, and mounts: the folder must be empty and no mount point; of mounts only a dead one of our own type is taken away"
    )
)]

use std::fs::{File, OpenOptions};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::thread::JoinHandle;
use std::time::Duration;
use std::{fs, io, thread};

use fuser::{BackgroundSession, Config, MountOption, Session, SessionACL};
use rustix::io::Errno;
use rustix::mount::{UnmountFlags, unmount};

use super::files::Files;
use super::{Error, LOOK};

/// The type of our mounts, by which those that a killed process left are known.
const TYPE: &str = "flashscope";

/// How long the end of a session is waited for after it was unmounted.
const PATIENCE: Duration = Duration::from_secs(1);

/// Looks whether a drive can be mounted at `folder`, and returns its path from the root.
pub(super) fn check(folder: &Path) -> Result<PathBuf, Error> {
    let failed = |source| Error::System { folder: folder.into(), source };
    check_kernel().map_err(|error| match error.kind() {
        io::ErrorKind::PermissionDenied => Error::NotAllowed,
        _ => Error::NoFuse,
    })?;
    let metadata = match fs::metadata(folder) {
        Err(error) if error.raw_os_error() == Some(libc::ENOTCONN) => {
            remove_dead(folder)?;
            fs::metadata(folder)
        }
        metadata => metadata,
    };
    let metadata = metadata.map_err(|error| match error.kind() {
        io::ErrorKind::NotFound => Error::Missing(folder.into()),
        _ => failed(error),
    })?;
    if !metadata.is_dir() {
        return Err(Error::NoFolder(folder.into()));
    }
    let folder = folder.canonicalize().map_err(failed)?;
    let above = folder.parent().ok_or_else(|| Error::InUse(folder.clone()))?;
    if fs::metadata(above).map_err(failed)?.dev() != metadata.dev() {
        return Err(Error::InUse(folder));
    }
    match fs::read_dir(&folder).map_err(failed)?.next() {
        Some(_) => Err(Error::NotEmpty(folder)),
        None => Ok(folder),
    }
}

fn check_kernel() -> io::Result<File> {
    OpenOptions::new().read(true).write(true).open("/dev/fuse")
}

/// Unmounts what is left of a process that was killed, if it was one of ours.
fn remove_dead(folder: &Path) -> Result<(), Error> {
    let failed = |source| Error::System { folder: folder.into(), source };
    // The folder itself cannot be asked any more.
    let above = match folder.parent() {
        Some(above) if above != Path::new("") => above,
        _ => Path::new("."),
    };
    let name = folder.file_name().ok_or_else(|| Error::Dead(folder.into()))?;
    let folder = above.canonicalize().map_err(failed)?.join(name);
    let mounts = fs::read_to_string("/proc/self/mountinfo").map_err(failed)?;
    match mounts.lines().rev().find_map(|line| type_at(line, &folder)) {
        Some(kind) if kind == format!("fuse.{TYPE}") => {
            unmount(&folder, UnmountFlags::DETACH).map_err(|_| Error::Dead(folder))
        }
        _ => Err(Error::Dead(folder)),
    }
}

/// The type of the file system that a line of `mountinfo` says to be mounted on `folder`.
fn type_at<'a>(line: &'a str, folder: &Path) -> Option<&'a str> {
    let (before, after) = line.split_once(" - ")?;
    let at = before.split(' ').nth(4)?;
    (at == escaped(folder)).then_some(after.split(' ').next()?)
}

/// A path as the kernel writes it in its lists of mounts.
fn escaped(path: &Path) -> String {
    let path = path.to_string_lossy().replace('\\', "\\134");
    path.replace(' ', "\\040").replace('\t', "\\011").replace('\n', "\\012")
}

/// A folder that is mounted, and no longer when this is dropped.
pub(super) struct Mounted {
    folder: PathBuf,
    session: Option<BackgroundSession>,
}

impl Mounted {
    /// Mounts `files` on `folder`, which was looked at by [`check`].
    pub(super) fn new(files: Files, folder: PathBuf) -> Result<Mounted, Error> {
        let failed = |source: io::Error| match source.kind() {
            io::ErrorKind::NotFound => Error::NoHelper,
            _ => Error::System { folder: folder.clone(), source },
        };
        let mut config = Config::default();
        // The name shows in the list of mounts, in which a comma would end it.
        let name = files.name().replace(',', " ");
        config.mount_options = vec![
            MountOption::FSName(name),
            MountOption::CUSTOM(format!("subtype={TYPE}")),
            // Root may open what has no permission to be written, but not on what is read-only.
            if files.is_writable() { MountOption::RW } else { MountOption::RO },
            MountOption::DefaultPermissions,
            MountOption::NoExec,
        ];
        // A request comes with the user on whose behalf it is, which of a loop device's may be
        // anyone; who may open the file is a matter of its permissions. Only root may allow that.
        if files.owner_is_root() {
            config.acl = SessionACL::All;
        }
        let session = Session::new(files, &folder, &config).and_then(Session::spawn);
        let session = Some(session.map_err(failed)?);
        Ok(Mounted { folder, session })
    }

    /// Where it is mounted.
    pub(super) fn folder(&self) -> &Path {
        &self.folder
    }

    /// Whether it was unmounted by someone else.
    pub(super) fn is_over(&self) -> bool {
        self.session.as_ref().is_none_or(|session| session.guard.is_finished())
    }

    /// Unmounts it, also from under those who have the file open.
    pub(super) fn unmount(mut self) -> Result<(), Error> {
        self.end()
    }

    fn end(&mut self) -> Result<(), Error> {
        let failed = |source| Error::System { folder: self.folder.clone(), source };
        let Some(session) = self.session.take() else { return Ok(()) };
        let was_open = match session.guard.is_finished() {
            true => false,
            false => self.take_away().map_err(failed)?,
        };
        let thread = thread_of(session);
        let mut waited = Duration::ZERO;
        while !thread.is_finished() && waited < PATIENCE {
            thread::sleep(LOOK);
            waited += LOOK;
        }
        if was_open || !thread.is_finished() {
            return Err(Error::StillOpen(self.folder.clone()));
        }
        let ended = thread.join().unwrap_or_else(|_| Err(io::Error::other("a thread panicked")));
        ended.map_err(failed)
    }

    /// Unmounts it, by force where it must be: those who wait for an answer then get an error.
    /// Returns whether somebody had the file open.
    fn take_away(&self) -> io::Result<bool> {
        match unmount(&self.folder, UnmountFlags::empty()) {
            Ok(()) => Ok(false),
            Err(Errno::BUSY) => {
                unmount(&self.folder, UnmountFlags::DETACH | UnmountFlags::FORCE)?;
                Ok(true)
            }
            // Another user than root needs a program for it, which the session knows.
            Err(Errno::PERM) => Ok(false),
            Err(errno) => Err(errno.into()),
        }
    }
}

/// The thread of a session, of which all else is dropped: that unmounts what is still mounted.
fn thread_of(session: BackgroundSession) -> JoinHandle<io::Result<()>> {
    session.guard
}

impl Drop for Mounted {
    fn drop(&mut self) {
        // There is nobody left to tell.
        let _ = self.end();
    }
}
