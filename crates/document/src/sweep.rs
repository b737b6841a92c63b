//! The result of a sweep.

mod explored;
mod measured;

use std::collections::BTreeMap;
use std::fmt;

pub use explored::{ExploredPoint, ExploredSweep};
use flashscope_stats::Estimate;
pub use measured::{MeasuredPoint, by_point, settings};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::conclusion::Conclusion;

/// The version of `sweep.json` that flashscope writes, and the latest version that it reads.
pub const SWEEP_VERSION: u32 = 2;

/// The level of a factor.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
// Other documents have levels of other things.
#[schemars(rename = "FactorLevel")]
pub enum Level {
    /// A number. A size or a time without a unit is in bytes or nanoseconds.
    Number(f64),
    /// Any other value, as on the command line.
    Text(String),
}

impl fmt::Display for Level {
    /// Formats the level as on the command line.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Level::Number(number) => write!(f, "{number}"),
            Level::Text(text) => f.write_str(text),
        }
    }
}

/// The outcome of a simulation in a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum RowStatus {
    /// The simulation is complete.
    Done,
    /// The point describes an impossible drive or workload.
    Impossible,
    /// The drive failed, or a file was unreadable.
    Failed,
}

impl RowStatus {
    /// Returns the name in `points.parquet`.
    pub const fn name(self) -> &'static str {
        match self {
            RowStatus::Done => "done",
            RowStatus::Impossible => "impossible",
            RowStatus::Failed => "failed",
        }
    }
}

/// One simulation of a sweep: a row of `points.parquet`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Row {
    /// The index of the point, from 0, in the order of the sweep.
    pub point: u32,
    /// The index of the repeat, from 0. Each repeat has its own seed, which all points share.
    pub repeat: u32,
    /// The level of each factor, in the order of [`Sweep::factors`]; `None` if the factor does not
    /// apply.
    pub levels: Vec<Option<Level>>,
    /// The outcome.
    pub status: RowStatus,
    /// The reason that the point is impossible or failed.
    pub reason: Option<String>,
    /// Every number of the document that `flashscope simulate --json` prints, by its dotted path,
    /// except the wall-clock time.
    pub numbers: BTreeMap<String, f64>,
}

/// The direction of an objective.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Goal {
    /// Lower is better.
    Minimize,
    /// Higher is better.
    Maximize,
}

/// A quantity by which points are compared.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Objective {
    /// The direction.
    pub goal: Goal,
    /// A number of the document that `flashscope simulate --json` prints, by its dotted path.
    pub field: String,
}

impl fmt::Display for Objective {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let goal = match self.goal {
            Goal::Minimize => "minimize",
            Goal::Maximize => "maximize",
        };
        write!(f, "{goal} {}", self.field)
    }
}

/// The completeness of a sweep.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum SweepStatus {
    /// All points were simulated or are impossible.
    Complete,
    /// Points are missing; `flashscope sweep --resume` simulates them.
    Unfinished,
}

/// The output of `flashscope sweep --json`, and the content of `sweep.json`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Sweep {
    /// The version of this format.
    pub schema_version: u32,
    /// The status: complete or unfinished.
    pub status: SweepStatus,
    /// The conclusions, as sentences with their evidence, the most important first. Absent from
    /// documents of earlier versions of flashscope.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub conclusions: Vec<Conclusion>,
    /// The design space as given, in TOML.
    pub space: String,
    /// The names of the factors, in the order of their columns.
    pub factors: Vec<String>,
    /// The objectives.
    pub objectives: Vec<Objective>,
    /// The number of simulations of each point.
    pub repeats: u32,
    /// The number of simulations by outcome.
    pub counts: Counts,
    /// The points whose simulation did not finish, with the reason.
    pub skipped: Vec<SkippedPoint>,
    /// The Pareto front: the points that no other point dominates, by their means over the repeats.
    pub front: Vec<FrontPoint>,
    /// The effect of each factor on each objective, other things equal.
    pub effects: Vec<Effect>,
    /// The interactions: the dependence of one factor's effect on another factor.
    pub interactions: Vec<Interaction>,
    /// The quality of the regression of each objective, if the points are a sample of the design
    /// space: effects and interactions are then regression coefficients. Empty if all points of the
    /// space were simulated. An effect is then the mean difference between two points that differ
    /// in this factor only.
    #[serde(default)]
    pub regressions: Vec<RegressionFit>,
}

/// The fit of a linear regression with interactions for an objective.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RegressionFit {
    /// The field of the objective.
    pub objective: String,
    /// The number of points of the regression.
    pub points: u64,
    /// R², 0 to 1: the share of the objective's variance that the regression explains. Nonlinearity
    /// or noise causes the remaining variance.
    pub explained: f64,
}

/// The number of simulations by outcome.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Counts {
    /// Points of the sweep; for a search, the points tried so far.
    pub points: u64,
    /// Simulations requested; for a search, the maximum number of simulations.
    // The name up to version 1.
    #[serde(alias = "asked")]
    pub requested: u64,
    /// Complete simulations.
    pub done: u64,
    /// Simulations of impossible points.
    pub impossible: u64,
    /// Failed simulations.
    pub failed: u64,
}

/// A factor and its level.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Setting {
    /// The factor.
    pub factor: String,
    /// The level.
    pub level: Level,
}

/// A point whose simulation did not finish.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SkippedPoint {
    /// The index of the point, from 0.
    pub point: u32,
    /// The coordinates of the point in the space.
    pub settings: Vec<Setting>,
    /// The outcome: impossible or failed.
    pub status: RowStatus,
    /// The reason.
    pub reason: String,
}

/// A point of the Pareto front.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct FrontPoint {
    /// The index of the point, from 0.
    pub point: u32,
    /// The coordinates of the point in the space.
    pub settings: Vec<Setting>,
    /// The objectives, in the order of [`Sweep::objectives`], each with the interval of its mean
    /// over the repeats.
    pub values: Vec<Estimate>,
}

/// A change of a factor.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Step {
    /// The factor.
    pub factor: String,
    /// The level before.
    pub from: Level,
    /// The level after.
    pub to: Level,
}

/// The effect of a factor change on an objective.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Effect {
    /// The field of the objective.
    pub objective: String,
    /// The change.
    pub step: Step,
    /// The mean difference over pairs of points. Its confidence interval follows from the spread
    /// over the repeats. For a regression, the predicted difference between the two levels, with
    /// the interval of the coefficient.
    pub difference: Estimate,
    /// The effect relative to the mean before the change; absent if this mean is 0.
    pub relative: Option<f64>,
    /// 1 for a significant rise, -1 for a significant fall, 0 if not significant: the interval
    /// contains 0.
    pub sign: i8,
    /// The number of pairs of points that differ in this factor only; for a regression, the number
    /// of points.
    pub pairs: u64,
}

/// The interaction of two changes: the effect of the first change after the second change, minus
/// its effect before the second change.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Interaction {
    /// The field of the objective.
    pub objective: String,
    /// The two changes; their order does not matter.
    pub steps: [Step; 2],
    /// The mean of this difference of effects. Its confidence interval follows from the spread over
    /// the repeats; for a regression, it is that of the coefficient.
    pub difference: Estimate,
    /// 1 if both changes together raise the objective significantly more than the sum of their
    /// effects, -1 if significantly less, 0 if not significant.
    pub sign: i8,
    /// The number of groups of four points that differ in these two factors only; for a regression,
    /// the number of points.
    pub squares: u64,
}
