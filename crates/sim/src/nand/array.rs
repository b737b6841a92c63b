mod gathering;
mod ledger;
mod scheduling;

use std::ops::Range;

use flashscope_block::Nanos;

use super::blocks::Blocks;
use super::disturb::Disturbed;
use super::faults::Faults;
use super::schedule::Schedule;
use super::undo::UndoLog;
use super::{
    BlockId, Cause, Entry, Fault, FlashCounters, Geometry, Illegal, Page, Place, Reliability, Slot,
    Timing, Wiring, bad_blocks,
};
use crate::footprint::{Size, fixed, grown};
use crate::observe::{Attention, Observer};

pub use gathering::NOWHERE;

/// What an [`Array`] is made of.
#[derive(Debug, Clone)]
pub struct Parts {
    /// How it is divided.
    pub geometry: Geometry,
    /// How long its commands take.
    pub timing: Timing,
    /// How it is connected.
    pub wiring: Wiring,
    /// Which commands fail.
    pub reliability: Reliability,
    /// Whether commands take time; otherwise each is done when it is given.
    pub timed: bool,
    /// Whether the metadata of pages says when their data was written.
    pub stamped: bool,
    /// Whether pages may be superseded by programs on other units.
    pub settling: bool,
}

/// What [`Array::relocate`] moves.
#[derive(Debug, Clone, Copy)]
pub struct Moves {
    /// The block whose first valid logical pages are moved.
    pub from: BlockId,
    /// The place that the first goes to; the others follow.
    pub to: Slot,
    /// How many.
    pub count: u32,
    /// Within the plane; otherwise through the controller.
    pub copy_back: bool,
}

/// The flash of a drive.
///
/// A *unit* carries out one command at a time: a package, or with interleaving a die or a pair of
/// planes, whose package's serial bus then carries one page at a time for all of them (section
/// 2.2). Commands are served in the order in which they are given. Each method takes the time at
/// which the command reaches the flash and returns when it is done; an illegal command changes
/// nothing.
pub struct Array {
    blocks: Blocks,
    schedule: Schedule,
    faults: Faults,
    disturbed: Option<Disturbed>,
    /// Whether what is programmed for the host is data of its that are written anew.
    refreshing: bool,
    counters: FlashCounters,
    /// For each block, whether it is of the SLC region; empty where there is none.
    slc: Vec<bool>,
    undo: Option<UndoLog>,
    block_lifetime: u32,
    observers: Vec<Box<dyn Observer>>,
    attention: Attention,
    /// Whether there are observers, and they looked when the request began.
    observed: bool,
    /// See [`Array::is_plain`].
    plain: bool,
}

impl Array {
    /// What one of these parts takes, with or without an SLC region.
    pub(crate) fn footprint(parts: &Parts, slc: bool) -> Size {
        let Parts { geometry, reliability, .. } = parts;
        let (blocks, pages) = (geometry.blocks(), u64::from(geometry.pages_per_block));
        // A program that fails tears its pages, and ends the use of its block.
        let torn = match reliability.program_failures > 0.0 {
            true => u64::from(blocks) * u64::from(geometry.pages_per_slot),
            false => 0,
        };
        Blocks::footprint(geometry, parts.stamped, parts.timing.heeds_zeros(), torn)
            + Schedule::footprint(geometry, parts.wiring)
            + Disturbed::footprint(reliability.read_disturb, u64::from(blocks) * pages)
            + fixed::<bool>(if slc { blocks } else { 0 })
            // Which blocks are bad from the factory, and at the end how often each was erased.
            + fixed::<u32>(geometry.blocks_per_plane)
            + grown::<u32>(blocks)
    }

