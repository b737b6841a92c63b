//! Fits the costs that each policy predicts to the measured costs.

use super::Story;
use super::model::{Model, Policy, Size, Work};

/// The number of random runs to average, for a policy with random choices.
const DRAWS: u64 = 3;

/// Minimum cost of moving a unit, relative to the cost of a host write of a unit.
const MIN_MOVE_COST: f64 = 0.4;

/// A range of writes that is analysed together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Window {
    pub(super) from: usize,
    pub(super) to: usize,
}

/// Returns windows of `len` writes.
pub(super) fn windows(from: usize, to: usize, len: usize) -> Vec<Window> {
    let starts = (from..to).step_by(len.max(1));
    starts.map(|from| Window { from, to: (from + len).min(to) }).collect()
}

/// The quality of a policy's fit.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Fit {
    /// The sum of squared residuals, each in units of the expected deviation and at most 25.
    /// Random choices of the policy widen this deviation, which adds a penalty.
    pub(super) misfit: f64,
    /// The expected cost in each window, in nanoseconds per write.
    pub(super) expected: Vec<f64>,
}

/// Returns the work in each window for a drive of this size that cleans by `policy`.
fn replay(story: &Story, size: Size, policy: Policy, windows: &[Window], seed: u64) -> Vec<Work> {
    let mut model = Model::trimmed(size, policy, story.before, seed);
    let mut written = 0;
    let mut upto = |model: &mut Model, to: usize| {
        story.writes[written..to].iter().for_each(|unit| model.write(*unit));
        written = to;
        model.work
    };
    let work = |window: &Window| {
        let before = upto(&mut model, window.from);
        let after = upto(&mut model, window.to);
        Work {
            written: after.written - before.written,
            moved: after.moved - before.moved,
            erased: after.erased - before.erased,
        }
    };
    windows.iter().map(work).collect()
}

/// Returns a row and a number for each window. The row is the units moved per write and the excess
/// blocks erased per write; the number is the blocks erased in the window. For a policy with random
/// choices, the values are averages over several runs.
#[allow(clippy::cast_precision_loss, reason = "counts of writes are far below 2^53")]
fn rates(
    story: &Story,
    size: Size,
    policy: Policy,
    windows: &[Window],
) -> (Vec<[f64; 2]>, Vec<f64>) {
    let draws = if policy.draws() { DRAWS } else { 1 };
    let mut rows = vec![[0.0; 2]; windows.len()];
    let mut erased = vec![0.0; windows.len()];
    for seed in 0..draws {
        let work = replay(story, size, policy, windows, seed);
        for ((row, erased), work) in rows.iter_mut().zip(&mut erased).zip(work) {
            let share = 1.0 / (draws * work.written.max(1)) as f64;
            row[0] += work.moved as f64 * share;
            row[1] += work.erased as f64 * share - 1.0 / (draws * size.block as u64) as f64;
            *erased += work.erased as f64 / draws as f64;
        }
    }
    // The host's own data takes an erasure per block even without moves. The base cost of a write
    // includes these erasures.
    rows.iter_mut().for_each(|row| row[1] = row[1].max(0.0));
    (rows, erased)
}

/// Fits the cost of a move and the cost of an erasure to the excess of the measured costs over
/// `base`, the cost of a write without cleaning.
#[allow(clippy::cast_precision_loss, reason = "counts of writes are far below 2^53")]
pub(super) fn fit(story: &Story, size: Size, policy: Policy, windows: &[Window], base: f64) -> Fit {
    let (rows, erased) = rates(story, size, policy, windows);
    let seen: Vec<f64> = windows.iter().map(|window| mean_cost(story, *window)).collect();
    let excess: Vec<f64> = seen.iter().map(|cost| cost - base).collect();
    let middle = excess.iter().sum::<f64>() / excess.len() as f64;
    let usual: Vec<f64> =
        excess.iter().map(|excess| 0.1 * excess.abs() + 0.1 * middle.abs() + 0.02 * base).collect();
    // A move costs at least this much, because it writes to the flash as a host write does.
    let least = MIN_MOVE_COST * base;
    let rest: Vec<f64> =
        excess.iter().zip(&rows).map(|(excess, row)| excess - row[0] * least).collect();
    let mut costs = least_squares(&rows, &rest, &usual);
    costs[0] += least;
    let expected: Vec<f64> =
        rows.iter().map(|row| base + row[0] * costs[0] + row[1] * costs[1]).collect();
    let misfit = (0..rows.len()).map(|nth| {
        let drawn = match policy.draws() {
            // A policy with random choices cleans only a few random blocks in a window. The mean
            // number of valid pages in these blocks varies by chance.
            true => 0.7 * (expected[nth] - base) / (1.0 + erased[nth]).sqrt(),
            false => 0.0,
        };
        let deviation = usual[nth].hypot(drawn);
        let off = ((seen[nth] - expected[nth]) / deviation).powi(2).min(25.0);
        off + 2.0 * (deviation / usual[nth]).ln()
    });
    Fit { misfit: misfit.sum(), expected }
}

/// Returns the mean cost of a write in a window.
#[allow(clippy::cast_precision_loss, reason = "counts of writes are far below 2^53")]
pub(super) fn mean_cost(story: &Story, window: Window) -> f64 {
    let costs = &story.costs[window.from..window.to];
    costs.iter().sum::<f64>() / costs.len().max(1) as f64
}

/// Returns the two non-negative coefficients with the least sum of squared residuals.
fn least_squares(rows: &[[f64; 2]], values: &[f64], deviation: &[f64]) -> [f64; 2] {
    let (mut xx, mut xy, mut yy, mut xv, mut yv) = (0.0, 0.0, 0.0, 0.0, 0.0);
    for ((row, value), deviation) in rows.iter().zip(values).zip(deviation) {
        let weight = deviation.powi(-2);
        xx += weight * row[0] * row[0];
        xy += weight * row[0] * row[1];
        yy += weight * row[1] * row[1];
        xv += weight * row[0] * value;
        yv += weight * row[1] * value;
    }
    let determinant = xx * yy - xy * xy;
    if determinant > 1e-9 * xx * yy {
        let both = [(xv * yy - yv * xy) / determinant, (yv * xx - xv * xy) / determinant];
        if both[0] >= 0.0 && both[1] >= 0.0 {
            return both;
        }
    }
    let alone =
        |square: f64, product: f64| if square > 0.0 { (product / square).max(0.0) } else { 0.0 };
    let (first, second) = (alone(xx, xv), alone(yy, yv));
    // Compare the explained parts of the sum of squares.
    if first * xv >= second * yv { [first, 0.0] } else { [0.0, second] }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn least_squares_finds_two_costs_and_none_below_zero() {
        let rows = [[1.0, 0.1], [5.0, 0.2], [0.0, 0.1], [9.0, 0.9]];
        let values: Vec<f64> = rows.iter().map(|row| 3.0 * row[0] + 20.0 * row[1]).collect();
        let costs = least_squares(&rows, &values, &[1.0; 4]);
        assert!((costs[0] - 3.0).abs() < 1e-9 && (costs[1] - 20.0).abs() < 1e-9);
        let values: Vec<f64> = rows.iter().map(|row| 3.0 * row[0] - 1.0 * row[1]).collect();
        let costs = least_squares(&rows, &values, &[1.0; 4]);
        assert!(costs[0] > 0.0 && costs[1] == 0.0);
    }
}
