//! Formats the summary grid and the design hints as text.

use std::fmt::Write;

use flashscope_document::facts::Facts;
use flashscope_document::facts::{Hint, Interest, Judgement, Verdict};
use flashscope_workload::uflip;

/// Returns the mark of a verdict.
fn mark(interest: Interest) -> char {
    match interest {
        Interest::Interesting => '●',
        Interest::NotInteresting => '○',
        Interest::NotPerformed => '·',
    }
}

/// Returns the judgement on a hint in words.
fn word(judgement: Judgement) -> &'static str {
    match judgement {
        Judgement::Holds => "holds",
        Judgement::HoldsInPart => "holds in part",
        Judgement::DoesNotHold => "does not hold",
        Judgement::Undecided => "undecided",
        Judgement::NotMeasured => "not measured",
    }
}

/// Writes the grid (one row per micro-benchmark, with the reasons for interesting experiments) and
/// the hints. Writes nothing if no experiment has a verdict.
pub(crate) fn judgement(out: &mut String, facts: &Facts) {
    if facts.grid.iter().all(|verdict| verdict.interest == Interest::NotPerformed) {
        return;
    }
    line!(out, "\nSummary: ● interesting, ○ not interesting, · not performed");
    for row in facts.grid.chunk_by(|a, b| a.micro_benchmark == b.micro_benchmark) {
        grid_row(out, row);
    }
    line!(out, "\nDesign hints of uFLIP for this drive");
    for hint in &facts.hints {
        let Hint { number, title, judgement, finding, .. } = hint;
        line!(out, "  {number}. {title}: {}", word(*judgement));
        if *judgement != Judgement::NotMeasured {
            line!(out, "     {finding}");
        }
    }
}

fn grid_row(out: &mut String, row: &[Verdict]) {
    let name = &row[0].micro_benchmark;
    let cells: String =
        row.iter().map(|v| format!(" {} {:<6}", mark(v.interest), v.experiment)).collect();
    let title = uflip::find(name).map_or(name.as_str(), |benchmark| benchmark.title);
    line!(out, "  {title:<13}{}", cells.trim_end());
    for verdict in row.iter().filter(|verdict| verdict.interest == Interest::Interesting) {
        line!(out, "      {}: {}", verdict.experiment, verdict.reason);
    }
}
