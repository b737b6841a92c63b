//! Engines: the kernel interfaces for IOs, their registry and the choice between them.
//!
//! A new engine needs one file in this folder and an entry in [`ENGINES`].

mod io_uring;
mod io_uring_cmd;
mod io_uring_polled;
mod libaio;
mod psync;
mod queued;
mod ring;

use std::io;
use std::str::FromStr;
use std::sync::Arc;

use flashscope_block::{Completion, Errno, Io, Nanos, Op, WriteData, suggestion};

use crate::clock::Clock;
use crate::error::OpenError;
use crate::target::Target;

/// A kernel interface for IOs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum EngineKind {
    /// io_uring: submission and completion rings (Linux 5.11 or later).
    IoUring,
    /// io_uring over polled queues, without interrupts.
    IoUringPolled,
    /// NVMe commands through io_uring, bypassing the block layer (Linux 6.1 or later).
    IoUringCmd,
    /// The older asynchronous IO of Linux, `io_submit` and `io_getevents`.
    Libaio,
    /// One `pread` or `pwrite` for each IO.
    Psync,
}

/// An engine's entry in the registry.
#[derive(Clone, Copy)]
pub struct EngineEntry {
    /// The engine.
    pub kind: EngineKind,
    /// The engine's name as an option of a drive, as in `?engine=psync`.
    pub name: &'static str,
    /// A one-line description.
    pub summary: &'static str,
    start: fn(&Setup) -> io::Result<Box<dyn Engine>>,
}

/// All engines. [`start`] chooses between them if no engine is requested.
pub const ENGINES: [EngineEntry; 5] = [
    EngineEntry {
        kind: EngineKind::IoUring,
        name: "io_uring",
        summary: "one system call submits all queued IOs and waits; buffers are registered",
        start: io_uring::start,
    },
    EngineEntry {
        kind: EngineKind::IoUringPolled,
        name: "io_uring_polled",
        summary: "io_uring that polls for completions instead of using interrupts; for NVMe drives, with \
                  the kernel parameter `nvme.poll_queues=N`",
        start: io_uring_polled::start,
    },
    EngineEntry {
        kind: EngineKind::IoUringCmd,
        name: "io_uring_cmd",
        summary: "NVMe commands through io_uring, bypassing the block layer; for a whole NVMe drive, \
                  which may then be named as /dev/ngXnY",
        start: io_uring_cmd::start,
    },
    EngineEntry {
        kind: EngineKind::Libaio,
        name: "libaio",
        summary: "one system call submits all queued IOs, and another one waits if necessary",
        start: libaio::start,
    },
    EngineEntry {
        kind: EngineKind::Psync,
        name: "psync",
        summary: "pread and pwrite, with a thread for each concurrent IO",
        start: psync::start,
    },
];

impl EngineKind {
    /// Returns the engine's entry in the registry.
    pub fn entry(self) -> &'static EngineEntry {
        ENGINES.iter().find(|entry| entry.kind == self).expect("every engine is registered")
    }
}

impl FromStr for EngineKind {
    type Err = String;

    fn from_str(text: &str) -> Result<EngineKind, String> {
        let names = ENGINES.iter().map(|entry| entry.name);
        ENGINES.iter().find(|entry| entry.name == text).map(|entry| entry.kind).ok_or_else(|| {
            let near = suggestion(text, names);
            let all = ENGINES.map(|entry| entry.name).join(", ");
            format!("`{text}` is not an engine{near}; engines are: {all}")
        })
    }
}

/// The parameters of an engine.
pub(crate) struct Setup {
    pub(crate) target: Arc<Target>,
    pub(crate) clock: Clock,
    pub(crate) content: Arc<dyn WriteData>,
    /// The maximum number of IOs in flight.
    pub(crate) depth: usize,
    /// The maximum length of an IO in bytes.
    pub(crate) max_io: usize,
    /// True if the target was opened for writing.
    pub(crate) writable: bool,
    /// The time without an answer after which the engine gives up on the drive.
    pub(crate) response_timeout: Nanos,
}

/// Submits IOs to the kernel and returns their completions. Every IO that an engine receives lies
/// within the target.
pub(crate) trait Engine: Send {
    /// Queues an IO and prepares its data, without a system call.
    fn submit(&mut self, io: &Io);

    /// Returns a completion that has already arrived, without a system call.
    fn reaped(&mut self) -> Option<Completion>;

    /// Submits all queued IOs and waits, like [`flashscope_block::Device::complete`]. After a
    /// timeout, the engine must not be used any more; dropping it does not wait for the drive.
    fn complete(&mut self, until: Nanos) -> Option<Completion>;

    /// Returns true if the drive has not answered for [`Setup::response_timeout`].
    fn has_timed_out(&self) -> bool;

    /// Returns a remark on the engine's setup for readers of the results, if any.
    fn note(&self) -> Option<&'static str> {
        None
    }
}

/// Converts the number of bytes that the kernel moved, or its error, to the result of `io`.
fn outcome(io: &Io, moved: Result<u64, Errno>) -> Result<(), Errno> {
    match (moved?, io.op) {
        (_, Op::Flush | Op::Trim) => Ok(()),
        (moved, _) if moved == io.len.0 => Ok(()),
        (_, Op::Read) => Err(Errno::ENODATA),
        (_, Op::Write) => Err(Errno::ENOSPC),
    }
}

