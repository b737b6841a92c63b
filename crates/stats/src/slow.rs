//! Slow variation of a series: how long a part of it must be to be like the whole.

use crate::LEAST_COUNT;

/// The standard deviation of the means of parts, relative to the precision, up to which the parts
/// are long enough: 90 % of them are then within the precision.
const SPREAD: f64 = 0.6;

/// At least this many parts show how much they differ.
const PARTS: usize = 3;

/// Returns the least length of a part whose mean is that of the whole series within the relative
/// `precision`, most of the time. It is at most a third of the series, and a multiple of 512;
/// `None` if the series is too short to tell.
///
/// Response times may vary over thousands of IOs, because a drive fills and cleans its blocks in
/// turns. The interval of a mean over a part knows the variation within the part alone.
#[allow(clippy::cast_precision_loss)] // far below 2^53
pub fn least_length(series: &[f64], precision: f64) -> Option<usize> {
    let most = series.len() / PARTS / LEAST_COUNT * LEAST_COUNT;
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
    let lengths = (1..=most / LEAST_COUNT).map(|n| n * LEAST_COUNT);
    lengths.clone().find(|length| spread(*length) <= SPREAD * precision).or(Some(most))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A wave around 100 with this height and period.
    #[allow(clippy::cast_precision_loss)]
    fn wave(height: f64, period: f64) -> Vec<f64> {
        let at = |i: usize| 100.0 + height * (std::f64::consts::TAU * i as f64 / period).sin();
        (0..20_480).map(at).collect()
    }

    #[test]
    fn a_slow_wave_needs_long_parts() {
        assert_eq!(least_length(&wave(0.0, 1.0), 0.02), Some(512));
        assert_eq!(least_length(&wave(30.0, 64.0), 0.02), Some(512));
        let slow = least_length(&wave(5.0, 5000.0), 0.02).unwrap();
        assert!((2048..=4096).contains(&slow), "{slow}");
        // No part is like the whole: the longest is the best.
        assert_eq!(least_length(&wave(30.0, 20_480.0), 0.02), Some(6656));
        assert_eq!(least_length(&wave(0.0, 1.0)[..1500], 0.02), None);
    }
}
