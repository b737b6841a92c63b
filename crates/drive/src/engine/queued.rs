//! What the asynchronous engines have in common: slots, hand-over and waiting.

#![allow(
    unsafe_code,
    reason = "lends the kernel buffers until it has answered, and what it may still use of a drive that was given up for ever"
)]

use std::collections::VecDeque;
use std::mem::ManuallyDrop;
use std::sync::Arc;
use std::time::Duration;

use flashscope_block::{Bytes, Completion, Data, Errno, Io, Nanos, Op};

use super::{Engine, Setup, length, outcome};
use crate::buffer::Buffers;
use crate::clock::Clock;
use crate::content::Content;
use crate::target::Target;

/// The kernel's answer to the IO of a slot.
pub(super) struct Answer {
    pub(super) slot: usize,
    /// Bytes moved, or a negative error number.
    pub(super) result: i64,
}

/// One of the kernel's asynchronous interfaces.
pub(super) trait Kernel: Send {
    /// Whether it has a command for such an IO: for reads and writes in any case.
    fn takes(&self, op: Op) -> bool;

    /// Readies the IO of `slot`, of a kind that it takes, whose data are at `buffer`; no system
    /// call.
    ///
    /// # Safety
    /// As many bytes as the IO is long, and at least a page, are valid at `buffer` and used by nobody else, until the
    /// IO is answered, or for ever where it is not.
    unsafe fn ready(&mut self, slot: usize, io: &Io, buffer: *mut u8);

    /// Hands over all that was readied, without waiting. What the kernel does not take is answered.
    fn hand_over(&mut self, answers: &mut Vec<Answer>);

    /// Hands over all that was readied and waits for an answer, for `timeout` at most (without
    /// limit if `None`); all answers that are there go to `answers`.
    ///
    /// Returns the time right after waiting. May return early, without an answer.
    fn exchange(
        &mut self,
        timeout: Option<Duration>,
        clock: &Clock,
        answers: &mut Vec<Answer>,
    ) -> Nanos;

    /// As [`Engine::note`].
    fn note(&self) -> Option<&'static str> {
        None
    }
}

/// An engine over an asynchronous interface.
///
/// Answers that came together are given out one by one, without a system call. Meanwhile the
/// caller queues the IOs that follow them; they are handed over as soon as they are an eighth of
/// the queue depth, not only when the last answer is given out. If they waited for that, the
/// queue of the drive would run empty again and again: at queue depth 32 on ext4 this is worth a
/// quarter of the IOPS, and costs 0.5 µs of CPU an IO.
///
/// What an interface has no command for, such as a trim, is done in the calling thread when its turn
/// comes, before what was queued with it.
///
/// An answer to a slot that is not in flight, or that is none, is passed over.
pub(super) struct Queued<K: Kernel> {
    kernel: ManuallyDrop<K>,
    clock: Clock,
    target: Arc<Target>,
    content: Arc<Content>,
    buffers: ManuallyDrop<Buffers>,
    slots: Vec<Slot>,
    free: Vec<usize>,
    /// Slots that are readied and not handed over.
    queued: Vec<usize>,
    /// How many of them are handed over while there are answers left.
    group: usize,
    in_flight: usize,
    patience: Nanos,
    given_up: bool,
    /// What the interface does not take.
    others: VecDeque<Io>,
    reaped: VecDeque<Completion>,
    answers: Vec<Answer>,
}

/// The IO that a slot carries.
#[derive(Clone, Copy)]
struct Slot {
    io: Io,
    submitted: Nanos,
    in_flight: bool,
}

impl<K: Kernel> Queued<K> {
    /// An engine with `buffers` for as many IOs as `setup` says.
    pub(super) fn new(kernel: K, buffers: Buffers, setup: &Setup) -> Queued<K> {
        let none = Io {
            op: Op::Read,
            stream: 0,
            offset: Bytes(0),
            len: Bytes(0),
            at: Nanos(0),
            data: Data::Random,
        };
        Queued {
            kernel: ManuallyDrop::new(kernel),
            clock: setup.clock.clone(),
            target: Arc::clone(&setup.target),
            content: Arc::clone(&setup.content),
            buffers: ManuallyDrop::new(buffers),
            slots: vec![Slot { io: none, submitted: Nanos(0), in_flight: false }; setup.depth],
            free: (0..setup.depth).collect(),
            queued: Vec::with_capacity(setup.depth),
            group: (setup.depth / 8).max(1),
            in_flight: 0,
            patience: setup.patience,
            given_up: false,
            others: VecDeque::new(),
            reaped: VecDeque::with_capacity(setup.depth),
            answers: Vec::with_capacity(setup.depth),
        }
    }

