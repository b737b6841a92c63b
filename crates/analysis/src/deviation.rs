//! Deviations of the measurements from the expectation.

use flashscope_stats::Estimate;

use crate::means::Mean;

/// The ratio up to which a cost counts as expected.
pub(crate) const AS_EXPECTED: f64 = 1.25;

/// A mean compared with its expectation.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Deviation {
    /// The value of the parameter.
    pub value: i64,
    /// The value of the parameter whose mean is the expectation; `None` for other expectations.
    pub than: Option<i64>,
    /// The ratio of the mean to the expectation; its interval is widened for all comparisons made.
    pub ratio: Estimate,
    /// The runs of the measurement.
    pub runs: Vec<u32>,
}

impl Deviation {
    /// Returns the ratio of the expectation to the mean.
    pub(crate) fn inverse(&self) -> Deviation {
        let Estimate { value, low, high } = self.ratio;
        let over_one = |x: f64| 1.0 / x;
        let ratio = Estimate {
            value: over_one(value),
            // Without an upper end, the lower end of the inverse is 0.
            low: high.map(over_one).or(low.map(|_| 0.0)),
            high: low.filter(|low| *low > 0.0).map(over_one),
        };
        Deviation { ratio, ..self.clone() }
    }

    /// Returns true if the interval is entirely above 1.
    pub(crate) fn is_sure(&self) -> bool {
        self.ratio.low.is_some_and(|low| low > 1.0)
    }
}

/// Returns the deviation of each mean that has an expectation.
pub(crate) fn deviations(
    means: &[Mean],
    expected: impl Fn(&Mean) -> Option<Estimate>,
) -> Vec<Deviation> {
    let compared: Vec<(&Mean, Estimate)> =
        means.iter().filter_map(|mean| Some((mean, expected(mean)?))).collect();
    let deviation = |(mean, expected): &(&Mean, Estimate)| {
        let ratio = ratio_among(&mean.ns, expected, compared.len())?;
        Some(Deviation { value: mean.value, than: None, ratio, runs: mean.runs.clone() })
    };
    compared.iter().filter_map(deviation).collect()
}

/// Returns the ratio of two estimates, with an interval widened for `comparisons` comparisons.
pub(crate) fn ratio_among(a: &Estimate, b: &Estimate, comparisons: usize) -> Option<Estimate> {
    a.among(comparisons).ratio(&b.among(comparisons))
}

/// Returns the deviations of all other means from the mean at the value `reference`.
pub(crate) fn over_value(means: &[Mean], reference: i64) -> Vec<Deviation> {
    let Some(than) = means.iter().find(|mean| mean.value == reference) else { return vec![] };
    let others: Vec<Mean> = means.iter().filter(|mean| mean.value != reference).cloned().collect();
    let mut all = deviations(&others, |_| Some(than.ns));
    for deviation in &mut all {
        deviation.than = Some(reference);
        deviation.runs.extend(&than.runs);
    }
    all
}

/// Returns the deviation of every mean from every lower mean. The result is lazy, because many
/// means have too many pairs to store.
pub(crate) fn pairs(means: &[Mean]) -> impl Iterator<Item = Deviation> {
    let comparisons = means.len() * means.len().saturating_sub(1) / 2;
    let over = move |high: &Mean, low: &Mean| {
        let ratio = ratio_among(&high.ns, &low.ns, comparisons)?;
        let runs = high.runs.iter().chain(&low.runs).copied().collect();
        Some(Deviation { value: high.value, than: Some(low.value), ratio, runs })
    };
    let is_lower =
        |high: &Mean, low: &Mean| low.value != high.value && low.ns.value <= high.ns.value;
    let of =
        move |high| means.iter().filter(move |low| is_lower(high, low)).map(move |c| (high, c));
    means.iter().flat_map(of).filter_map(move |(high, low)| over(high, low))
}

/// Returns the largest deviation that is significantly above 1 or, if there is none, the largest of
/// all.
pub(crate) fn largest(all: impl IntoIterator<Item = Deviation>) -> Option<Deviation> {
    all.into_iter()
        .max_by(|a, b| a.is_sure().cmp(&b.is_sure()).then(a.ratio.value.total_cmp(&b.ratio.value)))
}

/// The relation of an interval to a limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Answer {
    /// The whole interval is above the limit.
    Yes,
    /// No part of the interval is above the limit.
    No,
    /// The limit is within the interval, or there is no interval.
    Unsure,
}

/// Compares an estimate with a limit.
pub(crate) fn is_over(estimate: &Estimate, limit: f64) -> Answer {
    match (estimate.low, estimate.high) {
        (Some(low), _) if low > limit => Answer::Yes,
        (_, Some(high)) if high <= limit => Answer::No,
        _ => Answer::Unsure,
    }
}

impl Answer {
    pub(crate) fn not(self) -> Answer {
        match self {
            Answer::Yes => Answer::No,
            Answer::No => Answer::Yes,
            Answer::Unsure => Answer::Unsure,
        }
    }
}

/// A linear cost: a latency, and a time per byte.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Line {
    /// The fixed cost of an IO, in ns.
    pub latency_ns: f64,
    /// The cost of a byte, in ns.
    pub per_byte_ns: f64,
}

