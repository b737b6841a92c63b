//! A block device of the kernel, `/dev/ublkbN`, served by this process: ublk, Linux 6.4 or later.
//!
//! Names, numbers and layouts are those of Linux, include/uapi/linux/ublk_cmd.h. The protocol is
//! described in Documentation/block/ublk.rst. One thread submits all commands of the single queue,
//! as the kernel requires.

mod control;
mod queue;
mod uapi;

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::channel;
use std::thread;
use std::time::Duration;

use crate::AttachedDrive;
use crate::round_trip::RoundTrip;
use crate::trial::trial_drive;

use control::Control;
use queue::Queue;
pub use queue::Recipient;

/// The reason why a drive cannot be served as a block device of the kernel.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The kernel does not support ublk, or its module is not loaded.
    #[error(
        "this kernel has no ublk ({CONTROL} does not exist): load the module ublk_drv (Linux 6.4 or \
         later), or serve the drive with --nbd or --fuse"
    )]
    NoUblk,
    /// Only root may create block devices.
    #[error("only root may create block devices: run this as root, or serve the drive with --nbd")]
    NotRoot,
    /// The drive's logical block size is not allowed for a block device of Linux.
    #[error(
        "the logical block size of a block device is 512 B to 4 KiB, but that of the drive is {0} B"
    )]
    LogicalBlock(u64),
    /// The system returned an error.
    #[error("cannot {action}: {source}")]
    System {
        /// The action, as in "cannot ...".
        action: &'static str,
        /// The error of the system.
        source: io::Error,
    },
}

/// The character device that controls ublk.
const CONTROL: &str = "/dev/ublk-control";

fn failed(action: &'static str) -> impl FnOnce(io::Error) -> Error {
    move |source| Error::System { action, source }
}

/// Measures the round trip between a program and a drive served by ublk, bypassing the page cache.
/// Takes about 0.3 s, during which an additional block device exists.
///
/// # Errors
/// Returns an [`Error`] if the device cannot be created or measured.
pub fn round_trip() -> Result<RoundTrip, Error> {
    let action = "measure the round trip of a block device";
    let stop = AtomicBool::new(false);
    let mut measured = Ok(RoundTrip::default());
    serve(&trial_drive().map_err(failed(action))?, &stop, |device| {
        measured = RoundTrip::of_file(device);
        stop.store(true, Ordering::Relaxed);
    })?;
    measured.map_err(failed(action))
}

/// Serves the drive as a block device until `stop` is set. Calls `ready` with the path of the
/// device. At the end the device is deleted even if it is in use; IOs of its users then fail.
///
/// # Errors
/// Returns an [`Error`] if the device cannot be created, served or deleted.
pub fn serve(
    drive: &Arc<AttachedDrive<Recipient>>,
    stop: &AtomicBool,
    ready: impl FnOnce(&Path),
) -> Result<(), Error> {
    let mut control = Control::open()?;
    let id = control.add(drive.export())?;
    let served = serve_device(drive, &mut control, id, stop, ready);
    // An error while serving takes precedence over an error while deleting.
    let deleted = control.delete(id);
    served.and(deleted)
}

fn serve_device(
    drive: &Arc<AttachedDrive<Recipient>>,
    control: &mut Control,
    id: u32,
    stop: &AtomicBool,
    ready: impl FnOnce(&Path),
) -> Result<(), Error> {
    let queue = Queue::open(id, Arc::clone(drive))?;
    let (tell_fetching, fetching) = channel();
    let (tell_ended, ended) = channel();
    let thread = thread::Builder::new().name("ublk".into()).spawn(move || {
        let outcome = queue.run(|| drop(tell_fetching));
        drop(tell_ended);
        outcome
    });
    let thread = thread.map_err(failed("start a thread"))?;
    // The channel closes once the queue has submitted its first fetches; then the device can start.
    let _: Result<(), _> = fetching.recv();
    let started = control.start(id);
    if started.is_ok() {
        ready(&PathBuf::from(format!("/dev/ublkb{id}")));
        let waiting = || ended.recv_timeout(Duration::from_millis(100));
        while !stop.load(Ordering::Relaxed) && waiting() != ENDED {
            // There are no connections to cut, but the call reports cuts.
            drive.presence();
        }
        // The kernel stops the device only once its requests are complete.
        drive.end_delays();
        control.stop(id)?;
    }
    // The kernel returns the queue's fetches, and the thread ends, once the device is stopped. If
    // the device never started, that happens when it is deleted.
    let outcome = match started.is_ok() {
        true => thread.join().unwrap_or_else(|_| Err(panicked())),
        false => Ok(()),
    };
    started.and(outcome)
}

/// Returns the error for a thread that panicked and has reported the reason itself.
fn panicked() -> Error {
    failed("serve the block device")(io::Error::other("the thread that serves it has failed"))
}

/// The result of receiving from a channel whose sender is gone.
const ENDED: Result<(), std::sync::mpsc::RecvTimeoutError> =
    Err(std::sync::mpsc::RecvTimeoutError::Disconnected);
