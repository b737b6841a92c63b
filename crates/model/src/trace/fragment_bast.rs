//! BAST, from the fragments that there are instead of those that uniform writes would have.
//!
//! What a log block costs follows from how far it is filled, whether in order, and whether it is given up
//! before it is full; nothing else of the drive is kept: two numbers for each logical block, and the order
//! in which log blocks were given out. This is where equations 4 to 6 miss: they know neither that writes go
//! on where the last ended (which makes switches of full merges) nor that a log block lives as long as its
//! turn, however often its data block is written.

use std::collections::VecDeque;

use super::{Part, Predictor, Space, Total};
use crate::OutOfRange;

/// When a full log block is merged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Merging {
    /// As soon as it is full.
    Eager,
    /// When its data block is written again, or its turn comes.
    Lazy,
}

/// The log block of a data block.
#[derive(Debug, Clone, Copy, Default)]
struct Cell {
    /// Its number among all that were given out, from 1; 0 without one.
    number: u32,
    filled: u16,
    out_of_order: bool,
}

/// The predictor.
pub struct FragmentBast {
    space: Space,
    merging: Merging,
    cells: Vec<Cell>,
    /// Log blocks by turn, some of which are merged already: data block and number.
    turns: VecDeque<(u32, u32)>,
    in_use: u32,
    given_out: u32,
    total: Total,
}

impl FragmentBast {
    /// Log blocks are all free, and are given up first come, first served.
    ///
    /// # Errors
    ///
    /// Where the space is out of range.
    pub fn new(space: Space, merging: Merging) -> Result<FragmentBast, OutOfRange> {
        space.check()?;
        Ok(FragmentBast {
            space,
            merging,
            cells: vec![Cell::default(); space.logical_blocks as usize],
            turns: VecDeque::new(),
            in_use: 0,
            given_out: 0,
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

    fn give_out(&mut self, block: u32) {
        if self.in_use == self.space.free_blocks {
            while let Some((oldest, number)) = self.turns.pop_front() {
                if self.cells[oldest as usize].number == number {
                    self.merge(oldest);
                    break;
                }
            }
        }
        self.in_use += 1;
        // Numbers come round after 2^32 - 1 log blocks, when none of before is left.
        self.given_out = self.given_out.checked_add(1).unwrap_or(1);
        self.cells[block as usize].number = self.given_out;
        self.turns.push_back((block, self.given_out));
        if self.turns.len() > 4 * self.space.free_blocks as usize {
            let cells = &self.cells;
            self.turns.retain(|(block, number)| cells[*block as usize].number == *number);
        }
    }

    fn fragment(&mut self, part: Part) {
        let (mut first, mut left) = (part.first, part.len);
        while left > 0 {
            let cell = self.cells[part.block as usize];
            if cell.number == 0 {
                self.give_out(part.block);
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
            if filled + len == self.space.pages_per_block && self.merging == Merging::Eager {
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

    /// Log blocks given out for each that there is.
    fn turns(&self) -> f64 {
        f64::from(self.given_out) / f64::from(self.space.free_blocks)
    }
}
