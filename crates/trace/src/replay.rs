//! A trace as a workload: its requests on a drive.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, sync_channel};
use std::sync::{Mutex, PoisonError};

use flashscope_block::{Bytes, Data, Io, Nanos, Op, StreamId};
use flashscope_workload::Stream;
use flashscope_workload::playback::{Pace, Playback};

use super::{Error, Progress, Reader, Request, Spec};

/// How many batches are read ahead of the drive: reading and decoding are not in its way.
const AHEAD: usize = 16;

/// A longer trim is issued in parts of this.
const LONGEST_TRIM: Bytes = Bytes::GIB;

/// What a trace asks of a drive.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Survey {
    /// How many requests there are.
    pub requests: u64,
    /// How many IOs they become: trims that cover no logical block become none.
    pub ios: u64,
    /// How many of each operation, by its code.
    pub by_op: [u64; Op::ALL.len()],
    /// The first byte after the last one that is addressed.
    pub end: Bytes,
    /// How many requests are not of whole logical blocks.
    pub fitted: u64,
    /// How many requests are issued in parts.
    pub parted: u64,
    /// What a user should know, in words.
    pub notes: Vec<String>,
}

impl Survey {
    /// Whether playing the trace changes what the drive holds.
    pub fn modifies(&self) -> bool {
        Op::ALL.iter().any(|op| op.modifies() && self.by_op[usize::from(op.code())] > 0)
    }
}

/// How the trace is read, and what is made of it.
pub(super) fn spec(playback: &Playback) -> Result<Spec, Error> {
    let mut spec = Spec::default();
    for (name, value) in &playback.fields {
        spec.set(name, value)?;
    }
    spec.fit(playback.capacity);
    Ok(spec)
}

/// The longest part in which a request is issued.
fn longest(playback: &Playback, op: Op) -> Bytes {
    match op {
        Op::Trim => LONGEST_TRIM,
        _ => playback.longest,
    }
    .round_down(playback.logical_block)
}

/// Reads the whole trace to know what it asks of the drive; `None` where `stop` was set before
/// its end.
///
/// # Errors
/// What is wrong with the trace, or that it does not fit the drive.
pub fn survey(
    playback: &Playback,
    stop: &AtomicBool,
    mut progress: impl FnMut(&Progress),
) -> Result<Option<Survey>, Error> {
    let spec = spec(playback)?;
    let mut trace = spec.open(&playback.files)?;
    let mut survey = Survey::default();
    let mut volumes: Vec<bool> = Vec::new();
    let mut batch = Vec::new();
    loop {
        trace.read(&mut batch)?;
        if batch.is_empty() {
            break;
        }
        if stop.load(Ordering::Relaxed) {
            return Ok(None);
        }
        volumes.resize(trace.volumes().len().max(volumes.len()), false);
        for request in &batch {
            volumes[request.volume as usize] = true;
            survey.note(request, playback);
        }
        progress(trace.progress());
    }
    survey.notes = trace.notes();
    if survey.fitted > 0 {
        survey.notes.push(format!(
            "{} requests are not of whole logical blocks of {}: reads and writes are widened to \
             those that they touch, trims narrowed to those that they cover",
            survey.fitted, playback.logical_block
        ));
    }
    if survey.parted > 0 {
        survey.notes.push(format!(
            "{} requests are issued in parts: reads and writes of more than {}, trims of more \
             than {LONGEST_TRIM}",
            survey.parted, playback.longest
        ));
    }
    check(playback, &survey, &spec, volumes.iter().filter(|used| **used).count())?;
    Ok(Some(survey))
}

fn check(playback: &Playback, survey: &Survey, spec: &Spec, volumes: usize) -> Result<(), Error> {
    let capacity = playback.capacity.round_down(playback.logical_block);
    let reason = if survey.requests == 0 {
        "it has no requests, or none that were selected".into()
    } else if volumes > 1 && !spec.is_remapped() {
        format!(
            "it has {volumes} volumes, and the drive is one: choose among them by `volumes`, or \
             lay them out on it by `remap=compact` (side by side) or `remap=fold` (over each \
             other)"
        )
    } else if survey.end > capacity {
        format!(
            "it reaches up to {} ({} B), and the drive has {} ({} B): put it on the drive by \
             `remap=fold` or `remap=compact`, or scale it by `space`",
            survey.end, survey.end.0, capacity, capacity.0
        )
    } else {
        return Ok(());
    };
    Err(Error::Damaged { name: playback.files.join(" and "), reason })
}

