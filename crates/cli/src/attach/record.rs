//! What an attached drive is asked for, as a trace.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::{self, JoinHandle};

use anyhow::anyhow;
use flashscope_attach::Tell;
use flashscope_block::{Bytes, Completion, Nanos, Op};
use flashscope_command::trace::failure;
use flashscope_trace::writer::{self, Output, WRITERS, Writer};
use flashscope_trace::{Error, Request, Volumes};

use crate::{Failure, usage};

/// A trace is in the order in which requests arrived, and they are told in the order in which they
/// are done: so many are held back. No client has so many in flight.
const HELD: usize = 1 << 16;

/// Requests that are written at once.
const BATCH: usize = 1 << 12;

/// Writes a trace on a thread of its own.
pub struct Recorder {
    tell: Sender<Completion>,
    thread: JoinHandle<Result<(), Error>>,
}

impl Recorder {
    /// Begins to record to a file, whose name says the format.
    pub fn start(path: &str) -> Result<Recorder, Failure> {
        let kind = writer::for_file(path).ok_or_else(|| {
            usage(anyhow!(
                "--record: the name `{path}` does not say which format to write: let it end in {}",
                endings()
            ))
        })?;
        let writer = (kind.open)(Output::create(path).map_err(failure)?).map_err(failure)?;
        let (tell, told) = channel();
        let thread = thread::Builder::new().name("record".into());
        Ok(Recorder { tell, thread: thread.spawn(move || write(writer, &told))? })
    }

    /// To be told what is done. Where it can no longer be written, [`Recorder::finish`] says so.
    pub fn tell(&self) -> Tell {
        let tell = self.tell.clone();
        Box::new(move |completion| {
            let _ = tell.send(*completion);
        })
    }

    /// Writes what is left, once nobody has a [`Tell`] of this any more.
    pub fn finish(self) -> Result<(), Failure> {
        drop(self.tell);
        let written = self.thread.join().map_err(|_| anyhow!("the recorder has failed"))?;
        written.map_err(failure)
    }
}

fn endings() -> String {
    WRITERS.iter().flat_map(|kind| kind.extensions).copied().collect::<Vec<_>>().join(", ")
}

/// A request by the time at which it arrived; of equal times, by what it is.
type ByArrival = Reverse<(Nanos, u64, u64, u8, Option<Nanos>)>;

fn write(mut writer: Box<dyn Writer>, told: &Receiver<Completion>) -> Result<(), Error> {
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
        op: Op::from_code(op).expect("it was one"),
    };
    for Completion { io, submitted, completed, .. } in told {
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
