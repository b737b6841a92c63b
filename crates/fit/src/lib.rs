//! Fits a simulated drive to measurements of a real one. The fitted drive is the real one's twin.

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

pub use check::{Check, Comparison, LevelCheck, RunCheck, Summary};
pub use document::{RunFit, StructureChoice, TWIN_VERSION, Time, Twin};
pub use fitted::{FitOptions, Sources};
use measured::NUMBERS;
pub use measured::{MeasuredResult, MeasuredRun, Numbers, SHARES};
pub use predict::{PredictedLatency, TwinPrediction};
pub use search::{SearchResult, search};
pub use sweep::{FillFit, FillModel, Level, POLICIES, Policy, PolicyFit};
pub use table::read_levels;
use tuning::side_by_side_with_progress;
pub use tuning::{Target, TunedDrive};

/// The index of the 99th percentile in [`Numbers`].
const LAST: usize = NUMBERS - 1;

/// The reason why a fit failed.
#[derive(Debug, thiserror::Error)]
pub enum FitError {
    /// There are too few measurements.
    #[error("too few measurements for a fit ({what}): {needed}")]
    TooFew {
        /// The measurements that there are.
        what: String,
        /// The measurements to add.
        needed: String,
    },
    /// The results cannot all be of one drive.
    #[error("the results contradict each other: {0}")]
    Contradiction(String),
    /// A workload cannot be simulated.
    #[error(transparent)]
    Simulate(#[from] flashscope_simulate::Error),
    /// The caller stopped the fit.
    #[error("interrupted")]
    Interrupted,
    /// No drive at which the search starts has the measured capacity and can run the measured workload.
    #[error(
        "no drive from which the search starts has the measured capacity and can run the measured workload"
    )]
    NoStart,
    /// A result cannot be read.
    #[error(transparent)]
    Result(#[from] flashscope_result::Error),
    /// A profile cannot be read.
    #[error(transparent)]
    Profile(#[from] flashscope_sim::ProfileError),
    /// A file cannot be read or written, or has wrong contents.
    #[error("{}: {message}", path.display())]
    Twin {
        /// The path of the file.
        path: std::path::PathBuf,
        /// The problem.
        message: String,
    },
    /// A table of fill levels cannot be read.
    #[error("line {line}: {message}")]
    Table {
        /// The line, from 1.
        line: usize,
        /// The problem.
        message: String,
    },
}

/// A best value with its interval.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct Range {
    /// The value that fits best.
    pub value: f64,
    /// The lower end of the interval.
    pub low: f64,
    /// The upper end of the interval.
    pub high: f64,
}

impl Range {
    /// Returns the interval around `value` that holds the middle `confidence` (0 to 1) of `draws`, and `value` itself.
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

    /// Moves both ends away from the value by `factor`, which is at least 1.
    #[must_use]
    pub fn wider(self, factor: f64) -> Range {
        Range { low: self.low / factor, high: self.high * factor, ..self }
    }
}