    /// Erased flash, idle at time 0.
    pub fn new(parts: &Parts) -> Self {
        let geometry = parts.geometry;
        let zeros = parts.timing.heeds_zeros();
        let mut blocks = Blocks::new(geometry, parts.stamped, parts.settling, zeros);
        let mut faults = Faults::new(&parts.reliability);
        let per_plane = geometry.blocks_per_plane;
        let bad = bad_blocks(parts.reliability.factory_bad_blocks, per_plane);
        for plane in (0..geometry.blocks()).step_by(per_plane as usize) {
            if bad > 0 {
                let born_bad = faults.born_bad(bad, per_plane);
                born_bad.iter().for_each(|block| blocks.mark_bad(BlockId(plane + block)));
            }
        }
        let mut array = Array {
            blocks,
            schedule: Schedule::new(&geometry, parts.timing, parts.wiring, parts.timed),
            faults,
            disturbed: Disturbed::new(parts.reliability.read_disturb, parts.reliability.seed),
            refreshing: false,
            counters: FlashCounters::default(),
            slc: Vec::new(),
            undo: None,
            block_lifetime: parts.reliability.block_lifetime,
            observers: Vec::new(),
            attention: Attention::new(),
            observed: false,
            plain: false,
        };
        array.plain = array.is_plain();
        array
    }

    /// Adds someone who looks on.
    pub fn observe(&mut self, observer: Box<dyn Observer>) {
        self.observers.push(observer);
        self.heed();
    }

    /// Whether those who look on do look.
    pub const fn attention(&self) -> &Attention {
        &self.attention
    }

    /// Whether observers have begun to look, or to look away, since [`Array::heed`].
    #[inline]
    pub fn has_news(&self) -> bool {
        !self.observers.is_empty() && self.attention.looks() != self.observed
    }

    /// From now on, tells observers of what happens if they look, and only then. Returns whether
    /// they do.
    pub fn heed(&mut self) -> bool {
        self.observed = !self.observers.is_empty() && self.attention.looks();
        self.plain = self.is_plain();
        self.observed
    }

    /// Tells those who look on that the commands of merges that follow are about this log block.
    #[inline]
    pub fn tell_merge(&mut self, log: BlockId) {
        self.tell(|observer| observer.merge(log));
    }

    /// Whether anyone looks on.
    #[inline]
    pub const fn is_observed(&self) -> bool {
        self.observed
    }

    /// Tells those who look on.
    #[inline]
    pub fn tell(&mut self, what: impl Fn(&mut dyn Observer)) {
        if self.observed {
            self.observers.iter_mut().for_each(|observer| what(observer.as_mut()));
        }
    }

    /// All observers, whether they look or not.
    pub const fn observers(&mut self) -> &mut Vec<Box<dyn Observer>> {
        &mut self.observers
    }

    /// How many units there are. Theirs are the numbers from 0, package by package.
    pub fn units(&self) -> u32 {
        self.schedule.units()
    }

    /// How many serial buses there are: one a package, or one a gang where its packages share it.
    pub fn buses(&self) -> u32 {
        self.schedule.buses()
    }

    /// The packages whose commands a unit carries out: one, or those of a gang with one queue.
    pub fn packages_of(&self, unit: u32) -> Range<u32> {
        self.schedule.packages_of(unit)
    }

    /// Makes a block one of the SLC region: it is read and programmed at other speeds.
    pub fn make_slc(&mut self, block: BlockId) {
        self.slc.resize(self.geometry().blocks() as usize, false);
        self.slc[block.0 as usize] = true;
        self.plain = false;
    }

    #[inline]
    fn is_slc(&self, block: BlockId) -> bool {
        self.slc.get(block.0 as usize).copied().unwrap_or_default()
    }

    /// Which parts of the array commands on a block occupy.
    pub fn place(&self, block: BlockId) -> Place {
        self.schedule.place(block)
    }

    /// Says that the commands from now on belong to another request.
    #[inline]
    pub fn next_request(&mut self) {
        self.schedule.next_request();
    }

    /// Whether pages can be moved by [`Array::relocate`]: logical pages are as large as those of
    /// an element, and every program succeeds.
    pub fn relocates(&self) -> bool {
        let geometry = self.geometry();
        self.faults.programs_succeed()
            && geometry.slots_per_page == 1
            && geometry.pages_per_slot == 1
    }

