//! The schedule of commands: the parts of the flash that they occupy, and the order in which they
//! wait.

use std::ops::Range;

use flashscope_block::Nanos;

use super::wiring::{GangSharing, PlaneAddresses, Wiring, units};
use super::{BlockId, Geometry, Page, Timing, later};
use crate::arithmetic::Divisor;
use crate::event::CommandKind;
use crate::footprint::{Size, fixed};
use crate::sched::Parts;

/// The start and the end of a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Span {
    pub(super) start: Nanos,
    pub(super) done: Nanos,
}

impl Span {
    /// Returns the span of a command that takes no time.
    const fn point(at: Nanos) -> Span {
        Span { start: at, done: at }
    }
}

/// The parts of the array that commands on a block occupy.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Place {
    /// The unit of the first package of the element.
    pub(super) unit: u32,
    /// The first package of the element.
    package: u32,
    /// The plane, counted over the package.
    plane: u32,
}

impl Place {
    /// Returns the unit; for an element of several packages, the unit of the first package.
    pub(crate) const fn unit(self) -> u32 {
        self.unit
    }

    /// Returns true if commands at `self` and at `other` are carried out one after the other.
    pub(crate) fn waits_for(self, other: Place) -> bool {
        self.unit == other.unit
    }
}

/// The position of a plane in the scheduler: its die in the scheduler's numbering, and its package,
/// plane and row within this die.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Seat {
    /// The die of the scheduler.
    pub(super) die: u32,
    /// The index of the package within its gang, if the packages of a gang share control pins;
    /// otherwise 0.
    pub(super) package: u32,
    /// The plane within its pair. Commands on both planes of a pair may be joined.
    pub(super) plane: u32,
    /// The pair of planes, and the part of the address in which commands that are joined must
    /// agree: see [`PlaneAddresses`].
    pub(super) row: u64,
}

/// The last command of a unit, which a command on the partner plane may join.
#[derive(Clone, Copy, Default)]
struct Last {
    request: u64,
    kind: Option<CommandKind>,
    plane: u32,
    /// See [`Seat::row`].
    row: u64,
    /// The time at which its cells began to work.
    begun: Nanos,
}

/// A gang of packages with shared control pins.
#[derive(Clone, Copy)]
struct Gang {
    kind: Option<CommandKind>,
    start: Nanos,
    end: Nanos,
    /// The packages that take part in the current command, one bit each.
    members: u64,
}

impl Gang {
    const fn idle(at: Nanos) -> Gang {
        Gang { kind: None, start: at, end: at, members: 0 }
    }
}

/// The times at which units, buses and gangs become free. A unit carries out one command at a time.
/// Commands are served in the order of submission.
pub(super) struct Schedule {
    timing: Timing,
    wiring: Wiring,
    /// True if commands take time.
    timed: bool,
    /// Time of the latest command, if commands take no time.
    latest: Nanos,
    span: u32,
    units_per_package: u32,
    blocks_per_element: Divisor,
    blocks_per_unit: Divisor,
    blocks_per_plane: Divisor,
    units: Vec<Nanos>,
    buses: Vec<Nanos>,
    gangs: Vec<Gang>,
    /// The last command of each unit; empty without two-plane commands.
    last: Vec<Last>,
    /// The row of the next command: see [`Schedule::set_row`].
    row: u64,
    blocks_in_plane: u32,
    pages_per_block: u32,
    request: u64,
}

impl Schedule {
    /// Returns the size of the memory that a schedule allocates.
    pub(super) fn footprint(geometry: &Geometry, wiring: Wiring) -> Size {
        let units = units(geometry, wiring);
        fixed::<Nanos>(units)
            + fixed::<Nanos>(geometry.packages)
            + fixed::<Gang>(geometry.packages / wiring.gang)
            + fixed::<Last>(if wiring.two_plane { units } else { 0 })
    }

