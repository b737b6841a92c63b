//! Replay of a trace as a workload on a drive.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, sync_channel};
use std::sync::{Mutex, PoisonError};

use flashscope_block::{Bytes, Data, Io, Nanos, Op, StreamId};
use flashscope_workload::Stream;
use flashscope_workload::playback::{Pace, Playback};

use super::{Error, Progress, Reader, Request, Spec};

/// The number of batches decoded ahead of the drive, which keeps decoding off the IO path.
const AHEAD: usize = 16;

/// The maximum length of a trim in bytes; longer trims are split.
const LONGEST_TRIM: Bytes = Bytes::GIB;

/// The demands of a trace on the drive.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Survey {
    /// The number of requests.
    pub requests: u64,
    /// The number of IOs that the requests become; a trim that covers no whole block becomes none.
    pub ios: u64,
    /// The number of requests by operation code.
    pub by_op: [u64; Op::ALL.len()],
    /// The highest address accessed, plus one.
    pub end: Bytes,
    /// The number of requests that are not aligned to logical blocks.
    pub fitted: u64,
    /// The number of requests that are split.
    pub parted: u64,
    /// Remarks for the user.
    pub notes: Vec<String>,
}

impl Survey {
    /// Returns true if the replay changes the content of the drive.
    pub fn modifies(&self) -> bool {
        Op::ALL.iter().any(|op| op.modifies() && self.by_op[usize::from(op.code())] > 0)
    }
}

/// Returns the specification of a trace to replay: its reader's options and transforms.
pub(super) fn spec(playback: &Playback) -> Result<Spec, Error> {
    let mut spec = Spec::default();
    for (name, value) in &playback.fields {
        spec.set(name, value)?;
    }
    spec.fit(playback.capacity);
    Ok(spec)
}

/// Returns the maximum length of an IO in bytes; longer requests are split.
fn longest(playback: &Playback, op: Op) -> Bytes {
    match op {
        Op::Trim => LONGEST_TRIM,
        _ => playback.longest,
    }
    .round_down(playback.logical_block)
}

/// Reads the whole trace to determine its demands on the drive. Returns `None` if `stop` was set
/// before the end.
///
/// # Errors
/// The trace is invalid, or does not fit the drive.
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
            "{} requests do not consist of whole logical blocks of {}: reads and writes are \
             widened to the blocks that they touch, trims narrowed to the blocks that they cover",
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
        "it has no requests, or the options select none".into()
    } else if volumes > 1 && !spec.is_remapped() {
        format!(
            "it has {volumes} volumes for one drive: select one with `volumes`, or \
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

/// Returns the requests of the trace as IOs, from its start. If the trace is damaged, the IOs end
/// early, and [`Replay::error`] returns the cause.
///
/// # Errors
/// The trace cannot be opened.
pub fn replay(playback: &Playback) -> Result<Replay, Error> {
    let mut trace = spec(playback)?.open(&playback.files)?;
    let (send, batches) = sync_channel::<Vec<Request>>(AHEAD);
    let error = Arc::new(Mutex::new(None));
    let slot = error.clone();
    std::thread::spawn(move || {
        loop {
            let mut batch = Vec::new();
            let read = trace.read(&mut batch);
            // Sending fails if the replay ended before the trace.
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
        error: ReplayError(error),
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

/// Returns the range of a request in whole blocks, as offset and length: all blocks that a read or
/// write touches, but only the blocks that a trim covers completely.
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
    // Rounding up in the last block of the address space gives 2⁶⁴, which overflows. A trim that
    // begins inside that block covers no complete block.
    (Bytes(start.saturating_mul(block)), Bytes(end.saturating_sub(start).saturating_mul(block)))
}

/// The error that ended a replay early, if any.
#[derive(Clone)]
pub struct ReplayError(Arc<Mutex<Option<Error>>>);

impl ReplayError {
    /// Removes and returns the error.
    pub fn take(&self) -> Option<Error> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

/// The requests of a trace as IOs. The stream of each IO is the volume number of its request.
pub struct Replay {
    batches: Receiver<Vec<Request>>,
    batch: std::vec::IntoIter<Request>,
    error: ReplayError,
    playback: Playback,
    /// The remaining part of a request that is split.
    part: Option<Io>,
    /// The time of the first request, on the clocks of the trace and of the drive.
    zero: Option<(Nanos, Nanos)>,
}

impl Replay {
    /// Returns a handle that receives the error if the trace ends early.
    pub fn error(&self) -> ReplayError {
        self.error.clone()
    }

    /// Returns the next request with its blocks on the drive. Skips trims that cover no block.
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
    /// Returns the first part of an IO that may be too long; stores the remainder for the next
    /// call.
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

    // A trim at the end of the address space covers no block and does not panic.
    #[test]
    fn trim_near_the_last_address_does_not_overflow() {
        let (offset, len) = (Bytes(u64::MAX - 9), Bytes(9));
        let (at, latency, volume, op) = (Nanos(0), None, 0, Op::Trim);
        let trim = Request { at, latency, offset, len, volume, op };
        assert_eq!(whole_blocks(&trim, 512), (Bytes(u64::MAX), Bytes(0)));
    }
}
