//! Formats a prediction as text.

use std::fmt::Write;

use flashscope_block::Bytes;
use flashscope_document::prediction::{
    LifetimeReport, PredictedValue, PredictionReport, SimulatedReport,
};
use flashscope_model::MODELS;
use flashscope_predict::METHODS;
use flashscope_predict::long_run::{LONG_RUN_MODELS, LongRunModel};

/// Lists the models.
pub(super) fn list() -> String {
    let mut text = String::from(
        "models (--model) that process every request, the most accurate for their FTL:\n",
    );
    for method in METHODS {
        let _ = writeln!(
            text,
            "  {:<14} {} ({})\n{:17}{}",
            method.name,
            method.summary,
            method.ftls().collect::<Vec<_>>().join(", "),
            "",
            method.source
        );
    }
    text += "\nmodels of the long run of synthetic workloads on page-mapped drives (the default for these):\n";
    for model in LONG_RUN_MODELS {
        let LongRunModel { name, summary, source, .. } = model;
        let _ = writeln!(text, "  {name:<24} {summary}\n{:27}{source}", "");
    }
    text += "\nmodels of uniform writes, applied to intervals of time and ranges of addresses:\n";
    for model in MODELS {
        let _ = writeln!(text, "  {:<14} {}\n{:17}{}", model.name, model.summary, "", model.source);
    }
    text
}

/// Formats a prediction.
pub(crate) fn text(report: &PredictionReport) -> String {
    let passes = &report.passes;
    let mut text = format!(
        "{} on {} ({}), predicted by {}\n",
        report.workload, report.drive, report.ftl, report.model
    );
    text += &flashscope_report::conclusions(&report.conclusions);
    text.push('\n');
    let mut line = |name: &str, value: String| {
        let _ = writeln!(text, "{name:<24} {value}");
    };
    line(
        "written by the host",
        format!("{} ({} pages)", report.bytes_written, report.host_pages_written),
    );
    for (name, predicted, digits) in [
        ("blocks erased", &report.erases, 0),
        ("write amplification", &report.write_amplification, 3),
    ] {
        predicted.iter().for_each(|predicted| line(name, number(predicted, digits)));
    }
    if let Some(throughput) = &report.equivalent_throughput {
        line("equivalent throughput", number(throughput, 3));
    }
    let measured = report.model == "grid";
    let (time, rate) = match measured {
        true => ("time for a page", "throughput"),
        false => ("flash time for a page", "throughput if busy"),
    };
    line(time, format!("{} us", scaled(&report.ns_per_page, 1e-3, 1)));
    line(rate, format!("{} MiB/s", scaled(&report.bytes_per_second, 1.0 / 1_048_576.0, 1)));
    if let Some(lifetime) = &report.lifetime {
        lifetime_lines(&mut line, lifetime);
    }
    if let Some(simulated) = &report.simulated {
        simulated_lines(&mut line, simulated, report);
    }
    text += "\n";
    let counted = match passes.converged {
        true if measured => "combined from intervals of time and ranges of addresses",
        true => "counted, in two halves that agree",
        false => "counted, although the prediction still changes",
    };
    if LongRunModel::named(&report.model).is_some() {
        text += "computed for the long run; the counts are those of one pass (--ios) in it\n";
    } else {
        let _ =
            writeln!(text, "passes: {} to warm up, {} {counted}", passes.warm_up, passes.counted);
    }
    let level = report.validation.level * 100.0;
    let interval = report.erases.and_then(|erases| erases.interval);
    let _ = match interval {
        Some(_) => writeln!(
            text,
            "intervals contain {level:.0} % of {} cases that compare {} with the simulator",
            report.validation.cases, report.model
        ),
        None if !report.not_modelled.is_empty() => writeln!(
            text,
            "no intervals: the validation cases of {} do not cover the parts listed as not modelled",
            report.model
        ),
        None if !passes.converged => {
            writeln!(text, "no intervals: the prediction has not converged")
        }
        None => writeln!(
            text,
            "no intervals: {} validation cases of {} are too few for a {level:.0} % interval",
            report.validation.cases, report.model
        ),
    };
    for what in &report.not_modelled {
        let _ = writeln!(text, "not modelled: {what}");
    }
    text
}

fn lifetime_lines(line: &mut impl FnMut(&str, String), lifetime: &LifetimeReport) {
    let whole = |bytes: f64| Bytes(rounded(bytes));
    let left = &lifetime.endurance_left_bytes;
    let ends = left.interval.map(|ends| format!(" ({} to {})", whole(ends.low), whole(ends.high)));
    line("endurance left", format!("{}{}", whole(left.value), ends.unwrap_or_default()));
    line("written per day", whole(lifetime.bytes_per_day).to_string());
    line("days until worn out", number(&lifetime.days, 0));
}

#[allow(clippy::cast_precision_loss, reason = "times are below 2^53 ns")]
fn simulated_lines(
    line: &mut impl FnMut(&str, String),
    simulated: &SimulatedReport,
    report: &PredictionReport,
) {
    line(
        "simulated: erased",
        format!("{:.0}{}", simulated.erases, deviation(simulated.erases_error)),
    );
    line(
        "simulated: WA",
        format!(
            "{:.3}{}",
            simulated.write_amplification,
            deviation(simulated.write_amplification_error)
        ),
    );
    line(
        "simulated: a page",
        format!("{:.1} us, one request at a time", simulated.simulated_ns_per_page / 1e3),
    );
    let times = simulated.wall_ns as f64 / report.wall_ns.max(1) as f64;
    line("simulation time", format!("{times:.0} times as long"));
}

/// Formats the error of a prediction.
fn deviation(error: Option<f64>) -> String {
    error.map(|error| format!(" (predicted {:+.1} %)", 100.0 * error)).unwrap_or_default()
}

fn number(predicted: &PredictedValue, digits: usize) -> String {
    scaled(predicted, 1.0, digits)
}

fn scaled(predicted: &PredictedValue, scale: f64, digits: usize) -> String {
    let ends = predicted
        .interval
        .map(|ends| format!(" ({:.digits$} to {:.digits$})", scale * ends.low, scale * ends.high));
    format!("{:.digits$}{}", scale * predicted.value, ends.unwrap_or_default())
}

#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "the cast saturates")]
fn rounded(bytes: f64) -> u64 {
    bytes.round() as u64
}
