//! Dies: their queues and state, and the choice of the next command.

use flashscope_block::Nanos;

use super::bus::Asking;
use super::command::{Level, Op, Task};
use super::graph::NONE;
use super::queue::List;
use super::scheduler::Scheduler;
use super::setup::ChoiceTime;
use super::{Choice, Waiting};

/// A queue of a die.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Queue {
    Urgent,
    Reads,
    Others,
    Low,
}

/// A die: the commands that it carries out, and those that wait for it.
///
/// The first cache line holds the fields for decisions.
#[derive(Debug)]
#[repr(C, align(64))]
pub(super) struct Die {
    pub(super) bus: u32,
    /// The waiting commands, by [`Queue`].
    pub(super) queues: [List; 4],
    /// The group in execution.
    pub(super) current: u32,
    /// The group in the cache register.
    pub(super) cache: u32,
    /// The suspended group.
    pub(super) suspended: u32,
    /// True if the die waits for its bus, to choose a command when the bus is granted.
    pub(super) asking: bool,
    pub(super) touched: bool,
    /// True if the first low command goes next: see [`Scheduler::give_turns`].
    pub(super) has_turn: bool,
    pub(super) cells_since: Nanos,
    pub(super) cells: Nanos,
    /// The time of the last suspension.
    pub(super) suspended_since: Nanos,
    pub(super) occupied_since: Option<Nanos>,
    pub(super) occupied: Nanos,
    pub(super) reads_arrived: u64,
    pub(super) reads_started: u64,
    /// The time of the last scheduled check whether the die can suspend its command; 0 before the
    /// first check.
    pub(super) check_at: Nanos,
}

// Each decision reads one die of many: three lines would cost another cache miss.
const _: () = assert!(size_of::<Die>() == 128);

impl Die {
    pub(super) fn new(bus: u32) -> Die {
        Die {
            bus,
            queues: [List::EMPTY; 4],
            current: NONE,
            cache: NONE,
            suspended: NONE,
            asking: false,
            suspended_since: Nanos(0),
            cells_since: Nanos(0),
            cells: Nanos(0),
            occupied_since: None,
            occupied: Nanos(0),
            touched: false,
            reads_arrived: 0,
            reads_started: 0,
            check_at: Nanos(0),
            has_turn: false,
        }
    }

    /// Drops its current and waiting commands, but keeps its counters.
    pub(super) fn reset(&mut self) {
        let (occupied, cells) = (self.occupied, self.cells);
        *self = Die { occupied, cells, ..Die::new(self.bus) };
    }

    pub(super) fn queue_for(&self, task: &Task, is_row: bool) -> Queue {
        match task.level {
            Level::Urgent => Queue::Urgent,
            Level::Low => Queue::Low,
            Level::Equal if task.op == Op::Read && !is_row => Queue::Reads,
            Level::Equal => Queue::Others,
        }
    }

    #[inline]
    pub(super) fn has_waiting(&self, queue: Queue) -> bool {
        !self.queues[queue as usize].is_empty()
    }

    #[inline]
    pub(super) fn carries_out_nothing(&self) -> bool {
        self.current == NONE && self.cache == NONE && self.suspended == NONE
    }

    pub(super) fn is_idle(&self) -> bool {
        self.carries_out_nothing() && self.queues.iter().all(|queue| queue.is_empty())
    }
}

impl Scheduler {
    /// Returns true if the first phase of a command with this operation is on the bus.
    #[inline]
    pub(super) fn begins_on_bus(&self, op: Op) -> bool {
        op == Op::Program || self.setup.command > Nanos(0)
    }

    fn group_op(&self, group: u32) -> Option<Op> {
        let group = self.groups.get(group as usize)?;
        (!group.is_row).then_some(group.op)
    }

    /// Returns the queue whose first command the policy chooses next.
    #[inline]
    pub(super) fn next_queue(&self, die: u32) -> Option<Queue> {
        let state = &self.dies[die as usize];
        if state.has_waiting(Queue::Urgent) {
            return Some(Queue::Urgent);
        }
        let low = state.has_waiting(Queue::Low);
        if state.has_turn && low {
            return Some(Queue::Low);
        }
        match (state.has_waiting(Queue::Reads), state.has_waiting(Queue::Others)) {
            (false, false) => (low && !self.low_held).then_some(Queue::Low),
            (false, true) => Some(Queue::Others),
            (true, false) => Some(Queue::Reads),
            (true, true) => match (self.setup.policy.choose)(&self.waiting_at(die)) {
                Choice::Read => Some(Queue::Reads),
                Choice::Other => Some(Queue::Others),
            },
        }
    }

