//! Effects of factors on objectives in a sample of points. Few pairs of these points differ in one
//! factor only. The effects are therefore the slopes of a regression over all points.

use flashscope_document::sweep::{Effect, Interaction, Level, MeasuredPoint, RegressionFit};
use flashscope_stats::{Regression, regression};

use super::effects::{levels, step};
use super::{Factor, Space, Values};

/// The minimum number of points per coefficient for fitting interactions as well as effects.
const POINTS_FOR_EACH: usize = 2;

/// The effects and interactions from a regression over points.
#[derive(Default)]
pub(super) struct Conclusions {
    pub effects: Vec<Effect>,
    pub interactions: Vec<Interaction>,
    /// The fit of the regression to each objective (R²).
    pub regressions: Vec<RegressionFit>,
}

/// A column of the regression: the change of a factor from its first level to another level.
struct Column {
    factor: usize,
    from: Level,
    to: Level,
    /// The fraction (0 to 1) of the change that each point has, minus the mean fraction. The
    /// effects of other factors then hold at the mean level of this factor.
    shares: Vec<f64>,
    mean: f64,
}

/// Returns the columns of a factor. Numeric levels give one column, from the first level to the
/// last; texts give a column for each level after the first. A point without the factor counts as
/// its mean. Returns no column for a factor that is constant over all points.
fn columns(index: usize, factor: &Factor, points: &[&MeasuredPoint<'_>]) -> Vec<Column> {
    let column = |from: Level, to: Level, share: &dyn Fn(&Level) -> Option<f64>| {
        let shares = points.iter().map(|point| share(point.levels[index].as_ref()?));
        let shares: Vec<Option<f64>> = shares.collect();
        let known: Vec<f64> = shares.iter().copied().flatten().collect();
        #[allow(clippy::cast_precision_loss, reason = "points are few")]
        let mean = known.iter().sum::<f64>() / known.len() as f64;
        let varies = known.iter().any(|share| *share != known[0]);
        let shares =
            shares.into_iter().map(|share| share.map_or(0.0, |share| share - mean)).collect();
        varies.then_some(Column { factor: index, from, to, shares, mean })
    };
    match &factor.values {
        Values::Range { from, to, .. } => {
            let [from, to] = [*from, *to].map(Level::Number);
            column(from, to, &|level| factor.share(level)).into_iter().collect()
        }
        Values::Levels(all) => {
            let (Some(first), Some(last)) = (all.first(), all.last()) else { return Vec::new() };
            if all.iter().all(|level| matches!(level, Level::Number(_))) {
                let share = |level: &Level| factor.share(level);
                return column(first.clone(), last.clone(), &share).into_iter().collect();
            }
            let one =
                |to: &Level| column(first.clone(), to.clone(), &|at| Some(f64::from(at == to)));
            levels(factor)[1..].iter().filter_map(one).collect()
        }
    }
}

/// Computes effects and interactions of all factors, for each objective.
pub(super) fn regressed(space: &Space, measured: &[MeasuredPoint<'_>]) -> Conclusions {
    let mut conclusions = Conclusions::default();
    for nth in 0..space.objectives.len() {
        of_objective(space, measured, nth, &mut conclusions);
    }
    conclusions
}

fn of_objective(
    space: &Space,
    measured: &[MeasuredPoint<'_>],
    objective: usize,
    conclusions: &mut Conclusions,
) {
    let (points, values): (Vec<&MeasuredPoint<'_>>, Vec<f64>) =
        measured.iter().filter_map(|point| Some((point, point.estimate(objective)?.value))).unzip();
    let factors = space.factors.iter().enumerate();
    let alone: Vec<Column> =
        factors.flat_map(|(index, factor)| columns(index, factor, &points)).collect();
    let both = products(&alone);
    let enough = points.len() >= POINTS_FOR_EACH * (1 + alone.len() + both.len());
    let with_both = enough.then(|| fitted(&alone, &both, &values)).flatten();
    let (both, regression) = match with_both {
        Some(regression) => (both, regression),
        None => match fitted(&alone, &[], &values) {
            Some(regression) => (Vec::new(), regression),
            None => return,
        },
    };
    let field = &space.objectives[objective].field;
    let step = |column: &Column| step(&space.factors[column.factor], &column.from, &column.to);
    let slopes = &regression.slopes;
    for (column, difference) in alone.iter().zip(slopes) {
        // The baseline has this factor at its first level, and all other factors at their means.
        let of_factor = alone.iter().zip(slopes).filter(|(other, _)| other.factor == column.factor);
        let shift: f64 = of_factor.map(|(other, slope)| other.mean * slope.value).sum();
        let relative = difference.value / (regression.intercept.value - shift);
        conclusions.effects.push(Effect {
            objective: field.clone(),
            step: step(column),
            difference: *difference,
            relative: Some(relative).filter(|share| share.is_finite()),
            sign: difference.sign(),
            pairs: points.len() as u64,
        });
    }
    for ([one, other], difference) in both.iter().zip(&slopes[alone.len()..]) {
        let [one, other] = [&alone[*one], &alone[*other]];
        let is_last = |column: &Column| {
            levels(&space.factors[column.factor]).last().is_none_or(|last| *last == column.to)
        };
        if is_last(one) && is_last(other) {
            conclusions.interactions.push(Interaction {
                objective: field.clone(),
                steps: [step(one), step(other)],
                difference: *difference,
                sign: difference.sign(),
                squares: points.len() as u64,
            });
        }
    }
    conclusions.regressions.push(RegressionFit {
        objective: field.clone(),
        points: points.len() as u64,
        explained: regression.explained,
    });
}

/// Returns all pairs of columns of different factors.
fn products(columns: &[Column]) -> Vec<[usize; 2]> {
    let two = |one: usize| (one + 1..columns.len()).map(move |other| [one, other]);
    let all = (0..columns.len()).flat_map(two);
    all.filter(|[one, other]| columns[*one].factor != columns[*other].factor).collect()
}

fn fitted(alone: &[Column], both: &[[usize; 2]], values: &[f64]) -> Option<Regression> {
    let product = |[one, other]: &[usize; 2]| {
        let shares = alone[*one].shares.iter().zip(&alone[*other].shares);
        shares.map(|(one, other)| one * other).collect()
    };
    let columns = alone.iter().map(|column| column.shares.clone()).chain(both.iter().map(product));
    regression(&columns.collect::<Vec<_>>(), values)
}