    pub(super) fn new(geometry: &Geometry, timing: Timing, wiring: Wiring, timed: bool) -> Self {
        let units_per_package = wiring.units_per_package(geometry);
        let blocks_per_element = geometry.blocks_per_element();
        let units = (geometry.packages * units_per_package) as usize;
        Schedule {
            timing,
            wiring,
            timed,
            latest: Nanos(0),
            span: geometry.span,
            units_per_package,
            blocks_per_element: Divisor::new(blocks_per_element.into()),
            blocks_per_unit: Divisor::new((blocks_per_element / units_per_package).into()),
            blocks_per_plane: Divisor::new(geometry.blocks_per_plane.into()),
            units: vec![Nanos(0); units],
            buses: vec![Nanos(0); geometry.packages as usize],
            gangs: vec![Gang::idle(Nanos(0)); (geometry.packages / wiring.gang) as usize],
            last: vec![Last::default(); if wiring.two_plane { units } else { 0 }],
            row: 0,
            blocks_in_plane: geometry.blocks_per_plane,
            pages_per_block: geometry.pages_per_block,
            request: 0,
        }
    }

    pub(super) fn timing(&self) -> &Timing {
        &self.timing
    }

    pub(super) const fn timed(&self) -> bool {
        self.timed
    }

    pub(super) fn units(&self) -> u32 {
        let units = match self.wiring.queue_per_package {
            true => self.units.len(),
            false => self.gangs.len(),
        };
        u32::try_from(units).expect("no more than blocks, whose number is a u32")
    }

    pub(super) fn buses(&self) -> u32 {
        let buses = if self.shares_bus() { self.gangs.len() } else { self.buses.len() };
        u32::try_from(buses).expect("no more than blocks, whose number is a u32")
    }

    pub(super) fn packages_of(&self, unit: u32) -> Range<u32> {
        let (first, count) = match self.wiring.queue_per_package {
            true => (unit / self.units_per_package, 1),
            false => (unit * self.wiring.gang, self.wiring.gang),
        };
        first..first + count
    }

    /// Returns the parts that queued commands occupy. A die of the scheduler is a unit, or a gang
    /// that shares control pins: see [`Schedule::seat`].
    pub(super) fn scheduled_parts(&self) -> Parts {
        let dies = u32::try_from(self.gangs.len()).expect("no more gangs than blocks");
        let (two_plane, gang) = (self.wiring.two_plane, self.wiring.gang);
        let (bus_of, packages) = match (self.shares_control(), self.wiring.queue_per_package) {
            (true, _) => ((0..dies).collect(), gang),
            (false, false) => ((0..dies).collect(), 1),
            (false, true) => {
                let per_bus = if self.shares_bus() { gang } else { 1 } * self.units_per_package;
                ((0..self.units()).map(|unit| unit / per_bus).collect(), 1)
            }
        };
        Parts { bus_of, buses: self.buses(), planes: if two_plane { 2 } else { 1 }, packages }
    }

    /// Returns the row of a command at a page, in its package: see [`Seat::row`].
    pub(super) fn row(&self, kind: CommandKind, place: Place, page: Page) -> u64 {
        let pair = u64::from(place.plane / 2);
        let index = if kind == CommandKind::Erase { 0 } else { page.index };
        let block = match self.wiring.addresses {
            PlaneAddresses::Any => return pair,
            PlaneAddresses::SamePage => pair,
            PlaneAddresses::SameBlock => {
                let block = self.blocks_per_plane.remainder_of(page.block.0);
                pair * u64::from(self.blocks_in_plane) + u64::from(block)
            }
        };
        block * u64::from(self.pages_per_block) + u64::from(index)
    }

    /// Sets the row of the next command, unless no command can join another.
    #[inline]
    pub(super) fn set_row(&mut self, kind: CommandKind, place: Place, page: Page) {
        if !self.last.is_empty() {
            self.row = self.row(kind, place, page);
        }
    }

    /// Returns the position of package `member` of an element in the scheduler, for a command of
    /// this row.
    pub(super) fn seat(&self, place: Place, member: u32, row: u64) -> Seat {
        let package = place.package + member;
        let (die, package) = match (self.shares_control(), self.wiring.queue_per_package) {
            (true, _) => (package / self.wiring.gang, package % self.wiring.gang),
            (false, false) => (package / self.wiring.gang, 0),
            (false, true) => (place.unit + member * self.units_per_package, 0),
        };
        Seat { die, package, plane: place.plane % 2, row }
    }

    /// Returns the scheduler's die that holds package `member` of an element.
    pub(super) fn die(&self, place: Place, member: u32) -> u32 {
        self.seat(place, member, 0).die
    }

