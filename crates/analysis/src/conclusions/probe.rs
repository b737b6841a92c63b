//! The conclusions of a probe.

use flashscope_document::conclusion::{Conclusion, Evidence, EvidenceUnit, PageSection};
use flashscope_document::probe::{Answer, Finding, Parameter, ProbeReport, StatedFinding, Unit};
use flashscope_stats::Estimate;

use crate::words::list;

/// The probability from which a finding counts as known.
const SURE: f64 = 0.9;

/// The parameters by which a reader recognizes a drive, the most telling first.
const TELLING: [Parameter; 7] = [
    Parameter::Medium,
    Parameter::FtlClass,
    Parameter::PageSize,
    Parameter::Parallelism,
    Parameter::WriteBuffer,
    Parameter::OverProvisioning,
    Parameter::MapCache,
];

/// Maximum number of findings in the first sentence.
const MAX_FINDINGS: usize = 4;

pub(super) fn conclusions(report: &ProbeReport) -> Vec<Conclusion> {
    let all = [found(report), advice(report), unknown(report)];
    all.into_iter().flatten().collect()
}

fn is_sure(stated: &StatedFinding) -> bool {
    stated.finding.is_known() && stated.finding.probability >= SURE
}

fn sure(report: &ProbeReport, parameter: Parameter) -> Option<&StatedFinding> {
    let is_one = |stated: &&StatedFinding| stated.finding.parameter == parameter;
    report.findings.iter().find(is_one).filter(|stated| is_sure(stated))
}

/// Returns the evidence of a finding: its value or, for a class, its probability.
fn evidence(stated: &StatedFinding) -> Evidence {
    let StatedFinding { title, unit, finding, .. } = stated;
    let unit = match unit {
        Unit::Bytes => EvidenceUnit::Bytes,
        Unit::Nanoseconds => EvidenceUnit::Nanoseconds,
        Unit::Count => EvidenceUnit::Number,
        Unit::Share | Unit::Class => EvidenceUnit::Share,
    };
    let (what, value, unit) = match finding.answer {
        Answer::Value { value, low, high } => {
            (title.clone(), Estimate { value, low: Some(low), high: Some(high) }, unit)
        }
        _ => {
            let probability = Estimate::symmetric(finding.probability, None);
            (format!("{title}: {}, probability", finding.text()), probability, EvidenceUnit::Share)
        }
    };
    let evidence = Evidence::shown_in(PageSection::Findings, what, value, unit);
    Evidence { runs: finding.runs.clone(), ..evidence }
}

fn found(report: &ProbeReport) -> Option<Conclusion> {
    let all = report.findings.iter().filter(|stated| is_sure(stated)).count();
    let named: Vec<&StatedFinding> = TELLING
        .into_iter()
        .filter_map(|parameter| sure(report, parameter))
        .take(MAX_FINDINGS)
        .collect();
    if report.findings.is_empty() || named.is_empty() {
        return None;
    }
    let words: Vec<String> = named
        .iter()
        .map(|stated| format!("{} {}", lower(&stated.title), stated.finding.text()))
        .collect();
    let text = format!(
        "The probe determined {all} of {} parameters with a probability of at least 90 %: {}.",
        report.findings.len(),
        list(&words)
    );
    Some(Conclusion::new(text, named.into_iter().map(evidence).collect()))
}

/// Returns a title as it appears inside a sentence: with a small first letter, unless it begins
/// with an abbreviation.
fn lower(title: &str) -> String {
    let mut letters = title.chars();
    match (letters.next(), letters.clone().next()) {
        (Some(first), Some(second)) if second.is_lowercase() => {
            first.to_lowercase().chain(letters).collect()
        }
        _ => title.into(),
    }
}

/// Returns advice on the use of the drive, if the findings support any.
fn advice(report: &ProbeReport) -> Option<Conclusion> {
    let value = |stated: &Finding| stated.text();
    let mut words = Vec::new();
    let mut all = Vec::new();
    if let Some(page) = sure(report, Parameter::PageSize) {
        words.push(format!("write whole pages of {}", value(&page.finding)));
        all.push(evidence(page));
    }
    if let Some(open) = sure(report, Parameter::OpenPartitions) {
        words.push(format!(
            "write sequentially to at most {} regions at once",
            value(&open.finding)
        ));
        all.push(evidence(open));
    }
    let units = sure(report, Parameter::Parallelism);
    if let Some(units) = units.filter(|one| one.finding.answer.whole().is_some_and(|n| n > 1)) {
        words.push(format!("keep at least {} reads in flight", value(&units.finding)));
        all.push(evidence(units));
    }
    let (first, rest) = words.split_first()?;
    let mut sentence: String = first.chars().next()?.to_uppercase().collect();
    sentence += &first[1..];
    let parts: Vec<String> = std::iter::once(sentence).chain(rest.iter().cloned()).collect();
    Some(Conclusion::new(format!("{}.", list(&parts)), all))
}

#[allow(clippy::cast_precision_loss, reason = "parameters are few")]
fn unknown(report: &ProbeReport) -> Option<Conclusion> {
    let unknown: Vec<&StatedFinding> =
        report.findings.iter().filter(|stated| !stated.finding.is_known()).collect();
    if unknown.is_empty() {
        return None;
    }
    let doubtful = report.findings.iter().filter(|one| one.finding.is_known() && !is_sure(one));
    let doubtful = doubtful.count();
    let mut text = match unknown.len() {
        1 => format!("{} is not known", unknown[0].title),
        count => format!("{count} parameters are not known"),
    };
    match doubtful {
        0 => {}
        1 => text += ", and one more is less likely than 90 %",
        _ => text += &format!(", and {doubtful} more are less likely than 90 %"),
    }
    text += ": the findings state the reasons.";
    let value = Estimate::symmetric(unknown.len() as f64, None);
    let what = "parameters that are not known";
    let evidence = Evidence::shown_in(PageSection::Unknown, what, value, EvidenceUnit::Number);
    Some(Conclusion::new(text, vec![evidence]))
}
