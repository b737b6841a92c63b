//! Turns of reads and background work: see [`crate::setup::Scheduling::turns`].
//!
//! A read that arrives while background steps are in progress waits for their end, before the
//! controller takes its command. In the meantime, and until the read is answered, no further step
//! begins.

use flashscope_block::{Bytes, Io, Nanos, Op};

use super::SimDevice;
use crate::interface::{DonePart, Request};
use crate::nand::later;

/// The reads in progress on a drive whose reads and background work take turns.
#[derive(Default)]
pub(super) struct Turns {
    /// The number of reads in progress: those that wait for their turn, and those that the
    /// controller carries out.
    reads: u32,
}

/// The reason why a read has not begun.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Delay {
    /// The read is due later.
    Due,
    /// Background steps are in progress.
    Turn,
}

impl SimDevice {
    /// Receives the command of a request at `at`. Returns the time at which the controller begins
    /// to carry it out.
    pub(super) fn receive(&mut self, io: &Io, at: Nanos) -> Nanos {
        let switch = self.groups.as_mut().map_or(Nanos(0), |groups| groups.switch_to(io));
        later(self.interface.receive_command(at), switch)
    }

    /// Begins a read that arrives at its `ready`, or lets it wait for its turn.
    pub(super) fn read_in_turn(&mut self, request: &mut Request) {
        if !self.nand.has_reached(request.ready) {
            return self.delay_read(request, request.ready, Delay::Due);
        }
        self.count_read();
        match self.nand.end_of_turns() {
            Some(done) => self.delay_read(request, done, Delay::Turn),
            None => self.begin_read(request),
        }
    }

    fn begin_read(&mut self, request: &mut Request) {
        request.ready = self.receive(request.io, request.ready);
        self.read(request);
    }

    /// Records that a read is in progress, if reads take turns.
    pub(super) fn count_read(&mut self) {
        if let Some(turns) = &mut self.turns {
            turns.reads += 1;
            self.nand.hold_background(true);
        }
    }

    /// Lets a read wait until `done`. The delay is an empty part before the first part of the read.
    fn delay_read(&mut self, request: &Request, done: Nanos, delay: Delay) {
        let data = (delay == Delay::Turn).then_some((Bytes(0), Bytes(0)));
        let first = Some(request.io.offset.0);
        let number = self.interface.wait(request, 1, Nanos::MAX, data, first);
        self.nand.notify_at(done, number);
    }

    /// Continues a read whose delay is over. Returns false if the part is not a delay.
    pub(super) fn end_delay(&mut self, part: &DonePart) -> bool {
        let mut request = part.request();
        if request.io.op != Op::Read || part.next != request.io.offset.0 {
            return false;
        }
        match part.is_read() {
            true => self.begin_read(&mut request),
            false => self.read_in_turn(&mut request),
        }
        true
    }

    /// Records that a read was answered, if reads take turns. Then gives background work its turn.
    pub(super) fn end_read(&mut self) {
        let Some(turns) = &mut self.turns else { return };
        turns.reads -= 1;
        let was_last = turns.reads == 0;
        self.nand.give_turns();
        if was_last {
            self.nand.hold_background(false);
        }
    }
}
