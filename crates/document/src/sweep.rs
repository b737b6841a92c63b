//! What came of a sweep.

mod explored;
mod measured;

use std::collections::BTreeMap;
use std::fmt;

pub use explored::{ExploredPoint, ExploredSweep};
use flashscope_stats::Estimate;
pub use measured::{MeasuredPoint, by_point, settings};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The version of `sweep.json` that is written, and the latest that is read.
pub const SWEEP_VERSION: u32 = 1;

/// What a factor is set to.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum Level {
    /// A number; of sizes and times without a unit, bytes and nanoseconds.
    Number(f64),
    /// Anything else, as it stands on the command line.
    Text(String),
}

impl fmt::Display for Level {
    /// As it stands on the command line.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Level::Number(number) => write!(f, "{number}"),
            Level::Text(text) => f.write_str(text),
        }
    }
}

/// How a row came to be.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum RowStatus {
    /// It was simulated as asked.
    Done,
    /// No drive or workload can be as the point says.
    Impossible,
    /// The drive failed, or a file could not be read.
    Failed,
}

impl RowStatus {
    /// Its name in `points.parquet`.
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
    /// The point, from 0, in the order of the sweep.
    pub point: u32,
    /// Which simulation of the point, from 0: each has a seed of its own, the same for all points.
    pub repeat: u32,
    /// What each factor is set to, in the order of [`Sweep::factors`]; none where it does not apply.
    pub levels: Vec<Option<Level>>,
    /// How it came to be.
    pub status: RowStatus,
    /// Why it is impossible, or failed.
    pub reason: Option<String>,
    /// Every number of the document that `flashscope simulate --json` prints, by its dotted path,
    /// but for the one that a clock gave.
    pub numbers: BTreeMap<String, f64>,
}

/// What is better.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Goal {
    /// Less.
    Minimize,
    /// More.
    Maximize,
}

/// What points are judged by.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Objective {
    /// What is better.
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

/// Whether a sweep is at its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum SweepStatus {
    /// All that was asked for was simulated, or cannot be.
    Complete,
    /// Points are left: `flashscope sweep --resume` goes on.
    Unfinished,
}

/// What `flashscope sweep --json` prints, and `sweep.json` holds.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Sweep {
    /// The version of this format.
    pub schema_version: u32,
    /// Whether it is at its end.
    pub status: SweepStatus,
    /// The design space, as it was given: TOML.
    pub space: String,
    /// The names of the factors, in the order of their columns.
    pub factors: Vec<String>,
    /// What points are judged by.
    pub objectives: Vec<Objective>,
    /// Simulations of each point.
    pub repeats: u32,
    /// How many there are of what.
    pub counts: Counts,
    /// The points that were not simulated to their end, with the reason.
    pub skipped: Vec<SkippedPoint>,
    /// The points than which no other is better in one objective and as good in all others, by their
    /// means over the repeats.
    pub front: Vec<FrontPoint>,
    /// What a factor does to an objective, other things equal.
    pub effects: Vec<Effect>,
    /// How much more or less one factor does where another is changed too.
    pub interactions: Vec<Interaction>,
    /// Where points were drawn: of which objectives effects and interactions are slopes of a regression,
    /// and how far that goes. Elsewhere they are differences of points that differ in nothing else.
    #[serde(default)]
    pub regressions: Vec<RegressionFit>,
}

/// How far an objective is understood as a sum of effects and interactions.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RegressionFit {
    /// The field of the objective.
    pub objective: String,
    /// Points that the regression is over.
    pub points: u64,
    /// The share of the variance that it explains, 0 to 1. The rest is curved, or luck.
    pub explained: f64,
}

/// How many simulations there are.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Counts {
    /// Points of the sweep; of a search, those that it has come to.
    pub points: u64,
    /// Simulations that are asked for; of a search, at most.
    pub asked: u64,
    /// Those that were simulated.
    pub done: u64,
    /// Those that cannot be.
    pub impossible: u64,
    /// Those that failed.
    pub failed: u64,
}

/// A factor and what it is set to.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Setting {
    /// The factor.
    pub factor: String,
    /// What it is set to.
    pub level: Level,
}

/// A point that was not simulated to its end.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SkippedPoint {
    /// The point.
    pub point: u32,
    /// Where it is in the space.
    pub settings: Vec<Setting>,
    /// Whether it is impossible, or failed.
    pub status: RowStatus,
    /// Why.
    pub reason: String,
}

/// A point of the Pareto front.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct FrontPoint {
    /// The point.
    pub point: u32,
    /// Where it is in the space.
    pub settings: Vec<Setting>,
    /// The objectives, in the order of [`Sweep::objectives`], with the interval of the mean over the
    /// repeats.
    pub values: Vec<Estimate>,
}

/// A change of a factor.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Step {
    /// The factor.
    pub factor: String,
    /// What it is set to before.
    pub from: Level,
    /// What it is set to after.
    pub to: Level,
}

/// What a change of a factor does to an objective.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Effect {
    /// The field of the objective.
    pub objective: String,
    /// The change.
    pub step: Step,
    /// The mean difference of the pairs, with its interval over the repeats; of a regression its slope from
    /// the one level to the other, with its interval over the points.
    pub difference: Estimate,
    /// The same as a share of the mean before the change; absent where that is 0.
    pub relative: Option<f64>,
    /// 1 where the objective rises, -1 where it falls, 0 where that is not sure: the interval holds 0.
    pub sign: i8,
    /// Pairs of points that differ in nothing else; of a regression, the points.
    pub pairs: u64,
}

/// How much more a change does to an objective after another change than before it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Interaction {
    /// The field of the objective.
    pub objective: String,
    /// The changes, of which none is the first: it is the same both ways.
    pub steps: [Step; 2],
    /// The mean difference of differences, with its interval over the repeats; of a regression over the
    /// points.
    pub difference: Estimate,
    /// 1 where together they raise the objective by more than each for itself, -1 where by less, 0
    /// where that is not sure.
    pub sign: i8,
    /// Squares of points that differ in nothing else; of a regression, the points.
    pub squares: u64,
}