    /// Returns the scheduler's dies that hold the blocks from place `first` to place `last`. The
    /// places are as in [`Schedule::idle_from`].
    pub(super) fn dies(&self, first: Place, last: Place) -> impl Iterator<Item = u32> {
        (0..self.span).flat_map(move |member| self.die(first, member)..=self.die(last, member))
    }

    /// Begins another request, to which the next commands belong.
    #[inline]
    pub(super) fn next_request(&mut self) {
        self.request += 1;
    }

    #[inline]
    pub(super) fn place(&self, block: BlockId) -> Place {
        let element = self.blocks_per_element.quotient_of(block.0);
        let within = self.blocks_per_element.remainder_of(block.0);
        let package = element * self.span;
        let unit = if self.wiring.queue_per_package {
            package * self.units_per_package + self.blocks_per_unit.quotient_of(within)
        } else {
            package / self.wiring.gang
        };
        Place { unit, package, plane: self.blocks_per_plane.quotient_of(within) }
    }

    fn shares_bus(&self) -> bool {
        self.wiring.gang > 1 && self.wiring.sharing == GangSharing::Bus
    }

    fn shares_control(&self) -> bool {
        self.wiring.gang > 1 && self.wiring.sharing == GangSharing::Control
    }

    /// Returns the unit and the bus of package `member` of the element.
    #[inline]
    pub(super) fn parts(&self, place: Place, member: u32) -> (usize, usize) {
        if member == 0 && self.wiring.gang == 1 {
            return (place.unit as usize, place.package as usize);
        }
        let package = place.package + member;
        let unit = if self.wiring.queue_per_package {
            place.unit + member * self.units_per_package
        } else {
            package / self.wiring.gang
        };
        let bus = if self.shares_bus() { package / self.wiring.gang } else { package };
        (unit as usize, bus as usize)
    }

    /// Returns [`Schedule::parts`] as numbers for observers.
    pub(super) fn numbers(&self, place: Place, member: u32) -> (u32, u32) {
        let (unit, bus) = self.parts(place, member);
        let number = |index: usize| u32::try_from(index).expect("no more than blocks");
        (number(unit), number(bus))
    }

    /// Returns when a command submitted at `at` can start: when its unit is free or, if gangs share
    /// control pins, when its gang is free. The command starts together with the gang's current
    /// command if both are of one kind, that command has not started before `at`, and the package
    /// takes no part in it.
    #[inline]
    fn gate(&mut self, kind: CommandKind, unit: usize, package: u32, at: Nanos) -> Nanos {
        if !self.shares_control() {
            return at.max(self.units[unit]);
        }
        let bit = 1 << (package % self.wiring.gang);
        let gang = &mut self.gangs[(package / self.wiring.gang) as usize];
        if gang.kind == Some(kind) && at <= gang.start && gang.members & bit == 0 {
            gang.members |= bit;
        } else {
            let start = at.max(gang.end);
            *gang = Gang { kind: Some(kind), start, end: start, members: bit };
        }
        gang.start
    }

    /// Records that a command occupies its unit, and its gang, until `done`.
    #[inline]
    fn occupy(&mut self, unit: usize, package: u32, done: Nanos) {
        self.units[unit] = done;
        if self.shares_control() {
            let gang = &mut self.gangs[(package / self.wiring.gang) as usize];
            gang.end = gang.end.max(done);
        }
    }

    /// Returns the time at which the cells of the unit's last command begin to work. Returns `None`
    /// unless a command of the current row, submitted at `at` for the other plane of the pair, can
    /// still join that command. Only one command can join.
    #[inline]
    fn join(&mut self, kind: CommandKind, unit: usize, plane: u32, at: Nanos) -> Option<Nanos> {
        let (request, row) = (self.request, self.row);
        let last = self.last.get_mut(unit)?;
        let joins = last.request == request
            && last.kind == Some(kind)
            && last.plane ^ 1 == plane
            && last.row == row
            && at <= last.begun;
        let begun = joins.then_some(last.begun);
        if joins {
            last.kind = None;
        }
        begun
    }

