//! When writes change: cumulative sums (E. S. Page, "Continuous inspection schemes", Biometrika 41, 1954) of what
//! pieces of them, all of as many pages, are off the mean of the stretch so far (D. M. Hawkins, "Self-starting CUSUM
//! charts for location and scale", The Statistician 36, 1987).

use super::window::Window;

/// The most pieces of a stretch: eight log lists.
const LONGEST: u32 = 32;

/// What is off by no more than chance, in standard deviations, for each piece.
const ALLOWED: f64 = 0.5;

/// The sum of what is off further from which on it is a change.
const LIMIT: f64 = 5.0;

/// A difference of the logarithm of the mean length, or of the share of new blocks, that matters as little as
/// chance does: large pieces are never quite alike.
const SLIGHT: f64 = 0.05;

/// What tells that writes change.
pub(super) struct Change {
    /// The piece in which each block was last written, from 1.
    seen: Vec<u32>,
    piece: u32,
    /// Pieces of this stretch.
    pieces: u32,
    len: Chart,
    fresh: Chart,
}

impl Change {
    /// Of a drive of so many logical blocks.
    pub fn new(blocks: u32) -> Change {
        let (len, fresh) = (Chart::default(), Chart::default());
        Change { seen: vec![0; blocks as usize], piece: 0, pieces: 0, len, fresh }
    }

    /// Pieces of the stretch to which the last one told belongs.
    pub fn pieces(&self) -> u32 {
        self.pieces
    }

    /// Whether a piece is the first of another stretch than the one before it: where the mean length of writes, or
    /// the share of its blocks that the piece before did not write, has changed, or a stretch is long enough.
    pub fn begins_with(&mut self, piece: &Window) -> bool {
        let [len, fresh] = self.look_at(piece);
        let changes = [self.len.adds(len, self.pieces), self.fresh.adds(fresh, self.pieces)];
        if self.pieces > 0 && self.pieces < LONGEST && changes == [false; 2] {
            self.pieces += 1;
            return false;
        }
        (self.len, self.fresh) = (Chart::from(len), Chart::from(fresh));
        self.pieces = 1;
        true
    }

    /// The logarithm of the mean length and the share of blocks that are new.
    #[allow(clippy::cast_precision_loss, reason = "counts are below 2^53")]
    fn look_at(&mut self, piece: &Window) -> [Sample; 2] {
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
        // Of exponential lengths the mean of n has a deviation of its n-th part's root.
        let sample = |value: f64, variance: f64| Sample {
            value,
            deviation: (SLIGHT * SLIGHT + variance).sqrt(),
        };
        [sample((lens / writes).ln(), 1.0 / writes), sample(share, share * (1.0 - share) / blocks)]
    }
}

/// What a piece has of something, and how far it is off by chance.
#[derive(Debug, Clone, Copy)]
struct Sample {
    value: f64,
    deviation: f64,
}

/// The mean of a stretch, and what pieces are above and below it.
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
    /// Adds a piece to a stretch of so many; whether that has changed.
    fn adds(&mut self, sample: Sample, pieces: u32) -> bool {
        let pieces = f64::from(pieces.max(1));
        let off = sample.value - self.mean;
        // The mean is off by chance itself.
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

    /// Where stretches begin, of pieces of 200 writes of about so many pages to blocks of a part of 1000.
    fn stretches(pieces: &[(u64, std::ops::Range<u32>)]) -> Vec<usize> {
        let mut rng = fastrand::Rng::with_seed(2);
        let mut change = Change::new(1000);
        let mut begins = |(mean, blocks): &(u64, std::ops::Range<u32>)| {
            let mut window = Window::new(1000);
            for _ in 0..200 {
                let part = Part { block: rng.u32(blocks.clone()), first: 0, len: 1 };
                window.add(part, rng.u64(1..2 * mean));
            }
            change.begins_with(&window)
        };
        (0..pieces.len()).filter(|at| begins(&pieces[*at])).collect()
    }

    // Does a stretch end where writes become longer, and where they go elsewhere, and not where they do not change?
    #[test]
    fn changes() {
        let longer = [vec![(4, 0..1000); 10], vec![(8, 0..1000); 10]].concat();
        assert_eq!(stretches(&longer), [0, 10]);
        let elsewhere = [vec![(4, 0..1000); 10], vec![(4, 0..100); 10]].concat();
        // To the piece in which they go elsewhere its blocks are as new as before.
        assert_eq!(stretches(&elsewhere), [0, 11]);
        assert_eq!(stretches(&vec![(4, 0..1000); 32]), [0]);
    }

    // Is a stretch no longer than eight log lists?
    #[test]
    fn longest() {
        assert_eq!(stretches(&vec![(4, 0..1000); 70]), [0, 32, 64]);
    }
}
