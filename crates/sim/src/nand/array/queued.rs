//! Commands that wait in queues: an array that hands its commands to the scheduler.
//!
//! A command changes the state of the pages when it is issued; the scheduler decides when it is
//! executed. A command waits for the earlier commands that it depends on. Therefore, no policy can
//! choose an order that the flash cannot execute:
//!
//! - A read waits for the program of its page.
//! - Programs of a block, and its erase, wait for each other in the order in which they were
//!   issued.
//! - An erase waits for every read of its block. It also waits for the programs on other blocks
//!   that supersede its pages, because a power cut could otherwise lose data.
//! - The first program of a block waits for all earlier erases of its lane, and for the retirement
//!   of the lane's bad blocks. A lane therefore never uses more blocks at a time than the FTL
//!   assumes.
//!
//! If a die executes its commands in the order of arrival, commands on the same die need no other
//! dependency.

use std::ops::Range;

use flashscope_block::Nanos;

use super::rows::Rows;
use super::settings::Queues;
use crate::event::{self, CommandKind};
use crate::footprint::{Size, fixed, grown};
use crate::memory::prefetch;
use crate::nand::due::{FAR, awaited, when_done};
use crate::nand::schedule::Seat;
use crate::nand::{BlockId, Cause, Page, later};
use crate::sched::{
    Class, Command, Level, Op, Parts, Scheduler, SchedulerEvent, Status, Task, Ticket, Totals,
};

/// A command to one package, with the data that the scheduler needs.
#[derive(Clone)]
pub(super) struct FlashRequest {
    pub(super) op: Op,
    pub(super) cause: Cause,
    pub(super) page: Page,
    /// The block that a copy within a plane reads.
    pub(super) from: Option<BlockId>,
    /// The index of the package within its element.
    pub(super) member: u32,
    /// The die, plane and row that the scheduler uses.
    pub(super) seat: Seat,
    pub(super) cells: Nanos,
    pub(super) transfer: Nanos,
    /// The earliest start: a time, or a value that stands for the command to wait for (see
    /// [`crate::nand::due`]).
    pub(super) at: Nanos,
}

/// An event of the command queues of an array.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Event {
    /// The time given to [`super::Array::notify_done`] is reached. The clock shows this time.
    Done(u32),
    /// A die is idle.
    Idle,
    /// The time given to [`super::Array::wake_at`] is reached.
    Timer,
}

impl Event {
    /// The number in [`Event::Done`] that reports a finished eviction from the write buffer.
    pub(crate) const WRITE_BACK: u32 = u32::MAX;
}

/// A report for observers.
pub(super) enum ObserverReport {
    /// A command is done.
    Command(event::Command),
    /// A command was suspended and has resumed. Its end is not known yet.
    Suspension(event::Command, Range<Nanos>),
}

/// The flag in the owner of a command that marks a command to report to observers.
const OBSERVED: u64 = 1 << 32;

/// The unfinished commands on a block of a package.
#[derive(Debug, Clone, Copy)]
pub(super) struct Block {
    /// The last program or erase. The programs since the last erase are a chain, labelled with
    /// their page indices.
    written: Ticket,
    /// The tally of the commands that an erase of the block waits for. Its key is the index of the
    /// block in [`QueuedArray::blocks`].
    pub(super) used: u32,
    /// While commands are observed: the last program that superseded a page of the block.
    pub(super) superseded: Ticket,
    /// True if a program was issued since the last erase.
    begun: bool,
}

const NONE: u32 = u32::MAX;

const UNUSED: Block = Block {
    written: Ticket::DONE,
    used: Scheduler::NO_TALLY,
    superseded: Ticket::DONE,
    begun: false,
};

/// The commands of an array that wait in queues.
pub(super) struct QueuedArray {
    pub(super) scheduler: Scheduler,
    pub(super) queues: Queues,
    /// The blocks of the first package of each element, then those of the second, and so on.
    pub(super) blocks: Vec<Block>,
    blocks_per_package: usize,
    /// The ends of the parts of the last command, one for each package.
    parts: Vec<Nanos>,
    /// For each die, the last step of the drive's own work: see [`QueuedArray::is_step`].
    last_step: Vec<Ticket>,
    rows: Rows,
    /// For each lane, the time at which all erases issued so far are done and all its bad blocks
    /// are retired.
    erased: Vec<Nanos>,
    /// True while background work is issued, which no host request waits for.
    pub(super) background: bool,
    /// True while the drive's own commands have priority over those of the host.
    pub(super) urgent: bool,
    /// True if commands of [`Level::Low`] are possibly waiting.
    has_low: bool,
    /// True if the last command is observed.
    pub(super) observes: bool,
    observed: Vec<event::Command>,
    free_observed: Vec<u32>,
}