/// Returns the length of an IO. `max_io` keeps it within a `usize`.
fn length(io: &Io) -> usize {
    usize::try_from(io.len.0).expect("bounded by max_io")
}

/// Starts the requested engine, or else the best one for the target.
///
/// Returns the engine, and its name with the reason for the choice in one sentence.
pub(crate) fn start(
    forced: Option<EngineKind>,
    setup: &Setup,
) -> Result<(Box<dyn Engine>, String), OpenError> {
    let path = setup.target.path();
    let failed = |kind: EngineKind, hint: &'static str| {
        let engine = kind.entry().name;
        move |source| OpenError::Engine { engine, path: path.to_path_buf(), source, hint }
    };
    let describe = |kind: EngineKind, why: &str, engine: Box<dyn Engine>| {
        let note = engine.note().map(|note| format!("; {note}")).unwrap_or_default();
        let text = format!("{}: {why}{note}", kind.entry().name);
        (engine, text)
    };
    if let Some(kind) = forced {
        let engine = (kind.entry().start)(setup)
            .map_err(failed(kind, "omit `engine` to choose one that works"))?;
        return Ok(describe(kind, "requested by the caller", engine));
    }
    let candidates = candidates(setup.depth, setup.target.refuses_nowait());
    let (last, preferred) = candidates.split_last().expect("never empty");
    for (kind, why) in preferred {
        if let Ok(engine) = (kind.entry().start)(setup) {
            return Ok(describe(*kind, why, engine));
        }
    }
    let (kind, why) = *last;
    let engine = (kind.entry().start)(setup)
        .map_err(failed(kind, "a smaller queue depth or shorter IOs need less memory"))?;
    Ok(describe(kind, why, engine))
}

/// Returns the engines to try, the best first, each with the reason for choosing it.
///
/// At queue depth 1, a ring brings no benefit over a plain system call. With 4 KiB reads on ext4,
/// psync uses 22 µs of CPU time per IO and io_uring uses 26 µs. On tmpfs, psync uses 1.2 µs and
/// io_uring 5.9 µs. If the target rejects `RWF_NOWAIT`, io_uring cannot attempt an IO without
/// blocking and passes each one to a kernel worker thread. At queue depth 32 on tmpfs, io_uring
/// then uses 2.4 µs of CPU time per IO, and libaio uses 1.4 µs.
fn candidates(depth: usize, refuses_nowait: bool) -> Vec<(EngineKind, &'static str)> {
    use EngineKind::{IoUring, Libaio, Psync};
    let simple = (Psync, "neither io_uring nor libaio is suitable here");
    if depth == 1 {
        return vec![(Psync, "at queue depth 1, one system call for each IO is fastest")];
    }
    if refuses_nowait {
        let why = "the target rejects RWF_NOWAIT, and io_uring would pass IOs to kernel workers";
        return vec![(Libaio, why), simple];
    }
    vec![
        (IoUring, "the target accepts IOs without blocking, and one system call submits many"),
        (Libaio, "the kernel does not permit io_uring here"),
        simple,
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    // Each name parses back to its engine.
    #[test]
    fn each_engine_is_registered_once() {
        use EngineKind::{IoUring, IoUringCmd, IoUringPolled, Libaio, Psync};
        for kind in [IoUring, IoUringPolled, IoUringCmd, Libaio, Psync] {
            assert_eq!(ENGINES.iter().filter(|entry| entry.kind == kind).count(), 1);
            assert_eq!(kind.entry().name.parse(), Ok(kind));
            assert!(!kind.entry().summary.is_empty());
        }
    }

    // psync is the last resort.
    #[test]
    fn the_choice_depends_on_depth_and_nowait() {
        let first = |depth, refuses| candidates(depth, refuses)[0].0;
        assert_eq!(first(1, false), EngineKind::Psync);
        assert_eq!(first(1, true), EngineKind::Psync);
        assert_eq!(first(2, true), EngineKind::Libaio);
        assert_eq!(first(2, false), EngineKind::IoUring);
        for refuses in [false, true] {
            assert_eq!(candidates(32, refuses).last().unwrap().0, EngineKind::Psync);
        }
    }

    #[test]
    fn short_transfers_are_errors() {
        let io = |op| Io {
            op,
            stream: 0,
            offset: flashscope_block::Bytes(0),
            len: flashscope_block::Bytes(4096),
            at: Nanos(0),
            data: flashscope_block::Data::Random,
        };
        assert_eq!(outcome(&io(Op::Read), Ok(4096)), Ok(()));
        assert_eq!(outcome(&io(Op::Read), Ok(512)), Err(Errno::ENODATA));
        assert_eq!(outcome(&io(Op::Write), Ok(512)), Err(Errno::ENOSPC));
        assert_eq!(outcome(&io(Op::Flush), Ok(0)), Ok(()));
        assert_eq!(outcome(&io(Op::Read), Err(Errno::EIO)), Err(Errno::EIO));
    }
}
