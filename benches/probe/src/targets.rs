//! What the probe should reach, beside which everything is shown.

/// The share of answers that should be right where times deviate by this share: of the probe's promise,
/// that of the least noise that is not less.
pub fn accuracy(noise: f64) -> f64 {
    if noise <= 0.02 { 0.97 } else { 0.93 }
}

/// The share of what drives have that may be left unanswered.
pub const ABSTENTION: f64 = 0.1;

/// The largest expected calibration error.
pub const CALIBRATION_ERROR: f64 = 0.05;
