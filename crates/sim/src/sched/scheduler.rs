use std::collections::VecDeque;

use flashscope_block::Nanos;

use super::bus::Bus;
use super::command::{Class, Command, Level, Op, Task, Ticket};
use super::die::{Die, Queue};
use super::events::{Event, Events};
use super::graph::{Graph, NO_OWNER, NONE, READY, State};
use super::phases::Group;
use super::setup::{Parts, Setup};
use super::statistics::{Busy, Totals};
use crate::arithmetic::later;

/// The result of [`Scheduler::advance`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SchedulerEvent {
    /// A command with an owner is done, at the time of the clock.
    Done {
        /// See [`Command::owner`].
        owner: u64,
        /// The time at which the command arrived at its die; the current time for a join.
        arrived: Nanos,
        /// The time at which its die began to carry the command out; the current time for a join.
        started: Nanos,
        /// The number of commands that its die carried out together, this one included; 0 for a
        /// join.
        together: u32,
    },
    /// A die resumes a suspended program or erase with an owner, at the time of the clock. See
    /// [`Scheduler::report_suspensions`].
    Resumed {
        /// See [`Command::owner`].
        owner: u64,
        /// The time at which the command arrived at its die.
        arrived: Nanos,
        /// The time at which its die began to carry the command out.
        started: Nanos,
        /// The time at which the command was suspended.
        since: Nanos,
    },
    /// A time that [`Scheduler::set_timer`] set.
    Timer(u32),
    /// A die has nothing to do, and nothing waits for it.
    Idle(u32),
}

/// The progress of a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Status {
    /// The die has not begun to carry the command out.
    Waiting,
    /// The die carries the command out, or has suspended it.
    Running,
    /// The command is done.
    Done,
}

/// The scheduler. Its clock advances only in [`Scheduler::advance`] and [`Scheduler::reset`].
#[derive(Debug)]
pub struct Scheduler {
    pub(super) setup: Setup,
    pub(super) now: Nanos,
    pub(super) graph: Graph,
    pub(super) events: Events,
    pub(super) dies: Vec<Die>,
    pub(super) buses: Vec<Bus>,
    pub(super) groups: Vec<Group>,
    pub(super) free_groups: Vec<u32>,
    pub(super) planes: u32,
    /// See [`Parts::packages`].
    pub(super) packages: u32,
    /// Dies that have something to decide at the end of this instant.
    pub(super) touched_dies: Vec<u32>,
    /// Buses that have something to decide at the end of this instant.
    pub(super) touched_buses: Vec<u32>,
    /// True if an event has happened since the last decisions.
    pub(super) stirred: bool,
    pub(super) happened: VecDeque<SchedulerEvent>,
    /// The number of arrivals at dies so far.
    pub(super) arrivals: u64,
    pub(super) totals: Totals,
    /// True if dies report that they are idle.
    pub(super) reports_idle: bool,
    /// True if suspended commands are reported when they resume.
    pub(super) reports_suspensions: bool,
    /// True while low commands begin only in their turn: see [`Scheduler::hold_low`].
    pub(super) low_held: bool,
}

impl Scheduler {
    /// Creates an idle scheduler at time 0.
    pub fn new(setup: Setup, parts: &Parts) -> Scheduler {
        Scheduler {
            setup,
            now: Nanos(0),
            graph: Graph::new(),
            events: Events::new(),
            dies: parts.bus_of.iter().map(|bus| Die::new(*bus)).collect(),
            buses: (0..parts.buses).map(|_| Bus::default()).collect(),
            groups: Vec::new(),
            free_groups: Vec::new(),
            planes: parts.planes,
            packages: parts.packages,
            touched_dies: Vec::new(),
            touched_buses: Vec::new(),
            stirred: false,
            happened: VecDeque::new(),
            arrivals: 0,
            totals: Totals::default(),
            reports_idle: false,
            reports_suspensions: false,
            low_held: false,
        }
    }

    /// Returns true if dies stand for several packages: see [`Parts::packages`].
    pub(crate) fn has_gangs(&self) -> bool {
        self.packages > 1
    }

