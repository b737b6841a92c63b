//! Smooth, monotone interpolation of one quantity over mean write length and free space.
//!
//! The interpolant is bicubic Hermite in logarithms, and once continuously differentiable. A cell
//! is monotone if the control points of its Bernstein form are, which is a sufficient condition (R.
//! E. Carlson and F. N. Fritsch, "Monotone piecewise bicubic interpolation", SIAM J. Numer. Anal.
//! 22, 1985). For an edge of a cell, h is the length and D the rise along the edge, and k is the
//! width of the cell across the edge. The surface has the slopes p_0 and p_1 along the edge at its
//! two ends, and q_0 and q_1 across it. The condition requires:
//!
//! - h (|p_0| + |p_1|) / 3 + k |q_1 - q_0| / 3 <= |D|, where [`STEEPEST`] divides |D| between the
//!   two terms,
//! - and twists (mixed derivatives) within the margin that remains.
//!
//! Each slope starts as that of a parabola through three points. Slopes and twists are then reduced
//! until both conditions hold.

use crate::isotonic::{self, Trend};

/// The maximum slope along an edge, relative to the edge's mean slope. With this slope at both
/// ends, the first term of the condition takes 0.8 of the rise, two thirds of 1.2. The remaining
/// 0.2 is the margin for the change of the slope across the edge. Without such a change, the
/// maximum would be 1.5 at both ends, or 3 at one end (F. N. Fritsch and R. E. Carlson, SIAM J.
/// Numer. Anal. 17, 1980).
const STEEPEST: f64 = 1.2;

/// The reason why points do not form a grid.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum GridError {
    /// Fewer than two mean lengths, or fewer than two free spaces.
    #[error("only {0} {1}; give at least two")]
    TooFew(usize, &'static str),
    /// The number of values differs from the number of points, which is the number of lengths times
    /// the number of free spaces.
    #[error("{values} values for {points} points; give one value for each point")]
    Count {
        /// The number of values.
        values: usize,
        /// The number of points.
        points: usize,
    },
    /// A number that has no logarithm.
    #[error("{what} {number} is {value}; it must be a number above 0")]
    NotPositive {
        /// The name of the quantity.
        what: &'static str,
        /// The index of the value, from 0.
        number: usize,
        /// The value.
        value: f64,
    },
    /// A coordinate that is not above the previous coordinate.
    #[error(
        "{what} {number} is not above the previous value; sort the values and remove duplicates"
    )]
    NotSorted {
        /// The name of the quantity.
        what: &'static str,
        /// The index of the coordinate, from 0.
        number: usize,
    },
}

/// A smooth interpolant of a positive quantity. It is monotone in mean length and in free space
/// wherever its grid points are.
#[derive(Debug, Clone, PartialEq)]
pub struct Surface {
    /// Logarithms of the mean lengths, in ascending order.
    lens: Vec<f64>,
    /// Logarithms of the free spaces, in ascending order.
    frees: Vec<f64>,
    /// The grid points, ordered by length, then by free space.
    nodes: Vec<Node>,
}

/// The logarithm of the quantity at a grid point, its slopes, and its twist (the mixed derivative).
#[derive(Debug, Clone, Copy, PartialEq, Default)]
struct Node {
    value: f64,
    by_len: f64,
    by_free: f64,
    twist: f64,
}

impl Surface {
    /// Interpolates `values` (above 0) at every pair of a mean length in `lens` (pages) and a free
    /// space in `frees` (spare blocks divided by logical ones). Both are in ascending order; values
    /// are ordered by length, then free space.
    ///
    /// # Errors
    ///
    /// Returns an error if the points do not form a grid, or a number has no logarithm.
    pub fn new(lens: &[f64], frees: &[f64], values: &[f64]) -> Result<Surface, GridError> {
        Surface::fitted(lens, frees, values, None, None)
    }

    /// Fits a surface to noisy values. Replaces them by the closest values that follow the given
    /// trends, by least squares of the logarithms, and interpolates these like [`Surface::new`].
    ///
    /// # Errors
    ///
    /// Returns the errors of [`Surface::new`].
    pub fn fitted(
        lens: &[f64],
        frees: &[f64],
        values: &[f64],
        by_len: Option<Trend>,
        by_free: Option<Trend>,
    ) -> Result<Surface, GridError> {
        let (lens, frees) = (axis(lens, "mean length")?, axis(frees, "free space")?);
        let points = lens.len() * frees.len();
        if values.len() != points {
            return Err(GridError::Count { values: values.len(), points });
        }
        let mut values = logarithms(values, "value")?;
        isotonic::fit(&mut values, frees.len(), by_len, by_free);
        let nodes = values.into_iter().map(|value| Node { value, ..Node::default() }).collect();
        let mut surface = Surface { lens, frees, nodes };
        surface.set_slopes();
        surface.set_twists();
        Ok(surface)
    }

