//! A simulated drive that behaves as one that was measured: its twin.

mod check;
mod checks;
mod choices;
mod document;
mod fitted;
mod knobs;
mod measured;
mod of_fill;
mod optimum;
mod predict;
mod sample;
mod search;
mod sweep;
mod table;
mod tuning;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use check::{Check, Compared, LevelCheck, RunCheck, Summary};
pub use document::{RunFit, TWIN_VERSION, Time, Told, Twin};
pub use fitted::{Fitting, How, Sources, TellFitting};
use measured::NUMBERS;
pub use measured::{Measured, MeasuredRun, Numbers, SHARES};
pub use predict::{PredictedLatency, TwinPrediction};
pub use search::{Found, search};
pub use sweep::{FillFit, FillModel, Level, POLICIES, Policy, PolicyFit};
pub use table::read_levels;
use tuning::side_by_side_telling;
pub use tuning::{Target, Tell, Tuned};

/// Where the 99th percentile is among [`Numbers`].
const LAST: usize = NUMBERS - 1;

/// Why no twin was made.
#[derive(Debug, thiserror::Error)]
pub enum FitError {
    /// What was measured tells too little.
    #[error("there are {what}, too few for a fit: {needed}")]
    TooFew {
        /// What there is.
        what: String,
        /// What to measure next.
        needed: String,
    },
    /// What was measured cannot be of one drive.
    #[error("the results contradict each other: {0}")]
    Contradiction(String),
    /// A workload cannot be simulated.
    #[error(transparent)]
    Simulate(#[from] crate::simulate::Error),
    /// It was stopped.
    #[error("interrupted")]
    Interrupted,
    /// No drive to begin with works.
    #[error("none of the drives to begin with has the capacity that was measured, and works")]
    NoStart,
    /// A result cannot be read.
    #[error(transparent)]
    Result(#[from] flashscope_result::Error),
    /// A profile cannot be read.
    #[error(transparent)]
    Profile(#[from] flashscope_sim::ProfileError),
    /// A file cannot be read or written, or is not what it should be.
    #[error("{}: {message}", path.display())]
    Twin {
        /// Where it is.
        path: std::path::PathBuf,
        /// What is wrong with it.
        message: String,
    },
    /// A table cannot be read.
    #[error("line {line}: {message}")]
    Table {
        /// The line, from 1.
        line: usize,
        /// What is wrong with it.
        message: String,
    },
}

/// A value with where it is expected.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct Range {
    /// The value that fits best.
    pub value: f64,
    /// The lower end.
    pub low: f64,
    /// The upper end.
    pub high: f64,
}

impl Range {
    /// Around the best value, with the share `confidence` of `draws` in the middle, and the best.
    #[must_use]
    pub fn around(value: f64, mut draws: Vec<f64>, confidence: f64) -> Range {
        draws.sort_unstable_by(f64::total_cmp);
        let tail = (1.0 - confidence) / 2.0;
        #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a rank")]
        #[allow(clippy::cast_precision_loss, reason = "few draws")]
        let at = |share: f64| {
            let rank = (share * (draws.len().max(1) - 1) as f64).round() as usize;
            draws.get(rank).copied().unwrap_or(value)
        };
        Range { value, low: at(tail).min(value), high: at(1.0 - tail).max(value) }
    }

    /// The same with both ends further away by a factor, at least 1.
    #[must_use]
    pub fn wider(self, factor: f64) -> Range {
        Range { low: self.low / factor, high: self.high * factor, ..self }
    }
}
