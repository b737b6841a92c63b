//! Formats comparisons as text.

use std::fmt::Write;

use flashscope_document::comparison::{
    ComparedKind, ComparedNumber, ComparedWorkload, Comparison, ComparisonVerdict, Rank,
    Regression, RegressionCheck,
};
use flashscope_stats::Estimate;

use crate::table::Align::{self, Left, Right};
use crate::table::Table;
use crate::what_if::{heading, value};

/// The maximum length of a result's name in the header of a column, in characters.
const LONGEST_NAME: usize = 12;

/// The columns of a table: quantities, values of the baseline, then the values of each other result
/// and their ratios to the baseline. Comparisons have at most six results.
const COLUMNS: [Align; 12] =
    [Left, Right, Right, Left, Right, Left, Right, Left, Right, Left, Right, Left];

/// Formats a comparison as text: the conclusions, then a table for each workload.
pub fn comparison(comparison: &Comparison) -> String {
    let mut out = String::new();
    for (nth, result) in comparison.results.iter().enumerate() {
        let kind = match result.kind {
            ComparedKind::Measurement => "measurement",
            ComparedKind::Simulation => "simulation",
            ComparedKind::WhatIf => "what-if",
            ComparedKind::Prediction => "prediction of a model",
            ComparedKind::TwinPrediction => "prediction of a twin",
        };
        let role = if nth == 0 { ", the baseline" } else { "" };
        line!(out, "{}: {kind} of {}{role}", result.name, result.drive);
    }
    line!(out);
    comparison.conclusions.iter().for_each(|conclusion| line!(out, "{}", conclusion.text));
    comparison.differing_conditions.iter().for_each(|text| line!(out, "{text}"));
    ranking(&mut out, comparison);
    if let Some(check) = &comparison.regressions {
        regressions(&mut out, comparison, check);
    }
    comparison.workloads.iter().for_each(|one| workload(&mut out, comparison, one));
    if !comparison.workloads.is_empty() {
        line!(out);
        line!(
            out,
            "in parentheses: the 95 % interval of each ratio to the baseline, for all numbers at once"
        );
    }
    out
}

/// Returns a share as percent, with at most one decimal.
fn percent_text(share: f64) -> String {
    ((1000.0 * share).round() / 10.0).to_string()
}

fn ranking(out: &mut String, comparison: &Comparison) {
    if comparison.ranking.len() < 3 {
        return;
    }
    line!(out);
    line!(out, "by mean latency over the workloads that all share:");
    for Rank { result, place, speed } in &comparison.ranking {
        let name = &comparison.results[*result as usize].name;
        line!(out, "{place:3}. {name}: {} times the speed of the baseline", within(speed));
    }
}

fn regressions(out: &mut String, comparison: &Comparison, check: &RegressionCheck) {
    let RegressionCheck { limit, found, undecided, not_judged } = check;
    let percent = percent_text(*limit);
    line!(out);
    if found.is_empty() {
        line!(out, "no regression beyond {percent} %");
    }
    let of = |Regression { result, workload, quantity, .. }: &Regression| {
        let name = &comparison.results[*result as usize].name;
        format!("    {name}, {workload}: {}", heading(*quantity))
    };
    if !found.is_empty() {
        line!(out, "regressions beyond {percent} %:");
        for one in found {
            let low = one.loss.low.map_or("?".into(), percent_text);
            match one.loss.high {
                Some(high) => line!(out, "{} worse by {low} to {} %", of(one), percent_text(high)),
                None => line!(out, "{} worse by at least {low} %", of(one)),
            }
        }
    }
    if !undecided.is_empty() {
        line!(out, "inconclusive: a regression beyond {percent} % is possible; use longer runs:");
        for one in undecided {
            match one.loss.high {
                Some(high) => line!(out, "{} worse by up to {} %", of(one), percent_text(high)),
                None => line!(out, "{}", of(one)),
            }
        }
    }
    if *not_judged > 0 {
        line!(out, "numbers that have no interval and are not judged: {not_judged}");
    }
}

fn workload(out: &mut String, comparison: &Comparison, one: &ComparedWorkload) {
    line!(out);
    line!(out, "{}", one.name);
    let mut table = Table::new(&COLUMNS);
    let names = comparison.results.iter().map(|result| [short(&result.name), String::new()]);
    table.row(cells(String::new(), names));
    for compared in &one.quantities {
        let numbers = compared.results.iter().map(|result| {
            let shown = result.value.map(|found| value(compared.quantity, found.value));
            [shown.unwrap_or_else(|| "-".into()), beside(result)]
        });
        table.row(cells(heading(compared.quantity).into(), numbers));
    }
    let _ = write!(out, "{table}");
}

/// Returns the cells of a row: its name, and two for each result but the baseline, which has no
/// ratio.
fn cells(name: String, results: impl Iterator<Item = [String; 2]>) -> Vec<String> {
    let results = results.enumerate();
    let numbers =
        results.flat_map(|(nth, [value, ratio])| [Some(value), (nth > 0).then_some(ratio)]);
    [name].into_iter().chain(numbers.flatten()).collect()
}

/// Returns the ratio to the baseline with its interval and its verdict.
fn beside(result: &ComparedNumber) -> String {
    let Some(ratio) = &result.ratio else { return String::new() };
    let verdict = match result.verdict {
        Some(ComparisonVerdict::Better) => " better",
        Some(ComparisonVerdict::Worse) => " worse",
        Some(ComparisonVerdict::Equivalent) => " same",
        Some(ComparisonVerdict::Inconclusive) => " ?",
        None => "",
    };
    format!("×{}{verdict}", within(ratio))
}

fn within(estimate: &Estimate) -> String {
    let digits = |x: f64| format!("{x:.2}");
    match (estimate.low, estimate.high) {
        (Some(low), Some(high)) => {
            format!("{} ({} to {})", digits(estimate.value), digits(low), digits(high))
        }
        (Some(low), None) => format!("{} (at least {})", digits(estimate.value), digits(low)),
        _ => digits(estimate.value),
    }
}

/// Returns the end of a long name, which distinguishes it from others.
fn short(name: &str) -> String {
    let count = name.chars().count();
    match count < LONGEST_NAME {
        true => name.into(),
        false => format!("…{}", name.chars().skip(count + 2 - LONGEST_NAME).collect::<String>()),
    }
}
