//! Detection of changes in a workload, by cumulative sums (E. S. Page, "Continuous inspection
//! schemes", Biometrika 41, 1954).
//!
//! The detector takes the workload in pieces of equal length, and joins pieces to stretches of time
//! in which the workload stays the same. The sums accumulate the deviations of pieces from the mean
//! of the stretch so far (D. M. Hawkins, "Self-starting CUSUM charts for location and scale", The
//! Statistician 36, 1987).

use super::window::Window;

/// The maximum number of pieces in a stretch: eight times as many pages as the log list (all log
/// blocks) holds.
const MAX_PIECES: u32 = 32;

/// The part of each piece's deviation that counts as chance and is not accumulated, in standard
/// deviations.
const ALLOWED: f64 = 0.5;

/// The cumulative sum of excess deviations above which the workload has changed.
const LIMIT: f64 = 5.0;

/// A difference in the log of the mean length, or in the share of new blocks, that is too small to
/// matter. It is added to the standard deviation. A slight difference between two pieces with many
/// writes therefore does not count as a change.
const SLIGHT: f64 = 0.05;

/// A detector of changes, which divides a workload into stretches.
pub(super) struct ChangeDetector {
    /// The piece in which each block was last written, from 1.
    seen: Vec<u32>,
    piece: u32,
    /// The number of pieces in the current stretch.
    pieces: u32,
    len: Chart,
    fresh: Chart,
}

impl ChangeDetector {
    /// Creates a detector for a drive of `blocks` logical blocks.
    pub(super) fn new(blocks: u32) -> ChangeDetector {
        let (len, fresh) = (Chart::default(), Chart::default());
        ChangeDetector { seen: vec![0; blocks as usize], piece: 0, pieces: 0, len, fresh }
    }

    /// Returns the number of pieces in the current stretch.
    pub(super) fn pieces(&self) -> u32 {
        self.pieces
    }

    /// Adds a piece and returns true if it starts a new stretch.
    ///
    /// A new stretch starts when the workload changes, or when the stretch reaches its maximum
    /// length. The workload changes if the mean length of writes changes, or the share of blocks
    /// that the previous piece did not write.
    pub(crate) fn starts_stretch(&mut self, piece: &Window) -> bool {
        let [len, fresh] = self.samples(piece);
        let changes = [self.len.adds(len, self.pieces), self.fresh.adds(fresh, self.pieces)];
        if self.pieces > 0 && self.pieces < MAX_PIECES && changes == [false; 2] {
            self.pieces += 1;
            return false;
        }
        (self.len, self.fresh) = (Chart::from(len), Chart::from(fresh));
        self.pieces = 1;
        true
    }

    /// Returns the log of the mean length and the share of blocks that the previous piece did not
    /// write.
    #[allow(clippy::cast_precision_loss, reason = "counts are below 2^53")]
    fn samples(&mut self, piece: &Window) -> [Sample; 2] {
        let (mut writes, mut lens, mut new) = (0.0, 0.0, 0.0);
        for block in piece.written() {
            let cell = piece.cell(*block);
            writes += f64::from(cell.writes);
            lens += cell.lens as f64;
            let seen = &mut self.seen[*block as usize];
            new += f64::from(u8::from(*seen != self.piece || self.piece == 0));
            *seen = self.piece.wrapping_add(1);
        }
        self.piece = self.piece.wrapping_add(1);
        let blocks = piece.written().len() as f64;
        let share: f64 = new / blocks;
        // For exponential lengths, the relative standard deviation of the mean of n lengths is
        // 1/√n.
        let sample = |value: f64, variance: f64| Sample {
            value,
            deviation: (SLIGHT * SLIGHT + variance).sqrt(),
        };
        [sample((lens / writes).ln(), 1.0 / writes), sample(share, share * (1.0 - share) / blocks)]
    }
}

/// A statistic of a piece, with the standard deviation that chance causes.
#[derive(Debug, Clone, Copy)]
struct Sample {
    value: f64,
    deviation: f64,
}

/// A CUSUM chart: the mean of a stretch, and the cumulative deviations above and below it.
#[derive(Debug, Clone, Copy, Default)]
struct Chart {
    mean: f64,
    above: f64,
    below: f64,
}

impl From<Sample> for Chart {
    fn from(first: Sample) -> Chart {
        Chart { mean: first.value, ..Chart::default() }
    }
}

impl Chart {
    /// Adds a sample to a stretch of `pieces` pieces and returns true if the workload has changed.
    fn adds(&mut self, sample: Sample, pieces: u32) -> bool {
        let pieces = f64::from(pieces.max(1));
        let off = sample.value - self.mean;
        // The mean of the stretch deviates by chance, too.
        let off_by = off / (sample.deviation * (1.0 + 1.0 / pieces).sqrt());
        self.above = (self.above + off_by - ALLOWED).max(0.0);
        self.below = (self.below - off_by - ALLOWED).max(0.0);
        self.mean += off / (pieces + 1.0);
        self.above.max(self.below) > LIMIT
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trace::Part;

    /// Returns the indices of the pieces that start a stretch. Each of `pieces` describes 200
    /// writes: their mean length in pages, and the range of blocks that they go to, out of 1000.
    fn stretches(pieces: &[(u64, std::ops::Range<u32>)]) -> Vec<usize> {
        let mut rng = fastrand::Rng::with_seed(2);
        let mut detector = ChangeDetector::new(1000);
        let mut begins = |(mean, blocks): &(u64, std::ops::Range<u32>)| {
            let mut window = Window::new(1000);
            for _ in 0..200 {
                let part = Part { block: rng.u32(blocks.clone()), first: 0, len: 1 };
                window.add(part, rng.u64(1..2 * mean));
            }
            detector.starts_stretch(&window)
        };
        (0..pieces.len()).filter(|at| begins(&pieces[*at])).collect()
    }

    // A stretch ends when writes become longer or move to other blocks, and only then.
    #[test]
    fn a_change_ends_the_stretch() {
        let longer = [vec![(4, 0..1000); 10], vec![(8, 0..1000); 10]].concat();
        assert_eq!(stretches(&longer), [0, 10]);
        let elsewhere = [vec![(4, 0..1000); 10], vec![(4, 0..100); 10]].concat();
        // In the first piece after the move, the share of new blocks is as before. In the second
        // piece, few blocks are new.
        assert_eq!(stretches(&elsewhere), [0, 11]);
        assert_eq!(stretches(&vec![(4, 0..1000); 32]), [0]);
    }

    // A stretch without a change ends after eight log lists.
    #[test]
    fn a_stretch_has_a_maximum_length() {
        assert_eq!(stretches(&vec![(4, 0..1000); 70]), [0, 32, 64]);
    }
}
