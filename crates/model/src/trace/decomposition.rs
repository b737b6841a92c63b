//! Decomposition of a workload into stretches of time and ranges of space, each predicted as
//! uniform writes (Boboila, section III.C). The log list is the list of all log blocks.

use super::change::ChangeDetector;
use super::window::{Cell, Window};
use super::{Part, Performance, Predictor, Space};
use crate::{Family, OutOfRange, Uniform};

/// The definition of a range's size.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ranges {
    /// The whole logical block.
    Whole,
    /// The pages of the block from the lowest to the highest page written in the stretch (section
    /// IV).
    Written,
}

/// The division of time into stretches, in which writes count as stationary.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stretches {
    /// A stretch ends after as many written pages as the log list holds.
    LogList,
    /// A stretch ends when the workload changes. Its length is a quarter of the log list to eight
    /// log lists.
    Stationary,
    /// Each range has its own stretches. A stretch begins with a write to the range, and ends
    /// when the host has written as many pages to the drive as the log list holds (section IV).
    OwnTime,
}

/// The number of pieces in a log list; the change detector runs after each piece.
const PIECES: u32 = 4;

/// A predictor that decomposes a workload, by equation 16: the sum over stretches of time i and
/// logical blocks j of P(n(i,j), w(i,j), f(i,j)). P is the cost of n pages of uniform writes of
/// mean length w with free space f.
///
/// The free space of a block (equation 17) is the block's share of the writes times Z(i) times the
/// number of log blocks. Z(i) is the share of used pages in the log blocks that hold data (equation
/// 18). Z(i) is 1 for FTLs that fill log blocks one after the other.
///
/// In equation 18, a block to which more pages are written than a log block holds uses several log
/// blocks, which keeps Z at most 1. If a stretch is longer than the log list, the log blocks are
/// counted separately for each round of the log list. The last, incomplete stretch is predicted
/// like a complete one.
pub struct Decomposition<P: Performance> {
    clock: Clock,
    window: Window,
    parts: Parts<P>,
}

/// The state that determines the end of a stretch.
enum Clock {
    LogList,
    /// The current piece, which may continue the stretch or start the next one.
    Stationary {
        piece: Window,
        detector: ChangeDetector,
    },
    /// The time in pages written, and the start of each range's stretch.
    OwnTime {
        now: u64,
        started: Vec<u64>,
    },
}

impl<P: Performance> Decomposition<P> {
    /// Decomposes writes to `space`; `performance` predicts each part.
    ///
    /// # Errors
    ///
    /// Returns an error if the space is out of range.
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
            Stretches::Stationary => Clock::Stationary {
                piece: Window::new(blocks),
                detector: ChangeDetector::new(blocks),
            },
            Stretches::OwnTime => Clock::OwnTime { now: 0, started: vec![0; blocks as usize] },
        };
        let parts = Parts { performance, space, ranges, sum: P::Sum::default() };
        Ok(Decomposition { clock, window: Window::new(blocks), parts })
    }

    fn part(&mut self, part: Part, len: u64) {
        let log_list = self.parts.log_list();
        match &mut self.clock {
            Clock::LogList => self.window.add(part, len),
            Clock::Stationary { piece, .. } => piece.add(part, len),
            Clock::OwnTime { now, started } => {
                let started = &mut started[part.block as usize];
                if self.window.cell(part.block).writes == 0 {
                    *started = *now;
                } else if *now - *started >= log_list {
                    self.parts.add_range(&self.window.restart(part.block), log_list);
                    *started = *now;
                }
                self.window.add(part, len);
                *now += u64::from(part.len);
            }
        }
    }

    /// Ends the stretch or the piece if it has its full length.
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

    /// Appends the piece to the stretch, or starts the next stretch with it.
    fn end_piece(&mut self) {
        let Clock::Stationary { piece, detector } = &mut self.clock else { return };
        if piece.pages() == 0 {
            return;
        }
        if detector.starts_stretch(piece) {
            self.parts.add_stretch(&mut self.window);
        }
        let round = (detector.pieces() - 1) / PIECES;
        self.window.absorb(piece, round, self.parts.space.pages_per_block);
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
                // The ranges in the window have not completed their stretch. In a trace shorter
                // than the log list, these are all written ranges.
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

/// Predicts single parts of a decomposition, and adds their costs to `sum`. Each part gets a share
/// of the free space.
struct Parts<P: Performance> {
    performance: P,
    space: Space,
    ranges: Ranges,
    sum: P::Sum,
}

impl<P: Performance> Parts<P> {
    /// Returns the number of pages in the log list.
    fn log_list(&self) -> u64 {
        u64::from(self.space.free_blocks) * u64::from(self.space.pages_per_block)
    }

    /// Adds a stretch and empties its window.
    #[allow(clippy::cast_precision_loss, reason = "pages are below 2^53")]
    fn add_stretch(&mut self, window: &mut Window) {
        let pages = window.pages();
        let used = self.used(pages, window.logs(self.space.pages_per_block));
        while let Some(cell) = window.take() {
            self.add(&cell, cell.pages as f64 / pages as f64, used);
        }
    }

    /// Adds a range with its own stretch, in which the host wrote `pages` pages to all ranges
    /// together.
    #[allow(clippy::cast_precision_loss, reason = "pages are below 2^53")]
    fn add_range(&mut self, cell: &Cell, pages: u64) {
        let used = self.used(cell.pages, cell.logs(self.space.pages_per_block));
        self.add(cell, cell.pages as f64 / pages as f64, used);
    }

    /// Adds a range with a `share` of the writes. `used` is Z.
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
        // With `logs / free` logical blocks, the model computes with the log blocks of the whole
        // drive. Free space beyond the modelled range has the same effect as the largest modelled
        // free space.
        let uniform = Uniform::new(block, logs / free, free, mean_len);
        if let Ok(uniform) = uniform.or_else(|_| Uniform::new(block, 1.0, 1e6, mean_len)) {
            self.performance.add(&uniform, cell.pages, &mut self.sum);
        }
    }

    /// Returns Z for `pages` pages written to `logs` log blocks.
    #[allow(clippy::cast_precision_loss, reason = "pages are below 2^53")]
    fn used(&self, pages: u64, logs: u64) -> f64 {
        match self.performance.family() {
            Family::Bast => pages as f64 / (logs * u64::from(self.space.pages_per_block)) as f64,
            Family::Fast | Family::PageMap => 1.0,
        }
    }
}
