mod gathering;
mod ledger;
mod queued;
mod rows;
mod scheduling;
mod settings;
mod turns;
mod waits;

use std::ops::Range;

use flashscope_block::Nanos;

use super::blocks::Blocks;
use super::disturb::{DisturbState, ReadOutcome};
use super::errors::ErrorState;
use super::faults::Faults;
use super::schedule::Schedule;
use super::undo::UndoLog;
use super::{
    BlockId, Cause, Entry, Fault, FlashCounters, Geometry, IllegalCommand, Page, Place,
    Reliability, Slot, Timing, Wiring, bad_blocks,
};
use crate::event::{CommandKind, Notice, Observer, ObserverSwitch};
use crate::footprint::{Size, fixed, grown};

pub use gathering::NOWHERE;
pub use queued::Event;
use queued::QueuedArray;
pub use settings::{Levels, Queues};

/// The parts and settings of an [`Array`].
#[derive(Debug, Clone)]
pub struct Parts {
    /// The dimensions of the flash.
    pub geometry: Geometry,
    /// The durations of its commands.
    pub timing: Timing,
    /// The connections between its packages.
    pub wiring: Wiring,
    /// Bad blocks, failing commands and block lifetime.
    pub reliability: Reliability,
    /// True if commands take time; if false, each command takes no time.
    pub timed: bool,
    /// True if the times of commands are summed up.
    pub measures_energy: bool,
    /// True if the metadata of a page contains its stamp.
    pub stamped: bool,
    /// True if a program on another unit may supersede a page. Erases must then wait for that
    /// program.
    pub settling: bool,
    /// True if blocks may be used as SLC, which has its own read and program times.
    pub slc: bool,
    /// The command queues; `None` if a command reserves its unit and bus when it is submitted.
    pub queues: Option<Queues>,
}

/// The logical pages to move and their destination, for [`Array::relocate`].
#[derive(Debug, Clone, Copy)]
pub(crate) struct Moves {
    /// The block whose first valid logical pages are moved.
    pub from: BlockId,
    /// The slot for the first page; the other pages go to the slots after it.
    pub to: Slot,
    /// Number of logical pages to move.
    pub count: u32,
    /// True to copy within the plane; false to pass the data through the controller.
    pub copy_back: bool,
}

/// The largest number of events that are kept before they are passed to observers.
const NOTICES: usize = 64;

/// The flash of a drive.
///
/// A *unit* carries out one command at a time. It is a package, or, with interleaving, a die or a
/// pair of planes. Interleaved units share the serial bus of their package, which carries one page
/// at a time (Agrawal et al., section 2.2). Without [`Queues`], commands are served in the order of
/// submission. A method that issues a command takes the time at which the command reaches the
/// flash, and returns the time at which it is done. With [`Queues`], both times may stand for
/// commands (see [`crate::nand::due`]). An illegal command changes nothing, unless it copies a page
/// without data.
pub struct Array {
    blocks: Blocks,
    schedule: Schedule,
    /// The command queues, if the array has them.
    queued: Option<Box<QueuedArray>>,
    /// True while commands bypass the queues and reserve their unit and bus when they are
    /// submitted. This holds while a drive recovers, because no other commands can arrive then.
    direct: bool,
    faults: Faults,
    disturb: Option<DisturbState>,
    /// The bit errors of pages, if there are any.
    errors: Option<Box<ErrorState>>,
    /// True if programs by the host currently rewrite existing data to refresh it.
    refreshing: bool,
    counters: FlashCounters,
    /// True if the times of commands are summed up.
    measures_energy: bool,
    /// True if blocks may be used as SLC.
    has_slc: bool,
    undo: Option<UndoLog>,
    block_lifetime: u32,
    observers: Vec<Box<dyn Observer>>,
    /// The events that the observers have not received yet.
    notices: Vec<Notice>,
    switch: ObserverSwitch,
    /// True if there were active observers when the request began.
    observed: bool,
    /// The value of [`Array::is_plain`], cached.
    plain: bool,
}