    #[inline]
    fn remember(&mut self, kind: CommandKind, unit: usize, plane: u32, begun: Nanos) {
        if let Some(last) = self.last.get_mut(unit) {
            *last = Last { request: self.request, kind: Some(kind), plane, row: self.row, begun };
        }
    }

    /// Returns when the cells of package `member` begin to work on a command that needs no bus
    /// beforehand. The command joins the unit's last command if it can; otherwise it begins at
    /// the time of [`Schedule::gate`].
    #[inline]
    fn begin(&mut self, kind: CommandKind, place: Place, member: u32, at: Nanos) -> Nanos {
        let (unit, _) = self.parts(place, member);
        self.join(kind, unit, place.plane, at).unwrap_or_else(|| {
            let start = self.gate(kind, unit, place.package + member, at);
            self.remember(kind, unit, place.plane, start);
            start
        })
    }

    /// Records the time of a command that takes no time.
    #[inline]
    fn pass(&mut self, at: Nanos) -> Nanos {
        self.latest = self.latest.max(at);
        at
    }

    /// Carries out `one` on each of the packages `members` of an element, if commands take time.
    #[inline]
    fn each(
        &mut self,
        members: Range<u32>,
        at: Nanos,
        mut one: impl FnMut(&mut Self, u32) -> Span,
    ) -> Span {
        if !self.timed {
            return Span::point(self.pass(at));
        }
        let mut span = Span { start: Nanos::MAX, done: Nanos(0) };
        for member in members {
            let part = one(self, member);
            span = Span { start: span.start.min(part.start), done: span.done.max(part.done) };
        }
        span
    }

    /// Reads a page of each of these packages of the element. `cells` is the read time of the
    /// cells, and `transfer` the time on each bus.
    #[inline]
    pub(super) fn read(
        &mut self,
        place: Place,
        members: Range<u32>,
        at: Nanos,
        cells: Nanos,
        transfer: Nanos,
    ) -> Span {
        self.each(members, at, |schedule, member| {
            let (unit, bus) = schedule.parts(place, member);
            let start = schedule.begin(CommandKind::Read, place, member, at);
            let done = later(later(start, cells).max(schedule.buses[bus]), transfer);
            schedule.buses[bus] = done;
            schedule.occupy(unit, place.package + member, done);
            Span { start, done }
        })
    }

    /// Programs a page of each of these packages of the element. `transfer` is the time on each
    /// bus, and `cells` the program time of the cells.
    #[inline]
    pub(super) fn program(
        &mut self,
        place: Place,
        members: Range<u32>,
        at: Nanos,
        cells: Nanos,
        transfer: Nanos,
    ) -> Span {
        self.each(members, at, |schedule, member| {
            let (unit, bus) = schedule.parts(place, member);
            let joined = schedule.join(CommandKind::Program, unit, place.plane, at).is_some();
            let free = match joined {
                true => at,
                false => schedule.gate(CommandKind::Program, unit, place.package + member, at),
            };
            let start = free.max(schedule.buses[bus]);
            let in_register = later(start, transfer);
            let done = later(in_register, cells);
            if !joined {
                schedule.remember(CommandKind::Program, unit, place.plane, in_register);
            }
            schedule.buses[bus] = in_register;
            schedule.occupy(unit, place.package + member, done);
            Span { start, done }
        })
    }

    /// Returns true if there are no gangs, no pages that span packages, and no two-plane commands.
    pub(super) fn is_plain(&self) -> bool {
        self.span == 1 && self.wiring.gang == 1 && self.last.is_empty()
    }

    /// Does the same as [`Schedule::program`] for a page with its data, if [`Schedule::is_plain`].
    #[inline]
    pub(super) fn program_plain(&mut self, place: Place, at: Nanos) -> Span {
        if !self.timed {
            return Span::point(self.pass(at));
        }
        let (unit, bus) = (place.unit as usize, place.package as usize);
        let start = at.max(self.units[unit]).max(self.buses[bus]);
        let in_register = later(start, self.timing.page_transfer);
        let done = later(in_register, self.timing.page_program);
        self.buses[bus] = in_register;
        self.units[unit] = done;
        Span { start, done }
    }

