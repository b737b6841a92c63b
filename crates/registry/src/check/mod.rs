//! Checks that a submission is consistent with itself: values stated twice agree, totals equal the
//! sums of their parts, and times are in order.

mod latency;
mod measurement;
mod observations;
mod probe;
mod ranges;
mod records;
mod relations;
mod simulation;

pub(crate) use measurement::{check_activities, recompute_facts, without_path};
pub(crate) use probe::check_probe;
pub(crate) use ranges::Ranges;
pub(crate) use records::check_records;
pub(crate) use relations::check_relations;
pub(crate) use simulation::check_simulation;

use crate::limits;

/// Statements of a simulation that the registry cannot check against other fields.
pub(crate) const UNCHECKED_IN_SIMULATIONS: [&str; 3] = [
    "that this drive and workload give these counts and times: to check this, simulate again with the \
     same seed",
    "the warm-up before the measurement, and the time the simulation took to compute",
    "the curve of free blocks, the waiting times of commands, and single activities",
];

/// Statements of a probe that the registry does not derive from the records.
pub(crate) const UNCHECKED_IN_PROBES: [&str; 2] = [
    "what the probe concluded: each answer, its probability and its wording; the named runs can \
     be read",
    "the charts of each finding, and the time between runs",
];

/// The result of a check: `Ok`, or a sentence that names the contradiction.
pub(crate) type CheckResult = Result<(), String>;

/// Checks that the `stated` value of `what` equals the one derived `from` other fields.
fn check_equal(what: &str, stated: u64, derived: u128, from: &str) -> CheckResult {
    if u128::from(stated) == derived {
        return Ok(());
    }
    Err(format!("{what} is {stated}; it should be {derived}, according to {from}"))
}

/// Does the same as [`check_equal`] up to rounding, for a number that may be absent.
fn check_close(what: &str, stated: Option<f64>, derived: Option<f64>, from: &str) -> CheckResult {
    let equal = match (stated, derived) {
        (Some(a), Some(b)) => (a - b).abs() <= limits::ROUNDING * a.abs().max(b.abs()),
        (None, None) => true,
        _ => false,
    };
    if equal {
        return Ok(());
    }
    let text = |value: Option<f64>| value.map_or("absent".into(), |value| value.to_string());
    let (stated, derived) = (text(stated), text(derived));
    Err(format!("{what} is {stated}; it should be {derived}, according to {from}"))
}

/// Fails with the sentence from `complaint` unless `fact` is true.
fn ensure(fact: bool, complaint: impl FnOnce() -> String) -> CheckResult {
    if fact { Ok(()) } else { Err(complaint()) }
}

/// Checks that no value is below its predecessor.
fn check_ascending<T: PartialOrd + Copy>(
    what: &str,
    values: impl IntoIterator<Item = T>,
) -> CheckResult {
    let mut values = values.into_iter();
    let Some(mut last) = values.next() else { return Ok(()) };
    for value in values {
        ensure(last <= value, || format!("{what} are not in ascending order"))?;
        last = value;
    }
    Ok(())
}

/// Adds up values in 128 bits, which cannot overflow.
fn sum<'a>(values: impl IntoIterator<Item = &'a u64>) -> u128 {
    values.into_iter().map(|value| u128::from(*value)).sum()
}

/// Returns `part / whole`, or `None` if `whole` is 0.
#[allow(clippy::cast_precision_loss, reason = "the comparison allows for rounding")]
fn share(part: u128, whole: u128) -> Option<f64> {
    (whole > 0).then(|| part as f64 / whole as f64)
}