impl Array {
    /// Returns the size of the memory that an array of these parts allocates.
    pub(crate) fn footprint(parts: &Parts) -> Size {
        let Parts { geometry, reliability, .. } = parts;
        let (blocks, pages) = (geometry.blocks(), u64::from(geometry.pages_per_block));
        // A failed program tears its pages and ends the use of its block.
        let torn = match reliability.program_failures > 0.0 {
            true => u64::from(blocks) * u64::from(geometry.pages_per_slot),
            false => 0,
        };
        Blocks::footprint(geometry, parts.stamped, parts.timing.distinguishes_zeros(), torn)
            + Schedule::footprint(geometry, parts.wiring)
            + match parts.queues {
                Some(queues) => QueuedArray::footprint(
                    blocks * queues.span,
                    super::units(geometry, parts.wiring),
                ),
                None => Size(0),
            }
            + DisturbState::footprint(reliability.read_disturb, u64::from(blocks) * pages)
            + ErrorState::footprint(&reliability.bit_errors, blocks)
            // The factory bad blocks, and the erase counts that are collected at the end.
            + fixed::<u32>(geometry.blocks_per_plane)
            + grown::<u32>(blocks)
    }

    /// Creates an erased array, idle at time 0.
    pub fn new(parts: &Parts) -> Self {
        let geometry = parts.geometry;
        let zeros = parts.timing.distinguishes_zeros();
        let mut blocks = Blocks::new(geometry, parts.stamped, parts.settling, zeros);
        let mut faults = Faults::new(&parts.reliability);
        let per_plane = geometry.blocks_per_plane;
        let bad = bad_blocks(parts.reliability.factory_bad_blocks, per_plane);
        for plane in (0..geometry.blocks()).step_by(per_plane as usize) {
            if bad > 0 {
                let draw_bad_blocks = faults.draw_bad_blocks(bad, per_plane);
                draw_bad_blocks.iter().for_each(|block| blocks.mark_bad(BlockId(plane + block)));
            }
        }
        let schedule = Schedule::new(&geometry, parts.timing, parts.wiring, parts.timed);
        let queued =
            |queues| QueuedArray::new(queues, &schedule.scheduled_parts(), geometry.blocks());
        let mut array = Array {
            blocks,
            queued: parts.queues.map(queued).map(Box::new),
            direct: false,
            schedule,
            faults,
            disturb: DisturbState::new(parts.reliability.read_disturb, parts.reliability.seed),
            errors: ErrorState::new(&parts.reliability.bit_errors, geometry.blocks()),
            refreshing: false,
            counters: FlashCounters::default(),
            measures_energy: parts.measures_energy,
            has_slc: parts.slc,
            undo: None,
            block_lifetime: parts.reliability.block_lifetime,
            observers: Vec::new(),
            notices: Vec::new(),
            switch: ObserverSwitch::new(),
            observed: false,
            plain: false,
        };
        array.plain = array.is_plain();
        array
    }

    /// Adds an observer.
    pub fn observe(&mut self, observer: Box<dyn Observer>) {
        self.observers.push(observer);
        self.update_observed();
    }

    /// Returns true if commands currently take the fast path: see [`Array::is_plain`].
    #[inline]
    pub(crate) const fn is_plain_now(&self) -> bool {
        self.plain
    }

    /// Returns the switch that turns all observers on and off.
    pub const fn observer_switch(&self) -> &ObserverSwitch {
        &self.switch
    }

    /// Returns true if observers were switched on or off since [`Array::update_observed`], or a
    /// restart is requested.
    #[inline]
    pub(crate) fn observers_changed(&self) -> bool {
        !self.observers.is_empty()
            && (self.switch.is_enabled() != self.observed || self.switch.wants_restart())
    }

