//! A FUSE file system with one file, `drive`: reads and writes of the file are reads and writes of
//! the drive. A loop device makes a block device of the file.
//!
//! The file behaves like a block device: its size is fixed, opening it does not truncate it, and
//! IOs bypass the page cache. Punching a hole in it is a trim.

#![cfg_attr(
    lint_writes,
    expect(
        clippy::disallowed_methods,
        reason = "a temporary folder, in which a drive is mounted to measure the round trip: created under a new name"
    )
)]

mod files;
mod mount;
mod reply;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use std::{io, thread};

use crate::attached::AttachedDrive;
use crate::round_trip::RoundTrip;
use crate::trial::trial_drive;
use files::Files;
use mount::MountGuard;
pub use reply::Recipient;

/// The name of the file.
const FILE: &str = "drive";

/// The interval at which the stop flag is checked.
const POLL_INTERVAL: Duration = Duration::from_millis(20);

/// The reason why a drive cannot be served, or why serving ended.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The folder does not exist.
    #[error("folder {} does not exist: create it, or name another", .0.display())]
    Missing(PathBuf),
    /// The path is not a folder.
    #[error("{} is not a folder: name an empty folder", .0.display())]
    NoFolder(PathBuf),
    /// The folder contains files, which the mount would hide.
    #[error("{} is not empty: a mount would hide its files; name an empty folder", .0.display())]
    NotEmpty(PathBuf),
    /// Another file system is mounted on the folder.
    #[error("{} is in use: a file system is mounted on it; name another folder", .0.display())]
    InUse(PathBuf),
    /// The folder is the mount point of a process that has ended. The mount is not flashscope's, or
    /// it cannot be unmounted.
    #[error(
        "the process that served {} has ended: unmount it with `umount --lazy`, or name another folder",
        .0.display()
    )]
    Dead(PathBuf),
    /// The kernel has no FUSE.
    #[error("/dev/fuse does not exist: run `modprobe fuse`, or attach the drive over NBD")]
    NoFuse,
    /// The user has no permission to open `/dev/fuse`.
    #[error("you may not open /dev/fuse: become root or a member of its group")]
    NotAllowed,
    /// Mounting as another user than root requires a program that is missing.
    #[error(
        "mounting as another user than root requires `fusermount3`: install the package fuse3, or become root"
    )]
    NoHelper,
    /// A program had the file open when the file system was unmounted.
    #[error(
        "{} was unmounted while a program had its file open, such as a loop device (see `losetup \
         --list`): that program now gets errors, and its unwritten data are lost", .0.display()
    )]
    StillOpen(PathBuf),
    /// The system returned an error.
    #[error("cannot serve {} by FUSE: {source}", folder.display())]
    System {
        /// The folder.
        folder: PathBuf,
        /// The error of the system.
        source: io::Error,
    },
}

/// Measures the round trip between a program and a drive served by FUSE, bypassing the page cache.
/// Takes about 0.3 s.
///
/// # Errors
/// Returns an [`Error`] if the drive cannot be served or measured.
pub fn round_trip() -> Result<RoundTrip, Error> {
    let failed = |source| Error::System { folder: "a temporary folder".into(), source };
    let folder = tempfile::tempdir().map_err(failed)?;
    let stop = AtomicBool::new(false);
    let mut measured = Ok(RoundTrip::default());
    serve(folder.path(), trial_drive().map_err(failed)?, &stop, |file| {
        measured = RoundTrip::of_file(file);
        stop.store(true, Ordering::SeqCst);
    })?;
    measured.map_err(failed)
}

/// Serves `drive` as the file `drive` in `folder`, which must be empty, until `stop` is set or
/// another program unmounts it. Calls `ready` with the path of the file once it can be opened. If a
/// killed flashscope process left a mount on `folder`, that mount is unmounted first. When this
/// function returns, nothing is mounted.
///
/// # Errors
/// Returns an [`Error`] if the folder cannot be used, or the drive cannot be mounted or unmounted.
pub fn serve(
    folder: &Path,
    drive: Arc<AttachedDrive<Recipient>>,
    stop: &AtomicBool,
    ready: impl FnOnce(&Path),
) -> Result<(), Error> {
    let folder = mount::check(folder)?;
    let mounted = MountGuard::new(Files::new(Arc::clone(&drive)), folder)?;
    ready(&mounted.folder().join(FILE));
    while !stop.load(Ordering::SeqCst) && !mounted.is_over() {
        // There are no connections to cut, but the call reports cuts.
        drive.presence();
        thread::sleep(POLL_INTERVAL);
    }
    drive.end_delays();
    mounted.unmount()
}
