//! The knee of a curve: the value of a parameter beyond which the cost rises.

use statrs::distribution::{ChiSquared, ContinuousCDF};

use crate::Estimate;

/// The expected scatter of costs around a level, in addition to the uncertainty of each cost.
/// Relative to the highest cost.
const SCATTER: f64 = 0.05;

/// The fraction of the likelihood that the range of a knee's positions must hold.
const CONFIDENCE: f64 = 0.95;

/// The number of parameters by which the model exceeds a constant cost: a second level, and both
/// ends of the rise.
const PARAMETERS: f64 = 3.0;

/// The minimum number of costs that can show a knee.
const MIN_COSTS: usize = 3;

/// The minimum number of costs up to a knee that can show an earlier knee: more than a curve has
/// parameters, because a rise may have a few steps.
const MIN_COSTS_BEFORE_KNEE: usize = 5;

/// The minimum number of costs between two rises.
const PLATEAU: usize = 2;

/// The knee of a curve, by positions in it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Knee {
    /// The last position that still has the low cost.
    pub at: usize,
    /// The first position in the 95 % confidence range of the knee.
    pub first: usize,
    /// The last position in the 95 % confidence range of the knee.
    pub last: usize,
    /// 1 minus the probability that a rise this clear appears by chance in constant costs.
    pub confidence: f64,
}

/// Finds the knee of a curve. The costs are in the order of rising values of the parameter. Returns
/// `None` if the costs do not rise significantly.
///
/// The model is a low level up to the knee, a rise in a straight line, and a high level. Least
/// squares determine both levels. The weight of a cost follows from its uncertainty and from a
/// scatter of 5 % of the highest cost. Differences that are small compared with the rise therefore
/// do not count. The function tries every pair of positions as the ends of the rise, and compares
/// the best curve with a constant cost by the likelihood ratio. It takes O(n³) time for n costs,
/// which are a few dozen at most.
///
/// A curve may rise twice. If the second rise is high, the fit treats the first rise as scatter of
/// the low level. The function therefore looks for an earlier knee among the costs up to the knee
/// if the interval of one of them lies above `cheap`. The earlier knee counts if it is at least two
/// positions before the later knee: a single cost between two rises belongs to the later rise.
pub fn knee(costs: &[Estimate], cheap: f64) -> Option<Knee> {
    let mut knee = one_rise(costs)?;
    loop {
        let low_level = &costs[..=knee.at];
        if low_level.len() < MIN_COSTS_BEFORE_KNEE
            || low_level.iter().all(|cost| least(cost) <= cheap)
        {
            return Some(knee);
        }
        match one_rise(low_level).filter(|earlier| earlier.at + PLATEAU <= knee.at) {
            Some(earlier) => knee = earlier,
            None => return Some(knee),
        }
    }
}

/// Returns the lower end of the interval of a cost.
fn least(cost: &Estimate) -> f64 {
    cost.low.unwrap_or(cost.value)
}

/// Finds the knee of a curve that rises once.
fn one_rise(costs: &[Estimate]) -> Option<Knee> {
    if costs.len() < MIN_COSTS || costs.iter().any(|cost| cost.value <= 0.0) {
        return None;
    }
    let highest = costs.iter().map(|cost| cost.value).fold(0.0, f64::max);
    let points: Vec<Point> = costs.iter().map(|cost| Point::of(cost, highest)).collect();
    let fits: Vec<Fit> = (0..points.len() - 1).filter_map(|at| best_rise(&points, at)).collect();
    let best = *fits.iter().min_by(|a, b| a.misfit.total_cmp(&b.misfit))?;
    // If even the best curve misses the costs by more than their uncertainty, the uncertainty is
    // underestimated. Dividing by `excess` makes all curves less certain.
    #[allow(clippy::cast_precision_loss)] // dozens of costs
    let freedom = points.len() as f64 - PARAMETERS - 1.0;
    let excess = if freedom > 0.0 { (best.misfit / freedom).max(1.0) } else { 1.0 };
    let p = improbability((constant(&points) - best.misfit) / excess, fits.len());
    let likelihood = |fit: &Fit| ((best.misfit - fit.misfit) / (2.0 * excess)).exp();
    let (first, last) = range(&fits, best.at, likelihood);
    (p < 1.0 - CONFIDENCE).then_some(Knee { at: best.at, first, last, confidence: 1.0 - p })
}

