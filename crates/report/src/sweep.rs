//! Formats sweeps as text.

use std::collections::BTreeMap;
use std::fmt::Write;

use flashscope_document::sweep::{
    Counts, Effect, Interaction, RegressionFit, Setting, SkippedPoint, Step, Sweep,
};
use flashscope_stats::Estimate;

use crate::conclusions::conclusions;
use crate::count::grouped;

/// The maximum number of lines of a section.
const MAX_LINES: usize = 40;

/// Formats a sweep as text.
pub fn sweep(sweep: &Sweep) -> String {
    let mut out = String::new();
    let Counts { points, done, impossible, failed, .. } = sweep.counts;
    let factors = sweep.factors.join(", ");
    line!(out, "{} points of {factors}; {} simulations each", grouped(points), sweep.repeats);
    line!(
        out,
        "{} simulations done, {} impossible, {} failed",
        grouped(done),
        grouped(impossible),
        grouped(failed)
    );
    out += &conclusions(&sweep.conclusions);
    skipped(&mut out, &sweep.skipped);
    front(&mut out, sweep);
    for objective in &sweep.objectives {
        let effects = sweep.effects.iter().filter(|effect| effect.objective == objective.field);
        section(&mut out, &effects_title(sweep, &objective.field), effects, effect);
        let all = sweep
            .interactions
            .iter()
            .filter(|interaction| interaction.objective == objective.field);
        let sure = all.filter(|interaction| interaction.sign != 0);
        section(
            &mut out,
            &format!("{}: significant interactions", objective.field),
            sure,
            interaction,
        );
    }
    out
}

/// Returns the title of the section with the effects on an objective.
fn effects_title(sweep: &Sweep, field: &str) -> String {
    match sweep.regressions.iter().find(|regressed| regressed.objective == field) {
        None => format!("{field}: effects, other things equal"),
        Some(RegressionFit { points, explained, .. }) => format!(
            "{field}: effects by linear regression over {} points; the regression explains \
             {:.1} % of the variance",
            grouped(*points),
            100.0 * explained
        ),
    }
}

/// Writes a title and a line for each item, or nothing if there are no items. Items above the limit
/// are only counted.
fn section<T>(
    out: &mut String,
    title: &str,
    items: impl Iterator<Item = T>,
    text: impl Fn(T) -> String,
) {
    let lines: Vec<String> = items.map(text).collect();
    if lines.is_empty() {
        return;
    }
    line!(out);
    line!(out, "{title}");
    for text in lines.iter().take(MAX_LINES) {
        line!(out, "  {text}");
    }
    if lines.len() > MAX_LINES {
        line!(out, "  and {} more", lines.len() - MAX_LINES);
    }
}

/// Writes each reason for skipping points once, with the number of points and an example.
fn skipped(out: &mut String, skipped: &[SkippedPoint]) {
    let mut reasons: BTreeMap<&str, (u64, &SkippedPoint)> = BTreeMap::new();
    for point in skipped {
        reasons.entry(&point.reason).or_insert((0, point)).0 += 1;
    }
    section(out, "skipped", reasons.iter(), |(reason, (count, first))| {
        let reason = reason.lines().next().unwrap_or_default();
        format!("{} points, such as {}: {reason}", grouped(*count), place(&first.settings))
    });
}

fn front(out: &mut String, sweep: &Sweep) {
    let objectives: Vec<String> = sweep.objectives.iter().map(ToString::to_string).collect();
    let title = format!("Pareto front: {}", objectives.join(", "));
    section(out, &title, sweep.front.iter(), |point| {
        let values: Vec<String> = point.values.iter().map(value).collect();
        format!("{:<44} {}", values.join("  "), place(&point.settings))
    });
}

fn place(settings: &[Setting]) -> String {
    let settings: Vec<String> =
        settings.iter().map(|Setting { factor, level }| format!("{factor}={level}")).collect();
    settings.join(" ")
}

fn value(estimate: &Estimate) -> String {
    match estimate.half_width() {
        Some(half) => format!("{} ± {}", number(estimate.value), number(half)),
        None => number(estimate.value),
    }
}

/// Formats a number with four significant digits, or as an integer from 1,000 on.
pub(crate) fn number(number: f64) -> String {
    match number.abs() {
        0.0 => "0".into(),
        size if size >= 1000.0 => format!("{number:.0}"),
        size if size >= 0.1 => {
            let whole = size.log10().floor().max(0.0);
            #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // 0 to 2
            let decimals = 3 - whole as usize;
            format!("{number:.decimals$}")
        }
        _ => format!("{number:.3e}"),
    }
}

fn step(Step { factor, from, to }: &Step) -> String {
    format!("{factor} {from} → {to}")
}

fn sign(sign: i8) -> char {
    match sign {
        1 => '+',
        -1 => '-',
        _ => '?',
    }
}

fn effect(effect: &Effect) -> String {
    let share = effect.relative.map(|share| format!(" ({:+.1} %)", 100.0 * share));
    let share = share.unwrap_or_default();
    format!("{} {:<44} {}{share}", sign(effect.sign), step(&effect.step), value(&effect.difference))
}

fn interaction(interaction: &Interaction) -> String {
    let [a, b] = &interaction.steps;
    format!(
        "{} {} with {}: {}",
        sign(interaction.sign),
        step(a),
        step(b),
        value(&interaction.difference)
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_four_digits() {
        let texts =
            [0.0, 1.23456, -12.3456, 123.456, 123_456.7, 0.0123456, 0.000_012_3].map(number);
        assert_eq!(texts, ["0", "1.235", "-12.35", "123.5", "123457", "1.235e-2", "1.230e-5"]);
    }
}
