//! Buses: requests for a bus, and the order in which they are granted.

use std::collections::VecDeque;

use flashscope_block::Nanos;

use super::die::Queue;
use super::events::Event;
use super::graph::NONE;
use super::phases::Phase;
use super::scheduler::Scheduler;
use crate::arithmetic::later;

/// A request for a bus.
#[derive(Debug, Clone, Copy)]
pub(super) enum Asking {
    Group(u32),
    /// A die that chooses its next command when it gets the bus.
    Die(u32),
}

/// The serial bus that some dies share.
#[derive(Debug)]
pub(super) struct Bus {
    pub(super) waiting: VecDeque<Asking>,
    /// The requests for the data of reads, if these go first.
    pub(super) data: VecDeque<Asking>,
    pub(super) owner: u32,
    pub(super) since: Nanos,
    pub(super) busy: Nanos,
    pub(super) touched: bool,
}

impl Default for Bus {
    fn default() -> Bus {
        Bus {
            waiting: VecDeque::new(),
            data: VecDeque::new(),
            owner: NONE,
            since: Nanos(0),
            busy: Nanos(0),
            touched: false,
        }
    }
}

impl Bus {
    pub(super) fn reset(&mut self) {
        self.waiting.clear();
        self.data.clear();
        (self.owner, self.touched) = (NONE, false);
    }

    pub(super) fn is_free(&self) -> bool {
        self.owner == NONE && self.waiting.is_empty() && self.data.is_empty()
    }
}

impl Scheduler {
    /// Grants a bus to the first request in its queue.
    pub(super) fn grant(&mut self, bus: u32) {
        loop {
            let state = &mut self.buses[bus as usize];
            if state.owner != NONE {
                return;
            }
            let Some(next) = state.data.pop_front().or_else(|| state.waiting.pop_front()) else {
                return;
            };
            let granted = match next {
                Asking::Group(group) => Some(group),
                Asking::Die(die) => self.choose_with_bus(die),
            };
            if let Some(group) = granted {
                return self.occupy_bus(bus, group);
            }
        }
    }

    /// Lets a die choose its next command after the bus was granted to the die. Returns the group
    /// that uses the bus, if any.
    fn choose_with_bus(&mut self, die: u32) -> Option<u32> {
        let state = &mut self.dies[die as usize];
        state.asking = false;
        let reads_only = state.suspended != NONE;
        let queue = match reads_only {
            true => state.has_waiting(Queue::Reads).then_some(Queue::Reads),
            false => self.next_queue(die),
        };
        let queue = queue.filter(|queue| self.takes(die, *queue))?;
        let group = self.begin(die, queue);
        if self.groups[group as usize].phase == Phase::In {
            return Some(group);
        }
        self.go_on(group);
        None
    }

    fn occupy_bus(&mut self, bus: u32, index: u32) {
        let state = &mut self.buses[bus as usize];
        (state.owner, state.since) = (index, self.now);
        let group = &self.groups[index as usize];
        if group.phase == Phase::In {
            let at = later(self.now, group.bus_in);
            self.schedule(at, Event::Released(bus));
            return;
        }
        let end = later(self.now, group.bus_out);
        if group.first != group.last {
            self.bring_over(index);
        }
        self.schedule(end, Event::Released(bus));
    }

    pub(super) fn released(&mut self, bus: u32) {
        let state = &mut self.buses[bus as usize];
        let group = std::mem::replace(&mut state.owner, NONE);
        state.busy = later(state.busy, Nanos(self.now.0 - state.since.0));
        self.touch_bus(bus);
        self.next_phase(group);
    }
}