/// A cost with its weight.
#[derive(Clone, Copy)]
struct Point {
    cost: f64,
    weight: f64,
}

impl Point {
    fn of(cost: &Estimate, highest: f64) -> Point {
        // The interval is 1.96 standard errors wide on either side.
        let error = cost.half_width().map_or(0.0, |half| half / 1.96);
        let error = error.hypot(SCATTER * highest);
        Point { cost: cost.value, weight: 1.0 / (error * error) }
    }
}

/// A fitted curve.
#[derive(Clone, Copy)]
struct Fit {
    at: usize,
    /// The weighted sum of squared residuals.
    misfit: f64,
}

/// Returns the weighted sum of squared residuals for a constant cost.
fn constant(points: &[Point]) -> f64 {
    let weights: f64 = points.iter().map(|point| point.weight).sum();
    let mean = points.iter().map(|point| point.weight * point.cost).sum::<f64>() / weights;
    points.iter().map(|point| point.weight * (point.cost - mean).powi(2)).sum()
}

/// Returns the best curve with its knee at `at`, or `None` if no curve rises from there.
fn best_rise(points: &[Point], at: usize) -> Option<Fit> {
    let fits = (at + 1..points.len()).filter_map(|end| fit(points, at, end));
    fits.min_by(|a, b| a.misfit.total_cmp(&b.misfit))
}

/// Fits both levels of the curve that rises from position `at` to position `end`.
#[allow(clippy::cast_precision_loss)] // dozens of costs
fn fit(points: &[Point], at: usize, end: usize) -> Option<Fit> {
    // The weight of the high level at a position: 0 up to the knee, 1 from the end of the rise on.
    let share = |i: usize| (i.saturating_sub(at) as f64 / (end - at) as f64).min(1.0);
    let (mut uu, mut uv, mut vv, mut uy, mut vy) = (0.0, 0.0, 0.0, 0.0, 0.0);
    for (i, point) in points.iter().enumerate() {
        let (v, w) = (share(i), point.weight);
        let u = 1.0 - v;
        uu += w * u * u;
        uv += w * u * v;
        vv += w * v * v;
        uy += w * u * point.cost;
        vy += w * v * point.cost;
    }
    let determinant = uu * vv - uv * uv;
    let (low, high) = ((uy * vv - vy * uv) / determinant, (vy * uu - uy * uv) / determinant);
    let miss = |(i, point): (usize, &Point)| {
        let expected = low + share(i) * (high - low);
        point.weight * (point.cost - expected).powi(2)
    };
    let misfit = points.iter().enumerate().map(miss).sum();
    (high > low).then_some(Fit { at, misfit })
}

/// Returns the probability that the best of `tries` curves lowers the misfit of a constant cost by
/// `improvement` by chance.
#[allow(clippy::cast_precision_loss)] // dozens of curves
fn improbability(improvement: f64, tries: usize) -> f64 {
    let chi = ChiSquared::new(PARAMETERS).expect("three degrees of freedom");
    (chi.sf(improvement.max(0.0)) * tries as f64).min(1.0)
}

/// Adds up positions, the most likely first, until they hold 95 % of the likelihood. Returns the
/// first and the last of these positions and `at`.
fn range(fits: &[Fit], at: usize, likelihood: impl Fn(&Fit) -> f64) -> (usize, usize) {
    let mut by_likelihood: Vec<(f64, usize)> =
        fits.iter().map(|fit| (likelihood(fit), fit.at)).collect();
    by_likelihood.sort_by(|a, b| b.0.total_cmp(&a.0));
    let all: f64 = by_likelihood.iter().map(|(likelihood, _)| likelihood).sum();
    let (mut held, mut first, mut last) = (0.0, at, at);
    for (likelihood, position) in by_likelihood {
        if held >= CONFIDENCE * all {
            break;
        }
        held += likelihood;
        (first, last) = (first.min(position), last.max(position));
    }
    (first, last)
}

