//! How IOs reach the kernel: the engines, their registry and the choice between them.
//!
//! A new engine is one file here and its line in [`ENGINES`].

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

use flashscope_block::{Completion, Errno, Io, Nanos, Op};

use crate::clock::Clock;
use crate::content::Content;
use crate::error::OpenError;
use crate::options::suggestion;
use crate::target::Target;

/// A way for IOs to reach the kernel.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum EngineKind {
    /// The submission and completion rings of Linux 5.1.
    IoUring,
    /// The same over polled queues, without interrupts.
    IoUringPolled,
    /// NVMe commands through such rings, past the block layer (Linux 6.1).
    IoUringCmd,
    /// Linux's older asynchronous IO, `io_submit` and `io_getevents`.
    Libaio,
    /// One `pread` or `pwrite` for each IO.
    Psync,
}

/// An engine as the registry knows it.
#[derive(Clone, Copy)]
pub struct EngineEntry {
    /// Which one.
    pub kind: EngineKind,
    /// What it is called, as in `?engine=psync`.
    pub name: &'static str,
    /// What it is.
    pub summary: &'static str,
    start: fn(&Setup) -> io::Result<Box<dyn Engine>>,
}

/// Every engine. Which is chosen where none is asked for is another matter.
pub const ENGINES: [EngineEntry; 5] = [
    EngineEntry {
        kind: EngineKind::IoUring,
        name: "io_uring",
        summary: "one system call hands over all that is queued and waits; registered buffers",
        start: io_uring::start,
    },
    EngineEntry {
        kind: EngineKind::IoUringPolled,
        name: "io_uring_polled",
        summary: "io_uring that looks for answers instead of being interrupted; of NVMe drives, with \
                  the kernel parameter `nvme.poll_queues=N`",
        start: io_uring_polled::start,
    },
    EngineEntry {
        kind: EngineKind::IoUringCmd,
        name: "io_uring_cmd",
        summary: "NVMe commands through io_uring, past the block layer; of a whole NVMe drive, which \
                  may be named as /dev/ngXnY then",
        start: io_uring_cmd::start,
    },
    EngineEntry {
        kind: EngineKind::Libaio,
        name: "libaio",
        summary: "one system call hands over all that is queued, one more waits where it must",
        start: libaio::start,
    },
    EngineEntry {
        kind: EngineKind::Psync,
        name: "psync",
        summary: "pread and pwrite; what is concurrent in as many threads",
        start: psync::start,
    },
];

impl EngineKind {
    /// What the registry knows of it.
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
            format!("`{text}` is no engine{near}; there are: {all}")
        })
    }
}

/// What an engine works on.
pub(crate) struct Setup {
    pub(crate) target: Arc<Target>,
    pub(crate) clock: Clock,
    pub(crate) content: Arc<Content>,
    /// How many IOs may be in flight.
    pub(crate) depth: usize,
    /// The longest IO in bytes.
    pub(crate) max_io: usize,
    /// Whether it was opened for writing.
    pub(crate) writable: bool,
    /// How long an answer is waited for before the drive is given up.
    pub(crate) patience: Nanos,
}

/// What carries IOs to the kernel and back. Every IO it gets lies within the target.
pub(crate) trait Engine: Send {
    /// Queues an IO and readies its data; no system call.
    fn submit(&mut self, io: &Io);

    /// A completion that is here already; no system call.
    fn reaped(&mut self) -> Option<Completion>;

    /// As [`flashscope_block::Device::complete`]: hands over all that is queued. Of a drive that was given
    /// up nothing more is asked, and it is not waited for when the engine is dropped.
    fn complete(&mut self, until: Nanos) -> Option<Completion>;

    /// Whether the drive was given up: it has not answered for as long as [`Setup::patience`].
    fn has_given_up(&self) -> bool;

    /// What a reader of the results should know of how it came up, beyond its name.
    fn note(&self) -> Option<&'static str> {
        None
    }
}

/// The answer to `io`, of which the kernel said that it moved `moved` bytes, or an error number.
fn outcome(io: &Io, moved: Result<u64, Errno>) -> Result<(), Errno> {
    match (moved?, io.op) {
        (_, Op::Flush | Op::Trim) => Ok(()),
        (moved, _) if moved == io.len.0 => Ok(()),
        (_, Op::Read) => Err(Errno::ENODATA),
        (_, Op::Write) => Err(Errno::ENOSPC),
    }
}

/// The length of an IO, which `max_io` bounds far below what a `usize` holds.
fn length(io: &Io) -> usize {
    usize::try_from(io.len.0).expect("bounded by max_io")
}

/// Starts the engine that was asked for, or else the best for this target.
///
/// Returns it with its name and the reason for it, in one sentence.
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
            .map_err(failed(kind, "leave `engine` out to have one chosen that works"))?;
        return Ok(describe(kind, "forced by the caller", engine));
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
        .map_err(failed(kind, "a smaller queue depth or shorter IOs take less"))?;
    Ok(describe(kind, why, engine))
}

/// The engines to try, the best first, each with the reason for it.
///
/// At queue depth 1 a plain system call has nothing to win from a ring: measured side by side with
/// 4 KiB reads, psync takes 22 µs of CPU an IO on ext4 where io_uring takes 26, and 1.2 on tmpfs
/// where it takes 5.9. Where the target refuses `RWF_NOWAIT`, io_uring cannot try an IO without
/// blocking and hands each one to a kernel worker thread: at queue depth 32 on tmpfs 2.4 µs of CPU
/// an IO, where libaio takes 1.4.
fn candidates(depth: usize, refuses_nowait: bool) -> Vec<(EngineKind, &'static str)> {
    use EngineKind::{IoUring, Libaio, Psync};
    let simple = (Psync, "the kernel permits neither io_uring nor libaio here");
    if depth == 1 {
        return vec![(Psync, "at queue depth 1 one system call an IO is the shortest way")];
    }
    if refuses_nowait {
        let why =
            "the target refuses RWF_NOWAIT, so that io_uring would hand IOs to kernel workers";
        return vec![(Libaio, why), simple];
    }
    vec![
        (IoUring, "the target takes IOs without blocking, and one system call serves many"),
        (Libaio, "the kernel does not permit io_uring here"),
        simple,
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    // Does the registry hold each engine once, under a name that parses back to it?
    #[test]
    fn registry_is_complete() {
        use EngineKind::{IoUring, IoUringCmd, IoUringPolled, Libaio, Psync};
        for kind in [IoUring, IoUringPolled, IoUringCmd, Libaio, Psync] {
            assert_eq!(ENGINES.iter().filter(|entry| entry.kind == kind).count(), 1);
            assert_eq!(kind.entry().name.parse(), Ok(kind));
            assert!(!kind.entry().summary.is_empty());
        }
    }

    // Is the choice the one the probe calls for, with psync to fall back on?
    #[test]
    fn the_probe_decides() {
        let first = |depth, refuses| candidates(depth, refuses)[0].0;
        assert_eq!(first(1, false), EngineKind::Psync);
        assert_eq!(first(1, true), EngineKind::Psync);
        assert_eq!(first(2, true), EngineKind::Libaio);
        assert_eq!(first(2, false), EngineKind::IoUring);
        for refuses in [false, true] {
            assert_eq!(candidates(32, refuses).last().unwrap().0, EngineKind::Psync);
        }
    }

    // Is a transfer that moved too little an error, whichever way it went?
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
