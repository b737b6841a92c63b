//! Groups of commands that a die carries out together, and their phases.

use flashscope_block::Nanos;

use super::bus::Asking;
use super::command::Op;
use super::die::{Die, Queue};
use super::events::Event;
use super::graph::{NONE, State};
use super::queue::Links;
use super::scheduler::Scheduler;
use super::setup::BusOrder;
use crate::arithmetic::later;

/// A phase of a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Phase {
    /// Command cycles on the bus, and the data of a program.
    In,
    Cells,
    /// The data of a read on the bus.
    Out,
    End,
}

/// One or several commands that a die carries out together.
#[derive(Debug, Clone)]
#[repr(align(64))]
pub(super) struct Group {
    pub(super) op: Op,
    /// True if several commands are carried out one after the other.
    pub(super) is_row: bool,
    /// True if its first command was of [`super::Level::Low`] when it began.
    pub(super) is_low: bool,
    /// Number of commands.
    pub(super) count: u8,
    pub(super) die: u32,
    bus: u32,
    /// The first command, which links to the commands in other planes.
    pub(super) first: u32,
    /// The last of the linked commands.
    pub(super) last: u32,
    pub(super) phase: Phase,
    /// Times of the phases.
    pub(super) bus_in: Nanos,
    pub(super) bus_out: Nanos,
    /// The time left in the cells.
    pub(super) remaining: Nanos,
    pub(super) token: u32,
    pub(super) in_cells: bool,
    /// True if the group waits for the cache register, or the cells.
    blocked: bool,
    pub(super) suspensions: u32,
}

impl Scheduler {
    /// Makes a group of the first command of a queue and the commands that join it.
    pub(super) fn begin(&mut self, die: u32, queue: Queue) -> u32 {
        let first = self.dies[die as usize].queues[queue as usize].first;
        self.start(die, queue, first);
        let node = &self.graph.nodes[first as usize];
        let task = node.task.expect("only commands wait at dies");
        let is_row = node.is_row();
        let program = task.op == Op::Program;
        let data = |carried: bool| Nanos(if carried { task.transfer.0 } else { 0 });
        let mut group = Group {
            op: task.op,
            is_row,
            is_low: queue == Queue::Low,
            count: 1,
            die,
            bus: self.dies[die as usize].bus,
            first,
            last: first,
            phase: Phase::In,
            bus_in: later(self.setup.command, data(program)),
            bus_out: data(!program),
            remaining: task.cells,
            token: 0,
            in_cells: false,
            blocked: false,
            suspensions: 0,
        };
        let joins = self.setup.multi_plane && self.planes > 1 || self.packages > 1;
        if joins && task.joins && !is_row {
            self.join(&mut group, &task, queue);
        }
        if !self.begins_on_bus(task.op) {
            group.phase = Phase::Cells;
        }
        let index = self.add_group(group);
        let state = &mut self.dies[die as usize];
        state.occupied_since.get_or_insert(self.now);
        state.has_turn &= queue != Queue::Low;
        if program && !is_row && self.setup.cache_program {
            state.cache = index;
        } else {
            state.current = index;
        }
        index
    }

    fn add_group(&mut self, group: Group) -> u32 {
        match self.free_groups.pop() {
            Some(index) => {
                // The token differs from that of the previous group at this index, whose events
                // must not match.
                let token = self.groups[index as usize].token.wrapping_add(1);
                self.groups[index as usize] = Group { token, ..group };
                index
            }
            None => {
                self.groups.push(group);
                u32::try_from(self.groups.len() - 1).expect("at most three groups for each die")
            }
        }
    }

    /// Removes a command from its queue, because its die begins to carry it out.
    pub(super) fn start(&mut self, die: u32, queue: Queue, node: u32) {
        let state = &mut self.dies[die as usize];
        state.queues[queue as usize].remove(&mut self.graph.nodes, node);
        state.reads_started += u64::from(queue == Queue::Reads);
        let started = &mut self.graph.nodes[node as usize];
        started.state = State::Running;
        started.started = self.now;
        if let Some(task) = &started.task {
            self.totals.classes[task.class as usize].start(self.now, started.arrived);
        }
    }

    /// Starts the current phase of a group, or ends the group after the last phase.
    #[inline]
    pub(super) fn go_on(&mut self, index: u32) {
        if self.setup.has_registers() && self.waits_for_register(index) {
            return;
        }
        match self.groups[index as usize].phase {
            Phase::In => self.ask_for_bus(index, false),
            Phase::Cells => self.start_cells(index),
            Phase::Out => self.ask_for_bus(index, true),
            Phase::End => self.finish(index),
        }
    }

    /// Moves data between the cells and the cache register, if the current phase of a group needs
    /// to. Returns true if the group has to wait for the register or the cells.
    fn waits_for_register(&mut self, index: u32) -> bool {
        let group = &mut self.groups[index as usize];
        let die = group.die;
        let is_cached_read = group.op == Op::Read && !group.is_row && self.setup.cache_read;
        let state = &mut self.dies[die as usize];
        match group.phase {
            // The data of a cached program has arrived. It moves on as soon as the cells are free.
            Phase::Cells if state.cache == index => {
                if state.current != NONE {
                    group.blocked = true;
                    return true;
                }
                (state.cache, state.current) = (NONE, index);
            }
            // The data of the previous read may still be in the cache register.
            Phase::Out if is_cached_read => {
                if state.cache != NONE {
                    group.blocked = true;
                    return true;
                }
                (state.cache, state.current) = (index, NONE);
            }
            _ => return false,
        }
        self.touch_die(die);
        false
    }

