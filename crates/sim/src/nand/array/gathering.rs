//! Copying of scattered pages into one block, for merges of log blocks.

use flashscope_block::Nanos;

use super::Array;
use crate::nand::{BlockId, Cause, Fault, IllegalCommand, Lpn, Page, Place, Slot, Stamp};

/// The source number by which [`Array::gather`] skips a logical page without data.
pub const NOWHERE: u32 = 0;

impl Array {
    /// Skips the pages of a block before `index`, which becomes the next page to program. Pages
    /// must be programmed in ascending order, but some may be skipped.
    ///
    /// # Errors
    /// Returns [`IllegalCommand::ProgramOutOfOrder`] or [`IllegalCommand::BadBlock`].
    pub(crate) fn skip_pages(&mut self, block: BlockId, index: u32) -> Result<(), IllegalCommand> {
        let next = self.blocks.written(block);
        let page = Page { block, index: next };
        let count = index
            .checked_sub(next)
            .ok_or(IllegalCommand::ProgramOutOfOrder { page: Page { block, index }, next })?;
        self.blocks.advance(page, count)?;
        self.blocks.pad_pages(page, count);
        Ok(())
    }

    /// Copies logical pages to slot `to` and the slots after it, and supersedes the sources. Each
    /// item of `from` is the source slot number plus 1. For [`NOWHERE`], the destination slot is
    /// skipped.
    ///
    /// Equivalent to reading and programming the pages one by one, all submitted at `at`. Requires
    /// that a logical page is one page of an element, and that no source is an internal page.
    ///
    /// # Errors
    /// See [`Array::program`]. If a program fails, the copies made so far are void and nothing is
    /// superseded.
    pub fn gather(
        &mut self,
        from: &[u32],
        to: Slot,
        at: Nanos,
        cause: Cause,
    ) -> Result<Nanos, Fault> {
        debug_assert!(self.geometry().slots_per_page == 1 && self.geometry().pages_per_slot == 1);
        let Some(last) = from.iter().rposition(|place| *place != NOWHERE) else { return Ok(at) };
        let from = &from[..=last];
        let target = self.geometry().page(to);
        let pages = u32::try_from(from.len()).unwrap_or(u32::MAX);
        self.blocks.advance(target, pages)?;
        let done = match self.gather_in_unit(from, target.block, at, cause) {
            Some(done) => done,
            None => self.gather_one_by_one(from, target, at, cause)?,
        };
        let settled = if self.queues().is_some() { Nanos(0) } else { done };
        self.blocks.gather(from, to, settled);
        Ok(done)
    }

    /// Times and counts all copies in one step. Returns `None` unless [`Array::is_plain`], nothing
    /// is observed, and all blocks are on one unit.
    fn gather_in_unit(
        &mut self,
        from: &[u32],
        target: BlockId,
        at: Nanos,
        cause: Cause,
    ) -> Option<Nanos> {
        if !self.plain || self.is_observed() {
            return None;
        }
        let place = self.schedule.place(target);
        let (mut count, mut known) = (0, target);
        for source in from.iter().filter(|source| **source != NOWHERE) {
            let block = self.geometry().block(Slot(source - 1));
            if block != known && !self.schedule.place(block).waits_for(place) {
                return None;
            }
            known = block;
            count += 1;
        }
        let done = self.schedule.moves_in_unit(place, place, count, at)?.done;
        self.counters.reads.count(cause, count);
        self.counters.programs.count(cause, count);
        Some(done)
    }

    /// Returns true if [`Array::rewrite`] can rewrite pages of the blocks at places from `first` to
    /// `last`. The blocks must be on one unit, and no program may fail. Returns false if observers,
    /// gangs or other features need the general path.
    #[inline]
    pub(crate) fn can_rewrite(&self, first: Place, last: Place) -> bool {
        self.plain && !self.is_observed() && first.unit == last.unit
    }

    /// Reads the logical pages at these slots, programs them with new contents to slot `to` and the
    /// slots after it, and supersedes the old slots. Their stamps count up from `stamp`. Calls
    /// `superseded` with the block of each old slot and the number of valid slots left in that
    /// block.
    ///
    /// Equivalent to rewriting the pages one by one, all submitted at `at`. Requires
    /// [`Array::can_rewrite`], and that no source is an internal page.
    ///
    /// # Errors
    /// Returns [`IllegalCommand::ProgramOutOfOrder`] or [`IllegalCommand::BadBlock`].
    #[inline]
    pub fn rewrite(
        &mut self,
        (from, to): (&[(Lpn, Slot)], Slot),
        stamp: Stamp,
        at: Nanos,
        cause: Cause,
        superseded: impl FnMut(BlockId, u32),
    ) -> Result<Nanos, IllegalCommand> {
        let target = self.geometry().page(to);
        let count = u32::try_from(from.len()).unwrap_or(u32::MAX);
        self.blocks.advance(target, count)?;
        self.counters.reads.count(cause, count);
        self.counters.programs.count(cause, count);
        let done = self.schedule_moves(target.block, target, count, at, cause);
        self.blocks.rewrite(from, to, stamp, done, superseded);
        Ok(done)
    }

    fn gather_one_by_one(
        &mut self,
        from: &[u32],
        target: Page,
        at: Nanos,
        cause: Cause,
    ) -> Result<Nanos, Fault> {
        let (transfer, span) = (self.schedule.timing().page_transfer, self.geometry().span);
        let mut done = at;
        for (index, source) in (target.index..).zip(from) {
            if *source == NOWHERE {
                continue;
            }
            let read_page = self.geometry().page(Slot(source - 1));
            self.blocks.check_read(read_page)?;
            self.counters.reads.count(cause, span);
            self.counters.programs.count(cause, span);
            let read = self.schedule_read(read_page, 0..span, at, cause, transfer);
            let page = Page { index, ..target };
            let zero = self.blocks.is_zero(*source as usize - 1);
            let program = self.schedule_program(page, read.done, cause, transfer, zero);
            done = self.moved(read_page.block, done, program.done);
            if self.faults.program_fails() {
                self.counters.failed_programs += 1;
                self.blocks.unprogram(Page { index: index + 1, ..target });
                self.blocks.pad_pages(target, index + 1 - target.index);
                self.blocks.tear(page, 1);
                return Err(Fault::Failed(done));
            }
        }
        Ok(done)
    }
}
