//! Records the requests to an attached drive as a trace.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::{self, JoinHandle};

use anyhow::anyhow;
use flashscope_attach::CompletionHook;
use flashscope_block::{Bytes, Completion, Nanos, Op};
use flashscope_command::trace::failure;
use flashscope_trace::writer::{self, Output, WRITERS, Writer};
use flashscope_trace::{Error, Request, Volumes};

use crate::{Failure, usage};

/// The number of completed requests to buffer. A trace is in order of arrival, but the recorder
/// receives requests in order of completion. No client has this many requests in flight. A buffer
/// of this size can therefore sort them.
const HELD: usize = 1 << 16;

/// The number of requests written at once.
const BATCH: usize = 1 << 12;

/// A thread that writes a trace.
pub(super) struct Recorder {
    sender: Sender<Completion>,
    thread: JoinHandle<Result<(), Error>>,
}

impl Recorder {
    /// Starts to record to a file, whose name determines the format.
    pub(super) fn start(path: &str) -> Result<Recorder, Failure> {
        let kind = writer::for_file(path).ok_or_else(|| {
            usage(anyhow!(
                "--record: the name `{path}` does not determine the format: use a name that ends in {}",
                endings()
            ))
        })?;
        let writer = (kind.open)(Output::create(path).map_err(failure)?).map_err(failure)?;
        let (sender, completions) = channel();
        let thread = thread::Builder::new().name("record".into());
        Ok(Recorder { sender, thread: thread.spawn(move || write(writer, &completions))? })
    }

    /// Returns a callback for completed requests. If a request cannot be written,
    /// [`Recorder::finish`] returns the error.
    pub(super) fn tell(&self) -> CompletionHook {
        let sender = self.sender.clone();
        Box::new(move |completion| {
            let _ = sender.send(*completion);
        })
    }

    /// Writes the remaining requests. All callbacks must have been dropped.
    pub(super) fn finish(self) -> Result<(), Failure> {
        drop(self.sender);
        let written = self.thread.join().map_err(|_| anyhow!("the recorder panicked"))?;
        written.map_err(failure)
    }
}

fn endings() -> String {
    WRITERS.iter().flat_map(|kind| kind.extensions).copied().collect::<Vec<_>>().join(", ")
}

/// A request, ordered by its arrival and then by its fields.
type ByArrival = Reverse<(Nanos, u64, u64, u8, Option<Nanos>)>;

fn write(mut writer: Box<dyn Writer>, completions: &Receiver<Completion>) -> Result<(), Error> {
    let mut volumes = Volumes::new();
    let volume = volumes.id(b"drive");
    let mut held: BinaryHeap<ByArrival> = BinaryHeap::new();
    let mut batch = Vec::new();
    let request = |Reverse((at, offset, len, op, latency)): ByArrival| Request {
        at,
        latency,
        offset: Bytes(offset),
        len: Bytes(len),
        volume,
        op: Op::from_code(op).expect("the code of an operation"),
    };
    for Completion { io, submitted, completed, .. } in completions {
        let latency = Some(completed - submitted);
        held.push(Reverse((submitted, io.offset.0, io.len.0, io.op.code(), latency)));
        if held.len() > HELD {
            batch.extend(held.pop().map(request));
        }
        if batch.len() == BATCH {
            writer.write(&batch, &volumes)?;
            batch.clear();
        }
    }
    batch.extend(std::iter::from_fn(|| held.pop()).map(request));
    writer.write(&batch, &volumes)?;
    writer.finish(&volumes)
}