impl QueuedArray {
    /// Returns the size of the memory that queues for `blocks` blocks and `dies` dies allocate.
    pub(super) fn footprint(blocks: u32, dies: u64) -> Size {
        fixed::<Block>(blocks) + fixed::<Ticket>(dies) + grown::<[u64; 8]>(dies) + Size(64 << 10)
    }

    pub(super) fn new(queues: Queues, parts: &Parts, blocks: u32) -> QueuedArray {
        QueuedArray {
            scheduler: Scheduler::new(queues.setup, parts),
            queues,
            blocks: vec![UNUSED; (blocks * queues.span) as usize],
            blocks_per_package: blocks as usize,
            parts: Vec::new(),
            last_step: vec![Ticket::DONE; parts.bus_of.len()],
            rows: Rows::new(queues.steps_in_a_row, parts.bus_of.len()),
            erased: vec![Nanos(0); blocks.div_ceil(queues.blocks_per_lane) as usize],
            background: false,
            urgent: false,
            has_low: false,
            observes: false,
            observed: Vec::new(),
            free_observed: Vec::new(),
        }
    }

    fn command(&self, given: &FlashRequest) -> Command {
        let kind = match given.op {
            Op::Read => CommandKind::Read,
            Op::Program => CommandKind::Program,
            Op::Erase if given.from.is_some() => CommandKind::CopyBack,
            Op::Erase => CommandKind::Erase,
        };
        let class = event::class(kind, given.cause);
        let level = match class {
            _ if self.background => Level::Low,
            Class::Cleaning | Class::Erase | Class::Wear if self.urgent => Level::Urgent,
            Class::HostRead | Class::HostWrite => Level::Equal,
            Class::Mapping => self.queues.levels.mapping,
            Class::Cleaning => self.queues.foreground,
            Class::Erase => self.queues.levels.erase,
            Class::Wear => self.queues.levels.wear,
        };
        Command {
            op: given.op,
            class,
            level,
            die: given.seat.die,
            package: given.seat.package,
            plane: given.seat.plane,
            row: given.seat.row,
            // A copy within a plane has the same operation as an erase, but cannot join one: their
            // durations differ.
            joins: given.from.is_none(),
            cells: given.cells,
            transfer: given.transfer,
            owner: None,
        }
    }

    /// Returns the index in [`QueuedArray::blocks`] of a block in package `member` of its element.
    pub(super) fn place(&self, block: BlockId, member: u32) -> usize {
        block.0 as usize + member as usize * self.blocks_per_package
    }

    /// Returns the key of the tally of a block.
    pub(super) fn key(place: usize) -> u32 {
        u32::try_from(place).expect("fewer blocks than a u32 counts")
    }

    /// Prefetches the state of a block to which a command will soon be issued, in the first package
    /// of its element.
    #[inline]
    pub(super) fn prefetch(&self, block: BlockId) {
        prefetch(&self.blocks, block.0 as usize);
    }

    /// Begins a command, to which [`QueuedArray::give`] adds a part for each package.
    pub(super) fn begin(&mut self) {
        self.parts.clear();
    }

    /// Returns the ends of the parts of the last command, one for each package.
    pub(super) fn parts(&self) -> &[Nanos] {
        &self.parts
    }

    /// Issues a command to one package. Returns the time at which it is done.
    pub(super) fn give(&mut self, given: &FlashRequest, observed: Option<event::Command>) -> Nanos {
        let mut command = self.command(given);
        self.observes = observed.is_some();
        if let Some(observed) = observed {
            command.owner = Some(self.observe(observed));
            self.scheduler.report_suspensions();
        }
        self.has_low |= command.level == Level::Low;
        let erases = given.op == Op::Erase && given.from.is_none();
        let ticket = self.add(given, &command, erases);
        let block = self.place(given.page.block, given.member);
        if given.op != Op::Read {
            let state = &mut self.blocks[block];
            if !erases {
                let previous = if state.begun { state.written } else { Ticket::DONE };
                self.scheduler.chain(ticket, given.page.index, previous);
            }
            (state.written, state.begun) = (ticket, !erases);
        }
        if erases {
            let lane = self.lane_of(given.page.block);
            let before = self.erased[lane];
            self.erased[lane] = match awaited(before) {
                Some(earlier) if self.ends_before(earlier, &command) => when_done(ticket),
                _ => self.both(before, when_done(ticket)),
            };
        }
        let used = [Some(given.page.block).filter(|_| !erases), given.from];
        for block in used.into_iter().flatten() {
            self.use_block_of(block, given.member, given.seat.die, ticket);
        }
        self.parts.push(when_done(ticket));
        when_done(ticket)
    }

