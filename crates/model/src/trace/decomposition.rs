//! Stretches of time and ranges of space, each predicted as uniform writes by itself: Boboila, section
//! III.C.

use super::change::Change;
use super::window::{Cell, Window};
use super::{Part, Performance, Predictor, Space};
use crate::{Family, OutOfRange, Uniform};

/// What the space of a range is taken to be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ranges {
    /// The logical block.
    Whole,
    /// The pages of it that are written in the stretch (section IV).
    Written,
}

/// How time is divided into stretches in which writes are taken to be stationary.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stretches {
    /// As long as the log list, in pages.
    LogList,
    /// From one change of the writes to the next, but no shorter than a quarter of the log list, and no longer than
    /// eight.
    Stationary,
    /// As long as the log list, and of each range by itself: from the first write to it on (section IV).
    OwnTime,
}

/// Pieces of a log list, after each of which it is asked whether writes have changed.
const PIECES: u32 = 4;

/// Equation 16: the sum over stretches of time i and logical blocks j of P(n(i,j), w(i,j), f(i,j)).
///
/// A block's share of the free space (equation 17) is its share of the writes times Z(i) times the log blocks, with
/// Z(i) the share of the log blocks' pages that are used (equation 18): 1 for FTLs that fill log blocks one after
/// the other.
///
/// In equation 18 a block that is written more often than a log block has pages uses several, so that Z is no more
/// than 1. In a stretch longer than the log list they are counted for each list by itself. What is in the last
/// stretch is predicted as if it were whole.
pub struct Decomposition<P: Performance> {
    clock: Clock,
    window: Window,
    parts: Parts<P>,
}

/// What tells when a stretch ends.
enum Clock {
    LogList,
    /// The last piece, which may belong to the stretch or begin the next.
    Stationary {
        piece: Window,
        change: Change,
    },
    /// The time in pages written, and when the stretch of each range began.
    OwnTime {
        now: u64,
        begun: Vec<u64>,
    },
}

impl<P: Performance> Decomposition<P> {
    /// Of writes to `space`, each part predicted by `performance`.
    ///
    /// # Errors
    ///
    /// Where the space is out of range.
    pub fn new(
        performance: P,
        space: Space,
        ranges: Ranges,
        stretches: Stretches,
    ) -> Result<Decomposition<P>, OutOfRange> {
        space.check()?;
        let blocks = space.logical_blocks;
        let clock = match stretches {
            Stretches::LogList => Clock::LogList,
            Stretches::Stationary => {
                Clock::Stationary { piece: Window::new(blocks), change: Change::new(blocks) }
            }
            Stretches::OwnTime => Clock::OwnTime { now: 0, begun: vec![0; blocks as usize] },
        };
        let parts = Parts { performance, space, ranges, sum: P::Sum::default() };
        Ok(Decomposition { clock, window: Window::new(blocks), parts })
    }

    fn part(&mut self, part: Part, len: u64) {
        let log_list = self.parts.log_list();
        match &mut self.clock {
            Clock::LogList => self.window.add(part, len),
            Clock::Stationary { piece, .. } => piece.add(part, len),
            Clock::OwnTime { now, begun } => {
                let begun = &mut begun[part.block as usize];
                if self.window.cell(part.block).writes == 0 {
                    *begun = *now;
                } else if *now - *begun >= log_list {
                    self.parts.add_range(&self.window.restart(part.block), log_list);
                    *begun = *now;
                }
                self.window.add(part, len);
                *now += u64::from(part.len);
            }
        }
    }

    /// Ends what has come to its length.
    fn after_write(&mut self) {
        let log_list = self.parts.log_list();
        match &self.clock {
            Clock::LogList if self.window.pages() >= log_list => {
                self.parts.add_stretch(&mut self.window);
            }
            Clock::Stationary { piece, .. } if piece.pages() >= log_list / u64::from(PIECES) => {
                self.end_piece();
            }
            _ => {}
        }
    }

