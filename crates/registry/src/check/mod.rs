//! Does what was submitted follow from itself? What is said twice has to be said alike, sums have to come
//! to their sums, and what happened in time has to be in its order.

mod inside;
mod latency;
mod measurement;
mod probe;
mod ranges;
mod records;
mod relations;
mod simulation;

pub(crate) use measurement::{can_be_read, facts, without_path};
pub(crate) use probe::probe;
pub(crate) use ranges::Ranges;
pub(crate) use records::of_probe;
pub(crate) use relations::check as relations;
pub(crate) use simulation::simulation;

use crate::limits;

/// What of a simulation follows from nothing else in it.
pub(crate) const OF_SIMULATIONS: [&str; 3] = [
    "that this workload on this drive comes to these counts and times: who simulates it anew with its seed \
     sees",
    "the warm-up before the measurement, and how long all of it took to compute",
    "the curve of free blocks, waits of commands, and single activities, of which no count tells",
];

/// What of a probe the registry does not find anew from its records.
pub(crate) const OF_PROBES: [&str; 2] = [
    "what the probe concluded: each answer, its probability and the words for it; the runs that it names can \
     be read",
    "the pictures of each finding, and the time that passed between runs",
];

/// Nothing, or what does not follow.
pub(crate) type Checked = Result<(), String>;

/// That `what` is said to be a number that follows from others.
fn same(what: &str, said: u64, follows: u128, from: &str) -> Checked {
    if u128::from(said) == follows {
        return Ok(());
    }
    Err(format!("{what} is {said}, and {follows} by {from}"))
}

/// The same for a number that is rounded, and may be absent.
fn close(what: &str, said: Option<f64>, follows: Option<f64>, from: &str) -> Checked {
    let equal = match (said, follows) {
        (Some(a), Some(b)) => (a - b).abs() <= limits::ROUNDING * a.abs().max(b.abs()),
        (None, None) => true,
        _ => false,
    };
    if equal {
        return Ok(());
    }
    let text = |value: Option<f64>| value.map_or("absent".into(), |value| value.to_string());
    Err(format!("{what} is {}, and {} by {from}", text(said), text(follows)))
}

/// That something holds.
fn holds(fact: bool, otherwise: impl FnOnce() -> String) -> Checked {
    if fact { Ok(()) } else { Err(otherwise()) }
}

/// That values are in order, none below the one before.
fn ascending<T: PartialOrd + Copy>(what: &str, values: impl IntoIterator<Item = T>) -> Checked {
    let mut values = values.into_iter();
    let Some(mut last) = values.next() else { return Ok(()) };
    for value in values {
        holds(last <= value, || format!("{what} are not in order"))?;
        last = value;
    }
    Ok(())
}

/// A sum that overflows nothing.
fn sum<'a>(values: impl IntoIterator<Item = &'a u64>) -> u128 {
    values.into_iter().map(|value| u128::from(*value)).sum()
}

/// `part` of `whole`; absent where there is no whole.
#[allow(clippy::cast_precision_loss, reason = "it is compared up to rounding")]
fn share(part: u128, whole: u128) -> Option<f64> {
    (whole > 0).then(|| part as f64 / whole as f64)
}