    /// Does the same as [`Schedule::read`] for a page with its data, if [`Schedule::is_plain`].
    #[inline]
    pub(super) fn read_plain(&mut self, place: Place, at: Nanos) -> Span {
        if !self.timed {
            return Span::point(self.pass(at));
        }
        let (unit, bus) = (place.unit as usize, place.package as usize);
        let start = at.max(self.units[unit]);
        let read = later(start, self.timing.page_read).max(self.buses[bus]);
        let done = later(read, self.timing.page_transfer);
        self.buses[bus] = done;
        self.units[unit] = done;
        Span { start, done }
    }

    /// Schedules a command that occupies the units of these packages for `duration`, and no bus.
    #[inline]
    fn internal(
        &mut self,
        kind: CommandKind,
        place: Place,
        members: Range<u32>,
        at: Nanos,
        duration: Nanos,
    ) -> Span {
        self.each(members, at, |schedule, member| {
            let (unit, _) = schedule.parts(place, member);
            let start = schedule.begin(kind, place, member, at);
            let done = later(start, duration);
            schedule.occupy(unit, place.package + member, done);
            Span { start, done }
        })
    }

    pub(super) fn erase(&mut self, place: Place, members: Range<u32>, at: Nanos) -> Span {
        self.internal(CommandKind::Erase, place, members, at, self.timing.block_erase)
    }

    /// Copies a page within a plane (section 2.1), which takes `cells`.
    pub(super) fn copy_back(
        &mut self,
        place: Place,
        members: Range<u32>,
        at: Nanos,
        cells: Nanos,
    ) -> Span {
        self.internal(CommandKind::CopyBack, place, members, at, cells)
    }

    /// Schedules in one step `count` reads from one block, each followed by a program to another
    /// block. Returns the start of the first and the end of the last. Returns `None` if commands
    /// take time and either the blocks are on different units, or [`Schedule::is_plain`] is false.
    #[inline]
    pub(super) fn moves_in_unit(
        &mut self,
        from: Place,
        to: Place,
        count: u32,
        at: Nanos,
    ) -> Option<Span> {
        if !self.timed {
            return Some(Span::point(self.pass(at)));
        }
        if from.unit != to.unit || !self.is_plain() {
            return None;
        }
        let (unit, bus) = self.parts(from, 0);
        let Timing { page_read, page_program, page_transfer, .. } = self.timing;
        let started = at.max(self.units[unit]);
        let read = later(later(started, page_read).max(self.buses[bus]), page_transfer);
        // From the first read on, the bus is free whenever the unit is.
        let moved = page_transfer.0 + page_program.0;
        let each = page_read.0 + page_transfer.0 + moved;
        let done =
            later(read, Nanos(moved.saturating_add(each.saturating_mul(u64::from(count - 1)))));
        self.buses[bus] = Nanos(done.0.saturating_sub(page_program.0));
        self.units[unit] = done;
        Some(Span { start: started, done })
    }

    /// Returns when all units become idle that hold the blocks from place `first` to place `last`.
    /// Both places are on one element or on neighbouring elements.
    pub(super) fn idle_from(&self, first: Place, last: Place) -> Nanos {
        if !self.timed {
            return self.latest;
        }
        let packages = first.package..last.package + self.span;
        if self.shares_control() {
            let gangs =
                packages.map(|package| self.gangs[(package / self.wiring.gang) as usize].end);
            return gangs.max().unwrap_or_default();
        }
        if !self.wiring.queue_per_package {
            let gangs = packages.map(|package| self.units[(package / self.wiring.gang) as usize]);
            return gangs.max().unwrap_or_default();
        }
        let mut idle = Nanos::default();
        for member in 0..self.span {
            let shift = member * self.units_per_package;
            let units = (first.unit + shift) as usize..=(last.unit + shift) as usize;
            self.units[units].iter().for_each(|unit| idle = idle.max(*unit));
        }
        idle
    }

    /// Returns when every unit becomes idle.
    pub(super) fn all_idle(&self) -> Nanos {
        self.units.iter().copied().max().unwrap_or_default().max(self.latest)
    }

    /// Makes all units, buses and gangs idle at `now`.
    pub(super) fn reset(&mut self, now: Nanos) {
        self.latest = now;
        self.units.fill(now);
        self.buses.fill(now);
        self.gangs.fill(Gang::idle(now));
        self.last.fill(Last::default());
    }
}
