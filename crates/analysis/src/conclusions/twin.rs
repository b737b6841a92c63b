//! The conclusions of a twin and of its predictions.

use flashscope_document::conclusion::{Conclusion, Evidence, EvidenceUnit, PageSection};
use flashscope_document::twin::{Extrapolation, Quantity, Range, Twin, TwinPrediction};
use flashscope_stats::Estimate;

use crate::words::{duration, list, number, percent, rate, with_interval};

/// Maximum number of fields to name.
const MAX_NAMED: usize = 3;

pub(super) fn conclusions(twin: &Twin) -> Vec<Conclusion> {
    let all = [runs(twin), fill(twin), open(twin)];
    all.into_iter().flatten().collect()
}

fn exact(value: f64) -> Estimate {
    Estimate::symmetric(value, None)
}

const fn estimate(Range { value, low, high }: Range) -> Estimate {
    Estimate { value, low: Some(low), high: Some(high) }
}

fn runs(twin: &Twin) -> Option<Conclusion> {
    twin.misfit?;
    let [mean, p99] = twin.spread;
    let share = percent(twin.confidence);
    let text = format!(
        "In {share} of the {} runs it was fitted to, the twin's mean response time is within a factor of {} of the drive's, \
         and its 99th percentile within {}.",
        twin.runs.len(),
        number(mean),
        number(p99)
    );
    let evidence = |what, value| {
        Evidence::shown_in(PageSection::FittedRuns, what, exact(value), EvidenceUnit::Ratio)
    };
    let all = vec![
        evidence("factor that covers the means", mean),
        evidence("factor that covers the 99th percentiles", p99),
    ];
    Some(Conclusion::new(text, all))
}

fn fill(twin: &Twin) -> Option<Conclusion> {
    let fit = twin.fill.as_ref()?;
    let best = fit.policies.first()?;
    let as_well: Vec<String> = fit
        .policies
        .iter()
        .filter(|policy| policy.fits_as_well)
        .map(|policy| policy.model.policy.clone())
        .collect();
    let which = match as_well.len() {
        0 | 1 => format!("the model with {} cleaning", best.model.policy),
        _ => format!("the models with {} cleaning equally well", list(&as_well)),
    };
    let error = percent(best.error);
    let text = format!("The fill sweep fits {which}, to within {error}.");
    let what = format!("error of the model with {} cleaning", best.model.policy);
    let evidence =
        Evidence::shown_in(PageSection::FillSweep, what, exact(best.error), EvidenceUnit::Share);
    Some(Conclusion::new(text, vec![evidence]))
}

/// Returns the fields that the measurements do not determine, and the next measurement to make.
#[allow(clippy::cast_precision_loss, reason = "fields are few")]
fn open(twin: &Twin) -> Option<Conclusion> {
    let times = twin.times.iter().filter(|time| !time.is_determined).map(|time| &time.field);
    let choices = twin.choices.iter().filter(|choice| !choice.as_well.is_empty());
    let fields: Vec<String> = times.chain(choices.map(|choice| &choice.field)).cloned().collect();
    let next = twin.measure_next.first();
    if fields.is_empty() && next.is_none() {
        return None;
    }
    let mut named: Vec<String> = fields.iter().take(MAX_NAMED).cloned().collect();
    if let more @ 1.. = fields.len().saturating_sub(MAX_NAMED) {
        named.push(format!("{more} more fields"));
    }
    let open = match fields.len() {
        0 => "To narrow the twin".to_string(),
        1 => format!("The measurements do not determine {}", named[0]),
        _ => format!("The measurements do not determine {}", list(&named)),
    };
    let next = next.map(|next| match fields.len() {
        0 => format!(", measure next: {next}"),
        _ => format!("; measure next: {next}"),
    });
    let text = format!("{open}{}.", next.unwrap_or_default().trim_end_matches('.'));
    let (what, value) = ("fields that the measurements do not determine", fields.len() as f64);
    let evidence =
        Evidence::shown_in(PageSection::Fields, what, exact(value), EvidenceUnit::Number);
    Some(Conclusion::new(text, vec![evidence]))
}

/// Returns the conclusions of the prediction of a twin.
pub(super) fn of_prediction(prediction: &TwinPrediction) -> Vec<Conclusion> {
    let all = [performance(prediction), writes(prediction), extrapolation(prediction)];
    all.into_iter().flatten().collect()
}

fn shown(what: &str, range: Range, unit: EvidenceUnit) -> Evidence {
    Evidence::shown_in(PageSection::Numbers, what, estimate(range), unit)
}

fn performance(prediction: &TwinPrediction) -> Option<Conclusion> {
    let (speed, latency) = (prediction.bytes_per_second, &prediction.latency_ns);
    let text = format!(
        "Expect {} at queue depth {}, with an average response time of {} and a 99th percentile of {}.",
        with_interval(&estimate(speed), rate),
        prediction.queue_depth,
        with_interval(&estimate(latency.mean), duration),
        with_interval(&estimate(latency.p99), duration)
    );
    let all = vec![
        shown("throughput", speed, EvidenceUnit::BytesPerSecond),
        shown("mean response time", latency.mean, EvidenceUnit::Nanoseconds),
        shown("99th percentile", latency.p99, EvidenceUnit::Nanoseconds),
    ];
    Some(Conclusion::new(text, all))
}

fn writes(prediction: &TwinPrediction) -> Option<Conclusion> {
    let amplification = prediction.write_amplification?;
    let all = vec![shown("write amplification", amplification, EvidenceUnit::Number)];
    let text = match prediction.is_amplification_identified {
        true => format!(
            "Expect a write amplification of {}.",
            with_interval(&estimate(amplification), number)
        ),
        false => format!(
            "Response times alone do not determine write amplification, between {} and {}: read the drive's counters as well.",
            number(amplification.low),
            number(amplification.high)
        ),
    };
    Some(Conclusion::new(text, all))
}

fn extrapolation(prediction: &TwinPrediction) -> Option<Conclusion> {
    let Extrapolation { quantity, value, min, max, widened, .. } =
        prediction.extrapolated.first()?;
    let (what, measure) = match quantity {
        Quantity::Fill => ("the data on the drive", "with as much data on the drive"),
        Quantity::QueueDepth => ("the IOs in flight", "with as many IOs in flight"),
    };
    let text = format!(
        "The prediction is outside the measured range of {what}: measure the drive {measure} before you rely on it."
    );
    let evidence = vec![
        Evidence::shown_in(PageSection::Numbers, what, exact(*value), EvidenceUnit::Number),
        Evidence::shown_in(
            PageSection::Numbers,
            "least measured",
            exact(*min),
            EvidenceUnit::Number,
        ),
        Evidence::shown_in(
            PageSection::Numbers,
            "most measured",
            exact(*max),
            EvidenceUnit::Number,
        ),
        Evidence::shown_in(
            PageSection::Numbers,
            "factor that widens the intervals",
            exact(*widened),
            EvidenceUnit::Ratio,
        ),
    ];
    Some(Conclusion::new(text, evidence))
}
