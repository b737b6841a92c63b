//! Times between requests, and burstiness.

use flashscope_block::Nanos;
use hdrhistogram::Histogram;

use flashscope_document::trace::{Burstiness, InterArrival, TimeBucket};

/// The number of significant decimal digits of quantiles.
const DIGITS: u8 = 3;

/// The times between successive requests.
#[derive(Debug, Clone)]
pub(super) struct Gaps {
    last: Option<u64>,
    /// The sum of the squared gaps.
    squares: f64,
    quantiles: Histogram<u64>,
    /// Counts by the number of bits of the gap.
    octaves: [u64; 65],
}

impl Default for Gaps {
    fn default() -> Self {
        Gaps {
            last: None,
            squares: 0.0,
            quantiles: Histogram::new(DIGITS).expect("3 digits is a valid precision"),
            octaves: [0; 65],
        }
    }
}

impl Gaps {
    /// Adds requests at these times, in rising order.
    pub(super) fn push(&mut self, times: &[u64]) {
        let Some(first) = times.first() else { return };
        let skip = usize::from(self.last.is_none());
        let mut last = self.last.unwrap_or(*first);
        for time in &times[skip..] {
            let gap = time - last;
            last = *time;
            self.squares += gap as f64 * gap as f64;
            self.quantiles.record(gap).expect("a histogram that resizes itself takes every value");
            self.octaves[(u64::BITS - gap.leading_zeros()) as usize] += 1;
        }
        self.last = Some(last);
    }

    /// Returns the statistics; `end` is the time of the last request.
    pub(super) fn facts(&self, end: u64) -> Option<InterArrival> {
        let count = self.quantiles.len();
        if count == 0 {
            return None;
        }
        let mean = end as f64 / count as f64;
        let variance = (self.squares / count as f64 - mean * mean).max(0.0);
        let [min, max] = [self.quantiles.min(), self.quantiles.max()];
        let at = |q| self.quantiles.value_at_quantile(q).clamp(min, max);
        let from = |bits: usize| Nanos(if bits == 0 { 0 } else { 1 << (bits - 1) });
        let octaves = self.octaves.iter().enumerate().filter(|(_, count)| **count > 0);
        Some(InterArrival {
            mean,
            coefficient_of_variation: (mean > 0.0).then(|| variance.sqrt() / mean),
            min,
            p10: at(0.1),
            p50: at(0.5),
            p90: at(0.9),
            p99: at(0.99),
            p999: at(0.999),
            max: max.min(end),
            histogram: octaves.map(|(b, n)| TimeBucket { from_ns: from(b), count: *n }).collect(),
        })
    }
}

/// The shortest window, in nanoseconds. Each longer window is ten times as long as the previous
/// one.
const SHORTEST_WINDOW: u64 = 1_000_000;

/// The number of window lengths.
const LENGTHS: usize = 8;

/// Minimum number of windows for statistics.
const MIN_WINDOWS: u64 = 10;

/// The requests in time windows of 1 ms, 10 ms, and so on.
#[derive(Debug, Clone, Default)]
pub(super) struct Windows {
    levels: [Level; LENGTHS],
}

#[derive(Debug, Clone, Copy, Default)]
struct Level {
    /// The index of the open window; `count` is the number of requests in this window.
    window: u64,
    count: u64,
    /// The sum of the counts of the closed windows.
    sum: u64,
    /// The sum of the squares of these counts.
    squares: u128,
    /// The highest of these counts.
    peak: u64,
}

impl Level {
    fn close(&mut self) -> u64 {
        let count = std::mem::take(&mut self.count);
        self.sum += count;
        self.squares += u128::from(count) * u128::from(count);
        self.peak = self.peak.max(count);
        count
    }
}

impl Windows {
    /// Adds requests at these times, in rising order.
    pub(super) fn push(&mut self, times: &[u64]) {
        for time in times {
            let window = time / SHORTEST_WINDOW;
            if window != self.levels[0].window {
                self.advance(window);
            }
            self.levels[0].count += 1;
        }
    }

