//! A sweep with its points, as people look at it.

use std::collections::HashSet;

use flashscope_stats::Estimate;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Level, MeasuredPoint, Row, Sweep, by_point};

/// Points that are shown at most: more are no longer told apart.
const MOST_POINTS: usize = 10_000;

/// A sweep with what its points came to.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ExploredSweep {
    /// What follows from the points.
    pub sweep: Sweep,
    /// Points that were simulated.
    pub simulated: u64,
    /// Those, in their order; of more than 10,000 the front, and every so many of the others.
    pub points: Vec<ExploredPoint>,
}

/// A point of a sweep, and what it came to.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ExploredPoint {
    /// The point, from 0, in the order of the sweep.
    pub point: u32,
    /// What each factor is set to, in the order of [`Sweep::factors`]; none where it does not apply.
    pub levels: Vec<Option<Level>>,
    /// The objectives, in the order of [`Sweep::objectives`], each with its interval over the repeats;
    /// none where the simulation gives no such number.
    pub values: Vec<Option<Estimate>>,
}

impl ExploredSweep {
    /// A sweep, complete or not, with its rows in the order of points and repeats.
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

/// No more points than are shown: those to be kept, and every so many of all.
fn thinned(points: Vec<ExploredPoint>, kept: &HashSet<u32>) -> Vec<ExploredPoint> {
    let every = points.len().div_ceil(MOST_POINTS).max(1);
    let all = points.into_iter().enumerate();
    all.filter(|(nth, point)| nth % every == 0 || kept.contains(&point.point))
        .map(|(_, point)| point)
        .collect()
}
