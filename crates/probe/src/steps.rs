//! Steps: positions at which a series goes from one level to another, such as the costs of writes
//! when a buffer becomes full.

use crate::median;

/// The limit for values, as a multiple of the later half's median, so that a hiccup does not
/// outweigh typical values.
const OUTLIER: f64 = 4.0;

/// A step up in a series.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Step {
    /// The number of values before the step.
    pub at: usize,
    /// The mean of the values before the step, with outliers limited.
    pub before: f64,
    /// The mean of the values after the step, with outliers limited.
    pub after: f64,
    /// The share of the variance that the step explains, 0 to 1.
    pub explains: f64,
}

impl Step {
    /// Returns the ratio of the level after the step to the level before.
    pub(crate) fn ratio(&self) -> f64 {
        self.after / self.before.max(1.0)
    }
}

/// Returns the step up that explains most of a series (least squares), at least `margin` values
/// from either end. Returns `None` if the series falls or is too short.
pub(crate) fn step(series: &[f64], margin: usize) -> Option<Step> {
    let (margin, count) = (margin.max(1), series.len());
    if count < 2 * margin + 1 {
        return None;
    }
    let most = OUTLIER * median(&series[count / 2..]);
    let cut: Vec<f64> = series.iter().map(|value| value.min(most)).collect();
    let total: f64 = cut.iter().sum();
    let mut below: f64 = cut[..margin].iter().sum();
    let mut best = None::<(f64, Step)>;
    // Lengths of series are far below 2^53.
    #[allow(clippy::cast_precision_loss)]
    for at in margin..=count - margin {
        let (n, m) = (at as f64, (count - at) as f64);
        let (before, after) = (below / n, (total - below) / m);
        let between = n * m / (n + m) * (after - before) * (after - before);
        if after > before && best.is_none_or(|(most, _)| between > most) {
            best = Some((between, Step { at, before, after, explains: 0.0 }));
        }
        below += cut[at.min(count - 1)];
    }
    let (between, step) = best?;
    #[allow(clippy::cast_precision_loss)]
    let mean = total / count as f64;
    let variance: f64 = cut.iter().map(|value| (value - mean) * (value - mean)).sum();
    Some(Step { explains: between / variance.max(f64::MIN_POSITIVE), ..step })
}

/// Returns the median of several series at each position, up to the length of the shortest series.
/// A step at the same position of every series remains; a hiccup in a single series does not.
pub(crate) fn medians(series: &[Vec<f64>]) -> Vec<f64> {
    let len = series.iter().map(Vec::len).min().unwrap_or(0);
    let at = |place: usize| series.iter().map(|one| one[place]).collect::<Vec<f64>>();
    (0..len).map(|place| median(&at(place))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_step_is_found_despite_a_hiccup() {
        let mut series: Vec<f64> =
            (0..100).map(|i| if i < 30 { 50.0 } else { 300.0 } + f64::from(i % 3)).collect();
        series[10] = 20_000.0;
        let step = step(&series, 2).unwrap();
        assert_eq!(step.at, 30);
        assert!(step.ratio() > 2.0 && step.explains > 0.4);
    }

    #[test]
    fn a_level_series_has_no_real_step() {
        let series: Vec<f64> = (0..100).map(|i| 100.0 + f64::from(i * 37 % 11)).collect();
        assert!(step(&series, 2).is_none_or(|step| step.ratio() < 1.1));
        assert_eq!(step(&[1.0, 2.0], 2), None);
    }

    #[test]
    fn medians_place_by_place() {
        let series = [vec![1.0, 9.0, 5.0], vec![1.0, 2.0, 5.0, 7.0], vec![8.0, 2.0, 5.0]];
        assert_eq!(medians(&series), [1.0, 2.0, 5.0]);
    }
}
