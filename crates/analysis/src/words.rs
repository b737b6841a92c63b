//! Numbers as text.

use flashscope_block::Nanos;
use flashscope_stats::Estimate;
use flashscope_workload::uflip::Baseline;

/// Returns a ratio with its interval, such as `2.31 (2.10 to 2.52)`.
pub(crate) fn ratio_text(ratio: &Estimate) -> String {
    match (ratio.low, ratio.high) {
        (Some(low), Some(high)) => {
            format!("{} ({} to {})", number(ratio.value), number(low), number(high))
        }
        (Some(low), None) => format!("{} (at least {})", number(ratio.value), number(low)),
        _ => number(ratio.value),
    }
}

/// Returns a cost ratio as text, such as `2.31 (2.10 to 2.52) times`.
pub(crate) fn times(ratio: &Estimate) -> String {
    format!("{} times", ratio_text(ratio))
}

/// Returns a number with three digits.
pub(crate) fn number(x: f64) -> String {
    match x.abs() {
        100.0.. => format!("{x:.0}"),
        10.0.. => format!("{x:.1}"),
        _ => format!("{x:.2}"),
    }
}

/// Returns a time, such as `70 µs`.
// A mean response time is far below 2⁶³ ns, and never negative.
#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
pub(crate) fn duration(ns: f64) -> String {
    Nanos(ns.max(0.0).round() as u64).to_string()
}

/// Returns the name of a baseline for readers, such as `sequential reads`.
pub(crate) fn baseline_words(baseline: Baseline) -> &'static str {
    match baseline {
        Baseline::SequentialRead => "sequential reads",
        Baseline::RandomRead => "random reads",
        Baseline::SequentialWrite => "sequential writes",
        Baseline::RandomWrite => "random writes",
    }
}

/// Returns a list such as `a`, `a and b`, or `a, b and c`.
pub(crate) fn list(parts: &[String]) -> String {
    match parts {
        [] => String::new(),
        [one] => one.clone(),
        [first @ .., last] => format!("{} and {last}", first.join(", ")),
    }
}