    /// Reads a page of each of the packages `members` of its element into the controller.
    ///
    /// # Errors
    /// [`Illegal::ReadOfErasedPage`]; a page that no retry makes readable, where the host asks. What the drive
    /// reads for itself may take as long as it takes, and is read.
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
            return Ok(self.schedule.read_plain(self.schedule.place(page.block), at));
        }
        let transfer = self.schedule.timing().page_transfer;
        let done = self.schedule_read(page, members.clone(), at, cause, transfer).done;
        if cause == Cause::Host && self.disturbed.is_some() {
            return self.read_again(page, &members, done);
        }
        Ok(done)
    }

    /// Reads a page that was read by `at` again, as often as it needs.
    #[cold]
    fn read_again(&mut self, page: Page, members: &Range<u32>, at: Nanos) -> Result<Nanos, Fault> {
        let Some(disturbed) = &mut self.disturbed else { return Ok(at) };
        let effort = disturbed.read(page);
        let (mut done, transfer) = (at, self.schedule.timing().page_transfer);
        for _ in 0..effort.retries {
            done = self.schedule_read(page, members.clone(), done, Cause::Host, transfer).done;
        }
        self.counters.read_retries += u64::from(effort.retries);
        self.counters.failed_reads += u64::from(!effort.readable);
        if effort.readable { Ok(done) } else { Err(Fault::Failed(done)) }
    }

    /// The pages whose data are to be written anew before they cannot be read, of those that were read since the
    /// last time.
    pub fn take_refresh(&mut self) -> Vec<Page> {
        self.disturbed.as_mut().map(Disturbed::take_refresh).unwrap_or_default()
    }

    /// Whether what is programmed for the host from now on are data that are written anew: a command of
    /// [`Cause::Wear`].
    pub fn set_refreshing(&mut self, refreshing: bool) {
        self.refreshing = refreshing;
    }

    /// Reads the metadata of a page alone, or with `summary` the summary of the block, which
    /// starts there.
    ///
    /// # Errors
    /// [`Illegal::ReadOfErasedPage`].
    pub fn read_metadata(
        &mut self,
        page: Page,
        at: Nanos,
        summary: bool,
    ) -> Result<Nanos, Illegal> {
        self.blocks.check_read(page)?;
        self.counters.reads.count(Cause::Mapping, 1);
        let timing = self.schedule.timing();
        let transfer = if summary { timing.summary_transfer } else { timing.metadata_transfer };
        Ok(self.schedule_read(page, 0..1, at, Cause::Mapping, transfer).done)
    }

    /// Programs `pages` pages one after the other, each on every package of the element.
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
        for index in page.index..page.index + pages {
            let page = Page { index, ..page };
            let span = self.schedule_program(page, at, cause, transfer, zero);
            done = done.max(span.done);
        }
        if self.faults.program_fails() {
            self.counters.failed_programs += 1;
            self.blocks.tear(page, pages);
            return Err(Fault::Failed(done));
        }
        Ok(done)
    }

    /// Programs logical pages from the controller: one to the place `slot`, or, where several fit
    /// on a page, up to that many to `slot` and after. `place` is [`Array::place`] of its block.
    ///
    /// # Errors
    /// [`Illegal::ProgramOutOfOrder`], [`Illegal::BadBlock`]; a program that fails.
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

    /// As [`Array::program`] for an array that [`Array::is_plain`].
    #[inline]
    fn program_plain(
        &mut self,
        place: Place,
        slot: Slot,
        entry: Entry,
        at: Nanos,
        cause: Cause,
    ) -> Result<Nanos, Illegal> {
        let page = Page { block: self.geometry().block(slot), index: self.geometry().index(slot) };
        self.blocks.advance(page, 1)?;
        self.counters.programs.count(cause, 1);
        let done = self.schedule.program_plain(place, at);
        self.blocks.fill(slot, entry);
        Ok(done)
    }

    /// Whether a program is of one logical page to one page, never fails, and nobody looks on: the
    /// short way is as good.
    fn is_plain(&self) -> bool {
        self.relocates()
            && self.disturbed.is_none()
            && self.schedule.is_plain()
            && !self.observed
            && self.undo.is_none()
            && self.slc.is_empty()
            && !self.schedule.timing().heeds_zeros()
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

    /// Programs the summary of a block, behind its data.
    ///
    /// # Errors
    /// As [`Array::program`].
    pub fn program_summary(&mut self, block: BlockId, at: Nanos) -> Result<Nanos, Fault> {
        let page = Page { block, index: self.blocks.written(block) };
        let pages = self.geometry().summary_pages;
        let transfer = self.schedule.timing().summary_transfer;
        let done = self.program_pages(page, pages, at, Cause::Mapping, transfer, false)?;
        self.blocks.pad_pages(page, pages);
        Ok(done)
    }

    /// Copies the logical page at `from` to the place `to` within the plane (section 2.1).
    ///
    /// # Errors
    /// As [`Array::program`], and [`Illegal::CopyBackAcrossPlanes`].
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
        let done = self.schedule_copies(source.block, target, pages, at, cause);
        if self.faults.program_fails() {
            self.counters.failed_programs += 1;
            self.blocks.tear(target, pages);
            return Err(Fault::Failed(done));
        }
        let entry = self.blocks.entry(from).ok_or(Illegal::ReadOfErasedPage(source))?;
        self.blocks.fill(to, entry);
        if let Some(note) = self.blocks.note(from).cloned() {
            self.blocks.set_note(to, note);
        }
        Ok(done)
    }

    fn check_plane(&self, from: BlockId, to: BlockId) -> Result<(), Illegal> {
        let blocks_per_plane = self.geometry().blocks_per_plane;
        if from.0 / blocks_per_plane != to.0 / blocks_per_plane {
            return Err(Illegal::CopyBackAcrossPlanes { from, to });
        }
        Ok(())
    }

    /// Moves logical pages from block to block and calls `moved` with the numbers of some of them
    /// and the place of the first, the others of which follow, until it has had all. The same as
    /// reading, programming and superseding them one by one, all of them given at `at`. Only for
    /// arrays with [`Array::relocates`].
    ///
    /// # Errors
    /// As [`Array::program`], [`Array::copy_back`].
    #[inline]
    pub fn relocate(
        &mut self,
        moves: Moves,
        at: Nanos,
        cause: Cause,
        moved: impl FnMut(&[u32], Slot),
    ) -> Result<Nanos, Illegal> {
        let Moves { from, to, count, copy_back } = moves;
        debug_assert!(self.relocates() && count <= self.blocks.valid(from));
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
            self.schedule_copies(from, target, count, at, cause)
        } else {
            self.counters.reads.count(cause, commands);
            self.schedule_moves(from, target, count, at, cause)
        };
        self.blocks.relocate(from, to, count, moved);
        self.blocks.settle(from, done);
        Ok(done)
    }

    /// Erases a block, once the programs that supersede its pages are done.
    ///
    /// # Errors
    /// [`Illegal::EraseOfValidPages`], [`Illegal::BadBlock`]; an erase that fails.
    #[inline]
    pub fn erase(&mut self, block: BlockId, at: Nanos, cause: Cause) -> Result<Nanos, Fault> {
        self.blocks.check_erase(block)?;
        self.counters.erases.count(cause, self.geometry().span);
        let at = at.max(self.blocks.settled(block));
        let span = self.schedule_erase(block, at, cause);
        if let Some(undo) = &mut self.undo {
            undo.erase(block, self.blocks.image(block), span.start, span.done);
        }
        self.blocks.erase(block);
        if let Some(disturbed) = &mut self.disturbed {
            disturbed.erased(block);
        }
        if self.faults.erase_fails() {
            self.counters.failed_erases += 1;
            return Err(Fault::Failed(span.done));
        }
        Ok(span.done)
    }
}