    /// Lets dies report from now on that they are idle: see [`SchedulerEvent::Idle`].
    pub(crate) fn report_idle(&mut self) {
        self.reports_idle = true;
    }

    /// Returns true if dies report that they are idle.
    pub(crate) fn reports_idle(&self) -> bool {
        self.reports_idle
    }

    /// From now on, reports each suspension when it ends: see [`SchedulerEvent::Resumed`].
    pub(crate) fn report_suspensions(&mut self) {
        self.reports_suspensions = true;
    }

    /// Returns the time of the clock.
    pub fn now(&self) -> Nanos {
        self.now
    }

    /// Adds a command that waits until it is released.
    pub fn add(&mut self, command: Command) -> Ticket {
        self.graph.add(Some(command), command.owner)
    }

    /// Adds a join, which takes no time and is done when the commands that it waits for are done.
    /// It also waits until it is released.
    pub(crate) fn add_join(&mut self, owner: Option<u64>) -> Ticket {
        self.graph.add(None, owner)
    }

    /// Adds a join that is done `delay` after a command, or `delay` from now if the command is
    /// done.
    pub(crate) fn add_delay(&mut self, after: Ticket, delay: Nanos) -> Ticket {
        let ticket = self.graph.add(None, None);
        self.graph.nodes[ticket.node as usize].delay = delay;
        self.graph.follow(ticket, after);
        self.unblock(ticket.node);
        ticket
    }

    /// The number that stands for no tally.
    pub(crate) const NO_TALLY: u32 = NONE;

    /// Counts a command, unless it is done, in the tally of `key`, a number below `u32::MAX` that
    /// the caller chooses. `tally` is the number that the last call for this key returned, or
    /// [`Scheduler::NO_TALLY`]. Returns the current number of the tally.
    #[inline]
    pub fn count(&mut self, tally: u32, key: u32, command: Ticket) -> u32 {
        self.graph.count(tally, key, command)
    }

    /// Returns true if every command that the tally of `key` counts is done.
    #[inline]
    pub(crate) fn is_tally_empty(&self, tally: u32, key: u32) -> bool {
        self.graph.is_tally_empty(tally, key)
    }

    /// Makes `later`, which is not released, wait until all commands in the tally of `key` are
    /// done. The next command with this key begins another tally.
    pub(crate) fn follow_tally(&mut self, later: Ticket, tally: u32, key: u32) {
        self.graph.follow_tally(later, tally, key);
    }

    /// Makes a command the newest of a chain, after `previous`, which must be done before this
    /// command is. `label` identifies the command in the chain.
    #[inline]
    pub(crate) fn chain(&mut self, command: Ticket, label: u32, previous: Ticket) {
        self.graph.chain(command, label, previous);
    }

    /// Returns the command with this label in the chain that ends with `newest`, or
    /// [`Ticket::DONE`] if there is none or if it is done.
    #[inline]
    pub(crate) fn find_in_chain(&self, newest: Ticket, label: u32) -> Ticket {
        self.graph.find_in_chain(newest, label)
    }

    /// Adds a command to the row whose last command is `before`. The die carries it out directly
    /// after `before`, without becoming free.
    pub fn add_in_row(&mut self, before: Ticket, command: Command) -> Ticket {
        let next = self.graph.add(Some(command), command.owner);
        self.graph.nodes[before.node as usize].then = next.node;
        next
    }

    /// Makes `later`, which is not released, wait until `earlier` is done.
    pub fn follow(&mut self, later: Ticket, earlier: Ticket) {
        self.graph.follow(later, earlier);
    }

    /// Lets the wait of `later`, which is not released, begin only when `earlier` is done. `later`
    /// must be behind `earlier` in the queue of a die that serves commands in the order of arrival.
    pub(crate) fn note_ready(&mut self, later: Ticket, earlier: Ticket) {
        self.graph.note_ready(later, earlier);
    }

    /// Releases a command. It arrives at its die at `at`, or later when the commands that it waits
    /// for are done.
    pub fn release(&mut self, ticket: Ticket, at: Nanos) {
        self.graph.not_before(ticket.node, at);
        self.unblock(ticket.node);
    }

