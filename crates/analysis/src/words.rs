//! Numbers as text.

use flashscope_block::Nanos;
use flashscope_document::what_if::Quantity;
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

/// Returns an estimate with its interval, such as `1.2 ms (1.1 ms to 1.3 ms)`. An interval without
/// a visible width is left out.
pub(crate) fn with_interval(estimate: &Estimate, text: impl Fn(f64) -> String) -> String {
    let value = text(estimate.value);
    match (estimate.low.map(&text), estimate.high.map(&text)) {
        (Some(low), Some(high)) if low == high => value,
        (Some(low), Some(high)) => format!("{value} ({low} to {high})"),
        (Some(low), None) => format!("{value} (at least {low})"),
        _ => value,
    }
}

/// Returns a share, such as `12 %`.
pub(crate) fn percent(share: f64) -> String {
    let percent = 100.0 * share;
    match percent.abs() {
        10.0.. => format!("{percent:.0} %"),
        1.0.. => format!("{percent:.1} %"),
        _ => format!("{percent:.2} %"),
    }
}

/// Returns a count, rounded to three digits, with separators of thousands: `23,400`.
#[allow(clippy::cast_possible_truncation, reason = "the logarithm of a finite number is small")]
pub(crate) fn rounded(x: f64) -> String {
    if !(100.0..1e18).contains(&x) {
        return number(x);
    }
    let unit = 10_f64.powi(x.log10().floor() as i32 - 2);
    grouped((x / unit).round() * unit)
}

fn grouped(x: f64) -> String {
    let digits = format!("{x:.0}");
    let mut text = String::new();
    for (nth, digit) in digits.chars().enumerate() {
        if nth > 0 && (digits.len() - nth).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// Returns a rate of bytes, such as `120 MiB/s`. Sizes are binary everywhere, so rates are too.
pub(crate) fn rate(bytes_per_second: f64) -> String {
    let mib = bytes_per_second / 1_048_576.0;
    match mib {
        1024.0.. => format!("{} GiB/s", number(mib / 1024.0)),
        _ => format!("{} MiB/s", number(mib)),
    }
}

/// Returns the relative change, with its interval, for an absolute change; `None` without a
/// relative value.
pub(crate) fn relative(absolute: &Estimate, relative: Option<f64>) -> Option<Estimate> {
    let relative = relative?;
    if absolute.value == 0.0 {
        return None;
    }
    let scale = relative / absolute.value;
    let scaled = |end: Option<f64>| end.map(|end| end * scale);
    let (low, high) = (scaled(absolute.low), scaled(absolute.high));
    let ends = if scale < 0.0 { (high, low) } else { (low, high) };
    Some(Estimate { value: relative, low: ends.0, high: ends.1 })
}

/// Returns a change in words, such as `lowers`, and its size with its interval.
pub(crate) fn change(relative: &Estimate) -> (&'static str, String) {
    let negated = |x: Option<f64>| x.map(|x| -x);
    match relative.value < 0.0 {
        true => {
            let fall = Estimate {
                value: -relative.value,
                low: negated(relative.high),
                high: negated(relative.low),
            };
            ("lowers", with_interval(&fall, percent))
        }
        false => ("raises", with_interval(relative, percent)),
    }
}

/// Returns the name of a quantity for readers.
pub(crate) const fn quantity_words(quantity: Quantity) -> &'static str {
    match quantity {
        Quantity::MeanLatency => "the mean response time",
        Quantity::MedianLatency => "the median response time",
        Quantity::P99Latency => "the 99th percentile of response times",
        Quantity::P999Latency => "the 99.9th percentile of response times",
        Quantity::IosPerSecond => "IOs per second",
        Quantity::Throughput => "throughput",
        Quantity::BytesPerSecond => "the maximum write throughput",
        Quantity::WriteAmplification => "write amplification",
        Quantity::ErasesPerGib => "erases per GiB",
        Quantity::Endurance => "endurance",
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
