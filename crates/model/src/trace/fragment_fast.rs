//! A predictor for FAST, from the actual fragments of a trace. It tracks the pages that are still
//! valid in the ring of log blocks when a log block is reclaimed, and the data blocks of these
//! pages.
//!
//! Every write that begins at the start of a block goes to the sequential log block. In a trace
//! that starts many blocks and continues few of them, each start costs a partial merge. Equations 8
//! and 9 miss this effect, which the trace lair62b of the paper shows.

use super::{Part, Predictor, Space, Total};
use crate::OutOfRange;

/// The value of an empty slot, and of the slot of a page that is not in the ring.
const ABSENT: u32 = u32::MAX;

/// A predictor for FAST.
pub struct FragmentFast {
    space: Space,
    /// The logical page in each slot of the ring, or [`ABSENT`] in an empty slot.
    ring: Vec<u32>,
    next: usize,
    /// Pages appended to the ring so far.
    appended: u64,
    /// For each logical page, the slot with its newest data, or [`ABSENT`].
    places: Vec<u32>,
    /// For each data block, the number of its pages in the ring.
    in_ring: Vec<u16>,
    /// The data block of the sequential log block, and its fill level in pages.
    sequential: Option<(u32, u32)>,
    total: Total,
}

impl FragmentFast {
    /// Creates a drive whose log blocks are all free.
    ///
    /// # Errors
    ///
    /// Returns an error if the space is out of range, or has more than 2^32 - 1 pages.
    pub fn new(space: Space) -> Result<FragmentFast, OutOfRange> {
        space.check_numbers()?;
        let ring = (space.free_blocks as usize - 1) * space.pages_per_block as usize;
        Ok(FragmentFast {
            space,
            ring: vec![ABSENT; ring],
            next: 0,
            appended: 0,
            places: vec![ABSENT; usize::try_from(space.pages()).unwrap_or(usize::MAX)],
            in_ring: vec![0; space.logical_blocks as usize],
            sequential: None,
            total: Total::default(),
        })
    }

    /// Invalidates the pages `from` to `to` of a data block in the ring.
    fn clear(&mut self, block: u32, from: u32, to: u32) {
        let left = &mut self.in_ring[block as usize];
        if *left == 0 {
            return;
        }
        let first = (block * self.space.pages_per_block) as usize;
        for place in &mut self.places[first + from as usize..first + to as usize] {
            *left -= u16::from(*place != ABSENT);
            *place = ABSENT;
        }
    }

    /// Reclaims the log block at `next` by merging the data blocks that still have pages in it. The
    /// sequential log block is merged first if it belongs to one of these data blocks, unless an
    /// earlier merge superseded the data block's pages in the ring.
    fn reclaim(&mut self) {
        let pages = self.space.pages_per_block;
        if self.ring[self.next] == ABSENT {
            return;
        }
        for place in self.next..self.next + pages as usize {
            let page = self.ring[place];
            let block = page / pages;
            let is_newest = |places: &[u32]| places[page as usize] as usize == place;
            if is_newest(&self.places) && self.sequential.is_some_and(|log| log.0 == block) {
                self.end_sequence();
            }
            if is_newest(&self.places) {
                self.total.erasures += 1.0;
                self.total.copies += f64::from(pages);
                self.clear(block, 0, pages);
            }
        }
        self.total.erasures += 1.0;
    }

    /// Appends pages to the ring.
    fn append(&mut self, part: Part) {
        let from = part.block * self.space.pages_per_block + part.first;
        self.appended += u64::from(part.len);
        for page in from..from + part.len {
            if self.next.is_multiple_of(self.space.pages_per_block as usize) {
                self.reclaim();
            }
            self.ring[self.next] = page;
            let place = &mut self.places[page as usize];
            if *place == ABSENT {
                self.in_ring[part.block as usize] += 1;
            }
            *place = u32::try_from(self.next).unwrap_or(ABSENT);
            self.next = (self.next + 1) % self.ring.len();
        }
    }

    /// Merges the sequential log block: copies the remaining pages of its data block behind the
    /// pages in the log block. If the newest version of a page in the log block is in the ring,
    /// that version stays there. If this holds for all its pages, the log block is erased without a
    /// merge.
    fn end_sequence(&mut self) {
        let Some((block, filled)) = self.sequential.take() else { return };
        self.total.erasures += 1.0;
        let first = (block * self.space.pages_per_block) as usize;
        let newest = &self.places[first..first + filled as usize];
        if newest.iter().all(|place| *place != ABSENT) {
            return;
        }
        self.total.copies += f64::from(self.space.pages_per_block - filled);
        self.clear(block, filled, self.space.pages_per_block);
    }

    /// Writes a fragment. FAST decides page by page. A write may begin before the fill level of the
    /// sequential log block and continue past it; its pages from that level on go to this log
    /// block.
    fn fragment(&mut self, part: Part) {
        self.total.pages += u64::from(part.len);
        let end = part.first + part.len;
        if part.first == 0 {
            self.end_sequence();
            self.continue_sequence(part.block, 0, end);
            return;
        }
        let from = match self.sequential {
            Some((block, next)) if block == part.block && (part.first..end).contains(&next) => next,
            _ => end,
        };
        self.append(Part { len: from - part.first, ..part });
        // Reclaiming space in the ring may have merged the sequential log block.
        match self.sequential {
            Some((block, next)) if from < end && (block, next) == (part.block, from) => {
                self.continue_sequence(block, from, end);
            }
            _ => self.append(Part { first: from, len: end - from, ..part }),
        }
    }

    /// Appends pages to the sequential log block.
    fn continue_sequence(&mut self, block: u32, from: u32, to: u32) {
        self.clear(block, from, to);
        self.sequential = Some((block, to));
        if to == self.space.pages_per_block {
            self.end_sequence();
        }
    }
}

impl Predictor for FragmentFast {
    fn write(&mut self, page: u64, pages: u64) {
        self.space.fragments(page, pages).for_each(|part| self.fragment(part));
    }

    fn total(&mut self) -> Total {
        self.total
    }

    #[allow(clippy::cast_precision_loss, reason = "pages are below 2^53")]
    fn rounds(&self) -> f64 {
        self.appended as f64 / self.ring.len() as f64
    }
}
