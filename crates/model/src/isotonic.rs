//! Isotonic regression: least squares under the condition that values rise or fall.

/// The direction of a monotone sequence.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Trend {
    /// No value is below the previous value.
    Rising,
    /// No value is above the previous value.
    Falling,
}

/// The maximum number of alternations between the two directions in [`fit`]. More alternations
/// would change little.
const ROUNDS: usize = 200;

/// Replaces the values of a grid by the closest values, in least squares, that follow the trend
/// `down` the columns and the trend `along` the rows. `values` holds the rows, of `columns` values
/// each, one after the other.
///
/// Pools adjacent violators in one direction. For two directions, alternates between them, and
/// undoes a direction's previous correction before fitting that direction again (R. L. Dykstra
/// and T. Robertson, "An algorithm for isotonic regression for two or more independent variables",
/// Ann. Statist. 10, 1982).
pub(crate) fn fit(values: &mut [f64], columns: usize, down: Option<Trend>, along: Option<Trend>) {
    let both = down.is_some() && along.is_some();
    let mut changed = [vec![0.0; values.len()], vec![0.0; values.len()]];
    for _ in 0..if both { ROUNDS } else { 1 } {
        let mut moved: f64 = 0.0;
        for (direction, changed) in changed.iter_mut().enumerate() {
            let before = values.to_vec();
            values.iter_mut().zip(&*changed).for_each(|(value, change)| *value -= change);
            let put_back = values.to_vec();
            if direction == 0 {
                fit_columns(values, columns, down)
            } else {
                fit_rows(values, columns, along)
            }
            for (at, change) in changed.iter_mut().enumerate() {
                *change = values[at] - put_back[at];
                moved = moved.max((values[at] - before[at]).abs());
            }
        }
        if moved < 1e-12 {
            break;
        }
    }
    // A final pass makes the order exact in both directions, to the last digit. Fitting the rows
    // keeps the columns sorted.
    fit_columns(values, columns, down);
    fit_rows(values, columns, along);
}

fn fit_rows(values: &mut [f64], columns: usize, trend: Option<Trend>) {
    let Some(trend) = trend else { return };
    values.chunks_exact_mut(columns).for_each(|row| fit_line(row, trend));
}

fn fit_columns(values: &mut [f64], columns: usize, trend: Option<Trend>) {
    let Some(trend) = trend else { return };
    for column in 0..columns {
        let mut line: Vec<f64> = values[column..].iter().step_by(columns).copied().collect();
        fit_line(&mut line, trend);
        values[column..].iter_mut().step_by(columns).zip(line).for_each(|(to, value)| *to = value);
    }
}

/// Fits one row or column by pooling adjacent violators: neighbours out of order are replaced by
/// their mean.
fn fit_line(values: &mut [f64], trend: Trend) {
    // Each pool is a mean and the number of values that it replaces.
    let mut pools: Vec<(f64, usize)> = Vec::with_capacity(values.len());
    for value in values.iter() {
        let mut last = (*value, 1);
        while let Some((mean, count)) = pools.pop_if(|(mean, _)| match trend {
            Trend::Rising => *mean > last.0,
            Trend::Falling => *mean < last.0,
        }) {
            last = (mean + (last.0 - mean) * share(last.1, count), last.1 + count);
        }
        pools.push(last);
    }
    let fitted = pools.into_iter().flat_map(|(mean, count)| std::iter::repeat_n(mean, count));
    values.iter_mut().zip(fitted).for_each(|(value, fitted)| *value = fitted);
}

/// Returns the share of `some` in the sum of `some` and `others`.
#[allow(clippy::cast_precision_loss, reason = "a grid has far fewer than 2^53 points")]
fn share(some: usize, others: usize) -> f64 {
    some as f64 / (some + others) as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    // Sorted neighbours stay unchanged.
    #[test]
    fn neighbours_out_of_order_become_their_mean() {
        let fitted = |values: [f64; 5], trend| {
            let mut values = values;
            fit_line(&mut values, trend);
            values
        };
        assert_eq!(fitted([1.0, 3.0, 2.0, 1.0, 9.0], Trend::Rising), [1.0, 2.0, 2.0, 2.0, 9.0]);
        assert_eq!(fitted([9.0, 1.0, 3.0, 2.0, 0.0], Trend::Falling), [9.0, 2.0, 2.0, 2.0, 0.0]);
        assert_eq!(fitted([1.0, 2.0, 3.0, 4.0, 5.0], Trend::Rising), [1.0, 2.0, 3.0, 4.0, 5.0]);
    }

    // Also checks that the grid is monotone in both directions. A point of a convex set is the
    // closest to `raw` if no direction into the set leads closer.
    #[test]
    fn the_fit_is_the_closest_monotone_grid() {
        let mut rng = fastrand::Rng::with_seed(3);
        for _ in 0..50 {
            let raw: Vec<f64> = (0..30).map(|_| rng.f64()).collect();
            let mut fitted = raw.clone();
            fit(&mut fitted, 5, Some(Trend::Rising), Some(Trend::Falling));
            for (at, value) in fitted.iter().enumerate() {
                assert!(at % 5 == 0 || *value <= fitted[at - 1]);
                assert!(at < 5 || *value >= fitted[at - 5]);
            }
            let mut other: Vec<f64> = (0..30).map(|_| rng.f64()).collect();
            fit_columns(&mut other, 5, Some(Trend::Rising));
            fit_rows(&mut other, 5, Some(Trend::Falling));
            let closer: f64 =
                (0..30).map(|at| (raw[at] - fitted[at]) * (other[at] - fitted[at])).sum();
            assert!(closer < 1e-3, "{closer}");
        }
    }
}
