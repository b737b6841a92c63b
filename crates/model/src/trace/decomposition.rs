//! Stretches of time and ranges of space, each predicted as uniform writes by itself: Boboila, section
//! III.C.

use super::{Predictor, Space, Total};
use crate::{Family, Model, OutOfRange, Uniform};

/// What the space of a range is taken to be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ranges {
    /// The logical block.
    Whole,
    /// The pages of it that are written in the stretch (section IV).
    Written,
}

/// Writes to one logical block within a stretch of time.
#[derive(Debug, Clone, Copy, Default)]
struct Cell {
    pages: u32,
    /// The writes of which these pages are part, and their lengths.
    writes: u32,
    lens: u64,
    /// The first page written, and the one after the last.
    from: u32,
    to: u32,
}

/// Equation 16: the sum over stretches of time i and logical blocks j of P(n(i,j), w(i,j), f(i,j)).
///
/// A stretch is as long as the log list, in pages; a block's share of the free space (equation 17) is its
/// share of the writes times Z(i) times the log blocks, with Z(i) the share of the log blocks' pages that are
/// used (equation 18): 1 for FTLs that fill log blocks one after the other.
///
/// In equation 18 a block that is written more often than a log block has pages uses several: Z is at most
/// 1. What is in the last stretch is predicted as if it were whole.
pub struct Decomposition {
    model: &'static Model,
    space: Space,
    ranges: Ranges,
    cells: Vec<Cell>,
    /// The blocks that this stretch has written.
    written: Vec<u32>,
    /// Pages written in this stretch.
    pages: u64,
    total: Total,
}

impl Decomposition {
    /// Of writes to `space`, each part predicted by `model`.
    ///
    /// # Errors
    ///
    /// Where the space is out of range.
    pub fn new(
        model: &'static Model,
        space: Space,
        ranges: Ranges,
    ) -> Result<Decomposition, OutOfRange> {
        space.check()?;
        let cells = vec![Cell::default(); space.logical_blocks as usize];
        let (written, total) = (Vec::new(), Total::default());
        Ok(Decomposition { model, space, ranges, cells, written, pages: 0, total })
    }

    fn stretch(&self) -> u64 {
        u64::from(self.space.free_blocks) * u64::from(self.space.pages_per_block)
    }

    /// Adds what this stretch comes to, and begins the next.
    #[allow(clippy::cast_precision_loss, reason = "pages and lengths are below 2^53")]
    fn end_stretch(&mut self) {
        let block = f64::from(self.space.pages_per_block);
        let logs = f64::from(self.space.free_blocks);
        let used = match self.model.family {
            Family::Bast => {
                let of = |cell: &Cell| f64::from(cell.pages.div_ceil(self.space.pages_per_block));
                let used: f64 = self.written.iter().map(|at| of(&self.cells[*at as usize])).sum();
                self.pages as f64 / (used * block)
            }
            Family::Fast | Family::PageMap => 1.0,
        };
        for at in self.written.drain(..) {
            let cell = std::mem::take(&mut self.cells[at as usize]);
            let share = f64::from(cell.pages) / self.pages as f64;
            let space = match self.ranges {
                Ranges::Whole => 1.0,
                Ranges::Written => f64::from(cell.to - cell.from) / block,
            };
            let free = share * used * logs / space;
            let mean_len = cell.lens as f64 / f64::from(cell.writes);
            // As many logical blocks as leave the whole drive its log blocks.
            let uniform = Uniform::new(block, logs / free, free, mean_len);
            // Free space beyond any that is modelled changes nothing any more.
            let Ok(uniform) = uniform.or_else(|_| Uniform::new(block, 1.0, 1e6, mean_len)) else {
                continue;
            };
            let predicted = (self.model.predict)(&uniform);
            self.total.erasures += f64::from(cell.pages) * predicted.erasures;
            self.total.copies += f64::from(cell.pages) * predicted.copies;
        }
        self.total.pages += self.pages;
        self.pages = 0;
    }
}

impl Predictor for Decomposition {
    fn write(&mut self, page: u64, pages: u64) {
        for part in self.space.fragments(page, pages) {
            let cell = &mut self.cells[part.block as usize];
            let end = part.first + part.len;
            if cell.writes == 0 {
                self.written.push(part.block);
                (cell.from, cell.to) = (part.first, end);
            }
            cell.from = cell.from.min(part.first);
            cell.to = cell.to.max(end);
            cell.pages += part.len;
            cell.writes += 1;
            cell.lens += pages;
            self.pages += u64::from(part.len);
        }
        if self.pages >= self.stretch() {
            self.end_stretch();
        }
    }

    fn begin(&mut self) {
        if self.pages > 0 {
            self.end_stretch();
        }
        self.total = Total::default();
    }

    fn total(&mut self) -> Total {
        if self.pages > 0 {
            self.end_stretch();
        }
        self.total
    }

    /// Stretches do not depend on those before.
    fn turns(&self) -> f64 {
        f64::INFINITY
    }
}
