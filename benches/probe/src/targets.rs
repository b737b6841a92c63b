//! The targets for the accuracy of the probe.

/// Returns the minimum share of right answers, given the relative deviation of response times.
pub fn accuracy(noise: f64) -> f64 {
    if noise <= 0.02 { 0.97 } else { 0.93 }
}

/// The largest share of present features without an answer.
pub(crate) const ABSTENTION: f64 = 0.1;

/// The largest expected calibration error.
pub(crate) const CALIBRATION_ERROR: f64 = 0.05;

/// The minimum share of right answers among those with a stated probability of 0.9 or more.
pub(crate) const CONFIDENT: f64 = 0.97;

/// The largest expected calibration error of all answers about held-out drives, and of a stratum.
pub(crate) const HELD_OUT_CALIBRATION_ERROR: [f64; 2] = [0.03, 0.08];
