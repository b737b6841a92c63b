//! A predictor for page-mapped FTLs, from the distribution of reuse times. The reuse time of a page
//! is the number of pages that the host writes until it writes this page again.
//!
//! With FIFO GC, the collector reaches a page each time the queue of T physical pages has gone
//! round, which takes T/A host page writes. A page overwritten after t host page writes is moved
//! floor(t A / T) times, and a page that is never overwritten is moved in every round. With W pages
//! written and U_s pages never written, this gives A = 1 + (sum of floor(t A / T) over all writes +
//! U_s W A / T) / W. The formula is exact for any stationary workload because it assumes no
//! independence. For uniform writes to U logical pages, t is exponential with mean U, and the
//! formula is Desnoyers' equation 4.
//!
//! Greedy GC follows Desnoyers' approximation for hot and cold data (equation 16), with two
//! changes. Pages that are never overwritten gather in separate blocks, which GC never
//! collects; these pages count neither as live pages nor as space. Writes of w pages invalidate
//! neighbours together, and a block of b pages counts as a block of b / w units.

use super::{Predictor, Space, Total};
use crate::OutOfRange;
use crate::page_map::{desnoyers::from_fifo, units};
use crate::root::root;

/// The last write time of a page that was never written.
const NEVER: u32 = u32::MAX;

/// The number of bins in each doubling of the reuse time.
const PER_OCTAVE: u32 = 32;

/// The ratio of consecutive candidates in the search for the amplification.
const STEP: f64 = 1.02;

/// The number of reuse times in a range, and their sum.
#[derive(Debug, Clone, Copy, Default)]
struct Bin {
    count: u64,
    sum: f64,
}

/// A predictor for page-mapped FTLs, from reuse times.
pub struct Reuse {
    space: Space,
    /// True for greedy GC, false for FIFO.
    greedy: bool,
    /// The time of the last write to each page, in host pages written.
    last: Vec<u32>,
    now: u64,
    /// The time at which counting started.
    started: u64,
    /// Pages written at least once.
    written: u64,
    /// Writes since counting started.
    writes: u64,
    bins: Vec<Bin>,
    /// The total before counting started.
    before: Total,
}

impl Reuse {
    /// Creates a drive on which every page was written once, long ago.
    ///
    /// # Errors
    ///
    /// Returns an error if the space is out of range, or has more than 2^32 - 1 pages.
    pub fn new(space: Space, greedy: bool) -> Result<Reuse, OutOfRange> {
        space.check_numbers()?;
        Ok(Reuse {
            space,
            greedy,
            last: vec![NEVER; usize::try_from(space.pages()).unwrap_or(usize::MAX)],
            now: 0,
            started: 0,
            written: 0,
            writes: 0,
            bins: vec![Bin::default(); 33 * PER_OCTAVE as usize],
            before: Total::default(),
        })
    }

    /// Resets the counts, but not the times of the last writes. Later writes are predicted
    /// separately.
    pub fn restart(&mut self) {
        self.bins.fill(Bin::default());
        self.started = self.now;
        self.writes = 0;
    }

    /// Returns the pages programmed for each host page written.
    #[must_use]
    #[allow(clippy::cast_precision_loss, reason = "pages are below 2^53")]
    pub fn write_amplification(&self) -> f64 {
        let block = f64::from(self.space.pages_per_block);
        let physical =
            block * (f64::from(self.space.logical_blocks) + f64::from(self.space.free_blocks));
        let fixed = self.space.pages() as f64 - self.written as f64;
        if self.now == self.started {
            return 1.0;
        }
        if self.greedy {
            let mean_len = (self.now - self.started) as f64 / self.writes.max(1) as f64;
            let parts = units(block, mean_len);
            return from_fifo(parts, |k| self.in_queue(k * (physical - fixed), 0.0));
        }
        self.in_queue(physical, fixed)
    }

    /// Returns the write amplification of a FIFO queue of `physical` pages, with `fixed` pages that
    /// are never written.
    #[allow(clippy::cast_precision_loss, reason = "pages are below 2^53")]
    fn in_queue(&self, physical: f64, fixed: f64) -> f64 {
        let written = (self.now - self.started) as f64;
        let off = |amplification: f64| {
            let rounds = amplification / physical;
            let moved: f64 = self.bins.iter().map(|bin| moved(bin, rounds)).sum();
            1.0 + moved / written + fixed * rounds - amplification
        };
        // The maximum: every live page is moved in every round.
        let most = physical / (physical - self.space.pages() as f64).max(1.0);
        // If most pages have nearly the same reuse time, several amplifications are solutions,
        // because moved pages take space, which causes more moves. A drive reaches the smallest
        // solution, because it starts without moves.
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

/// Returns the expected moves of the pages in a bin. Assumes an even distribution of times in the
/// bin, which makes the function continuous.
#[allow(clippy::cast_precision_loss, reason = "counts are below 2^53")]
fn moved(bin: &Bin, rounds: f64) -> f64 {
    if bin.count == 0 {
        return 0.0;
    }
    let mean = bin.sum / bin.count as f64 * rounds;
    let half = mean * 0.5 / f64::from(PER_OCTAVE);
    let (low, high) = (mean - half, mean + half);
    // The mean of floor(x) from low to high. The integral of floor from 0 to x is n (x - (n + 1) /
    // 2), with n = floor(x).
    let integral = |x: f64| x.floor() * (x - f64::midpoint(x.floor(), 1.0));
    bin.count as f64 * (integral(high) - integral(low)) / (high - low)
}

/// Returns the bin of a reuse time.
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
            // Times wrap after 2^32 pages: a longer reuse time counts as its remainder modulo 2^32.
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

    /// Returns the total. Predicts the writes since the previous call separately.
    #[allow(clippy::cast_precision_loss, reason = "pages are below 2^53")]
    fn total(&mut self) -> Total {
        let written = (self.now - self.started) as f64;
        let amplification = self.write_amplification();
        let block = f64::from(self.space.pages_per_block);
        self.before.pages = self.now;
        self.before.erasures += written * amplification / block;
        self.before.copies += written * (amplification - 1.0);
        self.restart();
        self.before
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // All bins are in range.
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