#[cfg(test)]
mod tests {
    use rand::distr::{Distribution, Open01};
    use rand::rand_core::SeedableRng;
    use rand_xoshiro::Xoshiro256PlusPlus;
    use statrs::distribution::Normal;

    use super::*;

    const SEEDS: u64 = 1000;

    /// Twice the cost of sequential writes, which is 1.
    const CHEAP: f64 = 2.0;

    fn certain(costs: &[f64]) -> Vec<Estimate> {
        costs.iter().map(|cost| Estimate::symmetric(*cost, Some(0.02 * cost))).collect()
    }

    fn at(costs: &[f64]) -> Option<usize> {
        knee(&certain(costs), CHEAP).map(|knee| knee.at)
    }

    // Costs relative to sequential writes, after Table 3 and Figure 8 of uFLIP. Each curve has the
    // printed cost up to the printed limit and the cost of random writes at its end. It rises over
    // a few doublings in between.
    #[test]
    fn the_knees_of_the_papers_curves_are_found() {
        // Memoright, areas from 1 MB on: the cost of sequential writes up to 8 MB, and 16.7 times
        // as much over 32 GB.
        let memoright = [1.0, 1.0, 1.0, 1.0, 3.0, 6.5, 11.0, 14.5, 16.0, 16.7, 16.7];
        assert_eq!(at(&memoright), Some(3));
        // Samsung: up to 1.5 times the cost in areas up to 16 MB, 30 times at the end.
        let samsung = [1.0, 1.1, 1.2, 1.35, 1.5, 6.0, 14.0, 24.0, 29.0, 30.0, 30.0];
        assert_eq!(at(&samsung), Some(4));
        // Mtron: up to twice the cost in areas up to 8 MB, 22 times at the end.
        let mtron = [1.0, 1.2, 1.5, 2.0, 7.0, 14.0, 19.0, 21.0, 22.0, 22.5, 22.5];
        assert_eq!(at(&mtron), Some(3));
        // Samsung, number of partitions: twice the cost for 4 partitions, then the cost of random
        // writes.
        let partitions = [1.0, 1.3, 2.0, 9.0, 20.0, 28.0, 30.0, 30.0, 30.0];
        assert_eq!(at(&partitions), Some(2));
        // Kingston DTI, number of partitions: five times the cost for 4 partitions, and 88 times at
        // the end.
        let dti = [1.0, 2.2, 5.0, 45.0, 88.0, 88.0, 88.0, 88.0, 88.0];
        assert_eq!(at(&dti), Some(2));
        // Kingston DTHX: areas up to 16 MB cost 20 times as much as sequential writes, larger areas
        // 150 times.
        let dthx = [19.0, 20.0, 20.0, 20.0, 20.0, 150.0, 150.0, 150.0];
        assert_eq!(at(&dthx), Some(4));
    }

    // The simulated Samsung drive has four log blocks. Its cost rises in two steps,
    // to about 9 times and about 50 times the first cost.
    #[test]
    fn the_first_of_two_rises_counts() {
        let samsung =
            [0.65, 0.72, 0.75, 5.71, 3.96, 12.82, 22.68, 34.38, 20.77].map(|ms| ms / 0.65);
        assert_eq!(at(&samsung), Some(2));
        assert_eq!(knee(&certain(&samsung), CHEAP).unwrap().last, 2);
        // Small areas of this drive are written in the buffer, but areas up to 16 MiB are cheap as
        // well.
        let areas =
            [0.39, 0.39, 0.39, 0.39, 0.55, 0.83, 0.99, 1.05, 1.1, 1.1, 5.5, 11.6, 14.2, 15.5];
        assert_eq!(at(&areas.map(|ms| ms / 0.65)), Some(9));
        // A single cost in between belongs to the rise: areas of the simulated Mtron.
        let mtron = [1.0, 1.0, 1.0, 1.0, 1.0, 2.31, 9.08, 14.4, 17.5, 19.0, 20.0, 20.1, 20.3];
        assert_eq!(at(&mtron), Some(5));
        // A gradual rise is one rise: a Kingston DTI writes to 4 partitions at five times the cost.
        assert_eq!(at(&[1.0, 2.2, 5.0, 45.0, 88.0, 88.0, 88.0, 88.0, 88.0]), Some(2));
    }