    fn waiting_at(&self, die: u32) -> Waiting {
        let state = &self.dies[die as usize];
        let first = |queue: Queue| &self.graph.nodes[state.queues[queue as usize].first as usize];
        let (read, other) = (first(Queue::Reads), first(Queue::Others));
        let weighs = self.setup.policy.weighs_starts;
        Waiting {
            read_number: read.number,
            other_number: other.number,
            overtaken: state.reads_started.saturating_sub(other.reads_before),
            waited: Nanos(self.now.0 - other.arrived.0),
            limits: self.setup.limits,
            read_starts: weighs && self.starts_now(die, Queue::Reads),
            other_starts: weighs && self.starts_now(die, Queue::Others),
        }
    }

    /// Returns true if the first command of a queue can begin its first phase at this instant.
    fn starts_now(&self, die: u32, queue: Queue) -> bool {
        let state = &self.dies[die as usize];
        let node = &self.graph.nodes[state.queues[queue as usize].first as usize];
        let Some(task) = &node.task else { return false };
        let bus_free = self.buses[state.bus as usize].is_free();
        self.takes(die, queue) && (bus_free || !self.begins_on_bus(task.op))
    }

    /// Returns true if a die can take the first command of a queue in addition to its current
    /// commands.
    #[inline]
    pub(super) fn takes(&self, die: u32, queue: Queue) -> bool {
        let state = &self.dies[die as usize];
        if !self.setup.has_registers() {
            return state.current == NONE;
        }
        let node = &self.graph.nodes[state.queues[queue as usize].first as usize];
        let op = node.task.filter(|_| !node.is_row()).map(|task| task.op);
        let (current, cache) = (state.current, state.cache);
        match op {
            Some(Op::Read) => {
                let cached_read = self.setup.cache_read && self.group_op(cache) == Some(Op::Read);
                current == NONE && (cache == NONE || cached_read)
            }
            Some(Op::Program) if self.setup.cache_program => {
                let programs = self.group_op(current) == Some(Op::Program);
                cache == NONE && (current == NONE || programs)
            }
            _ => current == NONE && cache == NONE,
        }
    }

    /// Starts the next command of a die, if the die can take it.
    #[inline]
    pub(super) fn decide(&mut self, die: u32) {
        let state = &self.dies[die as usize];
        let (current, reads) = (state.current, state.has_waiting(Queue::Reads));
        if current == NONE && state.suspended != NONE {
            return match reads {
                true => self.begin_or_ask(die, Queue::Reads),
                false => self.resume(die),
            };
        }
        if current != NONE && !self.setup.cache_program {
            if reads && self.setup.policy.suspends {
                self.consider_suspending(die, current);
            }
            return;
        }
        match self.next_queue(die) {
            Some(queue) if self.takes(die, queue) => self.begin_or_ask(die, queue),
            Some(_) => {}
            None if self.reports_idle && self.dies[die as usize].is_idle() => {
                self.report_idle_die(die);
            }
            None => {}
        }
    }

    /// Starts the first command of a queue. If the die chooses when it gets the bus, requests the
    /// bus instead.
    pub(super) fn begin_or_ask(&mut self, die: u32, queue: Queue) {
        let state = &self.dies[die as usize];
        if state.asking {
            return;
        }
        let node = &self.graph.nodes[state.queues[queue as usize].first as usize];
        let on_bus = || node.task.as_ref().is_some_and(|task| self.begins_on_bus(task.op));
        if self.setup.choice_time == ChoiceTime::DieFree || !on_bus() {
            let group = self.begin(die, queue);
            self.go_on(group);
            return;
        }
        let bus = state.bus;
        self.dies[die as usize].asking = true;
        self.buses[bus as usize].waiting.push_back(Asking::Die(die));
        self.touch_bus(bus);
    }
}