    /// Returns the value at a mean length and a free space. Outside the grid, returns the value at
    /// the nearest edge. NaN counts as the lowest coordinate.
    #[must_use]
    pub fn at(&self, mean_len: f64, free_space: f64) -> f64 {
        let (i, step, x) = cell(&self.lens, mean_len);
        let (j, across, y) = cell(&self.frees, free_space);
        let (x, y) = (Hermite::at(x, step), Hermite::at(y, across));
        let side = |i: usize| {
            let at = i * self.frees.len() + j;
            let [low, high] = [self.nodes[at], self.nodes[at + 1]];
            let value = y.of([low.value, high.value], [low.by_free, high.by_free]);
            (value, y.of([low.by_len, high.by_len], [low.twist, high.twist]))
        };
        let (low, high) = (side(i), side(i + 1));
        x.of([low.0, high.0], [low.1, high.1]).exp()
    }

    fn node(&self, i: usize, j: usize) -> Node {
        self.nodes[i * self.frees.len() + j]
    }

    /// Sets the slopes at all points within the bounds that keep the cells monotone.
    fn set_slopes(&mut self) {
        let (rows, columns) = (self.lens.len(), self.frees.len());
        let values: Vec<f64> = self.nodes.iter().map(|node| node.value).collect();
        for (i, row) in self.nodes.chunks_exact_mut(columns).enumerate() {
            for (j, node) in row.iter_mut().enumerate() {
                node.by_len = slope(&self.lens, i, |i| values[i * columns + j]);
                node.by_free = slope(&self.frees, j, |j| values[i * columns + j]);
            }
        }
        for j in 0..columns {
            let line: Vec<usize> = (0..rows).map(|i| i * columns + j).collect();
            let of =
                |value: fn(&Node) -> f64| line.iter().map(|at| value(&self.nodes[*at])).collect();
            let (mut slopes, values): (Vec<f64>, Vec<f64>) =
                (of(|node| node.by_free), of(|node| node.value));
            limit_changes(&mut slopes, &values, widest(&self.frees, j));
            line.iter().zip(slopes).for_each(|(at, slope)| self.nodes[*at].by_free = slope);
        }
        for (i, row) in self.nodes.chunks_exact_mut(columns).enumerate() {
            let mut slopes: Vec<f64> = row.iter().map(|node| node.by_len).collect();
            let values: Vec<f64> = row.iter().map(|node| node.value).collect();
            limit_changes(&mut slopes, &values, widest(&self.lens, i));
            row.iter_mut().zip(slopes).for_each(|(node, slope)| node.by_len = slope);
        }
    }

    /// Sets the twists at all points within the bounds that keep the cells monotone.
    fn set_twists(&mut self) {
        for i in 0..self.lens.len() {
            for j in 0..self.frees.len() {
                let raw = central(&self.frees, j, |j| self.node(i, j).by_len);
                let most = self.largest_twist(i, j);
                self.nodes[i * self.frees.len() + j].twist = raw.clamp(-most, most);
            }
        }
    }

    /// Returns the largest twist at a point that keeps all adjacent cells monotone.
    fn largest_twist(&self, i: usize, j: usize) -> f64 {
        let here = self.node(i, j);
        let (tall, wide) = (widest(&self.lens, i), widest(&self.frees, j));
        let mut most = (3.0 * here.by_len.abs() / wide).min(3.0 * here.by_free.abs() / tall);
        for i in [i.saturating_sub(1), i].into_iter().filter(|i| i + 1 < self.lens.len()) {
            let [low, high] = [self.node(i, j), self.node(i + 1, j)];
            let step = self.lens[i + 1] - self.lens[i];
            let along = step * (low.by_len.abs() + high.by_len.abs());
            let across = wide * (high.by_free - low.by_free).abs();
            let left = (high.value - low.value).abs() - (along + across) / 3.0;
            most = most.min(4.5 * left / (step * wide));
        }
        for j in [j.saturating_sub(1), j].into_iter().filter(|j| j + 1 < self.frees.len()) {
            let [low, high] = [self.node(i, j), self.node(i, j + 1)];
            let step = self.frees[j + 1] - self.frees[j];
            let along = step * (low.by_free.abs() + high.by_free.abs());
            let across = tall * (high.by_len - low.by_len).abs();
            let left = (high.value - low.value).abs() - (along + across) / 3.0;
            most = most.min(4.5 * left / (step * tall));
        }
        most.max(0.0)
    }
}

