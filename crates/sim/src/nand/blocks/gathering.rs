//! The metadata changes of copying scattered pages into one block.

use flashscope_block::Nanos;

use super::{Blocks, PADDING, Stamp};
use crate::nand::{BlockId, Lpn, Slot};

impl Blocks {
    /// Copies metadata to the slots from `to` on and marks these slots valid. Each item of `from`
    /// is the source slot number plus 1, or 0 for no source. The source slots are superseded by a
    /// program that runs until `settles`.
    pub(in crate::nand) fn gather(&mut self, from: &[u32], to: Slot, settles: Nanos) {
        let mut target = to.0 as usize;
        let mut rest = from;
        while let [first, others @ ..] = rest {
            if *first == 0 {
                self.logical[target] = PADDING;
                (target, rest) = (target + 1, others);
                continue;
            }
            let source = Slot(first - 1);
            let in_block = self.slots_after(source);
            let following = others.iter().zip(first + 1..).take(in_block);
            let count = 1 + following.take_while(|(place, next)| **place == *next).count();
            self.gather_run(source, target, count, settles);
            (target, rest) = (target + count, &rest[count..]);
        }
    }

    /// Fills the slots from `to` on, which were just programmed, with new versions of logical
    /// pages. `from` holds these pages and their old slots. The stamps count up from `stamp`. The
    /// old slots are superseded by a program that runs until `settles`. Calls `superseded` with the
    /// block of each old slot and the number of valid slots left in that block.
    #[inline]
    pub(in crate::nand) fn rewrite(
        &mut self,
        from: &[(Lpn, Slot)],
        to: Slot,
        stamp: Stamp,
        settles: Nanos,
        mut superseded: impl FnMut(BlockId, u32),
    ) {
        let start = to.0 as usize;
        for (target, (lpn, source)) in (start..).zip(from) {
            self.logical[target] = lpn.0;
            superseded(self.geometry.block(*source), self.supersede(*source, settles));
        }
        if !self.stamps.is_empty() {
            let stamps = &mut self.stamps[start..start + from.len()];
            stamps.iter_mut().zip(stamp..).for_each(|(place, stamp)| *place = stamp);
        }
        self.set_live(start, start + from.len());
        let valid = &mut self.blocks[self.geometry.block(to).0 as usize].valid;
        *valid += u32::try_from(from.len()).unwrap_or(u32::MAX);
    }

    /// Returns the number of slots that follow this one in its block.
    fn slots_after(&self, slot: Slot) -> usize {
        self.geometry.words_per_block() * 64 - 1 - self.geometry.index(slot) as usize
    }

    /// Does the same as [`Blocks::gather`] for `count` consecutive slots of one block.
    fn gather_run(&mut self, source: Slot, target: usize, count: usize, settles: Nanos) {
        let start = source.0 as usize;
        self.logical.copy_within(start..start + count, target);
        if !self.stamps.is_empty() {
            self.stamps.copy_within(start..start + count, target);
        }
        if !self.zeros.is_empty() {
            (0..count).for_each(|nth| self.set_zero(target + nth, self.is_zero(start + nth)));
        }
        self.set_live(target, target + count);
        self.clear_live(start, start + count);
        let (from, valid) = (self.geometry.block(source), u32::try_from(count).unwrap_or(u32::MAX));
        self.settle(from, settles);
        let to = target >> self.geometry.slot_bits();
        self.blocks[from.0 as usize].valid -= valid;
        self.blocks[to].valid += valid;
    }

    /// Marks the valid slots from `start` to before `end` as superseded.
    fn clear_live(&mut self, start: usize, end: usize) {
        let mut place = start;
        while place < end {
            let in_word = (64 - place % 64).min(end - place);
            let mask = if in_word == 64 { u64::MAX } else { (1 << in_word) - 1 } << (place % 64);
            debug_assert_eq!(self.live[place / 64] & mask, mask, "superseded twice");
            self.live[place / 64] &= !mask;
            place += in_word;
        }
    }
}
