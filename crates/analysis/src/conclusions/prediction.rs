//! The conclusions of a prediction by a model.

use flashscope_document::conclusion::{Conclusion, Evidence, EvidenceUnit, PageSection};
use flashscope_document::prediction::{LifetimeReport, PredictedValue, PredictionReport};
use flashscope_stats::Estimate;

use crate::words::{number, percent, rate, rounded, with_interval};

pub(super) fn conclusions(report: &PredictionReport) -> Vec<Conclusion> {
    let all = [performance(report), lifetime(report), trust(report)];
    all.into_iter().flatten().collect()
}

fn estimate(predicted: &PredictedValue) -> Estimate {
    let ends = predicted.interval;
    Estimate {
        value: predicted.value,
        low: ends.map(|ends| ends.low),
        high: ends.map(|ends| ends.high),
    }
}

fn evidence(what: &str, value: Estimate, unit: EvidenceUnit) -> Evidence {
    Evidence::shown_in(PageSection::Numbers, what, value, unit)
}

fn performance(report: &PredictionReport) -> Option<Conclusion> {
    let throughput = estimate(&report.bytes_per_second);
    let mut all = vec![evidence("throughput", throughput, EvidenceUnit::BytesPerSecond)];
    let speed = with_interval(&throughput, rate);
    let limit = match report.model.as_str() {
        "grid" => format!("one write at a time reaches {speed}"),
        _ => format!("writes that keep all packages busy reach about {speed}"),
    };
    let Some(amplification) = report.write_amplification.as_ref().map(estimate) else {
        let text = format!("On this drive {limit}.");
        return Some(Conclusion::new(text, all));
    };
    all.insert(0, evidence("write amplification", amplification, EvidenceUnit::Number));
    // Without an interval, the error is unknown.
    let has_interval = report.write_amplification.is_some_and(|one| one.interval.is_some());
    let begin = if has_interval { "Expect" } else { "A rough estimate is" };
    let text = format!(
        "{begin} a write amplification of {}; {limit}.",
        with_interval(&amplification, number)
    );
    Some(Conclusion::new(text, all))
}

fn lifetime(report: &PredictionReport) -> Option<Conclusion> {
    let LifetimeReport { days, .. } = report.lifetime?;
    let days = estimate(&days);
    let evenly = if days.low.is_some() { "" } else { ", if all wear evenly" };
    let text = format!("The blocks wear out after {} days{evenly}.", with_interval(&days, rounded));
    Some(Conclusion::new(text, vec![evidence("days until worn out", days, EvidenceUnit::Days)]))
}

/// Returns the error of the prediction relative to a simulation. Without a simulation, returns why
/// the prediction has no interval and how to check it; `None` if it has one.
#[allow(clippy::cast_precision_loss, reason = "validation cases are few")]
fn trust(report: &PredictionReport) -> Option<Conclusion> {
    let cases = Estimate::symmetric(report.validation.cases as f64, None);
    let cases = evidence("validation cases", cases, EvidenceUnit::Number);
    if let Some(simulated) = &report.simulated {
        let error = simulated.write_amplification_error?;
        let side = if error > 0.0 { "above" } else { "below" };
        let text = format!(
            "The simulated write amplification is {}: the prediction is {} {side} it.",
            number(simulated.write_amplification),
            percent(error.abs())
        );
        let what = "write amplification, predicted relative to simulated";
        let error = Estimate::symmetric(error, None);
        return Some(Conclusion::new(text, vec![evidence(what, error, EvidenceUnit::Share)]));
    }
    let amplification = report.write_amplification.and_then(|predicted| predicted.interval);
    if report.bytes_per_second.interval.or(amplification).is_some() {
        return None;
    }
    let why = match (&report.not_modelled[..], report.passes.converged) {
        ([first, ..], _) => format!("the model leaves out {first}"),
        ([], false) => "the prediction has not converged".into(),
        ([], true) => "too few cases validate it".into(),
    };
    let text = format!("There is no interval, because {why}: check the prediction with --compare.");
    Some(Conclusion::new(text, vec![cases]))
}
