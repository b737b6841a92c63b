//! Page-mapped FTLs: how long pages are left alone before they are written again.
//!
//! Where the oldest block is cleaned, a page comes by the cleaner each time that the queue of T physical pages
//! has gone round, which is every T/A pages of the host; if it is left alone for t pages it is moved
//! floor(t A / T) times. What is never written again is moved each time. So
//! A = 1 + (sum of floor(t A / T) over all writes + U_s W A / T) / W, for W pages written and U_s pages that
//! are never written: exact for any stationary workload, as nothing is assumed of what is independent of
//! what. Of uniform writes t is exponential with mean U, and this is Desnoyers' equation 4.
//!
//! Greedy cleaning is taken as Desnoyers takes it of hot and cold data (equation 16), with two changes. What is
//! never written again comes to lie in blocks of its own, which are never cleaned, and counts neither as
//! live nor as space. And of writes of w pages neighbours die together, so that a block is one of b / w parts.

use super::{Predictor, Space, Total};
use crate::OutOfRange;
use crate::page_map::{desnoyers::from_fifo, units};
use crate::root::root;

/// Never written.
const NEVER: u32 = u32::MAX;

/// Classes of times within which they double.
const PER_OCTAVE: u32 = 32;

/// By how much amplifications differ that are told apart.
const STEP: f64 = 1.02;

/// Times that are alike.
#[derive(Debug, Clone, Copy, Default)]
struct Bin {
    count: u64,
    sum: f64,
}

/// The predictor.
pub struct Reuse {
    space: Space,
    /// Whether the block with the fewest valid pages is cleaned; else the oldest.
    greedy: bool,
    /// When each page was last written, in pages written.
    last: Vec<u32>,
    now: u64,
    /// When it was begun to count.
    begun: u64,
    /// Pages that were ever written.
    written: u64,
    /// Writes since it was begun to count.
    writes: u64,
    bins: Vec<Bin>,
    /// What was before that.
    before: Total,
}

impl Reuse {
    /// A drive of which all is written once, long ago.
    ///
    /// # Errors
    ///
    /// Where the space is out of range, or has more than 2^32 - 1 pages.
    pub fn new(space: Space, greedy: bool) -> Result<Reuse, OutOfRange> {
        space.check_numbers()?;
        Ok(Reuse {
            space,
            greedy,
            last: vec![NEVER; usize::try_from(space.pages()).unwrap_or(usize::MAX)],
            now: 0,
            begun: 0,
            written: 0,
            writes: 0,
            bins: vec![Bin::default(); 33 * PER_OCTAVE as usize],
            before: Total::default(),
        })
    }

    /// Forgets how often pages were written again, but not when they were written last: what comes is then
    /// predicted by itself.
    pub fn begin(&mut self) {
        self.bins.fill(Bin::default());
        self.begun = self.now;
        self.writes = 0;
    }

    /// Programs for each page that the host writes.
    #[must_use]
    #[allow(clippy::cast_precision_loss, reason = "pages are below 2^53")]
    pub fn write_amplification(&self) -> f64 {
        let block = f64::from(self.space.pages_per_block);
        let physical =
            block * (f64::from(self.space.logical_blocks) + f64::from(self.space.free_blocks));
        let fixed = self.space.pages() as f64 - self.written as f64;
        if self.now == self.begun {
            return 1.0;
        }
        if self.greedy {
            let mean_len = (self.now - self.begun) as f64 / self.writes.max(1) as f64;
            let parts = units(block, mean_len);
            return from_fifo(parts, |k| self.in_queue(k * (physical - fixed), 0.0));
        }
        self.in_queue(physical, fixed)
    }

    /// A of a queue of so many pages, of which so many are never written.
    #[allow(clippy::cast_precision_loss, reason = "pages are below 2^53")]
    fn in_queue(&self, physical: f64, fixed: f64) -> f64 {
        let written = (self.now - self.begun) as f64;
        let off = |amplification: f64| {
            let turns = amplification / physical;
            let moved: f64 = self.bins.iter().map(|bin| moved(bin, turns)).sum();
            1.0 + moved / written + fixed * turns - amplification
        };
        // All that is live, moved each turn, is the most that there can be.
        let most = physical / (physical - self.space.pages() as f64).max(1.0);
        // Where pages are written again at once, or all but so, more than one A may hold: what is moved needs
        // room, which makes more to be moved. A drive comes to the least, as nothing was moved at first.
        let mut low = 1.0;
        while low < most {
            let high = (low * STEP).min(most);
            if off(high) <= 0.0 {
                return root(low, high, off);
            }
            low = high;
        }
        most
    }
}

/// How often the pages of a bin are moved. Times within it are taken to be even, so that it is no step.
#[allow(clippy::cast_precision_loss, reason = "counts are below 2^53")]
fn moved(bin: &Bin, turns: f64) -> f64 {
    if bin.count == 0 {
        return 0.0;
    }
    let mean = bin.sum / bin.count as f64 * turns;
    let half = mean * 0.5 / f64::from(PER_OCTAVE);
    let (low, high) = (mean - half, mean + half);
    // The mean of floor(x) from low to high: floor's integral is n (x - (n + 1) / 2).
    let integral = |x: f64| x.floor() * (x - f64::midpoint(x.floor(), 1.0));
    bin.count as f64 * (integral(high) - integral(low)) / (high - low)
}

/// The bin of a time.
fn bin(time: u32) -> usize {
    let time = u64::from(time.max(1));
    let octave = time.ilog2();
    let within = ((time * u64::from(PER_OCTAVE)) >> octave) - u64::from(PER_OCTAVE);
    octave as usize * PER_OCTAVE as usize + usize::try_from(within).unwrap_or(0)
}

impl Predictor for Reuse {
    fn write(&mut self, page: u64, pages: u64) {
        let end = page.saturating_add(pages).min(self.space.pages());
        self.writes += 1;
        for page in page..end {
            let Some(last) = self.last.get_mut(usize::try_from(page).unwrap_or(usize::MAX)) else {
                return;
            };
            // Times come round after 2^32 pages, further than which nothing is told apart.
            #[allow(clippy::cast_possible_truncation)]
            let now = (self.now as u32).min(NEVER - 1);
            if *last == NEVER {
                self.written += 1;
            } else {
                let time = now.wrapping_sub(*last);
                let bin = &mut self.bins[bin(time)];
                bin.count += 1;
                bin.sum += f64::from(time);
            }
            *last = now;
            self.now += 1;
        }
    }

    /// Each stretch from one asking to the next is predicted by itself.
    #[allow(clippy::cast_precision_loss, reason = "pages are below 2^53")]
    fn total(&mut self) -> Total {
        let written = (self.now - self.begun) as f64;
        let amplification = self.write_amplification();
        let block = f64::from(self.space.pages_per_block);
        self.before.pages = self.now;
        self.before.erasures += written * amplification / block;
        self.before.copies += written * (amplification - 1.0);
        self.begin();
        self.before
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // Are times that are written evenly binned in order, and within the width of a bin?
    #[test]
    fn bins_are_in_order() {
        let mut before = 0;
        for time in (0..32).flat_map(|octave| [1_u32 << octave, (1 << octave) + (1 << octave) / 3])
        {
            let at = bin(time);
            assert!(at >= before && at < 33 * 32, "{time}: {at}");
            before = at;
        }
        assert_eq!(bin(u32::MAX), 32 * 32 - 1);
    }
}
