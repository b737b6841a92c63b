//! Numbers in sentences.

use flashscope_block::Nanos;
use flashscope_stats::Estimate;
use flashscope_workload::uflip::Baseline;

/// A ratio with its interval, such as `2.31 (2.10 to 2.52)`.
pub(crate) fn ratio_text(ratio: &Estimate) -> String {
    match (ratio.low, ratio.high) {
        (Some(low), Some(high)) => {
            format!("{} ({} to {})", number(ratio.value), number(low), number(high))
        }
        (Some(low), None) => format!("{} (at least {})", number(ratio.value), number(low)),
        _ => number(ratio.value),
    }
}

/// How much dearer: `2.31 (2.10 to 2.52) times`.
pub(crate) fn times(ratio: &Estimate) -> String {
    format!("{} times", ratio_text(ratio))
}

/// A number with three digits.
fn number(x: f64) -> String {
    match x.abs() {
        100.0.. => format!("{x:.0}"),
        10.0.. => format!("{x:.1}"),
        _ => format!("{x:.2}"),
    }
}

/// A time, such as `70 µs`.
// A mean response time is far below 2⁶³ ns, and never negative.
#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
pub(crate) fn duration(ns: f64) -> String {
    Nanos(ns.max(0.0).round() as u64).to_string()
}

/// A baseline for people, such as `sequential reads`.
pub(crate) fn baseline_words(baseline: Baseline) -> &'static str {
    match baseline {
        Baseline::SequentialRead => "sequential reads",
        Baseline::RandomRead => "random reads",
        Baseline::SequentialWrite => "sequential writes",
        Baseline::RandomWrite => "random writes",
    }
}

/// `a`, `a and b`, `a, b and c`.
pub(crate) fn list(parts: &[String]) -> String {
    match parts {
        [] => String::new(),
        [one] => one.clone(),
        [first @ .., last] => format!("{} and {last}", first.join(", ")),
    }
}
