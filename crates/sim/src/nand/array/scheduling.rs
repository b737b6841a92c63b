//! Timing of the commands of an array: asks the schedule, notifies observers, and records what a
//! power cut would undo.

use std::ops::Range;

use flashscope_block::Nanos;

use super::Array;
use crate::nand::schedule::{Schedule, Span};
use crate::nand::{BlockId, Cause, Page, Place};
use crate::observe::{Command, CommandKind};

/// The description of a command for observers, without its times.
struct Job {
    kind: CommandKind,
    cause: Cause,
    page: Page,
    /// The source block of a copy-back.
    from: Option<BlockId>,
    /// Time on the bus.
    transfer: Nanos,
}

impl Job {
    /// Creates a read or a program, whose data passes over the bus.
    fn over_bus(kind: CommandKind, cause: Cause, page: Page, transfer: Nanos) -> Job {
        Job { kind, cause, page, from: None, transfer }
    }
}

impl Array {
    /// Schedules a command on these packages of its element.
    #[inline]
    fn carry_out(
        &mut self,
        job: Job,
        members: Range<u32>,
        at: Nanos,
        timed: impl Fn(&mut Schedule, Place, Range<u32>) -> Span,
    ) -> Span {
        if self.is_observed() {
            return self.carry_out_observed(job, members, at, timed);
        }
        let place = self.schedule.place(job.page.block);
        timed(&mut self.schedule, place, members)
    }

    /// Schedules a command package by package, which gives the same times, and reports the part of
    /// each package to observers. Kept out of line, so that it costs nothing without observers.
    #[cold]
    #[inline(never)]
    fn carry_out_observed(
        &mut self,
        job: Job,
        members: Range<u32>,
        at: Nanos,
        timed: impl Fn(&mut Schedule, Place, Range<u32>) -> Span,
    ) -> Span {
        let place = self.schedule.place(job.page.block);
        let mut span = Span { start: Nanos::MAX, done: Nanos(0) };
        let end = members.end;
        for member in members {
            let part = timed(&mut self.schedule, place, member..member + 1);
            self.notify_command(&job, place, member..end, at, part);
            span = Span { start: span.start.min(part.start), done: span.done.max(part.done) };
        }
        span
    }

    /// Reports the part of the first of these packages to observers.
    fn notify_command(
        &mut self,
        job: &Job,
        place: Place,
        members: Range<u32>,
        at: Nanos,
        span: Span,
    ) {
        let (unit, bus) = self.schedule.parts(place, members.start);
        let number = |index: usize| u32::try_from(index).expect("fewer than blocks");
        let command = Command {
            kind: job.kind,
            cause: job.cause,
            unit: number(unit),
            bus: number(bus),
            block: job.page.block,
            index: job.page.index,
            from: job.from,
            member: members.start,
            members: members.end,
            at,
            start: span.start,
            done: span.done,
            transfer: if self.schedule.timed() { job.transfer } else { Nanos(0) },
        };
        self.notify(|observer| observer.command(&command));
    }

    #[inline]
    pub(super) fn schedule_read(
        &mut self,
        page: Page,
        members: Range<u32>,
        at: Nanos,
        cause: Cause,
        transfer: Nanos,
    ) -> Span {
        let slc = self.is_slc(page.block);
        let job = Job::over_bus(CommandKind::Read, cause, page, transfer);
        self.carry_out(job, members, at, |schedule, place, members| {
            schedule.read(place, members, at, slc, transfer)
        })
    }

    #[inline]
    pub(super) fn schedule_program(
        &mut self,
        page: Page,
        at: Nanos,
        cause: Cause,
        transfer: Nanos,
        zero: bool,
    ) -> Span {
        let timing = self.schedule.timing();
        let cells = match (self.is_slc(page.block), zero) {
            (true, _) => timing.slc_program,
            (false, true) => timing.zero_page_program,
            (false, false) => timing.page_program,
        };
        let members = 0..self.geometry().span;
        let job = Job::over_bus(CommandKind::Program, cause, page, transfer);
        let span = self.carry_out(job, members, at, |schedule, place, members| {
            schedule.program(place, members, at, cells, transfer)
        });
        if let Some(undo) = &mut self.undo {
            undo.program(page, 1, span.start, span.done);
        }
        span
    }

    /// Schedules `pages` copies within a plane, from `from` to `target` and the pages after it.
    pub(super) fn schedule_copies(
        &mut self,
        from: BlockId,
        target: Page,
        pages: u32,
        at: Nanos,
        cause: Cause,
    ) -> Nanos {
        let slc = [self.is_slc(from), self.is_slc(target.block)];
        let members = 0..self.geometry().span;
        let mut done = at;
        for index in target.index..target.index + pages {
            let page = Page { index, ..target };
            let (kind, transfer) = (CommandKind::CopyBack, Nanos(0));
            let job = Job { kind, cause, page, from: Some(from), transfer };
            let span = self.carry_out(job, members.clone(), at, |schedule, place, members| {
                schedule.copy_back(place, members, at, slc)
            });
            done = done.max(span.done);
            if let Some(undo) = &mut self.undo {
                undo.program(page, 1, span.start, span.done);
            }
        }
        done
    }

    /// Schedules `count` moves from `from` to `target` and the pages after it.
    #[inline]
    pub(super) fn schedule_moves(
        &mut self,
        from: BlockId,
        target: Page,
        count: u32,
        at: Nanos,
        cause: Cause,
    ) -> Nanos {
        let (source, place) = (self.schedule.place(from), self.schedule.place(target.block));
        if self.plain
            && let Some(done) = self.schedule.moves_in_unit(source, place, count, at)
        {
            return done;
        }
        let (transfer, span) = (self.schedule.timing().page_transfer, self.geometry().span);
        let (mut done, mut next) = (at, 0);
        for index in target.index..target.index + count {
            // The source pages matter only for observers, and if the program time depends on the
            // data.
            let (mut read_page, mut zero) = (Page { block: from, index: 0 }, false);
            if (self.is_observed() || self.schedule.timing().distinguishes_zeros())
                && let Some(slot) = self.blocks.next_valid(from, next)
            {
                next = self.geometry().index(slot) + 1;
                read_page = self.geometry().page(slot);
                zero = self.blocks.is_zero(slot.0 as usize);
            }
            let read = self.schedule_read(read_page, 0..span, at, cause, transfer);
            let page = Page { index, ..target };
            let program = self.schedule_program(page, read.done, cause, transfer, zero);
            done = done.max(program.done);
        }
        done
    }

    #[inline]
    pub(super) fn schedule_erase(&mut self, block: BlockId, at: Nanos, cause: Cause) -> Span {
        let members = 0..self.geometry().span;
        let (kind, transfer, page) = (CommandKind::Erase, Nanos(0), Page { block, index: 0 });
        let job = Job { kind, cause, page, from: None, transfer };
        self.carry_out(job, members, at, |schedule, place, members| {
            schedule.erase(place, members, at)
        })
    }
}
