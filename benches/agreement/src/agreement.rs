//! Compares the statements of `flashscope bench` about a drive with its profile and with long runs.

use std::error::Error;
use std::path::Path;

use flashscope_sim::setup;

use crate::long_run::LongRun;
use crate::quantity::{QUANTITIES, Quantity};
use crate::stated::{Statement, measure, stated};
use crate::truth::{Reason, truth};

/// The comparison of all quantities of a drive.
pub struct Comparison {
    /// The profile.
    pub drive: String,
    /// The quantities.
    pub lines: Vec<Line>,
}

/// The comparison of a quantity.
#[derive(Debug, Clone, Copy)]
pub struct Line {
    /// The quantity.
    pub quantity: Quantity,
    /// The statement of the benchmark; `None` if it has none.
    pub stated: Option<Statement>,
    /// The value that follows from the profile.
    pub truth: Result<f64, Reason>,
    /// The result of a long run; `None` if no long run shows the quantity.
    pub long_run: Option<f64>,
}

impl Comparison {
    /// Measures the drive, and compares what the benchmark states. `place` is the folder of the
    /// result; a result that already exists is not measured again.
    ///
    /// # Errors
    /// Returns an error if the profile is invalid, or if the drive cannot be measured.
    pub fn of(drive: &str, seed: u64, place: &Path) -> Result<Comparison, Box<dyn Error>> {
        let profile = setup::parse(drive)?;
        let facts = measure(drive, seed, place)?;
        let long = LongRun::of(&profile, seed)?;
        let line = |quantity| Line {
            quantity,
            stated: stated(&facts, quantity),
            truth: truth(&profile, quantity),
            long_run: long.get(quantity),
        };
        Ok(Comparison { drive: drive.into(), lines: QUANTITIES.map(line).into() })
    }

    /// Returns the line of a quantity.
    pub fn line(&self, quantity: Quantity) -> Option<&Line> {
        self.lines.iter().find(|line| line.quantity == quantity)
    }
}

impl Line {
    /// Returns true if the statement agrees with the profile; `None` if there is nothing to
    /// compare.
    pub fn agrees_with_truth(&self) -> Option<bool> {
        Some(self.agrees(self.stated?, self.truth.ok()?))
    }

    /// Returns true if the statement agrees with the long run; `None` if there is nothing to
    /// compare.
    pub fn agrees_with_long_run(&self) -> Option<bool> {
        Some(self.agrees(self.stated?, self.long_run?))
    }

    /// Returns true if the stated interval contains a value. The interval of a mean is at least as
    /// wide as the precision of the benchmark.
    fn agrees(&self, stated: Statement, value: f64) -> bool {
        let slack = if self.quantity.is_limit() { 0.0 } else { PRECISION * stated.value };
        let low = stated.low.min(stated.value - slack);
        let high = stated.high.max(stated.value + slack);
        (low..=high).contains(&value)
    }
}

/// The default precision of a mean.
pub const PRECISION: f64 = 0.02;
