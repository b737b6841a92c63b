//! Timing of the commands of an array. Also notifies observers, and records the effects that a
//! power cut would undo.

use std::ops::Range;

use flashscope_block::Nanos;

use super::Array;
use super::queued::{Event, FlashRequest, ObserverReport, QueuedArray};
use crate::event::{Command, CommandKind, Notice, Relocation};
use crate::nand::due::awaited;
use crate::nand::schedule::{Schedule, Span};
use crate::nand::{BlockId, Cause, Page, Place, later};
use crate::sched::Op;

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
        self.schedule.set_row(job.kind, place, job.page);
        timed(&mut self.schedule, place, members)
    }

    /// Schedules a command package by package, which gives the same times, and reports the part of
    /// each package to observers. It is not inlined, and therefore costs nothing without observers.
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
        self.schedule.set_row(job.kind, place, job.page);
        let mut span = Span { start: Nanos::MAX, done: Nanos(0) };
        let end = members.end;
        for member in members {
            let part = timed(&mut self.schedule, place, member..member + 1);
            self.notify_command(&job, place, member..end, at, part);
            span = Span { start: span.start.min(part.start), done: span.done.max(part.done) };
        }
        span
    }

    /// Reports the part of a command on the first package of `members` to observers.
    fn notify_command(
        &mut self,
        job: &Job,
        place: Place,
        members: Range<u32>,
        at: Nanos,
        span: Span,
    ) {
        let command = self.command_of(job, place, members, at, span);
        self.notify(|| Notice::Command(command));
    }

    /// Reports a command of the fast path to observers, if there are any: see
    /// [`Array::is_plain_now`].
    #[inline]
    pub(super) fn notify_plain(
        &mut self,
        kind: CommandKind,
        cause: Cause,
        page: Page,
        at: Nanos,
        span: Span,
    ) {
        if self.is_observed() {
            let job = Job::over_bus(kind, cause, page, self.schedule.timing().page_transfer);
            self.notify_command(&job, self.schedule.place(page.block), 0..1, at, span);
        }
    }

    /// Reports `count` moves to observers, if there are any.
    #[inline]
    fn notify_relocation(
        &mut self,
        moves: (BlockId, Page, u32),
        at: Nanos,
        span: Span,
        cause: Cause,
    ) {
        if !self.is_observed() {
            return;
        }
        let (from, to, count) = moves;
        let (unit, bus) = self.schedule.numbers(self.schedule.place(to.block), 0);
        let timing = self.schedule.timing();
        let times = match self.schedule.timed() {
            true => [timing.page_read, timing.page_program, timing.page_transfer],
            false => [Nanos(0); 3],
        };
        let [read, program, transfer] = times;
        let (read, program, start) = (later(read, transfer), later(program, transfer), span.start);
        let moved =
            Relocation { cause, unit, bus, from, to, count, at, start, read, program, transfer };
        self.notify(|| Notice::Relocation(moved));
    }

    /// Returns the part of a command on the first package of `members`, as observers receive it.
    fn command_of(
        &self,
        job: &Job,
        place: Place,
        members: Range<u32>,
        at: Nanos,
        span: Span,
    ) -> Command {
        let (unit, bus) = self.schedule.numbers(place, members.start);
        Command {
            kind: job.kind,
            cause: job.cause,
            unit,
            bus,
            block: job.page.block,
            index: job.page.index,
            from: job.from,
            member: members.start,
            members: members.end,
            at,
            start: span.start,
            done: span.done,
            transfer: if self.schedule.timed() { job.transfer } else { Nanos(0) },
            suspended: Nanos(0),
            together: 1,
        }
    }

    /// Returns the queues, if commands wait in them.
    #[inline]
    pub(super) fn queues(&self) -> Option<&QueuedArray> {
        self.queued.as_deref().filter(|_| !self.direct)
    }

    #[inline]
    fn queues_mut(&mut self) -> Option<&mut QueuedArray> {
        self.queued.as_deref_mut().filter(|_| !self.direct)
    }

    /// Gives a command on these packages of its element to the scheduler.
    fn give(&mut self, job: &Job, members: Range<u32>, op: Op, cells: Nanos, at: Nanos) -> Span {
        let place = self.schedule.place(job.page.block);
        let row = self.schedule.row(job.kind, place, job.page);
        let end = members.end;
        if let Some(queued) = &mut self.queued {
            queued.begin();
        }
        let mut done = at;
        for member in members.clone() {
            let given = FlashRequest {
                op,
                cause: job.cause,
                page: job.page,
                from: job.from,
                member,
                seat: self.schedule.seat(place, member, row),
                cells,
                transfer: job.transfer,
                at,
            };
            let observed = self.is_observed().then(|| {
                let times = Span { start: Nanos(0), done: Nanos(0) };
                self.command_of(job, place, member..end, Nanos(0), times)
            });
            let Some(queued) = &mut self.queued else { break };
            let part = queued.give(&given, observed);
            done = if member == members.start { part } else { queued.both(done, part) };
        }
        Span { start: Nanos(0), done }
    }

    /// Returns the ends of the parts of the last command if it ran on several packages, or an empty
    /// list.
    fn parts(&self) -> Box<[Nanos]> {
        match self.queues() {
            Some(queued) if queued.parts().len() > 1 => queued.parts().into(),
            _ => Box::default(),
        }
    }

    /// Returns the time `delay` after `at`: see [`crate::nand::due`].
    #[inline]
    pub fn after(&mut self, at: Nanos, delay: Nanos) -> Nanos {
        match (self.queues_mut(), awaited(at)) {
            (Some(_), Some(_)) if delay == Nanos(0) => at,
            (Some(queued), Some(ticket)) => queued.after(ticket, delay),
            _ => later(at, delay),
        }
    }

    /// Returns the later of two times: see [`crate::nand::due`].
    #[inline]
    pub fn both(&mut self, one: Nanos, other: Nanos) -> Nanos {
        match self.queues_mut() {
            None => one.max(other),
            Some(queued) => queued.both(one, other),
        }
    }

    /// Returns the first time from `at` on at which every program and erase issued so far is done.
    /// Without queues, returns the later of `at` and `last`, the end of the last program.
    pub(crate) fn after_writes(&mut self, at: Nanos, last: Nanos) -> Nanos {
        match self.queues_mut() {
            None => at.max(last),
            Some(queued) => queued.after_writes(at),
        }
    }

    /// Returns the later of `done` and the time at which all programs and erases issued for the
    /// block are done. Without queues, all commands of the block's unit must be done.
    #[inline]
    pub(crate) fn written_by(&mut self, block: BlockId, done: Nanos) -> Nanos {
        let place = self.place(block);
        match self.queues_mut() {
            None => done.max(self.schedule.idle_from(place, place)),
            Some(queued) => {
                let written = queued.written(block);
                queued.both(done, written)
            }
        }
    }

    /// Returns the first time from `at` on at which a block may be erased. With queues, returns
    /// `at`: a queued erase waits for the commands that it depends on.
    #[inline]
    pub(super) fn settled(&self, block: BlockId, at: Nanos) -> Nanos {
        if self.queues().is_some() { at } else { at.max(self.blocks.settled(block)) }
    }

    /// Returns the first time from `at` on at which a block may be retired: after the programs that
    /// supersede its pages. With queues, this is after every program and erase issued so far.
    pub(super) fn retired(&mut self, block: BlockId, at: Nanos) -> Nanos {
        match self.queues_mut() {
            Some(queued) => queued.retire(block, at),
            None => at.max(self.blocks.settled(block)),
        }
    }

    /// Returns true if a time that the array returned is not later than `now`. For a time that
    /// stands for a command, returns true if that command is done.
    pub(crate) fn is_past(&self, at: Nanos, now: Nanos) -> bool {
        match (&self.queued, awaited(at)) {
            (Some(queued), Some(_)) => queued.is_past(at),
            _ => at <= now,
        }
    }

    /// Returns true if a time stands for a command that waits in a queue.
    pub(crate) fn is_awaited(&self, at: Nanos) -> bool {
        self.queues().is_some() && awaited(at).is_some()
    }

    /// Returns an actual time: the current time if `at` stands for a command, or else `at` itself.
    pub fn known(&self, at: Nanos) -> Nanos {
        match (&self.queued, awaited(at)) {
            (Some(queued), Some(_)) => queued.scheduler.now(),
            _ => at,
        }
    }

    /// Returns true if the array has command queues.
    pub const fn has_queues(&self) -> bool {
        self.queued.is_some()
    }

    /// Sets whether the next commands are background work, which no host request waits for.
    pub(crate) fn set_background(&mut self, background: bool) {
        if let Some(queued) = &mut self.queued {
            queued.background = background;
        }
    }

    /// Sets whether the drive's own commands have priority over those of the host.
    pub(crate) fn set_urgent(&mut self, urgent: bool) {
        if let Some(queued) = &mut self.queued {
            queued.urgent = urgent;
        }
    }

    /// Requests an [`Event::Done`] with this number for the time `at`, if that time stands for a
    /// command. For any other time, returns false, and no event follows.
    pub(crate) fn notify_done(&mut self, at: Nanos, number: u32) -> bool {
        let Some(queued) = self.queues_mut() else { return false };
        let awaited = awaited(at).is_some();
        if awaited {
            queued.notify_done(at, number);
        }
        awaited
    }

    /// Closes the open rows: the scheduler may start the steps issued so far, without waiting for
    /// more.
    #[inline]
    pub(crate) fn end_request(&mut self) {
        if let Some(queued) = &mut self.queued {
            queued.close_rows();
        }
    }

    /// Requests an [`Event::Timer`] at a time. Has no effect without queues.
    pub(crate) fn wake_at(&mut self, at: Nanos) {
        if let Some(queued) = self.queues_mut() {
            queued.scheduler.set_timer(at, 0);
        }
    }

    /// Executes queued commands until the next event, at most until `until`. Returns the event and
    /// its time.
    pub fn advance(&mut self, until: Nanos) -> Option<(Event, Nanos)> {
        loop {
            let queued = self.queued.as_mut()?;
            match queued.advance(until)? {
                Ok(event) => return Some((event, queued.scheduler.now())),
                Err(ObserverReport::Command(command)) => {
                    self.notify(|| Notice::Command(command));
                }
                Err(ObserverReport::Suspension(command, time)) => {
                    self.notify(|| Notice::Suspension(command, time));
                }
            }
        }
    }

    /// Returns the time of the next event of the queued commands, as far as it is known.
    pub(crate) fn next_event(&self) -> Option<Nanos> {
        self.queued.as_ref()?.scheduler.next_event()
    }

    /// Enables [`Event::Idle`].
    pub(crate) fn report_idle(&mut self) {
        if let Some(queued) = &mut self.queued {
            queued.scheduler.report_idle();
        }
    }

    /// Makes commands wait in queues again, after a drive has recovered by `now`. Returns the time
    /// at which the flash commands of the recovery are done; without queues, `now`.
    pub(crate) fn resume_queues(&mut self, now: Nanos) -> Nanos {
        let Some(queued) = &mut self.queued else { return now };
        let idle = now.max(self.schedule.all_idle());
        queued.reset(idle);
        self.direct = false;
        idle
    }

    /// Returns the counts of the queues, if there are any.
    pub fn queue_totals(&self) -> Option<crate::sched::Totals> {
        Some(self.queued.as_ref()?.totals())
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
        let cells = self.schedule.timing().read_time(page.index, self.is_slc(page.block));
        if self.measures_energy {
            self.tally(members.len(), [cells, Nanos(0), Nanos(0), transfer]);
        }
        let job = Job::over_bus(CommandKind::Read, cause, page, transfer);
        if self.queues().is_some() {
            return self.give(&job, members, Op::Read, cells, at);
        }
        self.carry_out(job, members, at, |schedule, place, members| {
            schedule.read(place, members, at, cells, transfer)
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
        let slc = self.is_slc(page.block);
        let cells = self.schedule.timing().program_time(page.index, slc, zero);
        let members = 0..self.geometry().span;
        if self.measures_energy {
            self.tally(members.len(), [Nanos(0), cells, Nanos(0), transfer]);
        }
        let job = Job::over_bus(CommandKind::Program, cause, page, transfer);
        let span = match self.queues().is_some() {
            true => self.give(&job, members, Op::Program, cells, at),
            false => self.carry_out(job, members, at, |schedule, place, members| {
                schedule.program(place, members, at, cells, transfer)
            }),
        };
        self.note_undo_of_program(page, span);
        span
    }

    /// Adds the times of a command on `packages` packages to the counters. `times` are the times in
    /// a package to read, program and erase cells, and the time on the bus.
    fn tally(&mut self, packages: usize, times: [Nanos; 4]) {
        let [read, program, erase, bus] = times.map(|time| time.0 * packages as u64);
        let busy = &mut self.counters.busy;
        busy.read += read;
        busy.program += program;
        busy.erase += erase;
        busy.bus += bus;
    }

    /// Records the program that was issued last, so that a power cut can undo it.
    #[inline]
    fn note_undo_of_program(&mut self, page: Page, span: Span) {
        if self.undo.is_some() {
            let parts = self.parts();
            if let Some(undo) = &mut self.undo {
                undo.program(page, 1, span.start, span.done, parts);
            }
        }
    }

    /// Schedules `pages` copies within a plane, from `from` to `target` and the pages after it. The
    /// sources are page `first` and those after it or, without `first`, the first valid pages.
    pub(super) fn schedule_copies(
        &mut self,
        from: BlockId,
        first: Option<u32>,
        target: Page,
        pages: u32,
        at: Nanos,
        cause: Cause,
    ) -> Nanos {
        let (from_slc, to_slc) = (self.is_slc(from), self.is_slc(target.block));
        let members = 0..self.geometry().span;
        let (mut done, mut next) = (at, 0);
        for index in target.index..target.index + pages {
            let timing = self.schedule.timing();
            let mut source = first.unwrap_or_default() + (index - target.index);
            if first.is_none()
                && timing.page_types.is_some()
                && let Some(slot) = self.blocks.next_valid(from, next)
            {
                next = self.geometry().index(slot) + 1;
                source = self.geometry().page(slot).index;
            }
            let program = timing.program_time(index, to_slc, false);
            let read = timing.read_time(source, from_slc);
            let cells = later(read, program);
            if self.measures_energy {
                self.tally(members.len(), [read, program, Nanos(0), Nanos(0)]);
            }
            let page = Page { index, ..target };
            let (kind, transfer) = (CommandKind::CopyBack, Nanos(0));
            let job = Job { kind, cause, page, from: Some(from), transfer };
            let span = match self.queues().is_some() {
                true => self.give(&job, members.clone(), Op::Erase, cells, at),
                false => self.carry_out(job, members.clone(), at, |schedule, place, members| {
                    schedule.copy_back(place, members, at, cells)
                }),
            };
            done = self.both(done, span.done);
            self.note_undo_of_program(page, span);
        }
        done
    }

    /// Schedules `count` moves (a read and a program each) from `from` to `target` and the pages
    /// after it.
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
        // A relocation is reported as work of one unit.
        let together = source.unit == place.unit || !self.is_observed();
        if self.plain
            && together
            && let Some(span) = self.schedule.moves_in_unit(source, place, count, at)
        {
            self.notify_relocation((from, target, count), at, span, cause);
            return span.done;
        }
        let (transfer, span) = (self.schedule.timing().page_transfer, self.geometry().span);
        let (mut done, mut next) = (at, 0);
        for index in target.index..target.index + count {
            // The source pages matter only for observers and queues, and if times depend on the
            // page or its data.
            let (mut read_page, mut zero) = (Page { block: from, index: 0 }, false);
            let timing = self.schedule.timing();
            let matters = self.is_observed() || self.queued.is_some();
            if (matters || timing.page_types.is_some() || timing.distinguishes_zeros())
                && let Some(slot) = self.blocks.next_valid(from, next)
            {
                next = self.geometry().index(slot) + 1;
                read_page = self.geometry().page(slot);
                zero = self.blocks.is_zero(slot.0 as usize);
            }
            let read = self.schedule_read(read_page, 0..span, at, cause, transfer);
            let page = Page { index, ..target };
            let program = self.schedule_program(page, read.done, cause, transfer, zero);
            done = self.moved(from, done, program.done);
        }
        done
    }

    /// Returns the time at which a moved page is programmed. `done` is the time at which the pages
    /// moved before it are programmed. Without queues, returns the later of both times.
    pub(super) fn moved(&mut self, from: BlockId, done: Nanos, program: Nanos) -> Nanos {
        if self.queues().is_some() {
            // The erase of the block waits for each of these programs separately.
            self.settle_block(from, program);
            return program;
        }
        done.max(program)
    }

    /// Records the erase that was issued last, so that a power cut can undo it.
    #[inline]
    pub(super) fn note_undo_of_erase(&mut self, block: BlockId, span: Span) {
        if self.undo.is_some() {
            let (parts, image) = (self.parts(), self.blocks.image(block));
            if let Some(undo) = &mut self.undo {
                undo.erase(block, image, span.start, span.done, parts);
            }
        }
    }

    #[inline]
    pub(super) fn schedule_erase(&mut self, block: BlockId, at: Nanos, cause: Cause) -> Span {
        let members = 0..self.geometry().span;
        let (kind, transfer, page) = (CommandKind::Erase, Nanos(0), Page { block, index: 0 });
        if self.measures_energy {
            let cells = self.schedule.timing().block_erase;
            self.tally(members.len(), [Nanos(0), Nanos(0), cells, Nanos(0)]);
        }
        let job = Job { kind, cause, page, from: None, transfer };
        if self.queues().is_some() {
            let cells = self.schedule.timing().block_erase;
            return self.give(&job, members, Op::Erase, cells, at);
        }
        self.carry_out(job, members, at, |schedule, place, members| {
            schedule.erase(place, members, at)
        })
    }
}
