//! Formats what-ifs as text. The parts can be printed one after the other as results arrive.

use std::fmt::Write;

use flashscope_block::{Bytes, Nanos};
use flashscope_document::sweep::RowStatus;
use flashscope_document::what_if::{
    ClosedForm, Disagreement, ModelEstimate, Quantity, SimulatedQuantity, Variant, WhatIf,
    WhatIfStatus,
};

use crate::conclusions::conclusions;
use crate::sweep::number;

/// The width of the column of names.
const NAMES: usize = 26;
/// The width of the columns of quantities.
const CELLS: usize = 16;

/// The quantities that models predict.
const EXPECTED: [Quantity; 4] = [
    Quantity::WriteAmplification,
    Quantity::ErasesPerGib,
    Quantity::Endurance,
    Quantity::BytesPerSecond,
];

/// Formats a what-if as text, even if some variants are not simulated yet.
pub fn what_if(what_if: &WhatIf) -> String {
    let mut out = what_if_question(what_if) + &what_if_expected_head();
    what_if.all().for_each(|variant| out += &what_if_expected(variant));
    out += &what_if_simulated_head(what_if);
    what_if.all().for_each(|variant| out += &what_if_simulated(variant));
    out + &what_if_end(what_if)
}

/// Formats the question: the baseline, and the numbers of variants and simulations.
pub fn what_if_question(what_if: &WhatIf) -> String {
    let WhatIf { base: Variant { drive, workload, .. }, variants, seed, repeats, .. } = what_if;
    let each = match repeats {
        1 => format!("one simulation each, seed {seed}"),
        _ => format!("{repeats} simulations each, seeds from {seed}"),
    };
    let variants = match variants.len() {
        1 => "1 variant".into(),
        count => format!("{count} variants"),
    };
    format!("{workload} on {drive}: the baseline and {variants}; {each}\n")
}

/// Formats the heading of the predictions.
pub fn what_if_expected_head() -> String {
    format!("\n{}\n", row("expected by models", EXPECTED.map(|quantity| heading(quantity).into())))
}

/// Formats the prediction for a variant.
pub fn what_if_expected(variant: &Variant) -> String {
    let mut out = String::new();
    let Some(ClosedForm { expected, not_modelled, not_compared, .. }) = &variant.closed_form else {
        let reason = variant.not_predicted.as_deref().unwrap_or("not predicted yet");
        return format!("{}\n{:4}{}\n", variant.name, "", first_line(reason));
    };
    let of = |quantity| expected.iter().find(|expected| expected.quantity == quantity);
    let cells = EXPECTED.map(|quantity| of(quantity).map_or("-".into(), expected_value));
    line!(out, "{}", row(&variant.name, cells));
    let changes = EXPECTED.map(|quantity| {
        let relative = of(quantity).and_then(|expected| expected.relative);
        relative.map(|share| format!("{} %", percent(share))).unwrap_or_default()
    });
    if changes.iter().any(|change| !change.is_empty()) {
        line!(out, "{}", row("", changes));
    }
    let ends = EXPECTED.map(|quantity| of(quantity).map(within).unwrap_or_default());
    if ends.iter().any(|ends| !ends.is_empty()) {
        line!(out, "{}", row("", ends));
    }
    for what in not_modelled {
        line!(out, "{:4}not modelled: {what}", "");
    }
    if let Some(reason) = not_compared {
        line!(out, "{:4}no predicted change: {reason}", "");
    }
    out
}

/// Formats the heading of the simulations.
pub fn what_if_simulated_head(what_if: &WhatIf) -> String {
    let meaning = match what_if.repeats {
        1 => "below each value: the difference from the baseline",
        _ => {
            "below each value: the difference from the baseline, paired by seed, ± 95 %; ?: not significant"
        }
    };
    let headings = Quantity::SIMULATED.map(|quantity| heading(quantity).into());
    format!("\n{}\n{meaning}\n", row("simulated", headings))
}

/// Formats the simulated quantities of a variant.
pub fn what_if_simulated(variant: &Variant) -> String {
    let mut out = String::new();
    match (variant.status, &variant.reason) {
        (Some(RowStatus::Done), _) => {}
        (status, reason) => {
            let how = match status {
                Some(RowStatus::Impossible) => "impossible: ",
                Some(_) => "failed: ",
                None => "not simulated",
            };
            let reason = reason.as_deref().map(first_line).unwrap_or_default();
            return format!("{}\n{:4}{how}{reason}\n", variant.name, "");
        }
    }
    let of = |quantity| variant.simulated.iter().find(|one| one.quantity == quantity);
    let cells = Quantity::SIMULATED
        .map(|quantity| of(quantity).map_or("-".into(), |one| value(quantity, one.value.value)));
    line!(out, "{}", row(&variant.name, cells));
    let beneath = Quantity::SIMULATED.map(|quantity| of(quantity).map(beneath).unwrap_or_default());
    if beneath.iter().any(|text| !text.is_empty()) {
        line!(out, "{}", row("", beneath));
    }
    if let Some(Disagreement { quantity, relative }) = variant.disagreement {
        let (percent, side) =
            (100.0 * relative.abs(), if relative > 0.0 { "above" } else { "below" });
        line!(
            out,
            "{:4}the model is {percent:.0} % {side} the simulations in {}: trust the simulations",
            "",
            heading(quantity)
        );
    }
    out
}