    /// Applies the state of the observer switch from now on.
    pub(crate) fn update_observed(&mut self) {
        self.observed = !self.observers.is_empty() && self.switch.is_enabled();
        self.plain = self.is_plain();
    }

    /// Reports the log block that the following merge commands concern.
    #[inline]
    pub(crate) fn notify_merge(&mut self, log: BlockId) {
        self.notify(|| Notice::Merge(log));
    }

    /// Returns true if there are active observers.
    #[inline]
    pub(crate) const fn is_observed(&self) -> bool {
        self.observed
    }

    /// Reports an event to the observers, if they are active. They receive it in
    /// [`Array::deliver`] at the latest.
    #[inline]
    pub(crate) fn notify(&mut self, notice: impl FnOnce() -> Notice) {
        if self.observed {
            self.notices.push(notice());
            if self.notices.len() >= NOTICES {
                self.deliver();
            }
        }
    }

    /// Passes all events so far to the observers.
    #[inline]
    pub(crate) fn deliver(&mut self) {
        if !self.notices.is_empty() {
            let notices = &self.notices;
            self.observers.iter_mut().for_each(|observer| observer.notices(notices));
            self.notices.clear();
        }
    }

    /// Returns all observers, active or not.
    pub const fn observers(&mut self) -> &mut Vec<Box<dyn Observer>> {
        &mut self.observers
    }

    /// Returns the number of units. They are numbered from 0, package by package.
    pub fn units(&self) -> u32 {
        self.schedule.units()
    }

    /// Returns the number of serial buses: one for each package, or one for each gang that shares
    /// its bus.
    pub fn buses(&self) -> u32 {
        self.schedule.buses()
    }

    /// Returns the packages that a unit serves: one, or all of a gang with a single queue.
    pub fn packages_of(&self, unit: u32) -> Range<u32> {
        self.schedule.packages_of(unit)
    }

    /// Returns true if a block is used as SLC.
    #[inline]
    fn is_slc(&self, block: BlockId) -> bool {
        self.has_slc && self.blocks.is_slc(block)
    }

    /// Returns the parts of the array that commands on a block occupy.
    pub fn place(&self, block: BlockId) -> Place {
        self.schedule.place(block)
    }

    /// Begins another request, to which the next commands belong.
    #[inline]
    pub fn next_request(&mut self) {
        self.schedule.next_request();
    }

    /// Returns true if [`Array::relocate`] can move pages: a logical page is one page of an
    /// element, no program can fail, and reads by the drive itself need no retries.
    pub(crate) fn can_relocate(&self) -> bool {
        let geometry = self.geometry();
        self.faults.programs_succeed()
            && self.errors.is_none()
            && geometry.slots_per_page == 1
            && geometry.pages_per_slot == 1
    }

    /// Reads a page from each of the packages `members` of its element into the controller.
    ///
    /// # Errors
    /// Returns [`IllegalCommand::ReadOfErasedPage`], or [`Fault::Failed`] if a host read fails
    /// after all retries. The drive's own reads always succeed.
    #[inline]
    pub fn read(
        &mut self,
        page: Page,
        members: Range<u32>,
        at: Nanos,
        cause: Cause,
    ) -> Result<Nanos, Fault> {
        self.blocks.check_read(page)?;
        self.counters.reads.count(cause, members.end - members.start);
        if self.plain {
            let place = self.schedule.place(page.block);
            let span = self.schedule.read_plain(place, at);
            self.notify_plain(CommandKind::Read, cause, page, at, span);
            return Ok(span.done);
        }
        if let Some(queued) = &self.queued {
            queued.prefetch(page.block);
        }
        let transfer = self.schedule.timing().page_transfer;
        let done = self.schedule_read(page, members.clone(), at, cause, transfer).done;
        if cause == Cause::Host && self.disturb.is_some() || self.errors.is_some() {
            return self.read_again(page, &members, done, cause);
        }
        Ok(done)
    }

