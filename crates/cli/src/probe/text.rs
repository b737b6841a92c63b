//! Formats the report of a probe as text.

use std::fmt::Write;

use flashscope_block::Nanos;
use flashscope_document::probe::{
    Answer, Contradiction, PARAMETERS, ProbeReport, ProbeStatus, RunSummary, Spec, StatedFinding,
    Unit,
};
use flashscope_probe::PROBES;

use crate::print::layout;

/// The maximum number of columns of a line of explanation.
const WIDTH: usize = 96;

/// Formats the findings: first the known parameters with their evidence, then the unknown
/// parameters with the reason.
pub(crate) fn text(report: &ProbeReport) -> String {
    let mut out = String::new();
    head(&mut out, report);
    out += &flashscope_report::conclusions(&report.conclusions);
    let (known, unknown): (Vec<_>, Vec<_>) =
        report.findings.iter().partition(|stated| stated.finding.is_known());
    for stated in &known {
        line(&mut out, "");
        finding(&mut out, stated);
    }
    line(&mut out, "");
    if known.is_empty() {
        line(&mut out, "No parameter was determined.");
    }
    if !unknown.is_empty() {
        line(&mut out, "unknown:");
    }
    for (why, titles) in by_reason(&unknown) {
        wrapped(&mut out, "  ", &format!("{}: {why}", titles.join(", ")));
    }
    out
}

fn head(out: &mut String, report: &ProbeReport) {
    let drive = &report.drive;
    let model = drive.model.as_deref().map(|model| format!("{model}, ")).unwrap_or_default();
    line(out, &format!("{}: {model}{}", drive.name, drive.capacity));
    if let Some(engine) = &drive.engine {
        line(out, &format!("through {engine}"));
    }
    let runs: Vec<&RunSummary> = report.steps.iter().flat_map(|step| &step.runs).collect();
    let ios: u64 = runs.iter().map(|run| run.ios).sum();
    let capacity = drive.capacity.0.max(1);
    // The number of bytes is far below 2^53.
    #[allow(clippy::cast_precision_loss)]
    let times = report.used.bytes_written.0 as f64 / capacity as f64;
    let interrupted = match report.status {
        ProbeStatus::Complete => "",
        ProbeStatus::Interrupted => "INTERRUPTED: ",
        ProbeStatus::Failed => "FAILED: ",
    };
    line(
        out,
        &format!(
            "{interrupted}{} experiments, {} runs, {ios} IOs; {} written ({times:.2} times the \
             drive) in {} of the drive's time",
            report.steps.len(),
            runs.len(),
            report.used.bytes_written,
            report.used.time_ns.unwrap_or(Nanos(0)),
        ),
    );
    for (step, contradiction) in contradictions(report) {
        let what = contradiction.parameter.spec().title;
        wrapped(out, "", &format!("{step} contradicted `{what}`: {}", contradiction.because));
    }
}

fn contradictions(report: &ProbeReport) -> impl Iterator<Item = (&str, &Contradiction)> {
    report.steps.iter().flat_map(move |step| {
        let name = step.probe.as_str();
        step.contradicted.iter().map(move |contradicted| (name, contradicted))
    })
}

fn finding(out: &mut String, stated: &StatedFinding) {
    let finding = &stated.finding;
    let probability = percent(finding.probability);
    line(out, &format!("{:<34}{:<34}{probability}", stated.title, finding.text()));
    if !finding.because.is_empty() {
        wrapped(out, "    ", &finding.because);
    }
    if !finding.runs.is_empty() {
        let noun = if finding.runs.len() == 1 { "run" } else { "runs" };
        wrapped(out, "    ", &format!("{noun} {}", ranges(&finding.runs)));
    }
}

/// Formats numbers in their order, with three or more consecutive numbers as a range.
fn ranges(numbers: &[u32]) -> String {
    let rows = numbers.chunk_by(|a, b| a.checked_add(1) == Some(*b));
    let words = rows.flat_map(|row| match row {
        [first, _, .., last] => vec![format!("{first} to {last}")],
        few => few.iter().map(ToString::to_string).collect(),
    });
    words.collect::<Vec<_>>().join(", ")
}

/// Formats a probability, which never reaches 100 %.
fn percent(probability: f64) -> String {
    match probability {
        p if p > 0.9985 => "> 99.8 %".into(),
        p => format!("{:.1} %", 100.0 * p),
    }
}

/// Groups unknown parameters by the reason, in the order of first occurrence.
fn by_reason<'r>(unknown: &[&'r StatedFinding]) -> Vec<(&'r str, Vec<String>)> {
    let mut reasons: Vec<(&str, Vec<String>)> = Vec::new();
    for stated in unknown {
        let Answer::Unknown { why } = &stated.finding.answer else { continue };
        let title = stated.title.clone();
        match reasons.iter_mut().find(|(known, _)| known == why) {
            Some((_, titles)) => titles.push(title),
            None => reasons.push((why, vec![title])),
        }
    }
    reasons
}

/// Lists the parameters and the probes.
pub(super) fn list() -> String {
    let mut out = String::from("parameters (--only):\n");
    for spec in PARAMETERS {
        line(&mut out, &format!("  {:<20} {} ({})", spec.name, spec.title, unit(spec)));
        wrapped(&mut out, "      ", spec.summary);
    }
    line(&mut out, "\nprobes:");
    for probe in PROBES {
        let finds: Vec<&str> = probe.finds.iter().map(|parameter| parameter.name()).collect();
        line(&mut out, &format!("  {}: finds {}", probe.name, finds.join(", ")));
        wrapped(&mut out, "      ", probe.summary);
    }
    out
}

/// Describes the values of a parameter.
fn unit(spec: &Spec) -> String {
    match spec.unit {
        Unit::Bytes => "bytes".into(),
        Unit::Nanoseconds => "time".into(),
        Unit::Count => "a number".into(),
        Unit::Share => "a share".into(),
        Unit::Class => spec.classes.join(", "),
    }
}

fn line(out: &mut String, text: &str) {
    writeln!(out, "{text}").expect("a String can always be written to");
}

/// Writes a text in lines of at most [`WIDTH`], each after `indent`; further lines are indented by
/// two more columns.
fn wrapped(out: &mut String, indent: &str, text: &str) {
    *out += &layout::wrapped(text, indent, &format!("{indent}  "), WIDTH);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn three_consecutive_runs_become_a_range() {
        assert_eq!(ranges(&[4]), "4");
        assert_eq!(ranges(&[4, 5, 7]), "4, 5, 7");
        assert_eq!(ranges(&[1, 12, 13, 14, 15, 20, 21, 22]), "1, 12 to 15, 20 to 22");
        assert_eq!(ranges(&[4, 3, 5, 6, 7, u32::MAX]), "4, 3, 5 to 7, 4294967295");
    }
}
