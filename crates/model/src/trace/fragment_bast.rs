//! A predictor for BAST, from the actual fragments of a trace instead of the fragments that uniform
//! writes would have.
//!
//! The cost of a log block depends on its fill level, on whether it was written in order, and on
//! whether it is reclaimed before it is full. The predictor stores only two numbers and a flag for
//! each logical block, and the allocation order of log blocks.
//!
//! Equations 4 to 6 miss two effects. A write may continue where the previous write ended, which
//! turns a full merge into a switch merge. Log blocks have a fixed lifetime in FIFO order, however
//! often their data blocks are written.

use std::collections::VecDeque;

use super::{Part, Predictor, Space, Total};
use crate::OutOfRange;

/// The time at which a full log block is merged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MergePolicy {
    /// As soon as it is full.
    Eager,
    /// When its data block is written again, or when the FTL reclaims it.
    Lazy,
}

/// The log block of a data block.
#[derive(Debug, Clone, Copy, Default)]
struct Cell {
    /// The allocation number of the log block, from 1; 0 without a log block.
    number: u32,
    filled: u16,
    out_of_order: bool,
}

/// A predictor for BAST.
pub struct FragmentBast {
    space: Space,
    policy: MergePolicy,
    cells: Vec<Cell>,
    /// Log blocks in allocation order, as pairs of data block and allocation number. Some of them
    /// are merged already.
    queue: VecDeque<(u32, u32)>,
    in_use: u32,
    allocated: u32,
    total: Total,
}

impl FragmentBast {
    /// Creates a drive whose log blocks are all free. The FTL reclaims them in FIFO order.
    ///
    /// # Errors
    ///
    /// Returns an error if the space is out of range.
    pub fn new(space: Space, policy: MergePolicy) -> Result<FragmentBast, OutOfRange> {
        space.check()?;
        Ok(FragmentBast {
            space,
            policy,
            cells: vec![Cell::default(); space.logical_blocks as usize],
            queue: VecDeque::new(),
            in_use: 0,
            allocated: 0,
            total: Total::default(),
        })
    }

    /// Merges the log block of a data block.
    fn merge(&mut self, block: u32) {
        let cell = std::mem::take(&mut self.cells[block as usize]);
        self.in_use -= 1;
        let pages = f64::from(self.space.pages_per_block);
        if cell.out_of_order {
            self.total.erasures += 2.0;
            self.total.copies += pages;
        } else {
            self.total.erasures += 1.0;
            self.total.copies += pages - f64::from(cell.filled);
        }
    }

    /// Allocates a log block to a data block, and reclaims the oldest log block if none is free.
    fn allocate(&mut self, block: u32) {
        if self.in_use == self.space.free_blocks {
            while let Some((oldest, number)) = self.queue.pop_front() {
                if self.cells[oldest as usize].number == number {
                    self.merge(oldest);
                    break;
                }
            }
        }
        self.in_use += 1;
        // Numbers wrap after 2^32 - 1 allocations, when no log block with a number from the
        // previous cycle is left.
        self.allocated = self.allocated.checked_add(1).unwrap_or(1);
        self.cells[block as usize].number = self.allocated;
        self.queue.push_back((block, self.allocated));
        if self.queue.len() > 4 * self.space.free_blocks as usize {
            let cells = &self.cells;
            self.queue.retain(|(block, number)| cells[*block as usize].number == *number);
        }
    }

    fn fragment(&mut self, part: Part) {
        let (mut first, mut left) = (part.first, part.len);
        while left > 0 {
            let cell = self.cells[part.block as usize];
            if cell.number == 0 {
                self.allocate(part.block);
            } else if u32::from(cell.filled) == self.space.pages_per_block {
                self.merge(part.block);
                continue;
            }
            let cell = &mut self.cells[part.block as usize];
            let filled = u32::from(cell.filled);
            let len = left.min(self.space.pages_per_block - filled);
            cell.out_of_order |= first != filled;
            // A block has at most 2^15 pages.
            cell.filled = u16::try_from(filled + len).unwrap_or(u16::MAX);
            if filled + len == self.space.pages_per_block && self.policy == MergePolicy::Eager {
                self.merge(part.block);
            }
            first += len;
            left -= len;
        }
        self.total.pages += u64::from(part.len);
    }
}

impl Predictor for FragmentBast {
    fn write(&mut self, page: u64, pages: u64) {
        self.space.fragments(page, pages).for_each(|part| self.fragment(part));
    }

    fn total(&mut self) -> Total {
        self.total
    }

    /// Returns the number of allocations for each log block.
    fn rounds(&self) -> f64 {
        f64::from(self.allocated) / f64::from(self.space.free_blocks)
    }
}
