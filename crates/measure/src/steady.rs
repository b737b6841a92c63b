//! When a drive is in its steady state.

use std::fmt;

/// What is asked of a metric before the drive counts as steady: over the last windows its values
/// lie close together, and the line fitted to them is nearly level.
///
/// The form is that of the Solid State Storage Performance Test Specification (SNIA SSS PTS 2.0,
/// definition of *steady state*: five rounds, a range of at most 20 % of the mean, and a fitted
/// line that rises or falls by at most 10 % of it).
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Criterion {
    /// How many windows are looked at.
    pub windows: usize,
    /// How far the largest value may be from the smallest, relative to the mean.
    pub range: f64,
    /// How far the fitted line may rise or fall over these windows, relative to the mean.
    pub slope: f64,
    /// After so many windows it is given up.
    pub most: usize,
}

/// SNIA's criterion with a tenth of its tolerances: they are made for throughput, which a real
/// drive changes by some percent on its own; what a simulated drive counts has no such noise, and
/// write amplification that still falls by 10 % is not steady.
pub const STEADY: Criterion = Criterion { windows: 5, range: 0.02, slope: 0.01, most: 50 };

impl Criterion {
    /// Whether the last of `values` fulfil it.
    #[allow(clippy::cast_precision_loss)]
    pub fn holds(&self, values: &[f64]) -> bool {
        let Some(start) = values.len().checked_sub(self.windows) else { return false };
        let last = &values[start..];
        let count = last.len() as f64;
        let mean = last.iter().sum::<f64>() / count;
        let lowest = last.iter().copied().fold(f64::INFINITY, f64::min);
        let highest = last.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        // The least-squares line through the values at −(n−1)/2 … (n−1)/2.
        let middle = (count - 1.0) / 2.0;
        let moment: f64 = last.iter().enumerate().map(|(i, y)| (i as f64 - middle) * y).sum();
        let squares: f64 = (0..last.len()).map(|i| (i as f64 - middle).powi(2)).sum();
        let rise = if squares > 0.0 { (moment / squares * (count - 1.0)).abs() } else { 0.0 };
        highest - lowest <= self.range * mean && rise <= self.slope * mean
    }
}

impl fmt::Display for Criterion {
    /// The criterion in words.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (range, slope) = (100.0 * self.range, 100.0 * self.slope);
        write!(
            f,
            "over {} windows, values within {range} % of their mean and a fitted line that \
             changes by at most {slope} % (after SNIA SSS PTS, with a tenth of its tolerances)",
            self.windows
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // Does the criterion hold exactly where both of its bounds are kept?
    #[test]
    fn bounds_of_the_criterion() {
        let snia = Criterion { range: 0.2, slope: 0.1, ..STEADY };
        assert!(!snia.holds(&[1.0; 4]));
        assert!(snia.holds(&[1.0; 5]));
        // Range 19 % and 21 %, level.
        assert!(snia.holds(&[1.0, 1.095, 1.0, 0.905, 1.0]));
        assert!(!snia.holds(&[1.0, 1.105, 1.0, 0.895, 1.0]));
        // A line that rises by 9.6 % and by 10.4 %.
        let line = |step: f64| [-2.0, -1.0, 0.0, 1.0, 2.0].map(|i| 1.0 + i * step);
        assert!(snia.holds(&line(0.024)));
        assert!(!snia.holds(&line(0.026)));
        assert!(!snia.holds(&line(-0.026)));
        // What came before does not count.
        assert!(snia.holds(&[9.0, 5.0, 1.0, 1.0, 1.0, 1.0, 1.0]));
    }
}
