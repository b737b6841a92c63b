use std::ops::Range;

use flashscope_result::Error;
use hdrhistogram::Histogram;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::overview::{divide, in_threads};
use super::{RunView, RunWindow};

/// The distribution of response times in a run or in a window of it.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LatencyHistogram {
    /// The number of the run.
    pub run: u32,
    /// The position of the first IO in the window.
    pub from: u64,
    /// The position after the last IO in the window.
    pub to: u64,
    /// IOs counted; failed IOs do not count.
    pub ios: u64,
    /// The non-empty bins by rising time, each 1/16 of a factor of ten wide.
    pub bins: Vec<LatencyBin>,
    /// Percentiles in percent, with their response times in ns, accurate to within 0.1 %; the 0th
    /// is the fastest and the 100th the slowest. Percentiles beyond which there is no IO are
    /// omitted.
    pub percentiles: Vec<(f64, u64)>,
}

/// The IOs whose response time is within one range.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LatencyBin {
    /// The start of the range, in ns.
    pub from_ns: f64,
    /// The end of the range, in ns.
    pub to_ns: f64,
    /// The number of IOs.
    pub ios: u64,
}

/// The number of bins per factor of ten.
const BINS_PER_DECADE: f64 = 16.0;

/// The significant decimal digits of percentiles: they are accurate to within 0.1 %.
const DIGITS: u8 = 3;

/// The percentiles to report, as far as there are IOs beyond them.
const PERCENTILES: [f64; 13] =
    [0.0, 1.0, 5.0, 10.0, 25.0, 50.0, 75.0, 90.0, 95.0, 99.0, 99.9, 99.99, 99.999];

impl RunView for LatencyHistogram {
    const NAME: &'static str = "histogram";
    const SUMMARY: &'static str = "The distribution of a run's response times";

    fn of(RunWindow { run, rows, window, threads }: RunWindow) -> Result<Self, Error> {
        let edges = Edges::new();
        let counts = in_threads(divide(window.clone(), threads), |part| {
            let mut counts = Counts::new(&edges);
            rows.for_each_latency(part, |latency| {
                if let Some(latency) = latency {
                    counts.push(latency, &edges);
                }
            })?;
            Ok(counts)
        })?;
        let mut all = Counts::new(&edges);
        counts.iter().for_each(|counts| all.join(counts));
        Ok(all.finish(run, window, &edges))
    }
}

/// The edges of the bins.
struct Edges {
    /// The smallest whole number of ns in each bin.
    first: Vec<u64>,
    /// The bin of the smallest number with this many bits.
    by_bits: [usize; 65],
}

impl Edges {
    // No bin begins beyond the largest number, so the largest number is in the last bin.
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
    fn new() -> Edges {
        let begins = (0..).map(edge).take_while(|edge| *edge < 2f64.powi(64));
        let first: Vec<u64> = begins.map(|edge| edge.ceil() as u64).collect();
        let by_bits = std::array::from_fn(|bits: usize| {
            let smallest = if bits == 0 { 0 } else { 1 << (bits - 1) };
            first.partition_point(|edge| *edge <= smallest).saturating_sub(1)
        });
        Edges { first, by_bits }
    }

    #[inline]
    fn bin(&self, latency: u64) -> usize {
        let mut bin = self.by_bits[(u64::BITS - latency.leading_zeros()) as usize];
        while self.first.get(bin + 1).is_some_and(|edge| *edge <= latency) {
            bin += 1;
        }
        bin
    }
}

/// Returns the start of a bin, in ns.
#[allow(clippy::cast_precision_loss)] // a few hundred bins
fn edge(bin: usize) -> f64 {
    10_f64.powf(bin as f64 / BINS_PER_DECADE)
}

struct Counts {
    bins: Vec<u64>,
    exact: Histogram<u64>,
}

impl Counts {
    fn new(edges: &Edges) -> Counts {
        let exact = Histogram::new(DIGITS).expect("3 digits is a valid precision");
        Counts { bins: vec![0; edges.first.len()], exact }
    }

    #[inline]
    fn push(&mut self, latency: u64, edges: &Edges) {
        self.bins[edges.bin(latency)] += 1;
        self.exact.record(latency).expect("a histogram that resizes itself takes every value");
    }

    fn join(&mut self, other: &Counts) {
        self.bins.iter_mut().zip(&other.bins).for_each(|(this, other)| *this += other);
        self.exact.add(&other.exact).expect("a histogram that resizes itself takes every value");
    }

    #[allow(clippy::cast_precision_loss)] // counts of IOs are below 2⁵³
    fn finish(&self, run: u32, window: Range<u64>, edges: &Edges) -> LatencyHistogram {
        let ios = self.exact.len();
        let filled = self.bins.iter().enumerate().filter(|(_, ios)| **ios > 0);
        let bins = filled.map(|(bin, &ios)| LatencyBin {
            // Only times of 0 are below 1 ns.
            from_ns: if bin == 0 { 0.0 } else { edge(bin) },
            to_ns: edge((bin + 1).min(edges.first.len())),
            ios,
        });
        let reported =
            |percent: &f64| *percent < 90.0 || (1.0 - percent / 100.0) * ios as f64 >= 1.0;
        let percentiles = PERCENTILES.into_iter().filter(reported).chain([100.0]);
        let value = |percent: f64| match percent {
            0.0 => self.exact.min(),
            percent => self.exact.value_at_percentile(percent).min(self.exact.max()),
        };
        let percentiles = match ios {
            0 => vec![],
            _ => percentiles.map(|percent| (percent, value(percent))).collect(),
        };
        let Range { start: from, end: to } = window;
        LatencyHistogram { run, from, to, ios, bins: bins.collect(), percentiles }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn longest_latency_is_not_past_the_last_bin() {
        let edges = Edges::new();
        assert_eq!(edges.bin(u64::MAX), edges.first.len() - 1);
        let mut counts = Counts::new(&edges);
        for latency in [u64::MAX, u64::MAX - 1, 0] {
            counts.push(latency, &edges);
        }
        let found = counts.finish(1, 0..3, &edges);
        assert_eq!(found.bins.iter().map(|bin| bin.ios).collect::<Vec<_>>(), [1, 2]);
        assert!((found.bins[1].from_ns..found.bins[1].to_ns).contains(&2f64.powi(64)));
        // The histogram of percentiles ends one nanosecond earlier.
        assert_eq!(found.percentiles.last(), Some(&(100.0, u64::MAX - 1)));
    }
}
