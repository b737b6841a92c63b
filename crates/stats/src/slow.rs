//! Slow variation of a series: the length that a part needs to represent the whole series.

use crate::MIN_COUNT;

/// Parts are long enough if the standard deviation of their means is at most this fraction of the
/// precision. About 90 % of the means are then within the precision.
const SPREAD: f64 = 0.6;

/// The minimum number of parts to compare.
const PARTS: usize = 3;

/// Returns the minimum length at which most parts of the series have the mean of the whole series,
/// to within the relative `precision`. The length is a multiple of 512 and at most a third of the
/// series; this maximum is also the result if no length suffices. Returns `None` if the series has
/// fewer than 3 × 512 values.
///
/// Response times may vary over thousands of IOs, because a drive fills its blocks and cleans them
/// in turn. The interval of a mean over a part reflects only the variation within that part.
#[allow(clippy::cast_precision_loss)] // far below 2^53
pub fn min_length(series: &[f64], precision: f64) -> Option<usize> {
    let most = series.len() / PARTS / MIN_COUNT * MIN_COUNT;
    if most == 0 {
        return None;
    }
    let mean = series.iter().sum::<f64>() / series.len() as f64;
    let spread = |length: usize| {
        let parts = series.chunks_exact(length);
        let count = parts.len() as f64;
        let off = |part: &[f64]| part.iter().sum::<f64>() / length as f64 / mean - 1.0;
        (parts.map(|part| off(part).powi(2)).sum::<f64>() / count).sqrt()
    };
    let lengths = (1..=most / MIN_COUNT).map(|n| n * MIN_COUNT);
    lengths.clone().find(|length| spread(*length) <= SPREAD * precision).or(Some(most))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns a sine wave around 100 with this amplitude and period.
    #[allow(clippy::cast_precision_loss)]
    fn wave(height: f64, period: f64) -> Vec<f64> {
        let at = |i: usize| 100.0 + height * (std::f64::consts::TAU * i as f64 / period).sin();
        (0..20_480).map(at).collect()
    }

    #[test]
    fn a_slow_wave_needs_long_parts() {
        assert_eq!(min_length(&wave(0.0, 1.0), 0.02), Some(512));
        assert_eq!(min_length(&wave(30.0, 64.0), 0.02), Some(512));
        let slow = min_length(&wave(5.0, 5000.0), 0.02).unwrap();
        assert!((2048..=4096).contains(&slow), "{slow}");
        // No part represents the whole series: the result is the longest allowed length.
        assert_eq!(min_length(&wave(30.0, 20_480.0), 0.02), Some(6656));
        assert_eq!(min_length(&wave(0.0, 1.0)[..1500], 0.02), None);
    }
}