    /// Returns true if a command is a step of the drive's own work. The steps of a die are executed
    /// one at a time.
    fn is_step(&self, class: Class, level: Level) -> bool {
        let own = matches!(class, Class::Cleaning | Class::Erase | Class::Wear);
        self.queues.steps && (own || level == Level::Low)
    }

    /// Hands a command to the scheduler, after those that it depends on.
    fn add(&mut self, given: &FlashRequest, command: &Command, erases: bool) -> Ticket {
        let (mut apart, die) = (self.needs(given, erases), given.seat.die);
        let is_step = self.is_step(command.class, command.level);
        // The steps of a die are executed in the order in which they are issued, without other
        // dependencies.
        if is_step {
            let chained = |other: &Task| other.die == die && self.is_step(other.class, other.level);
            for earlier in &mut apart {
                if self.scheduler.task(*earlier).is_some_and(chained) {
                    *earlier = Ticket::DONE;
                }
            }
        }
        // An erase forms a row alone.
        if is_step && !erases {
            let needs = apart.iter().copied().filter(|ticket| *ticket != Ticket::DONE);
            if let Some(ticket) = self.rows.extend(&mut self.scheduler, command, needs) {
                self.last_step[die as usize] = ticket;
                return ticket;
            }
        }
        let ticket = self.scheduler.add(*command);
        let mut at = if awaited(given.at).is_some() { Nanos(0) } else { given.at };
        if is_step {
            self.rows.close(&mut self.scheduler, die);
            let last = std::mem::replace(&mut self.last_step[die as usize], ticket);
            self.raise_for(command.level, last);
            self.scheduler.follow(ticket, last);
        }
        for earlier in apart.into_iter().filter(|earlier| *earlier != Ticket::DONE) {
            at = self.order(ticket, command, earlier, at);
        }
        if command.owner.is_some() {
            self.note_ready(ticket, given, erases);
        }
        if erases {
            let block = self.place(given.page.block, given.member);
            let (used, key) = (self.blocks[block].used, QueuedArray::key(block));
            // The tally may include commands of [`Level::Low`].
            if command.level != Level::Low && !self.scheduler.is_tally_empty(used, key) {
                self.raise();
            }
            self.scheduler.follow_tally(ticket, used, key);
        }
        match is_step {
            true => self.rows.begin(&mut self.scheduler, command, ticket, at),
            false => self.scheduler.release(ticket, at),
        }
        ticket
    }

    /// Returns the commands that a command depends on, without the tally that an erase waits for.
    #[inline]
    fn needs(&mut self, given: &FlashRequest, erases: bool) -> [Ticket; 4] {
        let block = self.place(given.page.block, given.member);
        let before = match given.op {
            Op::Read => self.program_of(block, given.page.index),
            Op::Program | Op::Erase => self.blocks[block].written,
        };
        let from = given.from.map(|from| self.blocks[self.place(from, given.member)].written);
        // The first program of a block need not be the one of its first page.
        let begins_block = !self.blocks[block].begun && !erases && given.op != Op::Read;
        let erased = awaited(self.erased[self.lane_of(given.page.block)]);
        let erased = erased.filter(|_| begins_block);
        [awaited(given.at), Some(before), from, erased].map(|need| need.unwrap_or(Ticket::DONE))
    }

    /// Closes the open rows: the scheduler may start the steps issued so far, without waiting for
    /// more.
    pub(super) fn close_rows(&mut self) {
        self.rows.close_all(&mut self.scheduler);
    }

    fn lane_of(&self, block: BlockId) -> usize {
        (block.0 / self.queues.blocks_per_lane) as usize
    }