    /// Adds a command that arrives at its die at `at`.
    pub fn submit(&mut self, command: Command, at: Nanos) -> Ticket {
        let ticket = self.add(command);
        self.release(ticket, at);
        ticket
    }

    /// Returns the progress of a command.
    pub fn status(&self, ticket: Ticket) -> Status {
        match self.graph.node_of(ticket).map(|node| node.state) {
            None | Some(State::Free) => Status::Done,
            Some(State::Running) => Status::Running,
            Some(State::Blocked | State::Queued) => Status::Waiting,
        }
    }

    /// Returns true if a command has arrived at its die or is done, and thus waits for no other
    /// command.
    pub(crate) fn has_arrived(&self, ticket: Ticket) -> bool {
        self.graph.node_of(ticket).is_none_or(|node| node.state != State::Blocked)
    }

    /// Returns the time from which a later command of the same kind and level cannot overtake this
    /// one at its die. This is the current time if the command has arrived or is done, and its
    /// known time of arrival if it has not. Returns `None` if the command waits for others.
    #[inline]
    pub(crate) fn arrival(&self, ticket: Ticket) -> Option<Nanos> {
        match self.graph.node_of(ticket) {
            Some(node) if node.state == State::Blocked => node.arrival(),
            _ => Some(self.now),
        }
    }

    /// Returns a command; `None` for a join, and for a command that is done.
    #[inline]
    pub(crate) fn task(&self, ticket: Ticket) -> Option<&Task> {
        self.graph.node_of(ticket)?.task.as_ref()
    }

    /// Gives an unfinished command or join an owner, if it has none. Returns true on success.
    pub(crate) fn set_owner(&mut self, ticket: Ticket, owner: u64) -> bool {
        let free = self.graph.node_of(ticket).is_some_and(|node| node.owner == NO_OWNER);
        if free {
            self.graph.nodes[ticket.node as usize].owner = owner;
        }
        free
    }

    /// Raises to `level` every low command that has not begun. Needed when a command of the
    /// host waits for a low command.
    pub(crate) fn raise_low(&mut self, level: Level) {
        for node in self.graph.unfinished() {
            let raised = &mut self.graph.nodes[node as usize];
            let (state, is_row) = (raised.state, raised.is_row());
            let Some(task) = raised.task.as_mut() else { continue };
            if task.level != Level::Low || state == State::Running {
                continue;
            }
            task.level = level;
            let task = *task;
            if state == State::Queued {
                self.arrivals += 1;
                let die = &mut self.dies[task.die as usize];
                raised.number = self.arrivals;
                raised.reads_before = die.reads_arrived;
                let queue = die.queue_for(&task, is_row);
                die.reads_arrived += u64::from(queue == Queue::Reads);
                die.queues[Queue::Low as usize].remove(&mut self.graph.nodes, node);
                die.queues[queue as usize].push(&mut self.graph.nodes, node);
                self.stirred = true;
                self.touch_die(task.die);
            }
        }
    }

    /// Makes `later` wait for every unfinished program and erase.
    pub(crate) fn follow_writes(&mut self, later: Ticket) {
        self.graph.follow_all(later, |task| task.op != Op::Read);
    }

    /// Requests a [`SchedulerEvent::Timer`] at a time.
    pub fn set_timer(&mut self, at: Nanos, token: u32) {
        self.schedule(at.max(self.now), Event::Timer(token));
    }

    /// Returns the time of the next known event, if there is one. Pending decisions of this instant
    /// count as an event a nanosecond later, because they are made when the clock advances.
    pub(crate) fn next_event(&self) -> Option<Nanos> {
        let next = self.events.next(self.now);
        match (self.happened.is_empty(), self.has_decisions()) {
            (false, _) => Some(self.now),
            (true, true) if next.is_none_or(|next| next > self.now) => {
                Some(later(self.now, Nanos(1)))
            }
            (true, _) => next,
        }
    }

    fn has_decisions(&self) -> bool {
        self.stirred && !(self.touched_dies.is_empty() && self.touched_buses.is_empty())
    }

