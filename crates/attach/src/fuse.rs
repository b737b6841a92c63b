//! A folder with one file, `drive`, by the kernel's FUSE: what is read of the file and written to it
//! is read of the drive and written to it. A loop device makes a block device of it.
//!
//! The file is as a block device is: of one size, not truncated by who opens it, and past the page
//! cache. A hole that is punched is a trim.

#![cfg_attr(
    lint_writes,
    expect(
        clippy::disallowed_methods,
        reason = "a temporary folder, to mount a drive to try the way with: made under a new name"
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

use crate::attached::Attached;
use crate::round_trip::{self, RoundTrip};
use files::Files;
use mount::Mounted;
pub use reply::To;

/// The name of the file.
const FILE: &str = "drive";

/// How often it is looked whether to stop.
const LOOK: Duration = Duration::from_millis(20);

/// Why a drive is not, or no longer, served.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// There is no such folder.
    #[error("there is no folder {}: make it, or name another", .0.display())]
    Missing(PathBuf),
    /// It is something else.
    #[error("{} is no folder: name an empty one", .0.display())]
    NoFolder(PathBuf),
    /// The folder has files, which would be hidden.
    #[error("{} is not empty: what is in it would be hidden; name an empty folder", .0.display())]
    NotEmpty(PathBuf),
    /// Something else is mounted there.
    #[error("{} is in use: a file system is mounted on it; name another folder", .0.display())]
    InUse(PathBuf),
    /// What served it has died, and was not of ours.
    #[error(
        "what was mounted on {} is dead: unmount it with `umount --lazy`, or name another folder",
        .0.display()
    )]
    Dead(PathBuf),
    /// The kernel lacks FUSE.
    #[error("there is no /dev/fuse: load it with `modprobe fuse`, or attach the drive over NBD")]
    NoFuse,
    /// This user may not use it.
    #[error("may not open /dev/fuse: become root or a member of its group")]
    NotAllowed,
    /// Another user than root needs a program for it.
    #[error("only root mounts without `fusermount3`: install the package fuse3, or become root")]
    NoHelper,
    /// A program had the file open when it stopped.
    #[error(
        "{} was unmounted while a program had its file open, such as a loop device (see `losetup \
         --list`): it gets errors from now on, and what it had not written yet is lost", .0.display()
    )]
    StillOpen(PathBuf),
    /// The system refused.
    #[error("cannot serve {} by FUSE: {source}", folder.display())]
    System {
        /// The folder.
        folder: PathBuf,
        /// What the system says.
        source: io::Error,
    },
}

/// Measures how long requests and their answers are under way between a program and a drive that is
/// served so, past the page cache. Takes some 0.3 s.
///
/// # Errors
/// See [`Error`].
pub fn round_trip() -> Result<RoundTrip, Error> {
    let failed = |source| Error::System { folder: "a temporary folder".into(), source };
    let folder = tempfile::tempdir().map_err(failed)?;
    let stop = AtomicBool::new(false);
    let mut measured = Ok(RoundTrip::default());
    serve(folder.path(), round_trip::to_try().map_err(failed)?, &stop, |file| {
        measured = RoundTrip::of_file(file);
        stop.store(true, Ordering::SeqCst);
    })?;
    measured.map_err(failed)
}

/// Serves `drive` as the file `drive` in `folder`, which must be empty, until `stop` is set or
/// somebody unmounts it; `ready` is told the path of the file once it can be opened. What a killed
/// process left mounted there is unmounted first. Nothing is mounted when this returns.
///
/// # Errors
/// See [`Error`].
pub fn serve(
    folder: &Path,
    drive: Arc<Attached<To>>,
    stop: &AtomicBool,
    ready: impl FnOnce(&Path),
) -> Result<(), Error> {
    let folder = mount::check(folder)?;
    let mounted = Mounted::new(Files::new(drive), folder)?;
    ready(&mounted.folder().join(FILE));
    while !stop.load(Ordering::SeqCst) && !mounted.is_over() {
        thread::sleep(LOOK);
    }
    mounted.unmount()
}