    #[test]
    fn the_first_of_two_rises_is_found_in_noise() {
        for (first, second, noise) in [(6.0, 30.0, 0.05), (6.0, 50.0, 0.1), (4.0, 20.0, 0.1)] {
            let right = (0..SEEDS).filter(|&seed| {
                let mut errors = Errors::new(seed);
                let truth = 2 + usize::try_from(seed % 4).unwrap();
                let cost = |i: usize| match i {
                    i if i <= truth => 1.0,
                    i if i <= truth + 2 => first,
                    _ => second,
                };
                let costs: Vec<_> = (0..13).map(|i| errors.noisy(cost(i), noise)).collect();
                knee(&costs, CHEAP).is_some_and(|found| found.at.abs_diff(truth) <= 1)
            });
            let right = right.count();
            assert!(right >= 950, "{first}, then {second} in noise of {noise}: {right} of 1000");
        }
    }

    /// A source of errors that are normally distributed.
    struct Errors(Xoshiro256PlusPlus);

    impl Errors {
        fn new(seed: u64) -> Errors {
            Errors(Xoshiro256PlusPlus::seed_from_u64(seed))
        }

        /// Returns `cost` with a random error of relative size `noise`, and the interval that
        /// results.
        fn noisy(&mut self, cost: f64, noise: f64) -> Estimate {
            let uniform: f64 = Open01.sample(&mut self.0);
            let error = noise * Normal::standard().inverse_cdf(uniform);
            Estimate::symmetric(cost * error.exp(), Some(1.96 * noise * cost))
        }
    }

    /// The fraction of its rise that a curve has reached `steps` positions beyond the knee.
    type Shape = fn(f64) -> f64;

    const SHAPES: [Shape; 4] = [
        |steps| f64::from(u8::from(steps > 0.0)),
        |steps| (steps / 2.0).clamp(0.0, 1.0),
        |steps| (steps / 4.0).clamp(0.0, 1.0),
        // A cache whose hit rate halves with each doubling of the area.
        |steps| 1.0 - 0.5_f64.powf(steps.max(0.0)),
    ];

    #[test]
    #[allow(clippy::cast_precision_loss)] // dozens of costs
    fn knees_in_noise_are_right_within_a_step() {
        for (shape, of) in SHAPES.iter().enumerate() {
            for (rise, noise) in [(2.0, 0.05), (3.0, 0.1), (30.0, 0.2)] {
                let (mut right, mut held) = (0, 0);
                for seed in 0..SEEDS {
                    let mut errors = Errors::new(seed);
                    let truth = 1 + usize::try_from(seed % 6).unwrap();
                    let cost = |i: usize| 1.0 + (rise - 1.0) * of(i as f64 - truth as f64);
                    let costs: Vec<_> = (0..13).map(|i| errors.noisy(cost(i), noise)).collect();
                    let Some(found) = knee(&costs, CHEAP) else { continue };
                    right += u32::from(found.at.abs_diff(truth) <= 1);
                    held += u32::from((found.first..=found.last).contains(&truth));
                }
                let what = format!("shape {shape}, rise {rise} in noise of {noise}");
                assert!(right >= 950, "{what}: {right} of 1000 right");
                assert!(held >= 950, "{what}: {held} of 1000 ranges hold the knee");
            }
        }
    }

    #[test]
    fn constant_costs_have_no_knee() {
        for (count, noise) in [(5, 0.02), (9, 0.1), (17, 0.2)] {
            let alarms = (0..SEEDS).filter(|seed| {
                let mut errors = Errors::new(*seed);
                let costs: Vec<_> = (0..count).map(|_| errors.noisy(7.0, noise)).collect();
                knee(&costs, CHEAP).is_some()
            });
            let alarms = alarms.count();
            assert!(alarms <= 50, "{alarms} of 1000 for {count} costs in noise of {noise}");
        }
        assert_eq!(at(&[5.0, 4.0, 3.0, 2.0]), None);
        assert_eq!(at(&[1.0, 2.0]), None);
    }
}