    /// Advances the clock to the next event to report, or to `until`. Makes no decision at `until`,
    /// so that the caller can still submit commands at that instant. Returns `None` if there is no
    /// event to report by `until`.
    pub fn advance(&mut self, until: Nanos) -> Option<SchedulerEvent> {
        while self.happened.is_empty() {
            if !self.step(until) {
                return None;
            }
        }
        self.happened.pop_front()
    }

    /// Processes the next event or, after the last event of this instant, takes the decisions.
    /// Returns false if there is nothing to do before `until`.
    #[inline]
    fn step(&mut self, until: Nanos) -> bool {
        let decides = self.has_decisions();
        let limit = if decides { self.now } else { until.max(self.now) };
        if let Some((at, event)) = self.events.pop(self.now, limit) {
            self.now = at;
            self.happen(event);
            return true;
        }
        // If `until` is the maximum, the caller can submit nothing at that instant.
        if decides && (self.now < until || until == Nanos::MAX) {
            self.decide_all();
            return true;
        }
        if !decides && until != Nanos::MAX {
            self.now = limit;
        }
        false
    }

    #[inline]
    pub(super) fn schedule(&mut self, at: Nanos, event: Event) {
        self.events.schedule(self.now, at, event);
    }

    /// Processes an event at the time of the clock.
    #[inline]
    fn happen(&mut self, event: Event) {
        self.stirred = true;
        match event {
            Event::Arrival(node) => self.arrive(node),
            Event::CellsDone { group, token } => self.cells_done(group, token),
            Event::Suspended(die) => self.suspended(die),
            Event::Resumed(group) => self.resumed(group),
            Event::Check(die) => self.touch_die(die),
            Event::Released(bus) => self.released(bus),
            Event::PageOver(node) => self.page_over(node),
            Event::Timer(token) => self.happened.push_back(SchedulerEvent::Timer(token)),
        }
    }

    /// Takes the decisions of this instant: dies choose, then buses are granted. Dies that these
    /// decisions touch decide after the next event, and so do buses that are touched while buses
    /// are granted.
    #[inline]
    fn decide_all(&mut self) {
        self.stirred = false;
        let dies = self.touched_dies.len();
        for index in 0..dies {
            let die = self.touched_dies[index];
            self.dies[die as usize].touched = false;
            self.decide(die);
        }
        forget(&mut self.touched_dies, dies);
        let buses = self.touched_buses.len();
        for index in 0..buses {
            let bus = self.touched_buses[index];
            self.buses[bus as usize].touched = false;
            self.grant(bus);
        }
        forget(&mut self.touched_buses, buses);
    }

    #[inline]
    pub(super) fn touch_die(&mut self, die: u32) {
        let state = &mut self.dies[die as usize];
        if !state.touched {
            state.touched = true;
            self.touched_dies.push(die);
        }
    }

    #[inline]
    pub(super) fn touch_bus(&mut self, bus: u32) {
        let state = &mut self.buses[bus as usize];
        if !state.touched {
            state.touched = true;
            self.touched_buses.push(bus);
        }
    }

    pub(super) fn report_idle_die(&mut self, die: u32) {
        self.happened.push_back(SchedulerEvent::Idle(die));
    }

    /// Removes one dependency of a node. After the last dependency, the node arrives at its die.
    fn unblock(&mut self, node: u32) {
        let Some(earliest) = self.graph.unblock(node) else { return };
        let earliest = earliest.max(later(self.now, self.graph.nodes[node as usize].delay));
        if earliest > self.now {
            self.schedule(earliest, Event::Arrival(node));
        } else {
            self.arrive(node);
        }
    }

