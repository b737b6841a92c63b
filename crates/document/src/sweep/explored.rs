//! A sweep with its points, for display.

use std::collections::HashSet;

use flashscope_stats::Estimate;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Level, MeasuredPoint, Row, Sweep, by_point};

/// The maximum number of points displayed besides the front; more would overlap.
const MAX_POINTS: usize = 10_000;

/// A sweep with the results of its points.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ExploredSweep {
    /// The conclusions from the points.
    pub sweep: Sweep,
    /// The number of points with results.
    pub simulated: u64,
    /// The points in order. If there are more than 10,000, the list has only
    /// the front and a regular sample.
    pub points: Vec<ExploredPoint>,
}

/// A point of a sweep with its results.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ExploredPoint {
    /// The index of the point, from 0, in the order of the sweep.
    pub point: u32,
    /// The level of each factor, in the order of [`Sweep::factors`]; `None` if the factor does not
    /// apply.
    pub levels: Vec<Option<Level>>,
    /// The mean of each objective, in the order of [`Sweep::objectives`], with its interval over
    /// the repeats; `None` if the simulation has no such number.
    pub values: Vec<Option<Estimate>>,
}

impl ExploredSweep {
    /// Builds the view of a sweep, finished or not, from its rows sorted by point and repeat.
    pub fn of(sweep: Sweep, rows: &[Row]) -> ExploredSweep {
        let measured =
            by_point(rows).map(|rows| MeasuredPoint::of(rows, &sweep.objectives, sweep.repeats));
        let points: Vec<ExploredPoint> = measured
            .map(|found| ExploredPoint {
                point: found.point,
                levels: found.levels.to_vec(),
                values: (0..found.values.len()).map(|nth| found.estimate(nth)).collect(),
            })
            .filter(|point| point.values.iter().any(Option::is_some))
            .collect();
        let simulated = points.len() as u64;
        let front: HashSet<u32> = sweep.front.iter().map(|point| point.point).collect();
        ExploredSweep { points: thinned(points, &front), sweep, simulated }
    }
}

/// Returns every n-th point and the points in `kept`, with the smallest n that meets the limit.
fn thinned(points: Vec<ExploredPoint>, kept: &HashSet<u32>) -> Vec<ExploredPoint> {
    let every = points.len().div_ceil(MAX_POINTS).max(1);
    let all = points.into_iter().enumerate();
    all.filter(|(nth, point)| nth % every == 0 || kept.contains(&point.point))
        .map(|(_, point)| point)
        .collect()
}