    /// Returns the outcome of a page read that ended at `at`.
    fn outcome(&mut self, page: Page, cause: Cause, at: Nanos) -> ReadOutcome {
        let now = self.known(at);
        let (erases, slc) = (self.blocks.erases(page.block), self.is_slc(page.block));
        match (&mut self.errors, &mut self.disturb) {
            (Some(errors), _) => errors.read(page, cause, erases, slc, now),
            (None, Some(disturb)) => disturb.read(page),
            (None, None) => ReadOutcome { retries: 0, readable: true },
        }
    }

    /// Repeats a read that ended at `at`, as many times as the page needs retries.
    fn read_again(
        &mut self,
        page: Page,
        members: &Range<u32>,
        at: Nanos,
        cause: Cause,
    ) -> Result<Nanos, Fault> {
        let outcome = self.outcome(page, cause, at);
        let decode = self.errors.as_ref().map_or(Nanos(0), |errors| errors.decode());
        let transfer = self.schedule.timing().page_transfer;
        let mut done = self.after(at, decode);
        for _ in 0..outcome.retries {
            done = self.schedule_read(page, members.clone(), done, cause, transfer).done;
            done = self.after(done, decode);
        }
        self.counters.read_retries += u64::from(outcome.retries);
        self.counters.failed_reads += u64::from(!outcome.readable);
        match outcome.readable || cause != Cause::Host {
            true => Ok(done),
            false => Err(Fault::Failed(done)),
        }
    }

    /// Returns the pages read since the last call that must be rewritten before they become
    /// unreadable.
    pub(crate) fn take_refresh(&mut self) -> Vec<Page> {
        match (&mut self.errors, &mut self.disturb) {
            (Some(errors), _) => errors.take_refresh(),
            (None, Some(disturb)) => disturb.take_refresh(),
            (None, None) => Vec::new(),
        }
    }

    /// Sets whether the next programs by the host are refreshes, which count as [`Cause::Wear`].
    pub(crate) fn set_refreshing(&mut self, refreshing: bool) {
        self.refreshing = refreshing;
    }

    /// Reads only the metadata of a page or, with `summary`, the block summary that starts there.
    ///
    /// # Errors
    /// Returns [`IllegalCommand::ReadOfErasedPage`].
    pub(crate) fn read_metadata(
        &mut self,
        page: Page,
        at: Nanos,
        summary: bool,
    ) -> Result<Nanos, IllegalCommand> {
        self.blocks.check_read(page)?;
        self.counters.reads.count(Cause::Mapping, 1);
        let timing = self.schedule.timing();
        let transfer = if summary { timing.summary_transfer } else { timing.metadata_transfer };
        Ok(self.schedule_read(page, 0..1, at, Cause::Mapping, transfer).done)
    }

    /// Programs `pages` consecutive pages, each on every package of the element.
    #[inline]
    fn program_pages(
        &mut self,
        page: Page,
        pages: u32,
        at: Nanos,
        cause: Cause,
        transfer: Nanos,
        zero: bool,
    ) -> Result<Nanos, Fault> {
        self.blocks.advance(page, pages)?;
        let cause = if self.refreshing && cause == Cause::Host { Cause::Wear } else { cause };
        self.counters.programs.count(cause, pages * self.geometry().span);
        let mut done = at;
        if page.index == 0 && self.errors.is_some() {
            self.note_age(page.block, at);
        }
        for index in page.index..page.index + pages {
            let page = Page { index, ..page };
            let span = self.schedule_program(page, at, cause, transfer, zero);
            done = self.both(done, span.done);
        }
        if self.faults.program_fails() {
            self.counters.failed_programs += 1;
            self.blocks.tear(page, pages);
            return Err(Fault::Failed(done));
        }
        Ok(done)
    }

    /// Records that the data of a block begins to age.
    #[cold]
    fn note_age(&mut self, block: BlockId, at: Nanos) {
        let now = self.known(at);
        if let Some(errors) = &mut self.errors {
            errors.written(block, now);
        }
    }