/// Returns the logarithms of positive numbers.
fn logarithms(values: &[f64], what: &'static str) -> Result<Vec<f64>, GridError> {
    let log = |(number, value): (usize, &f64)| {
        if *value > 0.0 && value.is_finite() {
            return Ok(value.ln());
        }
        Err(GridError::NotPositive { what, number, value: *value })
    };
    values.iter().enumerate().map(log).collect()
}

/// Returns the logarithms of ascending positive numbers, at least two.
fn axis(values: &[f64], what: &'static str) -> Result<Vec<f64>, GridError> {
    if values.len() < 2 {
        return Err(GridError::TooFew(values.len(), what));
    }
    let logs = logarithms(values, what)?;
    match logs.windows(2).position(|pair| pair[0] >= pair[1]) {
        Some(before) => Err(GridError::NotSorted { what, number: before + 1 }),
        None => Ok(logs),
    }
}

/// Returns the cell of an axis that contains a value, the width of the cell, and the position of
/// the value in the cell, 0 to 1.
fn cell(axis: &[f64], value: f64) -> (usize, f64, f64) {
    let at = value.max(0.0).ln().clamp(axis[0], axis[axis.len() - 1]);
    let cell = axis[1..axis.len() - 1].partition_point(|end| *end <= at);
    let step = axis[cell + 1] - axis[cell];
    (cell, step, (at - axis[cell]) / step)
}

/// Returns the width of the wider cell next to a point of an axis.
fn widest(axis: &[f64], at: usize) -> f64 {
    let steps = axis[at.saturating_sub(1)..axis.len().min(at + 2)].windows(2);
    steps.map(|pair| pair[1] - pair[0]).fold(0.0, f64::max)
}

/// Returns the slope of the parabola through a point and its neighbours. At an end of the axis,
/// uses the last three points, or both points if the axis has only two.
fn central(axis: &[f64], at: usize, value: impl Fn(usize) -> f64) -> f64 {
    let mean = |i: usize| (value(i + 1) - value(i)) / (axis[i + 1] - axis[i]);
    if axis.len() == 2 {
        return mean(0);
    }
    let first = at.saturating_sub(1).min(axis.len() - 3);
    let (low, high) = (mean(first), mean(first + 1));
    let bend = (high - low) / (axis[first + 2] - axis[first]);
    low + bend * (2.0 * axis[at] - axis[first] - axis[first + 1])
}

/// Returns the slope of [`central`], reduced to prevent overshoot; 0 at a local extremum.
fn slope(axis: &[f64], at: usize, value: impl Fn(usize) -> f64) -> f64 {
    let raw = central(axis, at, &value);
    let mean = |i: usize| (value(i + 1) - value(i)) / (axis[i + 1] - axis[i]);
    let edges = [at.checked_sub(1), (at + 1 < axis.len()).then_some(at)];
    let mut slope = raw;
    for mean in edges.into_iter().flatten().map(mean) {
        if mean * raw <= 0.0 {
            return 0.0;
        }
        slope = slope.abs().min(STEEPEST * mean.abs()).copysign(raw);
    }
    slope
}

/// Reduces the slopes across a line of points. Afterwards, the slopes of neighbours differ by at
/// most the margin that [`STEEPEST`] leaves of the rise between them. One pass in each direction
/// gives the largest such slopes.
fn limit_changes(slopes: &mut [f64], values: &[f64], wide: f64) {
    let mut reduce = |from: usize, to: usize| {
        let most = (3.0 - 2.0 * STEEPEST) * (values[from] - values[to]).abs() / wide;
        let beside = slopes[from];
        // Slopes of opposite signs share the margin equally.
        let most = if beside * slopes[to] < 0.0 { most / 2.0 } else { most + beside.abs() };
        slopes[to] = slopes[to].clamp(-most, most);
    };
    (1..values.len()).for_each(|to| reduce(to - 1, to));
    (1..values.len()).rev().for_each(|from| reduce(from, from - 1));
}

/// The cubic Hermite basis functions at a position within a step.
#[derive(Clone, Copy)]
struct Hermite {
    values: [f64; 2],
    slopes: [f64; 2],
}

impl Hermite {
    fn at(t: f64, step: f64) -> Hermite {
        let rest = 1.0 - t;
        let values = [rest * rest * (1.0 + 2.0 * t), t * t * (1.0 + 2.0 * rest)];
        Hermite { values, slopes: [step * t * rest * rest, -step * t * t * rest] }
    }

    fn of(&self, values: [f64; 2], slopes: [f64; 2]) -> f64 {
        self.values[0] * values[0]
            + self.values[1] * values[1]
            + self.slopes[0] * slopes[0]
            + self.slopes[1] * slopes[1]
    }
}
