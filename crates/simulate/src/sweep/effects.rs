//! Effects of factors on objectives: mean differences between points that differ in one factor only
//! and share their seeds.

use std::collections::HashMap;

use flashscope_document::sweep::{Effect, Interaction, Level, MeasuredPoint, Step};
use flashscope_stats::{Estimate, mean_of_repeats};

use super::{Factor, Space, Values};

/// The points, by their levels.
struct Places<'a>(HashMap<String, &'a MeasuredPoint<'a>>);

fn key(levels: &[Option<Level>]) -> String {
    format!("{levels:?}")
}

impl<'a> Places<'a> {
    fn new(measured: &'a [MeasuredPoint<'a>]) -> Self {
        Places(measured.iter().map(|point| (key(point.levels), point)).collect())
    }

    /// Returns the values of the point that differs from `point` by the levels in `set`.
    fn beside(
        &self,
        point: &MeasuredPoint<'_>,
        objective: usize,
        set: &[(usize, &Level)],
    ) -> Option<&'a [f64]> {
        let mut levels = point.levels.to_vec();
        for (factor, level) in set {
            levels[*factor] = Some((*level).clone());
        }
        self.0.get(&key(&levels))?.values[objective].as_deref()
    }
}

/// The sums of weighted differences, one per repeat.
#[derive(Default)]
struct Differences {
    sums: Vec<f64>,
    before: f64,
    count: u64,
}

impl Differences {
    /// Adds a weighted sum. Each entry of `values` has a weight, and a value for each repeat.
    fn add(&mut self, values: &[(f64, &[f64])]) {
        self.sums.resize(values[0].1.len(), 0.0);
        for (repeat, sum) in self.sums.iter_mut().enumerate() {
            *sum += values.iter().map(|(weight, values)| weight * values[repeat]).sum::<f64>();
        }
        self.count += 1;
    }

    /// Returns the mean with its interval over the repeats, and its sign; `None` without any
    /// differences.
    #[allow(clippy::cast_precision_loss, reason = "pairs are fewer than 2^53")]
    fn mean(&self) -> Option<(Estimate, i8)> {
        let means: Vec<f64> = self.sums.iter().map(|sum| sum / self.count as f64).collect();
        let mean = mean_of_repeats(&means)?;
        Some((mean, mean.sign()))
    }
}

/// Returns the levels of a factor; empty for a range.
pub(super) fn levels(factor: &Factor) -> &[Level] {
    match &factor.values {
        Values::Levels(levels) => levels,
        Values::Range { .. } => &[],
    }
}

/// Returns the change of a factor between two levels.
pub(super) fn step(factor: &Factor, from: &Level, to: &Level) -> Step {
    Step { factor: factor.name.clone(), from: from.clone(), to: to.clone() }
}

/// Returns the levels of a factor at which a point has a value of an objective. The other levels
/// are impossible or failed with all levels of the other factors.
fn feasible<'f>(
    factor: &'f Factor,
    index: usize,
    objective: usize,
    measured: &[MeasuredPoint<'_>],
) -> Vec<&'f Level> {
    let is_measured = |level: &&Level| {
        let mut points = measured.iter().filter(|point| point.values[objective].is_some());
        points.any(|point| point.levels[index].as_ref() == Some(*level))
    };
    levels(factor).iter().filter(is_measured).collect()
}

/// Computes, for each objective, the effect of changing a factor from its first feasible level to
/// each other level.
pub(super) fn effects(space: &Space, measured: &[MeasuredPoint<'_>]) -> Vec<Effect> {
    let places = Places::new(measured);
    let mut effects = Vec::new();
    for (nth, objective) in space.objectives.iter().enumerate() {
        for (index, factor) in space.factors.iter().enumerate() {
            let feasible = feasible(factor, index, nth, measured);
            let Some((&first, others)) = feasible.split_first() else { continue };
            for &other in others {
                let one = effect(&places, measured, nth, index, [first, other]);
                effects.extend(one.map(|(difference, sign, relative, pairs)| Effect {
                    objective: objective.field.clone(),
                    step: step(factor, first, other),
                    difference,
                    relative,
                    sign,
                    pairs,
                }));
            }
        }
    }
    effects
}

#[allow(clippy::cast_precision_loss, reason = "pairs are fewer than 2^53")]
fn effect(
    places: &Places<'_>,
    measured: &[MeasuredPoint<'_>],
    objective: usize,
    factor: usize,
    [first, other]: [&Level; 2],
) -> Option<(Estimate, i8, Option<f64>, u64)> {
    let mut differences = Differences::default();
    for point in measured.iter().filter(|point| point.levels[factor].as_ref() == Some(first)) {
        let Some(before) = point.values[objective].as_deref() else { continue };
        if let Some(after) = places.beside(point, objective, &[(factor, other)]) {
            differences.add(&[(1.0, after), (-1.0, before)]);
            differences.before += before.iter().sum::<f64>() / before.len() as f64;
        }
    }
    let (mean, sign) = differences.mean()?;
    let before = differences.before / differences.count as f64;
    let relative = Some(mean.value / before).filter(|share| share.is_finite());
    Some((mean, sign, relative, differences.count))
}

/// Computes, for each objective, the interaction of each pair of factors between their first and
/// last feasible levels.
pub(super) fn interactions(space: &Space, measured: &[MeasuredPoint<'_>]) -> Vec<Interaction> {
    let places = Places::new(measured);
    let mut interactions = Vec::new();
    for (nth, objective) in space.objectives.iter().enumerate() {
        for (index, factor) in space.factors.iter().enumerate() {
            for (later, other) in space.factors.iter().enumerate().skip(index + 1) {
                let [of_a, of_b] = [(factor, index), (other, later)]
                    .map(|(factor, index)| feasible(factor, index, nth, measured));
                let ([a0, .., a1], [b0, .., b1]) = (&of_a[..], &of_b[..]) else { continue };
                let (a0, a1, b0, b1) = (*a0, *a1, *b0, *b1);
                let mut differences = Differences::default();
                let corner = |point: &&MeasuredPoint<'_>| {
                    point.levels[index].as_ref() == Some(a0)
                        && point.levels[later].as_ref() == Some(b0)
                };
                for point in measured.iter().filter(corner) {
                    let at = |set: &[(usize, &Level)]| places.beside(point, nth, set);
                    let all = (at(&[]), at(&[(index, a1)]), at(&[(later, b1)]));
                    if let (Some(none), Some(a), Some(b)) = all
                        && let Some(both) = at(&[(index, a1), (later, b1)])
                    {
                        differences.add(&[(1.0, both), (-1.0, a), (-1.0, b), (1.0, none)]);
                    }
                }
                interactions.extend(differences.mean().map(|(difference, sign)| Interaction {
                    objective: objective.field.clone(),
                    steps: [step(factor, a0, a1), step(other, b0, b1)],
                    difference,
                    sign,
                    squares: differences.count,
                }));
            }
        }
    }
    interactions
}