/// Formats the numbers of variants that are impossible, failed or not simulated yet, if any, and
/// the conclusions.
pub fn what_if_end(what_if: &WhatIf) -> String {
    let mut counts = Vec::new();
    let mut add = |count: usize, how: &str| {
        if count > 0 {
            counts.push(format!("{count} {how}"));
        }
    };
    add(what_if.count(RowStatus::Impossible), "impossible");
    add(what_if.count(RowStatus::Failed), "failed");
    if what_if.status == WhatIfStatus::Unfinished {
        let left = what_if.variants.iter().filter(|variant| variant.status.is_none()).count();
        add(left, "not simulated: UNFINISHED");
    }
    let counts = match counts.is_empty() {
        true => String::new(),
        false => format!("\nof {} variants: {}\n", what_if.variants.len(), counts.join(", ")),
    };
    counts + &conclusions(&what_if.conclusions)
}

/// Formats a row of the table; a name that is too long gets its own line.
fn row<const N: usize>(name: &str, cells: [String; N]) -> String {
    let mut out = String::new();
    if name.chars().count() >= NAMES {
        let _ = write!(out, "{name}\n{:NAMES$}", "");
    } else {
        let _ = write!(out, "{name:NAMES$}");
    }
    for cell in cells {
        let _ = write!(out, "{cell:>CELLS$}");
    }
    out.trim_end().into()
}

pub(crate) fn heading(quantity: Quantity) -> &'static str {
    match quantity {
        Quantity::MeanLatency => "mean latency",
        Quantity::MedianLatency => "median latency",
        Quantity::P99Latency => "p99 latency",
        Quantity::P999Latency => "p99.9 latency",
        Quantity::IosPerSecond => "IOs/s",
        Quantity::Throughput => "MiB/s",
        Quantity::BytesPerSecond => "MiB/s if busy",
        Quantity::WriteAmplification => "WA",
        Quantity::ErasesPerGib => "erases/GiB",
        Quantity::Endurance => "endurance",
    }
}

#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // quantities are not negative
pub(crate) fn value(quantity: Quantity, value: f64) -> String {
    let whole = || value.round() as u64;
    match quantity {
        Quantity::MeanLatency
        | Quantity::MedianLatency
        | Quantity::P99Latency
        | Quantity::P999Latency => Nanos(whole()).to_string(),
        Quantity::Endurance => Bytes(whole()).to_string(),
        Quantity::Throughput | Quantity::BytesPerSecond => number(value / 1_048_576.0),
        _ => number(value),
    }
}

fn expected_value(expected: &ModelEstimate) -> String {
    value(expected.quantity, expected.value)
}

/// Formats the distance from the value to the farther end of the interval, in percent of the value.
fn within(ModelEstimate { value, low, high, .. }: &ModelEstimate) -> String {
    let off = low.zip(*high).map(|(low, high)| (high - value).max(value - low) / value);
    off.map(|off| format!("± {:.1} %", 100.0 * off)).unwrap_or_default()
}

/// Formats the difference from the baseline in percent; for the baseline itself, the precision of
/// its mean.
fn beneath(simulated: &SimulatedQuantity) -> String {
    let share = |half: f64, of: f64| 100.0 * (half / of).abs();
    let Some(difference) = &simulated.difference else {
        let half = simulated.value.half_width().map(|half| share(half, simulated.value.value));
        return half.map(|half| format!("± {half:.1} %")).unwrap_or_default();
    };
    let absolute = &difference.absolute;
    let Some(relative) = difference.relative else {
        return value(simulated.quantity, absolute.value.abs());
    };
    let sure = if difference.sign == 0 && absolute.value != 0.0 { "?" } else { "" };
    let before = absolute.value / relative;
    let half = absolute.half_width().filter(|half| *half > 0.0 && before.is_finite());
    let half = half.map(|half| format!("±{:.1}", share(half, before))).unwrap_or_default();
    format!("{sure}{}{half} %", percent(relative))
}

fn percent(share: f64) -> String {
    let text = format!("{:+.1}", 100.0 * share);
    if text[1..] == *"0.0" { "0.0".into() } else { text }
}

fn first_line(text: &str) -> &str {
    text.lines().next().unwrap_or_default()
}