impl Line {
    /// Returns the line nearest to the means of IOs by size (least squares of relative distances),
    /// with both parts at least 0. Returns `None` for fewer than three sizes.
    pub(crate) fn through(means: &[Mean]) -> Option<Line> {
        if means.len() < 3 {
            return None;
        }
        // The fit minimizes the distance of `latency / mean + per_byte * size / mean` from 1.
        let points = || means.iter().map(|mean| (1.0 / mean.ns.value, size(mean) / mean.ns.value));
        let sum = |of: fn((f64, f64)) -> f64| points().map(of).sum::<f64>();
        let (u, v) = (sum(|(u, _)| u), sum(|(_, v)| v));
        let (uu, uv, vv) = (sum(|(u, _)| u * u), sum(|(u, v)| u * v), sum(|(_, v)| v * v));
        let determinant = uu * vv - uv * uv;
        let line = Line {
            latency_ns: (u * vv - v * uv) / determinant,
            per_byte_ns: (v * uu - u * uv) / determinant,
        };
        let line = match line {
            Line { latency_ns, .. } if latency_ns < 0.0 => {
                Line { latency_ns: 0.0, per_byte_ns: v / vv }
            }
            Line { per_byte_ns, .. } if per_byte_ns < 0.0 => {
                Line { latency_ns: u / uu, per_byte_ns: 0.0 }
            }
            line => line,
        };
        (line.latency_ns.is_finite() && line.per_byte_ns.is_finite()).then_some(line)
    }

    /// Returns the latency of [`Line::through`], with the interval that follows from the intervals
    /// of the means (first-order error propagation).
    pub(crate) fn latency(means: &[Mean]) -> Option<Estimate> {
        let latency = |means: &[Mean]| Some(Line::through(means)?.latency_ns);
        let value = latency(means)?;
        let moved = |i: usize| {
            let mut moved = means.to_vec();
            moved[i].ns.value += means[i].ns.half_width()?;
            Some(latency(&moved)? - value)
        };
        let moves: Option<Vec<f64>> = (0..means.len()).map(moved).collect();
        let together = |moves: Vec<f64>| moves.into_iter().fold(0.0, f64::hypot);
        Some(Estimate::symmetric(value, moves.map(together)))
    }

    /// Returns the cost of an IO of `bytes` bytes, in ns.
    pub(crate) fn at(&self, bytes: f64) -> f64 {
        self.latency_ns + self.per_byte_ns * bytes
    }
}

/// Returns the size of an IO, for experiments whose parameter is the size.
#[allow(clippy::cast_precision_loss)] // far below 2⁵³
pub(crate) fn size(mean: &Mean) -> f64 {
    mean.value as f64
}

/// Returns the cost per byte of small IOs relative to large ones, with an interval widened for
/// `comparisons` comparisons.
pub(crate) fn per_byte(small: &Mean, large: &Mean, comparisons: usize) -> Option<Estimate> {
    let whole = ratio_among(&small.ns, &large.ns, comparisons)?;
    let factor = size(large) / size(small);
    let scaled = |x: f64| factor * x;
    Some(Estimate {
        value: scaled(whole.value),
        low: whole.low.map(scaled),
        high: whole.high.map(scaled),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mean(value: i64, ns: f64, half: f64) -> Mean {
        let run = u32::try_from(value.abs()).unwrap();
        Mean { value, ns: Estimate::symmetric(ns, Some(half)), runs: vec![run] }
    }

    #[test]
    fn a_certain_ratio_beats_a_larger_uncertain_one() {
        let means = [mean(1, 100.0, 1.0), mean(2, 200.0, 2.0), mean(4, 900.0, 850.0)];
        let found = largest(pairs(&means)).unwrap();
        assert_eq!((found.value, found.than, &found.runs[..]), (2, Some(1), &[2, 1][..]));
        let unsure = largest(pairs(&[means[0].clone(), means[2].clone()])).unwrap();
        assert!(!unsure.is_sure() && unsure.ratio.value == 9.0);
        assert_eq!(largest(pairs(&means[..1])), None);
    }

    // All pairs would be billions of deviations.
    #[test]
    fn pairs_of_many_means_are_not_collected() {
        let many: Vec<Mean> =
            (1u32..=100_000).rev().map(|n| mean(n.into(), n.into(), 0.1)).collect();
        let first = pairs(&many).next().unwrap();
        assert_eq!((first.value, first.than), (100_000, Some(99_999)));
    }

    #[test]
    fn answers_follow_the_whole_interval_with_its_ends() {
        let ratio = |value, half| is_over(&Estimate::symmetric(value, half), 1.5);
        assert_eq!(ratio(2.0, Some(0.4)), Answer::Yes);
        assert_eq!(ratio(1.0, Some(0.5)), Answer::No);
        assert_eq!(ratio(2.0, Some(0.5)), Answer::Unsure);
        assert_eq!(ratio(9.0, None), Answer::Unsure);
        assert_eq!(ratio(1.5, Some(0.0)), Answer::No);
    }

    #[test]
    fn the_line_fits_the_means_with_no_negative_part() {
        let on = |a: f64, b: f64| -> Vec<Mean> {
            [512, 4096, 32768, 262_144]
                .map(|s| mean(s, a + b * f64::from(i32::try_from(s).unwrap()), 0.01 * a))
                .into()
        };
        let line = Line::through(&on(70_000.0, 7.0)).unwrap();
        assert!((line.latency_ns - 70_000.0).abs() < 1.0 && (line.per_byte_ns - 7.0).abs() < 1e-3);
        let latency = Line::latency(&on(70_000.0, 7.0)).unwrap();
        let half = latency.half_width().unwrap();
        assert!(half > 300.0 && half < 700.0, "{half}");
        let constant = Line::through(&[mean(1, 9.0, 0.1), mean(2, 8.0, 0.1), mean(4, 7.0, 0.1)]);
        assert_eq!(constant.unwrap().per_byte_ns, 0.0);
        let steep = Line::through(&[mean(1, 1.0, 0.1), mean(2, 4.0, 0.1), mean(4, 16.0, 0.1)]);
        assert_eq!(steep.unwrap().latency_ns, 0.0);
        assert_eq!(Line::through(&on(1.0, 1.0)[..2]), None);
    }
}
