//! The known errors of the models of the long run.
//!
//! `make bench-long-run` writes `long_run.csv`. It
//! compares each policy with the simulator, on
//! random drives with random workloads. docs/long-run.md has the share of intervals that hold on
//! drives of other geometries.

use super::super::validation::{Factors, factor};
use super::{LongRun, Skew};

/// The errors, as CSV: the policy, the kind of writes, and the logarithm of predicted over
/// simulated write amplification.
pub const ERRORS: &str = include_str!("../long_run.csv");

/// Returns the errors for a kind of writes, of one policy or of all.
fn errors(policy: Option<&str>, skew: Skew) -> Vec<f64> {
    let error = |line: &str| {
        let mut fields = line.split(',');
        let of = fields.next()?;
        let is_one = policy.is_none_or(|policy| policy == of) && fields.next()? == skew.name();
        is_one.then(|| fields.next()?.parse().ok()).flatten()
    };
    ERRORS.lines().skip(1).filter_map(error).collect()
}

/// Returns the share of the known errors that an interval of this level has to contain.
///
/// Errors are larger on drives that differ from the validated drives. Half of the misses that the
/// level allows are reserved for these drives.
#[must_use]
pub fn required_coverage(level: f64) -> f64 {
    f64::midpoint(level, 1.0)
}

/// Returns the factors by which a share `level` of the predictions like `run` is off at most, and
/// the number of cases behind the factors. The cases are those of the same policy, or of all
/// policies if this policy has too few cases.
#[must_use]
pub fn factors(run: &LongRun, level: f64) -> (Option<Factors>, usize) {
    let share = required_coverage(level);
    let mut known = errors(Some(run.model.policy), run.skew);
    if factor(known.clone(), share).is_none() {
        known = errors(None, run.skew);
    }
    let count = known.len();
    let factors = factor(known, share).map(|known| Factors {
        erases: known,
        write_amplification: known,
        lower: (run.amplification / run.without_idle_time).max(1.0),
        upper: (run.with_idle_time / run.amplification).max(1.0),
    });
    (factors, count)
}