    #[inline]
    fn ask_for_bus(&mut self, index: u32, data: bool) {
        let bus = self.groups[index as usize].bus;
        let state = &mut self.buses[bus as usize];
        let data_first = data && self.setup.bus_order == BusOrder::DataFirst;
        let queue = if data_first { &mut state.data } else { &mut state.waiting };
        queue.push_back(Asking::Group(index));
        self.touch_bus(bus);
    }

    /// Ends the current phase of a group and starts the next phase.
    #[inline]
    pub(super) fn next_phase(&mut self, index: u32) {
        let group = &mut self.groups[index as usize];
        group.phase = match (group.phase, group.op) {
            (Phase::In, _) => Phase::Cells,
            (Phase::Cells, Op::Read) => Phase::Out,
            (Phase::Cells | Phase::Out | Phase::End, _) => Phase::End,
        };
        if group.phase == Phase::End && group.is_row {
            self.next_in_row(index);
        }
        self.go_on(index);
    }

    /// Starts the next command of a row, if there is one.
    fn next_in_row(&mut self, index: u32) {
        let done = self.groups[index as usize].first;
        let next = self.graph.nodes[done as usize].then;
        if next == NONE {
            return;
        }
        self.complete(done, 1);
        let now = self.now;
        let node = &mut self.graph.nodes[next as usize];
        (node.state, node.arrived, node.started) = (State::Running, now, now);
        // A command of a row was never in a queue: its links are left over from an earlier command.
        node.links = Links::NONE;
        let task = node.task.expect("a row consists of commands");
        let class = &mut self.totals.classes[task.class as usize];
        class.arrive(now);
        class.start(now, now);
        let program = task.op == Op::Program;
        let phase = if self.begins_on_bus(task.op) { Phase::In } else { Phase::Cells };
        let group = &mut self.groups[index as usize];
        (group.first, group.last) = (next, next);
        group.op = task.op;
        group.phase = phase;
        let data = if program { task.transfer } else { Nanos(0) };
        group.bus_in = later(self.setup.command, data);
        group.bus_out = if program { Nanos(0) } else { task.transfer };
        group.remaining = task.cells;
    }

    fn finish(&mut self, index: u32) {
        let group = &self.groups[index as usize];
        // The joined reads before the last one were done when their pages had crossed the bus.
        let first = if group.op == Op::Read { group.last } else { group.first };
        let (die, together) = (group.die, u32::from(group.count));
        let state = &mut self.dies[die as usize];
        if state.current == index {
            state.current = NONE;
        } else {
            state.cache = NONE;
        }
        if self.setup.has_registers() {
            self.unblock_register(die);
        }
        let state = &mut self.dies[die as usize];
        if state.carries_out_nothing()
            && let Some(since) = state.occupied_since.take()
        {
            state.occupied = later(state.occupied, Nanos(self.now.0 - since.0));
        }
        self.free_groups.push(index);
        self.touch_die(die);
        let mut node = first;
        while node != NONE {
            let next = self.graph.nodes[node as usize].links.after;
            self.complete(node, together);
            node = next;
        }
    }

    /// Resumes a group that waited for a register of a die.
    fn unblock_register(&mut self, die: u32) {
        let Die { cache, current, .. } = self.dies[die as usize];
        for other in [cache, current] {
            if other != NONE && self.groups[other as usize].blocked {
                self.groups[other as usize].blocked = false;
                self.go_on(other);
            }
        }
    }

    #[inline]
    pub(super) fn start_cells(&mut self, index: u32) {
        let group = &mut self.groups[index as usize];
        group.in_cells = true;
        let (die, token, remaining) = (group.die, group.token, group.remaining);
        self.dies[die as usize].cells_since = self.now;
        let at = later(self.now, remaining);
        self.schedule(at, Event::CellsDone { group: index, token });
        if self.setup.policy.suspends {
            self.touch_die(die);
        }
    }

    pub(super) fn cells_done(&mut self, index: u32, token: u32) {
        let group = &mut self.groups[index as usize];
        // With another token, the group was suspended after this event was scheduled.
        if group.token == token {
            group.in_cells = false;
            let die = &mut self.dies[group.die as usize];
            die.cells = later(die.cells, Nanos(self.now.0 - die.cells_since.0));
            self.next_phase(index);
        }
    }

    /// Ends one of several joined reads, whose page has been transferred over the bus.
    pub(super) fn page_over(&mut self, node: u32) {
        let task = self.graph.nodes[node as usize].task.as_ref();
        let bus = task.map(|task| self.dies[task.die as usize].bus);
        let group = bus.map_or(NONE, |bus| self.buses[bus as usize].owner);
        let together = self.groups.get(group as usize).map_or(1, |group| u32::from(group.count));
        self.complete(node, together);
    }
}