/// The requests of the trace as IOs, from its start. A trace that cannot be read to its end
/// ends early; [`Replay::error`] says why.
///
/// # Errors
/// Where it cannot be opened.
pub fn replay(playback: &Playback) -> Result<Replay, Error> {
    let mut trace = spec(playback)?.open(&playback.files)?;
    let (send, batches) = sync_channel::<Vec<Request>>(AHEAD);
    let error = Arc::new(Mutex::new(None));
    let slot = error.clone();
    std::thread::spawn(move || {
        loop {
            let mut batch = Vec::new();
            let read = trace.read(&mut batch);
            // Nobody receives when the replay ended before the trace.
            let ended = batch.is_empty() || send.send(batch).is_err();
            if let Err(error) = read {
                *slot.lock().unwrap_or_else(PoisonError::into_inner) = Some(error);
                return;
            }
            if ended {
                return;
            }
        }
    });
    Ok(Replay {
        batches,
        batch: Vec::new().into_iter(),
        error: Failed(error),
        playback: playback.clone(),
        part: None,
        zero: None,
    })
}

impl Survey {
    fn note(&mut self, request: &Request, playback: &Playback) {
        self.requests += 1;
        self.by_op[usize::from(request.op.code())] += 1;
        let (offset, len) = whole_blocks(request, playback.logical_block.0);
        let parts = match request.op {
            Op::Flush => 1,
            op => len.0.div_ceil(longest(playback, op).0),
        };
        self.ios = self.ios.saturating_add(parts);
        self.parted += u64::from(parts > 1);
        self.fitted += u64::from(len != request.len);
        self.end = self.end.max(Bytes(offset.0.saturating_add(len.0)));
    }
}

/// The whole blocks that a request touches, or a trim covers, as offset and length.
#[inline]
fn whole_blocks(request: &Request, block: u64) -> (Bytes, Bytes) {
    if request.op == Op::Flush {
        return (Bytes(0), Bytes(0));
    }
    let (start, end) = (request.offset.0, request.end().0);
    let (start, end) = match request.op {
        Op::Trim => (start.div_ceil(block), end / block),
        _ => (start / block, end.div_ceil(block)),
    };
    // The block after the last one does not begin within 2⁶⁴ bytes: a trim there covers none.
    (Bytes(start.saturating_mul(block)), Bytes(end.saturating_sub(start).saturating_mul(block)))
}

/// Why a trace that was played ended early, if it did.
#[derive(Clone)]
pub struct Failed(Arc<Mutex<Option<Error>>>);

impl Failed {
    /// Takes the error.
    pub fn take(&self) -> Option<Error> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

/// The requests of a trace as IOs. The number of its volume is the stream of each.
pub struct Replay {
    batches: Receiver<Vec<Request>>,
    batch: std::vec::IntoIter<Request>,
    error: Failed,
    playback: Playback,
    /// What is left of a request that is issued in parts.
    part: Option<Io>,
    /// The time of the first request in the trace, and on the clock of the drive.
    zero: Option<(Nanos, Nanos)>,
}

impl Replay {
    /// Where to find why it ended early, if it did.
    pub fn error(&self) -> Failed {
        self.error.clone()
    }

    /// The next request, with its place on the drive; a trim that covers no block is none.
    #[inline]
    fn next_request(&mut self) -> Option<(Request, Bytes, Bytes)> {
        loop {
            let Some(request) = self.batch.next() else {
                self.batch = self.batches.recv().ok()?.into_iter();
                continue;
            };
            let (offset, len) = whole_blocks(&request, self.playback.logical_block.0);
            if len.0 > 0 || request.op == Op::Flush {
                return Some((request, offset, len));
            }
        }
    }
}

impl Replay {
    /// The first part of an IO that may be too long; the rest is issued next.
    #[inline]
    fn first_part(&mut self, io: Io) -> Io {
        let longest = longest(&self.playback, io.op);
        if io.len <= longest {
            return io;
        }
        let (offset, len) = (io.offset + longest, io.len - longest);
        self.part = Some(Io { offset, len, ..io });
        Io { len: longest, ..io }
    }
}

impl Stream for Replay {
    #[inline]
    fn next(&mut self, previous: Nanos) -> Option<Io> {
        if let Some(rest) = self.part.take() {
            let at = if self.playback.pace == Pace::Asap { previous } else { rest.at };
            return Some(self.first_part(Io { at, ..rest }));
        }
        let (request, offset, len) = self.next_request()?;
        let (first, start) = *self.zero.get_or_insert((request.at, previous));
        let at = match self.playback.pace {
            Pace::Timed => Nanos(start.0.saturating_add(request.at.0.saturating_sub(first.0))),
            Pace::Asap => previous,
        };
        let stream = StreamId::try_from(request.volume).unwrap_or(StreamId::MAX);
        Some(self.first_part(Io { op: request.op, stream, offset, len, at, data: Data::Random }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // Does a trim at the end of all addresses cover no block, without a panic?
    #[test]
    fn trim_near_the_last_address_does_not_overflow() {
        let (offset, len) = (Bytes(u64::MAX - 9), Bytes(9));
        let (at, latency, volume, op) = (Nanos(0), None, 0, Op::Trim);
        let trim = Request { at, latency, offset, len, volume, op };
        assert_eq!(whole_blocks(&trim, 512), (Bytes(u64::MAX), Bytes(0)));
    }
}