    /// Makes a command that arrives at `at` wait for an earlier one, unless the order of arrival at
    /// its die suffices. Returns the time at which the command arrives.
    fn order(&mut self, ticket: Ticket, command: &Command, earlier: Ticket, at: Nanos) -> Nanos {
        self.raise_for(command.level, earlier);
        // With a cache register, a read begins before the previous one is done.
        let overlaps = self.queues.setup.cache_read && command.op == Op::Read;
        match self.follows_from(earlier, command.die, command.level) {
            Some(from) if !overlaps => at.max(from),
            _ => {
                self.scheduler.follow(ticket, earlier);
                at
            }
        }
    }

    /// Raises the commands of [`Level::Low`] if a command of a higher level waits for an unfinished
    /// command of [`Level::Low`]. Background work thus moves to the foreground when a write needs
    /// it.
    pub(super) fn raise_for(&mut self, level: Level, earlier: Ticket) {
        if !self.has_low || level == Level::Low || self.scheduler.status(earlier) == Status::Done {
            return;
        }
        // A ticket without a task may stand for several commands, some of them of [`Level::Low`].
        if self.scheduler.task(earlier).is_none_or(|task| task.level == Level::Low) {
            self.raise();
        }
    }

    fn raise(&mut self) {
        if std::mem::take(&mut self.has_low) && self.queues.foreground != Level::Low {
            self.scheduler.raise_low(self.queues.foreground);
        }
    }

    /// If a command on `die` is executed after `earlier` merely because it arrives later, returns
    /// the time of arrival of `earlier`. Returns `None` if it needs an explicit dependency.
    pub(super) fn follows_from(&self, earlier: Ticket, die: u32, level: Level) -> Option<Nanos> {
        let setup = &self.queues.setup;
        let in_order = !setup.policy.overtakes
            && !setup.cache_program
            && !setup.multi_plane
            && !self.scheduler.has_gangs();
        if !in_order || self.queues.steps {
            return None;
        }
        let there = |task: &Task| task.die == die && task.level == level;
        let follows = self.scheduler.task(earlier).is_none_or(there);
        self.scheduler.arrival(earlier).filter(|_| follows)
    }

    /// Returns true if `command`, which was just issued, certainly ends after `earlier`.
    fn ends_before(&self, earlier: Ticket, command: &Command) -> bool {
        let in_steps = |other: &Task| {
            other.die == command.die
                && self.is_step(other.class, other.level)
                && self.is_step(command.class, command.level)
        };
        let from = self.follows_from(earlier, command.die, command.level);
        from.is_some() || self.scheduler.task(earlier).is_some_and(in_steps)
    }

    /// Returns the program of a page, or [`Ticket::DONE`] if the program is finished.
    #[inline]
    fn program_of(&mut self, block: usize, index: u32) -> Ticket {
        let Block { written, begun, .. } = self.blocks[block];
        if !begun || written == Ticket::DONE {
            return Ticket::DONE;
        }
        // Programs of a block complete in order: when the last one is done, all are done. Later
        // reads then need not access that command, which is rarely in the processor's cache.
        if self.scheduler.status(written) == Status::Done {
            self.blocks[block].written = Ticket::DONE;
            return Ticket::DONE;
        }
        self.scheduler.find_in_chain(written, index)
    }

    /// Returns the time at which all programs and erases issued for a block are done.
    pub(super) fn written(&mut self, block: BlockId) -> Nanos {
        (0..self.queues.span).fold(Nanos(0), |done, member| {
            let place = self.place(block, member);
            let written = when_done(self.blocks[place].written);
            if member == 0 { written } else { self.both(done, written) }
        })
    }

    /// Returns the time `delay` after the end of a command.
    pub(super) fn after(&mut self, ticket: Ticket, delay: Nanos) -> Nanos {
        when_done(self.scheduler.add_delay(ticket, delay))
    }

    /// Returns the later of two times.
    pub(super) fn both(&mut self, one: Nanos, other: Nanos) -> Nanos {
        if one == other || self.is_past(other) {
            return one;
        }
        if self.is_past(one) {
            return other;
        }
        if awaited(one).is_none() && awaited(other).is_none() {
            return one.max(other);
        }
        let join = self.scheduler.add_join(None);
        self.release_after(join, [one, other])
    }

    /// Returns the first time from `at` on at which every program and erase issued so far is done.
    pub(super) fn after_writes(&mut self, at: Nanos) -> Nanos {
        if !self.background {
            self.raise();
        }
        let join = self.scheduler.add_join(None);
        self.scheduler.follow_writes(join);
        self.release_after(join, [at, Nanos(0)])
    }