    /// Processes the arrival of a node that waits for no other node: a command joins the queue of
    /// its die, and a join is done.
    fn arrive(&mut self, node: u32) {
        let Some(task) = self.graph.nodes[node as usize].task else {
            let join = &mut self.graph.nodes[node as usize];
            (join.arrived, join.started) = (self.now, self.now);
            return self.complete(node, 0);
        };
        self.stirred = true;
        self.arrivals += 1;
        let arrived = &mut self.graph.nodes[node as usize];
        if arrived.unready == 0 {
            self.totals.classes[task.class as usize].arrive(self.now);
        }
        arrived.number = self.arrivals;
        arrived.arrived = self.now;
        arrived.state = State::Queued;
        let is_row = arrived.is_row();
        let die = &mut self.dies[task.die as usize];
        arrived.reads_before = die.reads_arrived;
        let queue = die.queue_for(&task, is_row);
        die.reads_arrived += u64::from(queue == Queue::Reads);
        die.queues[queue as usize].push(&mut self.graph.nodes, node);
        self.touch_die(task.die);
    }

    /// Removes one of the nodes for which a command is not ready. After the last one, its wait
    /// begins.
    #[cold]
    fn make_ready(&mut self, node: u32) {
        let ready = &mut self.graph.nodes[node as usize];
        ready.unready -= 1;
        if ready.unready == 0
            && ready.state == State::Queued
            && let Some(task) = &ready.task
        {
            ready.arrived = self.now;
            self.totals.classes[task.class as usize].arrive(self.now);
        }
    }

    /// Ends a command: reports the end, and unblocks the nodes that wait for the command.
    pub(super) fn complete(&mut self, node: u32, together: u32) {
        let done = &self.graph.nodes[node as usize];
        if done.owner != NO_OWNER {
            self.happened.push_back(SchedulerEvent::Done {
                owner: done.owner,
                arrived: done.arrived,
                started: done.started,
                together,
            });
        }
        while let Some(follower) = self.graph.take_follower(node) {
            match follower & READY {
                0 => self.unblock(follower),
                _ => self.make_ready(follower & !READY),
            }
        }
        self.graph.free(node);
    }

    /// Drops every command, as a power cut at `now` does.
    pub fn reset(&mut self, now: Nanos) {
        self.now = self.now.max(now);
        self.settle_busy();
        self.graph.clear();
        self.events.clear();
        self.happened.clear();
        self.groups.clear();
        self.free_groups.clear();
        self.touched_dies.clear();
        self.touched_buses.clear();
        self.stirred = false;
        self.low_held = false;
        let now = self.now;
        self.totals.classes.iter_mut().for_each(|class| class.drop_waiting(now));
        self.dies.iter_mut().for_each(Die::reset);
        self.buses.iter_mut().for_each(Bus::reset);
    }

    /// Adds the phases in progress to the busy times, before these phases are dropped.
    fn settle_busy(&mut self) {
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

    /// Returns the busy times up to the current time.
    pub fn busy(&self) -> Busy {
        let mut busy = Busy::default();
        for bus in &self.buses {
            busy.buses.0 +=
                bus.busy.0 + if bus.owner == NONE { 0 } else { self.now.0 - bus.since.0 };
        }
        for die in &self.dies {
            let occupied = die.occupied_since.map_or(0, |since| self.now.0 - since.0);
            busy.dies.0 += die.occupied.0 + occupied;
            let in_cells = die.current != NONE && self.groups[die.current as usize].in_cells;
            let cells = if in_cells { self.now.0 - die.cells_since.0 } else { 0 };
            busy.cells.0 += die.cells.0 + cells;
        }
        busy
    }

    /// Returns the counts of all queues up to the current time.
    pub fn totals(&self) -> Totals {
        let mut totals = self.totals;
        for class in &mut totals.classes {
            class.waiting_ns = class.waiting_ns_at(self.now);
        }
        totals
    }

    /// Returns true if a die carries out nothing, and nothing waits for it.
    pub(crate) fn is_idle(&self, die: u32) -> bool {
        self.dies[die as usize].is_idle()
    }

    /// Returns the number of commands of a class that wait at dies, over all dies.
    pub fn waiting(&self, class: Class) -> u64 {
        self.totals.classes[class as usize].waiting
    }
}

/// Removes the first `count` items.
#[inline]
fn forget(items: &mut Vec<u32>, count: usize) {
    if count == items.len() {
        items.clear();
    } else {
        items.drain(..count);
    }
}
