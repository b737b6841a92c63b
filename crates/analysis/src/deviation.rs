//! How far what was measured is from what anyone would expect.

use flashscope_stats::Estimate;

use crate::means::Mean;

/// What costs less than a quarter more, or less, than a definite expectation is as expected.
pub(crate) const AS_EXPECTED: f64 = 1.25;

/// A mean beside what is expected of it.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Deviation {
    /// The value of the parameter.
    pub value: i64,
    /// The value that it is compared with, where that is one.
    pub than: Option<i64>,
    /// The mean over what is expected; its interval allows for all comparisons that were made.
    pub ratio: Estimate,
    /// What was measured.
    pub runs: Vec<u32>,
}

impl Deviation {
    /// What is expected over the mean.
    pub fn inverse(&self) -> Deviation {
        let Estimate { value, low, high } = self.ratio;
        let over_one = |x: f64| 1.0 / x;
        let ratio = Estimate {
            value: over_one(value),
            // Without an upper end it is anything over 0.
            low: high.map(over_one).or(low.map(|_| 0.0)),
            high: low.filter(|low| *low > 0.0).map(over_one),
        };
        Deviation { ratio, ..self.clone() }
    }

    /// Whether the interval leaves no doubt that it is over 1.
    pub fn is_sure(&self) -> bool {
        self.ratio.low.is_some_and(|low| low > 1.0)
    }
}

/// Each mean over what is expected of it, where anything is.
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

/// The ratio of two estimates as one of `comparisons`.
pub(crate) fn ratio_among(a: &Estimate, b: &Estimate, comparisons: usize) -> Option<Estimate> {
    a.among(comparisons).ratio(&b.among(comparisons))
}

/// Each mean over one of them, which is left out.
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

/// Every mean over every one that is cheaper, one after the other: of many means there are too many to keep.
pub(crate) fn pairs(means: &[Mean]) -> impl Iterator<Item = Deviation> {
    let comparisons = means.len() * means.len().saturating_sub(1) / 2;
    let over = move |dear: &Mean, cheap: &Mean| {
        let ratio = ratio_among(&dear.ns, &cheap.ns, comparisons)?;
        let runs = dear.runs.iter().chain(&cheap.runs).copied().collect();
        Some(Deviation { value: dear.value, than: Some(cheap.value), ratio, runs })
    };
    let cheaper =
        |dear: &Mean, cheap: &Mean| cheap.value != dear.value && cheap.ns.value <= dear.ns.value;
    let of =
        move |dear| means.iter().filter(move |cheap| cheaper(dear, cheap)).map(move |c| (dear, c));
    means.iter().flat_map(of).filter_map(move |(dear, cheap)| over(dear, cheap))
}

/// The largest deviation that is over 1 without doubt; where none is, the largest of all.
pub(crate) fn largest(all: impl IntoIterator<Item = Deviation>) -> Option<Deviation> {
    all.into_iter()
        .max_by(|a, b| a.is_sure().cmp(&b.is_sure()).then(a.ratio.value.total_cmp(&b.ratio.value)))
}

/// What an interval says of a limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Answer {
    /// All of it is over the limit.
    Yes,
    /// None of it is.
    No,
    /// The limit lies in it, or there is none.
    Unsure,
}

/// Whether an estimate is over a limit.
pub(crate) fn is_over(estimate: &Estimate, limit: f64) -> Answer {
    match (estimate.low, estimate.high) {
        (Some(low), _) if low > limit => Answer::Yes,
        (_, Some(high)) if high <= limit => Answer::No,
        _ => Answer::Unsure,
    }
}

impl Answer {
    pub fn not(self) -> Answer {
        match self {
            Answer::Yes => Answer::No,
            Answer::No => Answer::Yes,
            Answer::Unsure => Answer::Unsure,
        }
    }
}

/// A latency, and a time for each byte.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Line {
    /// What an IO costs beside its bytes, ns.
    pub latency_ns: f64,
    /// What a byte costs, ns.
    pub per_byte_ns: f64,
}

impl Line {
    /// The line that is nearest to the means of IOs by their size, by squared relative distances,
    /// neither part of it negative. `None` for fewer than three sizes.
    pub fn through(means: &[Mean]) -> Option<Line> {
        if means.len() < 3 {
            return None;
        }
        // The distance of 1 from latency / mean + per byte × size / mean.
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

    /// The latency of [`Line::through`], with the interval that follows from those of the means, to
    /// first order.
    pub fn latency(means: &[Mean]) -> Option<Estimate> {
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

    /// What an IO of so many bytes costs, ns.
    pub fn at(&self, bytes: f64) -> f64 {
        self.latency_ns + self.per_byte_ns * bytes
    }
}

/// The size of an IO of which the parameter is its size.
#[allow(clippy::cast_precision_loss)] // far below 2⁵³
pub(crate) fn size(mean: &Mean) -> f64 {
    mean.value as f64
}

/// What a byte costs in IOs of one size over what it costs in IOs of another, as one of `comparisons`.
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

    // Is a large ratio that may be chance passed over for a smaller one that is not?
    #[test]
    fn what_is_sure_comes_first() {
        let means = [mean(1, 100.0, 1.0), mean(2, 200.0, 2.0), mean(4, 900.0, 850.0)];
        let found = largest(pairs(&means)).unwrap();
        assert_eq!((found.value, found.than, &found.runs[..]), (2, Some(1), &[2, 1][..]));
        let unsure = largest(pairs(&[means[0].clone(), means[2].clone()])).unwrap();
        assert!(!unsure.is_sure() && unsure.ratio.value == 9.0);
        assert_eq!(largest(pairs(&means[..1])), None);
    }

    // Are the pairs of many means looked at without keeping all, which are billions?
    #[test]
    fn pairs_of_many_means_are_not_collected() {
        let many: Vec<Mean> =
            (1u32..=100_000).rev().map(|n| mean(n.into(), n.into(), 0.1)).collect();
        let first = pairs(&many).next().unwrap();
        assert_eq!((first.value, first.than), (100_000, Some(99_999)));
    }

    // Are answers those of the whole interval, whose ends belong to it?
    #[test]
    fn answers_of_intervals() {
        let ratio = |value, half| is_over(&Estimate::symmetric(value, half), 1.5);
        assert_eq!(ratio(2.0, Some(0.4)), Answer::Yes);
        assert_eq!(ratio(1.0, Some(0.5)), Answer::No);
        assert_eq!(ratio(2.0, Some(0.5)), Answer::Unsure);
        assert_eq!(ratio(9.0, None), Answer::Unsure);
        assert_eq!(ratio(1.5, Some(0.0)), Answer::No);
    }

    // Does the line go through means that lie on one, with the interval of its latency, and is no
    // part of it ever negative?
    #[test]
    fn lines() {
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