    /// Returns the time at which a block may be retired: when every program and erase issued so far
    /// is done. No program starts another block of the lane before that time.
    pub(super) fn retire(&mut self, block: BlockId, at: Nanos) -> Nanos {
        let (lane, done) = (self.lane_of(block), self.after_writes(at));
        self.erased[lane] = self.both(self.erased[lane], done);
        done
    }

    fn release_after(&mut self, join: Ticket, times: [Nanos; 2]) -> Nanos {
        let mut earliest = Nanos(0);
        for at in times {
            match awaited(at) {
                Some(earlier) => self.scheduler.follow(join, earlier),
                None => earliest = earliest.max(at),
            }
        }
        self.scheduler.release(join, earliest);
        when_done(join)
    }

    /// Returns true if a time is not in the future.
    pub(super) fn is_past(&self, at: Nanos) -> bool {
        match awaited(at) {
            Some(ticket) => self.scheduler.status(ticket) == Status::Done,
            None => at <= self.scheduler.now(),
        }
    }

    /// Returns true if the command whose end is `done` has begun. Also returns true if `done` is a
    /// time instead of a command.
    pub(super) fn has_begun(&self, done: Nanos) -> bool {
        match awaited(done) {
            Some(ticket) => self.scheduler.status(ticket) != Status::Waiting,
            None => true,
        }
    }

    /// Reports [`Event::Done`] when a time is reached.
    pub(super) fn notify_done(&mut self, at: Nanos, number: u32) {
        if awaited(at).is_some_and(|ticket| self.scheduler.set_owner(ticket, number.into())) {
            return;
        }
        let join = self.scheduler.add_join(Some(number.into()));
        self.release_after(join, [at, Nanos(0)]);
    }

    fn observe(&mut self, command: event::Command) -> u64 {
        let place = match self.free_observed.pop() {
            Some(place) => {
                self.observed[place as usize] = command;
                place
            }
            None => {
                self.observed.push(command);
                u32::try_from(self.observed.len() - 1).expect("fewer commands than a u32 counts")
            }
        };
        OBSERVED | u64::from(place)
    }

    /// Advances the clock to the next event or observer report, at most to `until`. Returns `None`
    /// if there is none until then.
    pub(super) fn advance(&mut self, until: Nanos) -> Option<Result<Event, ObserverReport>> {
        self.close_rows();
        let happened = self.scheduler.advance(until)?;
        let now = self.scheduler.now();
        match happened {
            SchedulerEvent::Done { owner, arrived, started, together } if owner & OBSERVED != 0 => {
                let place = u32::try_from(owner & !OBSERVED).unwrap_or(NONE);
                self.free_observed.push(place);
                let given = self.observed[place as usize];
                let times = event::Command { at: arrived, start: started, done: now, ..given };
                Some(Err(ObserverReport::Command(event::Command { together, ..times })))
            }
            SchedulerEvent::Resumed { owner, arrived, started, since } => {
                let place = u32::try_from(owner & !OBSERVED).unwrap_or(NONE);
                let command = self.observed.get_mut(place as usize)?;
                command.suspended = later(command.suspended, Nanos(now.0 - since.0));
                (command.at, command.start) = (arrived, started);
                Some(Err(ObserverReport::Suspension(*command, since..now)))
            }
            SchedulerEvent::Done { owner, .. } => {
                Some(Ok(Event::Done(u32::try_from(owner).unwrap_or(NONE))))
            }
            SchedulerEvent::Idle(_) => Some(Ok(Event::Idle)),
            SchedulerEvent::Timer(_) => Some(Ok(Event::Timer)),
        }
    }

    /// Returns the current time if all of `dies` are idle, or [`FAR`] if a die is busy.
    pub(super) fn idle_from(&self, dies: impl IntoIterator<Item = u32>) -> Nanos {
        match dies.into_iter().all(|die| self.scheduler.is_idle(die)) {
            true => self.scheduler.now(),
            false => FAR,
        }
    }

    /// Drops every command at `now`.
    pub(super) fn reset(&mut self, now: Nanos) {
        self.scheduler.reset(now);
        self.blocks.fill(UNUSED);
        self.last_step.fill(Ticket::DONE);
        self.rows.clear();
        self.erased.fill(Nanos(0));
        self.observed.clear();
        self.free_observed.clear();
    }

    pub(super) fn totals(&self) -> Totals {
        self.scheduler.totals()
    }
}