    /// Adds the piece to the stretch, or begins the next with it.
    fn end_piece(&mut self) {
        let Clock::Stationary { piece, change } = &mut self.clock else { return };
        if piece.pages() == 0 {
            return;
        }
        if change.begins_with(piece) {
            self.parts.add_stretch(&mut self.window);
        }
        let turn = (change.pieces() - 1) / PIECES;
        self.window.absorb(piece, turn, self.parts.space.pages_per_block);
    }
}

impl<P: Performance> Predictor<P::Sum> for Decomposition<P> {
    fn write(&mut self, page: u64, pages: u64) {
        self.parts.space.fragments(page, pages).for_each(|part| self.part(part, pages));
        self.after_write();
    }

    fn total(&mut self) -> P::Sum {
        match self.clock {
            Clock::LogList => {}
            Clock::Stationary { .. } => self.end_piece(),
            Clock::OwnTime { now, .. } => {
                // What has not ended yet: of a trace shorter than the log list that is all of it.
                let stretch = now.min(self.parts.log_list());
                while let Some(cell) = self.window.take() {
                    self.parts.add_range(&cell, stretch);
                }
            }
        }
        self.parts.add_stretch(&mut self.window);
        self.parts.sum.clone()
    }
}

/// What parts come to, and how free space is shared out among them.
struct Parts<P: Performance> {
    performance: P,
    space: Space,
    ranges: Ranges,
    sum: P::Sum,
}

impl<P: Performance> Parts<P> {
    /// Pages of the log list.
    fn log_list(&self) -> u64 {
        u64::from(self.space.free_blocks) * u64::from(self.space.pages_per_block)
    }

    /// Adds a stretch, and leaves it empty.
    #[allow(clippy::cast_precision_loss, reason = "pages are below 2^53")]
    fn add_stretch(&mut self, window: &mut Window) {
        let pages = window.pages();
        let used = self.used(pages, window.logs(self.space.pages_per_block));
        while let Some(cell) = window.take() {
            self.add(&cell, cell.pages as f64 / pages as f64, used);
        }
    }

    /// Adds a range in a stretch of its own, in which so many pages were written in all.
    #[allow(clippy::cast_precision_loss, reason = "pages are below 2^53")]
    fn add_range(&mut self, cell: &Cell, pages: u64) {
        let used = self.used(cell.pages, cell.logs(self.space.pages_per_block));
        self.add(cell, cell.pages as f64 / pages as f64, used);
    }

    /// Adds a range that had a share of the writes, where Z is `used`.
    #[allow(clippy::cast_precision_loss, reason = "lengths are below 2^53")]
    fn add(&mut self, cell: &Cell, share: f64, used: f64) {
        let block = f64::from(self.space.pages_per_block);
        let logs = f64::from(self.space.free_blocks);
        let space = match self.ranges {
            Ranges::Whole => 1.0,
            Ranges::Written => f64::from(cell.to - cell.from) / block,
        };
        let free = share * used * logs / space;
        let mean_len = cell.lens as f64 / f64::from(cell.writes);
        // As many logical blocks as leave the whole drive its log blocks. Free space beyond any that is modelled
        // changes nothing any more.
        let uniform = Uniform::new(block, logs / free, free, mean_len);
        if let Ok(uniform) = uniform.or_else(|_| Uniform::new(block, 1.0, 1e6, mean_len)) {
            self.performance.add(&uniform, cell.pages, &mut self.sum);
        }
    }

    /// Z of so many pages that used so many log blocks.
    #[allow(clippy::cast_precision_loss, reason = "pages are below 2^53")]
    fn used(&self, pages: u64, logs: u64) -> f64 {
        match self.performance.family() {
            Family::Bast => pages as f64 / (logs * u64::from(self.space.pages_per_block)) as f64,
            Family::Fast | Family::PageMap => 1.0,
        }
    }
}
