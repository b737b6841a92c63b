//! A block device of the kernel, `/dev/ublkbN`, served by this process: ublk, Linux 6.4 or later.
//!
//! Names, numbers and layouts are those of Linux, include/uapi/linux/ublk_cmd.h, and the protocol is
//! that of Documentation/block/ublk.rst: one queue, whose commands are all given by one thread, as
//! the kernel demands.

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

use crate::Attached;
use crate::round_trip::{self, RoundTrip};

use control::Control;
use queue::Queue;
pub use queue::To;

/// Why a drive cannot be a block device of the kernel.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The kernel knows no ublk, or not yet.
    #[error(
        "this kernel has no ublk ({CONTROL} is not there): load the module ublk_drv (Linux 6.4 or \
         later), or serve the drive with --nbd or --fuse"
    )]
    NoUblk,
    /// Only the administrator may make block devices.
    #[error("only root may make block devices: run this as root, or serve the drive with --nbd")]
    NotRoot,
    /// The drive reads and writes units that no block device of Linux may have.
    #[error("a block device has logical blocks of 512 B to 4 KiB, and the drive of {0} B")]
    LogicalBlock(u64),
    /// The system refused.
    #[error("cannot {action}: {source}")]
    System {
        /// What was tried.
        action: &'static str,
        /// What the system says.
        source: io::Error,
    },
}

/// Where devices are asked for.
const CONTROL: &str = "/dev/ublk-control";

fn failed(action: &'static str) -> impl FnOnce(io::Error) -> Error {
    move |source| Error::System { action, source }
}

/// Measures how long requests and their answers are under way between a program and a drive that is
/// served so, past the page cache. Takes some 0.3 s, for which there is another block device.
///
/// # Errors
/// Where there can be no such device.
pub fn round_trip() -> Result<RoundTrip, Error> {
    let action = "measure the way to a block device";
    let stop = AtomicBool::new(false);
    let mut measured = Ok(RoundTrip::default());
    serve(&round_trip::to_try().map_err(failed(action))?, &stop, |device| {
        measured = RoundTrip::of_file(device);
        stop.store(true, Ordering::Relaxed);
    })?;
    measured.map_err(failed(action))
}

/// Serves the drive as a block device until `stop`; `ready` is told its path. At the end it is taken
/// away, even where it is in use: whoever uses it is told that it is gone.
///
/// # Errors
/// Where the device cannot be made.
pub fn serve(
    drive: &Arc<Attached<To>>,
    stop: &AtomicBool,
    ready: impl FnOnce(&Path),
) -> Result<(), Error> {
    let mut control = Control::open()?;
    let id = control.add(drive.export())?;
    let served = serve_device(drive, &mut control, id, stop, ready);
    // What keeps it from being deleted matters less than what went wrong before.
    let deleted = control.delete(id);
    served.and(deleted)
}

fn serve_device(
    drive: &Arc<Attached<To>>,
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
    // The device starts once the queue has asked for its first requests: then this channel closes.
    let _: Result<(), _> = fetching.recv();
    let started = control.start(id);
    if started.is_ok() {
        ready(&PathBuf::from(format!("/dev/ublkb{id}")));
        let waiting = || ended.recv_timeout(Duration::from_millis(100));
        while !stop.load(Ordering::Relaxed) && waiting() != ENDED {}
        control.stop(id)?;
    }
    // Stopped or never started, the kernel gives back what the queue has asked for.
    let outcome = match started.is_ok() {
        true => thread.join().unwrap_or_else(|_| Err(panicked())),
        false => Ok(()),
    };
    started.and(outcome)
}

/// The thread has said itself what went wrong.
fn panicked() -> Error {
    failed("serve the block device")(io::Error::other("the thread that serves it has failed"))
}

/// What a channel answers whose other end is gone.
const ENDED: Result<(), std::sync::mpsc::RecvTimeoutError> =
    Err(std::sync::mpsc::RecvTimeoutError::Disconnected);