    /// Closes the windows that end before `to`, the index of a window of the shortest length. When
    /// a window closes, its requests are added to the window that is ten times as long.
    fn advance(&mut self, to: u64) {
        let mut to = to;
        let mut carried = 0;
        for level in &mut self.levels {
            level.count += carried;
            if level.window == to {
                return;
            }
            carried = level.close();
            level.window = to;
            to /= 10;
        }
    }

    pub(super) fn facts(&self) -> Vec<Burstiness> {
        let mut length = SHORTEST_WINDOW;
        let mut found = Vec::new();
        for level in &self.levels {
            // The open window at the end of the trace is incomplete and does not count.
            let windows = level.window;
            let mean = level.sum as f64 / windows as f64;
            if windows >= MIN_WINDOWS && mean > 0.0 {
                let variance = level.squares as f64 / windows as f64 - mean * mean;
                found.push(Burstiness {
                    window_ns: Nanos(length),
                    windows,
                    peak_requests: level.peak,
                    peak_to_mean: level.peak as f64 / mean,
                    index_of_dispersion: variance.max(0.0) / mean,
                });
            }
            length *= 10;
        }
        found
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    // The division into batches does not change the result.
    #[test]
    fn gap_statistics_match_a_calculation_by_hand() {
        for cut in 0..=4 {
            let times = [0, 10, 10, 40];
            let mut gaps = Gaps::default();
            gaps.push(&times[..cut]);
            gaps.push(&times[cut..]);
            let facts = gaps.facts(40).unwrap();
            assert_eq!((facts.min, facts.p50, facts.max), (0, 10, 30));
            assert!((facts.mean - 40.0 / 3.0).abs() < 1e-9);
            // Squares: 100, 0, 900; variance: 1000/3 − (40/3)².
            let variation = (1000.0f64 / 3.0 - 1600.0 / 9.0).sqrt() / (40.0 / 3.0);
            assert!((facts.coefficient_of_variation.unwrap() - variation).abs() < 1e-9);
            let found: Vec<_> = facts.histogram.iter().map(|b| (b.from_ns.0, b.count)).collect();
            assert_eq!(found, [(0, 1), (8, 1), (16, 1)]);
        }
        let mut one = Gaps::default();
        one.push(&[0]);
        assert_eq!(one.facts(0), None);
    }

    proptest! {
        #[test]
        fn windows_agree_with_definitions(
            gaps in prop::collection::vec(0u64..200_000_000, 1..400),
            cut in 0usize..400,
        ) {
            let mut time = 0;
            let mut times = vec![0];
            times.extend(gaps.iter().map(|gap| { time += gap; time }));
            let mut windows = Windows::default();
            let cut = cut.min(times.len());
            windows.push(&times[..cut]);
            windows.push(&times[cut..]);
            let found = windows.facts();
            let mut length = SHORTEST_WINDOW;
            let mut wanted = 0;
            while time / length >= MIN_WINDOWS {
                let whole = usize::try_from(time / length).unwrap();
                let mut counts = vec![0u64; whole];
                for at in &times {
                    if let Some(count) = counts.get_mut(usize::try_from(at / length).unwrap()) {
                        *count += 1;
                    }
                }
                let n = whole as f64;
                let mean = counts.iter().sum::<u64>() as f64 / n;
                let squares: f64 = counts.iter().map(|c| (*c as f64 - mean).powi(2)).sum();
                let Some(facts) = found.iter().find(|f| f.window_ns.0 == length) else {
                    panic!("no window of {length}");
                };
                prop_assert_eq!(facts.windows, whole as u64);
                prop_assert_eq!(Some(facts.peak_requests), counts.iter().max().copied());
                prop_assert!((facts.index_of_dispersion - squares / n / mean).abs() < 1e-6);
                prop_assert!((facts.peak_to_mean - facts.peak_requests as f64 / mean).abs() < 1e-9);
                length *= 10;
                wanted += 1;
            }
            prop_assert_eq!(found.len(), wanted);
        }
    }
}