    /// Notes that all that is queued is handed over now.
    fn stamp(&mut self) {
        let submitted = self.clock.now();
        self.in_flight += self.queued.len();
        for slot in self.queued.drain(..) {
            (self.slots[slot].submitted, self.slots[slot].in_flight) = (submitted, true);
        }
    }

    /// One hand-over and wait; the first completion of those that arrived.
    fn exchange(&mut self, timeout: Option<Duration>) -> Option<Completion> {
        if !self.queued.is_empty() {
            self.stamp();
        }
        let completed = self.kernel.exchange(timeout, &self.clock, &mut self.answers);
        for Answer { slot, result } in self.answers.drain(..) {
            let asked = self.slots.get_mut(slot).filter(|slot| slot.in_flight);
            let Some(Slot { io, submitted, in_flight }) = asked else { continue };
            (*in_flight, self.in_flight) = (false, self.in_flight - 1);
            let (io, submitted) = (*io, *submitted);
            let moved =
                u64::try_from(result).map_err(|_| i32::try_from(-result).map_or(Errno::EIO, Errno));
            let result = outcome(&io, moved);
            self.free.push(slot);
            self.reaped.push_back(Completion { io, submitted, completed, result });
        }
        self.reaped.pop_front()
    }

    /// Does what the interface does not take.
    fn other(&self, io: Io) -> Completion {
        let submitted = self.clock.now();
        let result = match io.op {
            Op::Flush => self.target.flush(),
            Op::Trim => self.target.trim(io.offset, io.len),
            Op::Read | Op::Write => unreachable!("every interface takes these"),
        };
        Completion { io, submitted, completed: self.clock.now(), result }
    }
}

impl<K: Kernel> Engine for Queued<K> {
    fn submit(&mut self, io: &Io) {
        if !self.kernel.takes(io.op) {
            self.others.push_back(*io);
            return;
        }
        let slot = self.free.pop().expect("queue depth exceeded");
        self.slots[slot].io = *io;
        if io.op == Op::Write {
            // SAFETY: the slot was free: the kernel has answered what it was lent the piece for.
            self.content.fill(io, unsafe { self.buffers.bytes(slot, length(io)) });
        }
        // What moves no data has a range of the drive, and a buffer of a page.
        let len = if matches!(io.op, Op::Read | Op::Write) { length(io) } else { 0 };
        let start = self.buffers.start(slot, len);
        // SAFETY: the piece is as long, and its slot is free again only when the IO is answered. Until then this value
        // lives, or is dropped without its buffers.
        unsafe { self.kernel.ready(slot, io, start) };
        self.queued.push(slot);
    }

    fn reaped(&mut self) -> Option<Completion> {
        self.reaped.pop_front()
    }

    fn complete(&mut self, until: Nanos) -> Option<Completion> {
        if let Some(completion) = self.reaped.pop_front() {
            if self.queued.len() >= self.group {
                self.stamp();
                self.kernel.hand_over(&mut self.answers);
            }
            return Some(completion);
        }
        if let Some(io) = self.others.pop_front() {
            return Some(self.other(io));
        }
        if self.in_flight == 0 && self.queued.is_empty() {
            if until != Nanos::MAX {
                self.clock.sleep_until(until);
            }
            return None;
        }
        let clock = self.clock.clone();
        if until != Nanos::MAX {
            return clock.poll_until(until, |timeout| self.exchange(Some(timeout)));
        }
        let patience = self.patience;
        let answer = clock.poll_patiently(patience, |timeout| self.exchange(Some(timeout)));
        self.given_up = answer.is_none();
        answer
    }

    fn has_given_up(&self) -> bool {
        self.given_up
    }

    fn note(&self) -> Option<&'static str> {
        self.kernel.note()
    }
}

impl<K: Kernel> Drop for Queued<K> {
    fn drop(&mut self) {
        if self.given_up {
            // The kernel may use them still, and would wait for the drive to take its interface apart.
            return;
        }
        // The kernel must be done with the buffers before they go. What is only queued was never
        // handed over, and needs no waiting for.
        while self.in_flight > 0 {
            self.exchange(None);
        }
        // SAFETY: neither is used again. What was in flight is answered.
        unsafe {
            ManuallyDrop::drop(&mut self.kernel);
            ManuallyDrop::drop(&mut self.buffers);
        }
    }
}

#[cfg(test)]
mod tests;
