//! Mounting the file system, and unmounting it however serving ends.

#![cfg_attr(
    lint_writes,
    expect(
        clippy::disallowed_methods,
        reason = "/dev/fuse, and mounts: only on an empty folder that is not a mount point; unmounts only that mount, or a dead mount of this program's own type"
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
use super::{Error, POLL_INTERVAL};

/// The type of the mounts of this program, which identifies the mounts left by a killed process.
const TYPE: &str = "flashscope";

/// The time to wait for a session to end after its file system was unmounted.
const END_TIMEOUT: Duration = Duration::from_secs(1);

/// Checks that a drive can be mounted at `folder`, and returns the folder's absolute path.
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

/// Unmounts a dead mount that a killed flashscope process left.
fn remove_dead(folder: &Path) -> Result<(), Error> {
    let failed = |source| Error::System { folder: folder.into(), source };
    // A dead mount point cannot be inspected, but its parent folder can.
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

/// Returns the type of a file system that a line of `mountinfo` lists as mounted on `folder`.
fn type_at<'a>(line: &'a str, folder: &Path) -> Option<&'a str> {
    let (before, after) = line.split_once(" - ")?;
    let at = before.split(' ').nth(4)?;
    (at == escaped(folder)).then_some(after.split(' ').next()?)
}

/// Returns a path as the kernel escapes it in `mountinfo`.
fn escaped(path: &Path) -> String {
    let path = path.to_string_lossy().replace('\\', "\\134");
    path.replace(' ', "\\040").replace('\t', "\\011").replace('\n', "\\012")
}

/// A mounted file system, which is unmounted when this is dropped.
pub(super) struct MountGuard {
    folder: PathBuf,
    session: Option<BackgroundSession>,
}

impl MountGuard {
    /// Mounts `files` on `folder`, which [`check`] has accepted.
    pub(super) fn new(files: Files, folder: PathBuf) -> Result<MountGuard, Error> {
        let failed = |source: io::Error| match source.kind() {
            io::ErrorKind::NotFound => Error::NoHelper,
            _ => Error::System { folder: folder.clone(), source },
        };
        let mut config = Config::default();
        // The name is the mount's source; a comma would end the mount option.
        let name = files.name().replace(',', " ");
        config.mount_options = vec![
            MountOption::FSName(name),
            MountOption::CUSTOM(format!("subtype={TYPE}")),
            // Permissions do not keep root from writing, but a read-only mount does.
            if files.is_writable() { MountOption::RW } else { MountOption::RO },
            MountOption::DefaultPermissions,
            MountOption::NoExec,
        ];
        // A loop device may send requests on behalf of any user. The file's permissions decide who
        // may open it. Only root may enable access by other users.
        if files.owner_is_root() {
            config.acl = SessionACL::All;
        }
        let session = Session::new(files, &folder, &config).and_then(Session::spawn);
        let session = Some(session.map_err(failed)?);
        Ok(MountGuard { folder, session })
    }

    /// Returns the mount point.
    pub(super) fn folder(&self) -> &Path {
        &self.folder
    }

    /// Returns true if another program unmounted the file system.
    pub(super) fn is_over(&self) -> bool {
        self.session.as_ref().is_none_or(|session| session.guard.is_finished())
    }

    /// Unmounts the file system, even while programs have the file open.
    pub(super) fn unmount(mut self) -> Result<(), Error> {
        self.end()
    }

    fn end(&mut self) -> Result<(), Error> {
        let failed = |source| Error::System { folder: self.folder.clone(), source };
        let Some(session) = self.session.take() else { return Ok(()) };
        let was_open = match session.guard.is_finished() {
            true => false,
            false => self.force_unmount().map_err(failed)?,
        };
        let thread = thread_of(session);
        let mut waited = Duration::ZERO;
        while !thread.is_finished() && waited < END_TIMEOUT {
            thread::sleep(POLL_INTERVAL);
            waited += POLL_INTERVAL;
        }
        if was_open || !thread.is_finished() {
            return Err(Error::StillOpen(self.folder.clone()));
        }
        let ended = thread.join().unwrap_or_else(|_| Err(io::Error::other("a thread panicked")));
        ended.map_err(failed)
    }

    /// Unmounts the file system, by force if necessary. Pending IOs of programs then fail. Returns
    /// true if a program had the file open.
    fn force_unmount(&self) -> io::Result<bool> {
        match unmount(&self.folder, UnmountFlags::empty()) {
            Ok(()) => Ok(false),
            Err(Errno::BUSY) => {
                unmount(&self.folder, UnmountFlags::DETACH | UnmountFlags::FORCE)?;
                Ok(true)
            }
            // Only root may unmount directly. For other users, the session calls a helper program.
            Err(Errno::PERM) => Ok(false),
            Err(errno) => Err(errno.into()),
        }
    }
}

/// Returns the thread of a session and drops its other parts, which unmounts the file system.
fn thread_of(session: BackgroundSession) -> JoinHandle<io::Result<()>> {
    session.guard
}

impl Drop for MountGuard {
    fn drop(&mut self) {
        // No caller is left that could handle the error.
        let _ = self.end();
    }
}
