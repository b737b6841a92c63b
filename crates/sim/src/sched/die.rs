//! Dies and buses: what they hold, what a die does next, and the phases of a group of commands.

use std::collections::VecDeque;

use flashscope_block::Nanos;

use super::command::{Command, Level, Op};
use super::events::Event;
use super::graph::{NONE, State};
use super::queue::List;
use super::scheduler::Scheduler;
use super::setup::{BusOrder, ChoiceTime};
use super::{Choice, Waiting};
use crate::nand::later;

/// A queue of a die.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Queue {
    Urgent,
    Reads,
    Others,
    Low,
}

/// A die: what it carries out, and what waits for it.
#[derive(Debug)]
pub(super) struct Die {
    bus: u32,
    /// By [`Queue`].
    pub(super) queues: [List; 4],
    /// The groups that it carries out, that is in its cache register, and that it has suspended.
    pub(super) current: u32,
    cache: u32,
    suspended: u32,
    /// Is true if it waits for its bus to choose then.
    asking: bool,
    pub(super) cells_since: Nanos,
    pub(super) cells: Nanos,
    pub(super) occupied_since: Option<Nanos>,
    pub(super) occupied: Nanos,
    pub(super) touched: bool,
    pub(super) reads_arrived: u64,
    reads_started: u64,
    /// When it looks again whether it can suspend.
    check_at: Option<Nanos>,
}

impl Die {
    pub(super) fn new(bus: u32) -> Die {
        Die {
            bus,
            queues: [List::EMPTY; 4],
            current: NONE,
            cache: NONE,
            suspended: NONE,
            asking: false,
            cells_since: Nanos(0),
            cells: Nanos(0),
            occupied_since: None,
            occupied: Nanos(0),
            touched: false,
            reads_arrived: 0,
            reads_started: 0,
            check_at: None,
        }
    }

    /// Drops what it does and what waits, but not what it has counted.
    pub(super) fn reset(&mut self) {
        let (occupied, cells) = (self.occupied, self.cells);
        *self = Die { occupied, cells, ..Die::new(self.bus) };
    }

    pub(super) fn queue_for(&self, command: &Command, is_row: bool) -> Queue {
        match command.level {
            Level::Urgent => Queue::Urgent,
            Level::Low => Queue::Low,
            Level::Equal if command.op == Op::Read && !is_row => Queue::Reads,
            Level::Equal => Queue::Others,
        }
    }

    fn has_waiting(&self, queue: Queue) -> bool {
        !self.queues[queue as usize].is_empty()
    }

    fn carries_out_nothing(&self) -> bool {
        self.current == NONE && self.cache == NONE && self.suspended == NONE
    }

    pub(super) fn is_idle(&self) -> bool {
        self.carries_out_nothing() && self.queues.iter().all(|queue| queue.is_empty())
    }
}

/// A request for a bus.
#[derive(Debug, Clone, Copy)]
enum Asking {
    Group(u32),
    /// A die that chooses when it gets the bus.
    Die(u32),
}

/// The serial bus that some dies share.
#[derive(Debug)]
pub(super) struct Bus {
    waiting: VecDeque<Asking>,
    /// Data of reads, where that goes first.
    data: VecDeque<Asking>,
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

    fn is_free(&self) -> bool {
        self.owner == NONE && self.waiting.is_empty() && self.data.is_empty()
    }
}

/// The phases of a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    /// Command cycles on the bus, and the data of a program.
    In,
    Cells,
    /// The data of a read on the bus.
    Out,
    End,
}

/// One or several commands that a die carries out together.
#[derive(Debug, Clone)]
pub(super) struct Group {
    op: Op,
    /// Is true if several commands are carried out one after the other.
    is_row: bool,
    die: u32,
    /// The first command, which links to the others in other planes, and the last of these.
    first: u32,
    last: u32,
    phase: Phase,
    /// Times of the phases.
    bus_in: Nanos,
    bus_out: Nanos,
    /// The time left in the cells.
    remaining: Nanos,
    token: u32,
    pub(super) in_cells: bool,
    /// Is true if it waits for the cache register, or the cells.
    blocked: bool,
    suspensions: u32,
}