    /// Programs logical pages from the controller: one to `slot` or, if several fit on a flash
    /// page, up to that many from `slot` on. A logical page larger than a flash page fills several
    /// flash pages. `place` is the [`Array::place`] of the block.
    ///
    /// # Errors
    /// Returns [`IllegalCommand::ProgramOutOfOrder`], [`IllegalCommand::BadBlock`], or
    /// [`Fault::Failed`] if the program fails.
    #[inline]
    pub fn program(
        &mut self,
        place: Place,
        slot: Slot,
        entries: &[Entry],
        at: Nanos,
        cause: Cause,
    ) -> Result<Nanos, Fault> {
        if self.plain
            && let [entry] = entries
        {
            return Ok(self.program_plain(place, slot, *entry, at, cause)?);
        }
        let transfer = self.schedule.timing().page_transfer;
        let page = self.geometry().page(slot);
        let zero = entries.iter().all(|entry| entry.zero);
        let pages = self.geometry().pages_per_slot;
        let done = self.program_pages(page, pages, at, cause, transfer, zero)?;
        self.fill(slot, entries);
        Ok(done)
    }

    /// Does the same as [`Array::program`] for one logical page, if [`Array::is_plain_now`].
    ///
    /// # Errors
    /// Returns an error if the command is illegal.
    #[inline]
    pub(crate) fn program_plain(
        &mut self,
        place: Place,
        slot: Slot,
        entry: Entry,
        at: Nanos,
        cause: Cause,
    ) -> Result<Nanos, IllegalCommand> {
        let page = Page { block: self.geometry().block(slot), index: self.geometry().index(slot) };
        self.blocks.advance(page, 1)?;
        self.counters.programs.count(cause, 1);
        let span = self.schedule.program_plain(place, at);
        self.notify_plain(CommandKind::Program, cause, page, at, span);
        self.blocks.fill(slot, entry);
        Ok(span.done)
    }

    /// Returns true if the fast path is equivalent to the general path. Each program then writes
    /// one logical page to one page and never fails, and no observer needs each command as a
    /// separate event.
    fn is_plain(&self) -> bool {
        self.can_relocate()
            && self.disturb.is_none()
            && self.schedule.is_plain()
            && !(self.observed && self.observers.iter().any(|one| one.needs_commands()))
            && self.queued.is_none()
            && self.undo.is_none()
            && !self.has_slc
            && !self.measures_energy
            && !self.schedule.timing().page_types.is_some()
            && !self.schedule.timing().distinguishes_zeros()
    }

    #[inline]
    fn fill(&mut self, slot: Slot, entries: &[Entry]) {
        let mut place = slot;
        for entry in entries {
            self.blocks.fill(place, *entry);
            place.0 += 1;
        }
        for _ in entries.len()..self.geometry().slots_per_page as usize {
            self.blocks.pad(place);
            place.0 += 1;
        }
    }

    /// Programs the summary of a block, after its data.
    ///
    /// # Errors
    /// See [`Array::program`].
    pub(crate) fn program_summary(&mut self, block: BlockId, at: Nanos) -> Result<Nanos, Fault> {
        let page = Page { block, index: self.blocks.written(block) };
        let pages = self.geometry().summary_pages;
        let transfer = self.schedule.timing().summary_transfer;
        let done = self.program_pages(page, pages, at, Cause::Mapping, transfer, false)?;
        self.blocks.pad_pages(page, pages);
        Ok(done)
    }

