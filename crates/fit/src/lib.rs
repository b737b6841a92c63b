//! Fits a simulated drive to measurements of a real drive. The fitted drive is the twin of the real
//! drive.

mod amplification;
mod check;
mod checks;
mod choices;
mod closed_form;
mod depth;
mod ends;
mod files;
mod fitted;
mod knobs;
mod measured;
mod of_fill;
mod optimum;
mod predict;
mod reach;
mod sample;
mod scale;
mod search;
mod sweep;
mod table;
mod tuning;

pub use check::check;
pub use closed_form::{bytes_per_second, write_amplification};
pub use files::{drive_of, drives_of, read_twin, write_twin};
pub use fitted::{FitOptions, Sources};
use measured::NUMBERS;
pub use measured::{MeasuredResult, MeasuredRun, Numbers, SHARES};
pub use predict::{PredictionOptions, predict};
pub use reach::widening;
pub use scale::scaled_fields;
pub use search::{SearchResult, search};
pub use sweep::fit_fill;
pub use table::read_levels;
use tuning::side_by_side_with_progress;
pub use tuning::{Target, TunedDrive, side_by_side};

/// The index of the 99th percentile in [`Numbers`].
const LAST: usize = NUMBERS - 1;

/// The reason why a fit failed.
#[derive(Debug, thiserror::Error)]
pub enum FitError {
    /// There are too few measurements.
    #[error("too few measurements for a fit ({what}): {needed}")]
    TooFew {
        /// The available measurements.
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
    /// A prediction for more data than the flash of the twin holds.
    #[error(
        "--filled: {filled} of data leave no spare flash, because the drive has {flash} of flash by its fit; choose a smaller value"
    )]
    TooFull {
        /// The bytes of data.
        filled: flashscope_block::Bytes,
        /// The bytes of flash.
        flash: flashscope_block::Bytes,
    },
    /// No drive at which the search starts has the measured capacity and can run the measured
    /// workload.
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
