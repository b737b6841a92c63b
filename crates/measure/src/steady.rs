//! Decides when a drive is in its steady state.

use std::fmt;

use flashscope_stats::Steadiness;

/// The criterion for a steady metric: over the last windows its values lie close together, and the
/// line fitted to them is nearly level.
///
/// The form is that of the Solid State Storage Performance Test Specification (SNIA SSS PTS 2.0,
/// definition of *steady state*). Over five rounds, the range must be at most 20 % of the mean, and
/// the fitted line must rise or fall by at most 10 % of the mean.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Criterion {
    /// The number of windows to check.
    pub windows: usize,
    /// The largest difference between the largest and the smallest value, relative to the mean.
    pub range: f64,
    /// The largest rise or fall of the fitted line over these windows, relative to the mean.
    pub slope: f64,
    /// The number of windows after which to give up.
    pub most: usize,
}

/// SNIA's criterion with a tenth of its tolerances. SNIA's tolerances are made for throughput,
/// which varies by a few percent on a real drive. The counters of a simulated drive have no such
/// noise, and write amplification that still falls by 10 % is not steady.
pub const STEADY: Criterion = Criterion { windows: 5, range: 0.02, slope: 0.01, most: 50 };

/// SNIA's criterion as specified: a test gives up after 25 rounds.
pub const PTS: Criterion = Criterion { windows: 5, range: 0.2, slope: 0.1, most: 25 };

impl Criterion {
    /// Returns true if the last of `values` meet the criterion.
    pub fn holds(&self, values: &[f64]) -> bool {
        let start = values.len().checked_sub(self.windows);
        let last = start.and_then(|start| Steadiness::of(&values[start..]));
        last.is_some_and(|last| last.is_within(self.range, self.slope))
    }
}

impl fmt::Display for Criterion {
    /// Describes the criterion in words.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (range, slope) = (100.0 * self.range, 100.0 * self.slope);
        write!(
            f,
            "over {} windows, values that range by at most {range} % of their mean, and a \
             fitted line that changes by at most {slope} % (after SNIA SSS PTS, with a tenth of its tolerances)",
            self.windows
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_criterion_holds_exactly_within_both_bounds() {
        let snia = PTS;
        assert!(!snia.holds(&[1.0; 4]));
        assert!(snia.holds(&[1.0; 5]));
        // The ranges are 19 % and 21 %, without a trend.
        assert!(snia.holds(&[1.0, 1.095, 1.0, 0.905, 1.0]));
        assert!(!snia.holds(&[1.0, 1.105, 1.0, 0.895, 1.0]));
        // A line that rises by 9.6 % and by 10.4 %.
        let line = |step: f64| [-2.0, -1.0, 0.0, 1.0, 2.0].map(|i| 1.0 + i * step);
        assert!(snia.holds(&line(0.024)));
        assert!(!snia.holds(&line(0.026)));
        assert!(!snia.holds(&line(-0.026)));
        // The values lie on both bounds: a range of 20 %, a rise of 10 %.
        assert!(snia.holds(&[10.0, 11.0, 10.0, 9.0, 10.0]));
        assert!(snia.holds(&[95.0, 97.5, 100.0, 102.5, 105.0]));
        assert!(!snia.holds(&[94.9, 97.5, 100.0, 102.5, 105.1]));
        // Earlier values do not count.
        assert!(snia.holds(&[9.0, 5.0, 1.0, 1.0, 1.0, 1.0, 1.0]));
    }
}