impl Scheduler {
    /// Returns true if the first phase of such a command is on the bus.
    fn begins_on_bus(&self, op: Op) -> bool {
        op == Op::Program || self.setup.command > Nanos(0)
    }

    fn group_op(&self, group: u32) -> Option<Op> {
        let group = self.groups.get(group as usize)?;
        (!group.is_row).then_some(group.op)
    }

    /// Returns the queue whose first command is next by the policy.
    fn next_queue(&self, die: u32) -> Option<Queue> {
        let state = &self.dies[die as usize];
        if state.has_waiting(Queue::Urgent) {
            return Some(Queue::Urgent);
        }
        match (state.has_waiting(Queue::Reads), state.has_waiting(Queue::Others)) {
            (false, false) => state.has_waiting(Queue::Low).then_some(Queue::Low),
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
        Waiting {
            read_number: read.number,
            other_number: other.number,
            overtaken: state.reads_started.saturating_sub(other.reads_before),
            waited: Nanos(self.now.0 - other.arrived.0),
            limits: self.setup.limits,
            read_starts: self.starts_now(die, Queue::Reads),
            other_starts: self.starts_now(die, Queue::Others),
        }
    }

    /// Returns true if the first command of a queue can begin its first phase at this instant.
    fn starts_now(&self, die: u32, queue: Queue) -> bool {
        let state = &self.dies[die as usize];
        let node = &self.graph.nodes[state.queues[queue as usize].first as usize];
        let Some(command) = node.command else { return false };
        let bus_free = self.buses[state.bus as usize].is_free();
        self.takes(die, queue) && (bus_free || !self.begins_on_bus(command.op))
    }

    /// Returns true if a die can take the first command of a queue beside what it carries out.
    fn takes(&self, die: u32, queue: Queue) -> bool {
        let state = &self.dies[die as usize];
        let node = &self.graph.nodes[state.queues[queue as usize].first as usize];
        let op = node.command.filter(|_| !node.is_row()).map(|command| command.op);
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

    /// Starts what is next at a die, where the die can take it.
    pub(super) fn decide(&mut self, die: u32) {
        let state = &self.dies[die as usize];
        let (current, suspended) = (state.current, state.suspended);
        if suspended != NONE && current == NONE {
            if state.has_waiting(Queue::Reads) {
                self.begin_or_ask(die, Queue::Reads);
            } else {
                self.resume(die);
            }
            return;
        }
        if current != NONE && !self.setup.cache_program {
            if self.setup.policy.suspends && state.has_waiting(Queue::Reads) {
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

    /// Begins with the first command of a queue, or asks for the bus to choose again then.
    fn begin_or_ask(&mut self, die: u32, queue: Queue) {
        let state = &self.dies[die as usize];
        if state.asking {
            return;
        }
        let node = &self.graph.nodes[state.queues[queue as usize].first as usize];
        let op = node.command.map_or(Op::Erase, |command| command.op);
        if self.setup.choice_time == ChoiceTime::DieFree || !self.begins_on_bus(op) {
            let group = self.begin(die, queue);
            self.go_on(group);
            return;
        }
        let bus = state.bus;
        self.dies[die as usize].asking = true;
        self.buses[bus as usize].waiting.push_back(Asking::Die(die));
        self.touch_bus(bus);
    }

    /// Makes a group of the first command of a queue and those that join it.
    fn begin(&mut self, die: u32, queue: Queue) -> u32 {
        let first = self.dies[die as usize].queues[queue as usize].first;
        self.start(die, queue, first);
        let node = &self.graph.nodes[first as usize];
        let command = node.command.expect("only commands wait at dies");
        let is_row = node.is_row();
        let program = command.op == Op::Program;
        let data = |program: bool, command: &Command| if program { command.transfer.0 } else { 0 };
        let mut group = Group {
            op: command.op,
            is_row,
            die,
            first,
            last: first,
            phase: Phase::In,
            bus_in: later(self.setup.command, Nanos(data(program, &command))),
            bus_out: Nanos(data(!program, &command)),
            remaining: command.cells,
            token: 0,
            in_cells: false,
            blocked: false,
            suspensions: 0,
        };
        let joins = self.setup.multi_plane && self.planes > 1 || self.packages > 1;
        if joins && command.joins && !is_row {
            self.join(&mut group, &command, queue);
        }
        if !self.begins_on_bus(command.op) {
            group.phase = Phase::Cells;
        }
        let index = self.add_group(group);
        let state = &mut self.dies[die as usize];
        state.occupied_since.get_or_insert(self.now);
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
                // A token of the group that was here before must not be taken for one of this.
                let token = self.groups[index as usize].token.wrapping_add(1);
                self.groups[index as usize] = Group { token, ..group };
                index
            }
            None => {
                self.groups.push(group);
                u32::try_from(self.groups.len() - 1).expect("three groups a die")
            }
        }
    }

    /// Takes a command out of its queue, because its die begins with it.
    fn start(&mut self, die: u32, queue: Queue, node: u32) {
        let state = &mut self.dies[die as usize];
        state.queues[queue as usize].remove(&mut self.graph.nodes, node);
        state.reads_started += u64::from(queue == Queue::Reads);
        let started = &mut self.graph.nodes[node as usize];
        started.state = State::Running;
        started.started = self.now;
        if let Some(command) = started.command {
            self.totals.classes[command.class as usize].start(self.now, started.arrived);
        }
    }

    /// Adds waiting commands of the same kind and row in other planes, or in other packages that
    /// share control pins, to a group, oldest first.
    fn join(&mut self, group: &mut Group, first: &Command, queue: Queue) {
        let (mut taken, mut passed) = (self.part_of(first), 0u128);
        let (mut count, most) = (1, self.planes * self.packages);
        let mut next = self.dies[group.die as usize].queues[queue as usize].first;
        while next != NONE && count < most {
            let node = next;
            let state = &self.graph.nodes[node as usize];
            next = state.links.after;
            let (is_row, command) = (state.is_row(), state.command.expect("it waits at a die"));
            let part = self.part_of(&command);
            if command.op != first.op || is_row || taken & part != 0 || passed & part != 0 {
                continue;
            }
            if !command.joins || !self.joins_all(group, &command) {
                passed |= if self.setup.in_order_planes { part } else { 0 };
                continue;
            }
            taken |= part;
            count += 1;
            self.start(group.die, queue, node);
            self.totals.joined += 1;
            self.graph.nodes[group.last as usize].links.after = node;
            group.last = node;
            group.remaining = group.remaining.max(command.cells);
        }
        if count > 1 {
            self.add_transfers(group);
        }
    }

    /// Returns the bit of the plane, or of the package with its planes, that a command occupies.
    fn part_of(&self, command: &Command) -> u128 {
        match self.packages {
            1 => 1 << command.plane,
            _ => 1 << (2 * command.package + command.plane),
        }
    }

    /// Returns true if a command can be carried out together with those of a group: those in the
    /// planes of its package are of its row.
    fn joins_all(&self, group: &Group, command: &Command) -> bool {
        let mut node = group.first;
        loop {
            let state = &self.graph.nodes[node as usize];
            let other = state.command.expect("a group is of commands");
            let apart = other.package != command.package;
            if !apart && (!self.setup.multi_plane || other.row != command.row) {
                return false;
            }
            if node == group.last {
                return true;
            }
            node = state.links.after;
        }
    }

    /// Sets the times of a group on the bus: one command after the other, packages at once.
    fn add_transfers(&self, group: &mut Group) {
        let program = group.op == Op::Program;
        let mut packages = [Nanos(0); 64];
        let mut node = group.first;
        loop {
            let state = &self.graph.nodes[node as usize];
            let command = state.command.expect("a group is of commands");
            let data = if program { command.transfer } else { Nanos(0) };
            let time = &mut packages[command.package as usize];
            *time = later(*time, later(self.setup.command, data));
            if node == group.last {
                break;
            }
            node = state.links.after;
        }
        group.bus_in = packages.into_iter().max().unwrap_or_default();
        group.bus_out = if program { Nanos(0) } else { self.last_over(group.first, group.last).1 };
    }

    /// Returns the command of joined reads whose data is over last, and how long that takes.
    fn last_over(&self, first: u32, last: u32) -> (u32, Nanos) {
        let mut found = (first, Nanos(0));
        let mut packages = [Nanos(0); 64];
        let mut node = first;
        loop {
            let state = &self.graph.nodes[node as usize];
            let command = state.command.expect("a group is of commands");
            let time = &mut packages[command.package as usize];
            *time = later(*time, command.transfer);
            if *time >= found.1 {
                found = (node, *time);
            }
            if node == last {
                return found;
            }
            node = state.links.after;
        }
    }

    /// Goes on with the present phase of a group, or ends it.
    fn go_on(&mut self, index: u32) {
        let group = &self.groups[index as usize];
        let (die, phase) = (group.die, group.phase);
        let is_cached_read = group.op == Op::Read && !group.is_row && self.setup.cache_read;
        let state = &mut self.dies[die as usize];
        match phase {
            Phase::End => return self.finish(index),
            Phase::Cells => {
                // The data of a cached program is there: into the cells when these are free.
                if state.cache == index {
                    if state.current != NONE {
                        self.groups[index as usize].blocked = true;
                        return;
                    }
                    (state.cache, state.current) = (NONE, index);
                    self.touch_die(die);
                }
                return self.start_cells(index);
            }
            Phase::Out if is_cached_read => {
                // The data of the read before is still in the cache register.
                if state.cache != NONE {
                    self.groups[index as usize].blocked = true;
                    return;
                }
                (state.cache, state.current) = (index, NONE);
                self.touch_die(die);
            }
            Phase::In | Phase::Out => {}
        }
        let data = phase == Phase::Out && self.setup.bus_order == BusOrder::DataFirst;
        let bus = self.dies[die as usize].bus;
        let state = &mut self.buses[bus as usize];
        let queue = if data { &mut state.data } else { &mut state.waiting };
        queue.push_back(Asking::Group(index));
        self.touch_bus(bus);
    }

    /// Ends the present phase of a group and goes on with the next.
    fn next_phase(&mut self, index: u32) {
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

    /// Goes on with the next command of a row, if there is one.
    fn next_in_row(&mut self, index: u32) {
        let done = self.groups[index as usize].first;
        let next = self.graph.nodes[done as usize].then;
        if next == NONE {
            return;
        }
        self.complete(done);
        let now = self.now;
        let node = &mut self.graph.nodes[next as usize];
        (node.state, node.arrived, node.started) = (State::Running, now, now);
        let command = node.command.expect("a row is of commands");
        let class = &mut self.totals.classes[command.class as usize];
        class.arrive(now);
        class.start(now, now);
        let program = command.op == Op::Program;
        let phase = if self.begins_on_bus(command.op) { Phase::In } else { Phase::Cells };
        let group = &mut self.groups[index as usize];
        (group.first, group.last) = (next, next);
        group.op = command.op;
        group.phase = phase;
        let data = if program { command.transfer } else { Nanos(0) };
        group.bus_in = later(self.setup.command, data);
        group.bus_out = if program { Nanos(0) } else { command.transfer };
        group.remaining = command.cells;
    }

    fn finish(&mut self, index: u32) {
        let group = &self.groups[index as usize];
        // Of joined reads, the others were done when their page had come over.
        let first = if group.op == Op::Read { group.last } else { group.first };
        let die = group.die;
        let state = &mut self.dies[die as usize];
        if state.current == index {
            state.current = NONE;
        } else {
            state.cache = NONE;
        }
        for other in [state.cache, state.current] {
            if other != NONE && self.groups[other as usize].blocked {
                self.groups[other as usize].blocked = false;
                self.go_on(other);
            }
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
            self.complete(node);
            node = next;
        }
    }

    pub(super) fn start_cells(&mut self, index: u32) {
        let group = &mut self.groups[index as usize];
        group.in_cells = true;
        let (die, token, remaining) = (group.die, group.token, group.remaining);
        self.dies[die as usize].cells_since = self.now;
        let at = later(self.now, remaining);
        self.events.schedule(at, Event::CellsDone { group: index, token });
        if self.setup.policy.suspends {
            self.touch_die(die);
        }
    }

    pub(super) fn cells_done(&mut self, index: u32, token: u32) {
        let group = &mut self.groups[index as usize];
        // Otherwise it was suspended since.
        if group.token == token {
            group.in_cells = false;
            let die = &mut self.dies[group.die as usize];
            die.cells = later(die.cells, Nanos(self.now.0 - die.cells_since.0));
            self.next_phase(index);
        }
    }

    /// Suspends the group in the cells of a die for a waiting read, if it may.
    fn consider_suspending(&mut self, die: u32, index: u32) {
        let (now, rules) = (self.now, self.setup.suspension);
        let group = &mut self.groups[index as usize];
        let suspendable = group.in_cells && !group.is_row && group.op != Op::Read;
        if !suspendable || rules.most.is_some_and(|most| group.suspensions >= most) {
            return;
        }
        let state = &mut self.dies[die as usize];
        let progress = now.0 - state.cells_since.0;
        if progress < rules.min_progress.0 {
            if state.check_at.is_none_or(|at| at < now) {
                let at = later(state.cells_since, rules.min_progress);
                state.check_at = Some(at);
                self.events.schedule(at, Event::Check(die));
            }
            return;
        }
        if group.remaining.0 - progress <= rules.min_remaining.0 {
            return;
        }
        state.cells.0 += progress;
        group.remaining.0 -= progress;
        group.token = group.token.wrapping_add(1);
        group.suspensions += 1;
        group.in_cells = false;
        self.totals.suspensions += 1;
        self.events.schedule(later(now, rules.suspend), Event::Suspended(die));
    }

    pub(super) fn suspended(&mut self, die: u32) {
        let state = &mut self.dies[die as usize];
        state.suspended = std::mem::replace(&mut state.current, NONE);
        self.touch_die(die);
    }

    fn resume(&mut self, die: u32) {
        let state = &mut self.dies[die as usize];
        let group = std::mem::replace(&mut state.suspended, NONE);
        state.current = group;
        let at = later(self.now, self.setup.suspension.resume);
        self.events.schedule(at, Event::Resumed(group));
    }

    /// Grants a bus to what asked first.
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

    /// Lets a die choose that has got the bus. Returns the group that uses it, if it does.
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
            self.events.schedule(at, Event::Released(bus));
            return;
        }
        let end = later(self.now, group.bus_out);
        if group.first != group.last {
            self.bring_over(index);
        }
        self.events.schedule(end, Event::Released(bus));
    }

    /// Lets each page of joined reads be there when it has come over. The last one ends the group.
    fn bring_over(&mut self, index: u32) {
        let (first, last) = (self.groups[index as usize].first, self.groups[index as usize].last);
        let (end, _) = self.last_over(first, last);
        let mut packages = [self.now; 64];
        let mut node = first;
        loop {
            let state = &self.graph.nodes[node as usize];
            let (after, command) = (state.links.after, state.command);
            if let Some(command) = command {
                let at = &mut packages[command.package as usize];
                *at = later(*at, command.transfer);
                if node != end {
                    self.events.schedule(*at, Event::PageOver(node));
                }
            }
            if node == last {
                break;
            }
            node = after;
        }
        self.graph.nodes[end as usize].links.after = NONE;
        self.groups[index as usize].last = end;
    }

    pub(super) fn released(&mut self, bus: u32) {
        let state = &mut self.buses[bus as usize];
        let group = std::mem::replace(&mut state.owner, NONE);
        state.busy = later(state.busy, Nanos(self.now.0 - state.since.0));
        self.touch_bus(bus);
        self.next_phase(group);
    }

    /// Adds what is in progress to the busy times, before it is dropped.
    pub(super) fn settle_busy(&mut self) {
        let now = self.now.0;
        for bus in &mut self.buses {
            let held = if bus.owner == NONE { 0 } else { now - bus.since.0 };
            bus.busy = later(bus.busy, Nanos(held));
        }
        for die in &mut self.dies {
            let occupied = die.occupied_since.take().map_or(0, |since| now - since.0);
            die.occupied = later(die.occupied, Nanos(occupied));
            if die.current != NONE && self.groups[die.current as usize].in_cells {
                die.cells = later(die.cells, Nanos(now - die.cells_since.0));
            }
        }
    }
}