    /// Copies the logical page at `from` to the slot `to` within the plane (Agrawal et
    /// al., section 2.1).
    ///
    /// # Errors
    /// See [`Array::program`]; also returns [`IllegalCommand::CopyBackAcrossPlanes`].
    pub fn copy_back(
        &mut self,
        from: Slot,
        to: Slot,
        at: Nanos,
        cause: Cause,
    ) -> Result<Nanos, Fault> {
        let geometry = *self.geometry();
        let (source, target) = (geometry.page(from), geometry.page(to));
        self.check_plane(source.block, target.block)?;
        self.blocks.check_read(source)?;
        let pages = geometry.pages_per_slot;
        self.blocks.advance(target, pages)?;
        let count = pages * geometry.span;
        self.counters.programs.count(cause, count);
        self.counters.copy_backs.count(cause, count);
        let done = self.schedule_copies(source.block, Some(source.index), target, pages, at, cause);
        if self.faults.program_fails() {
            self.counters.failed_programs += 1;
            self.blocks.tear(target, pages);
            return Err(Fault::Failed(done));
        }
        let entry = self.blocks.entry(from).ok_or(IllegalCommand::ReadOfErasedPage(source))?;
        self.blocks.fill(to, entry);
        if let Some(note) = self.blocks.note(from).cloned() {
            self.blocks.set_note(to, note);
        }
        Ok(done)
    }

    fn check_plane(&self, from: BlockId, to: BlockId) -> Result<(), IllegalCommand> {
        let blocks_per_plane = self.geometry().blocks_per_plane;
        if from.0 / blocks_per_plane != to.0 / blocks_per_plane {
            return Err(IllegalCommand::CopyBackAcrossPlanes { from, to });
        }
        Ok(())
    }

    /// Moves logical pages from one block to another. Equivalent to reading, programming and
    /// superseding them one by one, all submitted at `at`. Requires [`Array::can_relocate`].
    ///
    /// Calls `moved` repeatedly, each time with a list of logical pages and the new slot of the
    /// first page. The other pages of the list are in the slots after it.
    ///
    /// # Errors
    /// See [`Array::program`] and [`Array::copy_back`].
    #[inline]
    pub(crate) fn relocate(
        &mut self,
        moves: Moves,
        at: Nanos,
        cause: Cause,
        moved: impl FnMut(&[u32], Slot),
    ) -> Result<Nanos, IllegalCommand> {
        let Moves { from, to, count, copy_back } = moves;
        debug_assert!(self.can_relocate() && count <= self.blocks.valid(from));
        if count == 0 {
            return Ok(at);
        }
        let target = self.geometry().page(to);
        if copy_back {
            self.check_plane(from, target.block)?;
        }
        self.blocks.advance(target, count)?;
        let commands = count * self.geometry().span;
        self.counters.programs.count(cause, commands);
        let done = if copy_back {
            self.counters.copy_backs.count(cause, commands);
            self.schedule_copies(from, None, target, count, at, cause)
        } else {
            self.counters.reads.count(cause, commands);
            self.schedule_moves(from, target, count, at, cause)
        };
        self.blocks.relocate(from, to, count, moved);
        self.settle_block(from, done);
        Ok(done)
    }

    /// Erases a block, once the programs that supersede its pages are done.
    ///
    /// # Errors
    /// Returns [`IllegalCommand::EraseOfValidPages`], [`IllegalCommand::BadBlock`], or
    /// [`Fault::Failed`] if the erase fails.
    #[inline]
    pub fn erase(&mut self, block: BlockId, at: Nanos, cause: Cause) -> Result<Nanos, Fault> {
        self.blocks.check_erase(block)?;
        self.counters.erases.count(cause, self.geometry().span);
        let at = self.settled(block, at);
        let span = self.schedule_erase(block, at, cause);
        self.note_undo_of_erase(block, span);
        self.blocks.erase(block);
        if let Some(disturb) = &mut self.disturb {
            disturb.erased(block);
        }
        if let Some(errors) = &mut self.errors {
            errors.erased(block, self.blocks.erases(block));
        }
        if self.faults.erase_fails() {
            self.counters.failed_erases += 1;
            return Err(Fault::Failed(span.done));
        }
        Ok(span.done)
    }
}
