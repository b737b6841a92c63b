//! Formats twins as text.

use std::fmt::Write;

use flashscope_block::Nanos;
use flashscope_document::twin::{
    AmplificationRange, Check, DepthSource, Extrapolation, FillFit, MeasuredDepth, Quantity, Range,
    Twin, TwinPrediction,
};

/// Formats a twin: its times, its choices and its misfit.
pub(crate) fn twin(twin: &Twin) -> String {
    let mut text = format!("the twin of {}\n", twin.drive);
    text += &flashscope_report::conclusions(&twin.conclusions);
    text.push('\n');
    let percent = 100.0 * twin.confidence;
    if let Some(fill) = &twin.fill {
        text += &fill_sweep(fill, percent);
    }
    twin.queue_depth.iter().for_each(|depth| text += &queue_depth(*depth));
    for time in &twin.times {
        let Range { value, low, high } = time.nanos;
        let _ = match time.is_determined {
            true => {
                let ends = format!("{} to {}", nanos(low), nanos(high));
                writeln!(text, "{:<32} {:<12} {percent:.0} %: {ends}", time.field, nanos(value))
            }
            false => writeln!(text, "{:<32} not determined by the measurements", time.field),
        };
    }
    for choice in &twin.choices {
        let as_well = match choice.as_well.is_empty() {
            true => String::new(),
            false => format!("cannot be distinguished from {}", choice.as_well.join(", ")),
        };
        let _ = writeln!(text, "{:<32} {:<12} {as_well}", choice.field, choice.value);
    }
    if let Some(misfit) = twin.misfit {
        let _ = writeln!(
            text,
            "\nmisfit {misfit:.3} over {} runs (0: exact, 1: as large as the standard errors); means within a factor of {:.3}, 99th \
             percentiles of {:.3}, in {percent:.0} % of them",
            twin.runs.len(),
            twin.spread[0],
            twin.spread[1]
        );
    }
    if !twin.measure_next.is_empty() {
        text += "\nto narrow this down, measure next\n";
        twin.measure_next.iter().for_each(|next| text += &format!("  {next}\n"));
    }
    text
}

fn queue_depth(depth: MeasuredDepth) -> String {
    let MeasuredDepth { usual, min, max, stated } = depth;
    let comment = match (stated, min == max) {
        (false, _) => "assumed: the fill sweep does not state it (--queue-depth)".into(),
        (true, true) => String::new(),
        (true, false) => format!("{min} to {max} measured"),
    };
    format!("{:<32} {usual:<12} {comment}\n", "queue depth")
}

fn fill_sweep(fill: &FillFit, percent: f64) -> String {
    let mut text = format!("fill sweep of {} levels\n", fill.levels.len());
    let mut line = |name: &str, range: Range, scale: f64, unit: &str| {
        let [value, low, high] = [range.value, range.low, range.high].map(|x| x * scale);
        let _ =
            writeln!(text, "  {name:<30} {value:.4}{unit}  {percent:.0} %: {low:.4} to {high:.4}");
    };
    line("flash for data", fill.flash_bytes, 1.0 / GIB, " GiB");
    if fill.knows_write_amplification() {
        line("written besides data (kappa)", fill.kappa, 1.0, "");
    }
    if let Some(range) = fill.bare_bytes_per_second {
        line("throughput without moved pages", range, 1.0 / MIB, " MiB/s");
    }
    fill.moved
        .into_iter()
        .for_each(|range| line("cost of a moved page, in host pages", range, 1.0, ""));
    for fit in &fill.policies {
        let as_well = if fit.fits_as_well { "fits as well as the best" } else { "fits worse" };
        let (name, error) = (&fit.model.policy, 100.0 * fit.error);
        let _ = writeln!(text, "  {name:<30} off by {error:.2} %, {as_well}");
    }
    if let Some(ranges) = &fill.unidentified {
        text += &unidentified(ranges, fill.kappa);
    }
    text + "\n"
}

fn unidentified(ranges: &[AmplificationRange], kappa: Range) -> String {
    let head =
        "  write amplification is not identified by throughput alone; all of these values fit\n";
    let mut text = head.to_owned();
    for AmplificationRange { fill, write_amplification: Range { low, high, .. } } in ranges {
        let name = format!("filled with {fill}");
        text += &format!("    {name:<28} {low:.2} to {high:.2}\n");
    }
    text + &format!(
        "  because the drive may program 1 to {:.1} bytes for each byte of data; the profile assumes 1\n",
        kappa.high
    )
}

#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "the cast saturates")]
fn nanos(nanos: f64) -> String {
    Nanos(nanos.round() as u64).to_string()
}

/// Formats the comparison of a twin with results.
pub(super) fn check(check: &Check) -> String {
    let mut text = String::new();
    for run in &check.runs {
        let covered = if run.mean.covered && run.p99.covered { "" } else { "  outside" };
        let _ = writeln!(
            text,
            "{:<44} mean {:>10}, twin {:+6.1} %   p99 {:>10}, twin {:+6.1} %{covered}",
            run.title,
            nanos(run.mean.measured),
            100.0 * run.mean.error,
            nanos(run.p99.measured),
            100.0 * run.p99.error,
        );
    }
    for level in &check.levels {
        let error =
            |error: Option<f64>| error.map_or("-".into(), |e| format!("{:+.2} %", 100.0 * e));
        let _ = writeln!(
            text,
            "filled with {}: error of the twin in write amplification {}, in throughput {}",
            level.fill,
            error(level.write_amplification_error),
            error(level.throughput_error)
        );
    }
    if let Some(summary) = &check.summary {
        let _ = writeln!(
            text,
            "\n{} runs: median error of means {:.1} %, of 99th percentiles {:.1} %; intervals of {:.0} % hold \
             {:.0} % of means and {:.0} % of percentiles",
            check.runs.len(),
            100.0 * summary.mean_error,
            100.0 * summary.p99_error,
            100.0 * check.confidence,
            100.0 * summary.mean_coverage,
            100.0 * summary.p99_coverage
        );
        text += &end_error(summary.draws, summary.end_error);
    }
    text
}

fn extrapolation(one: Extrapolation) -> String {
    let Extrapolation { quantity, value, min, max, steps, widened } = one;
    let widened = 100.0 * (widened - 1.0);
    let (name, [value, min, max], of) = match quantity {
        Quantity::Fill => (
            "data on the drive",
            [value, min, max].map(|bytes| format!("{:.2} GiB", bytes / GIB)),
            "halvings or doublings of the spare flash",
        ),
        Quantity::QueueDepth => {
            let show = |ios: f64| format!("{ios:.1}").trim_end_matches(".0").to_owned();
            ("IOs in flight", [value, min, max].map(show), "halvings or doublings")
        }
    };
    format!(
        "\nextrapolated: {name} {value}, which is {steps:.1} {of} outside the measured {min} to {max}; both ends of \
         the intervals are {widened:.0} % further from the value\n"
    )
}

/// Bytes of a MiB and of a GiB.
const MIB: f64 = 1_048_576.0;
const GIB: f64 = 1024.0 * MIB;

/// The goal for the standard error of an end of an interval, as a share of the width of the
/// interval.
const KNOWN: f64 = 0.1;

/// Formats the prediction of a twin.
pub(crate) fn prediction(prediction: &TwinPrediction) -> String {
    let mut text = format!("{} on the twin of {}\n", prediction.workload, prediction.drive);
    text += &flashscope_report::conclusions(&prediction.conclusions);
    text.push('\n');
    let mut line = |name: &str, range: Range, show: &dyn Fn(f64) -> String| {
        let [value, low, high] = [range.value, range.low, range.high].map(show);
        let _ = writeln!(text, "{name:<24} {value:<12} {low} to {high}");
    };
    let rate = |rate: f64| format!("{:.2} MiB/s", rate / MIB);
    line("throughput", prediction.bytes_per_second, &rate);
    let latency = &prediction.latency_ns;
    for (name, range) in [
        ("mean response time", latency.mean),
        ("median", latency.p50),
        ("99th percentile", latency.p99),
        ("99.9th percentile", latency.p999),
    ] {
        line(name, range, &nanos);
    }
    if let Some(range) = prediction.write_amplification {
        line("write amplification", range, &|value| format!("{value:.3}"));
    }
    if let Some(range) = prediction.lifetime_bytes {
        line("endurance", range, &|bytes| format!("{:.2} TiB", bytes / (1024.0 * GIB)));
    }
    if !prediction.is_amplification_identified {
        text += "\nwrite amplification and endurance are not identified: the twin was fitted to times alone. Their \
                 ranges hold all values that fit; the first value assumes that the drive writes only data.\n";
    }
    if prediction.scale > 1.0 {
        text += &format!(
            "\nsimulated on a drive scaled down {:.1} times, with the same shares of data and spare flash, the same pages and \
             blocks, and as many parallel parts\n",
            prediction.scale
        );
    }
    prediction.extrapolated.iter().for_each(|one| text += &extrapolation(*one));
    let depth = prediction.queue_depth;
    text += &match prediction.queue_depth_from {
        DepthSource::Request => format!("\nqueue depth {depth}\n"),
        DepthSource::Workload => format!("\nqueue depth {depth}, from the workload\n"),
        DepthSource::Measurement => format!("\nqueue depth {depth}, as in the measurements\n"),
        DepthSource::Assumption => format!(
            "\nqueue depth {depth}: assumed, because the measurements do not state theirs (--queue-depth)\n"
        ),
    };
    let percent = 100.0 * prediction.confidence;
    let _ = writeln!(
        text,
        "intervals of {percent:.0} % from {} alternative drives that fit equally well, and the errors of the fit",
        prediction.draws
    );
    text + &end_error(prediction.draws, prediction.end_error)
}

/// Formats the precision of the ends of intervals.
fn end_error(draws: u32, error: Option<f64>) -> String {
    let Some(error) = error else { return String::new() };
    let goal = if error > KNOWN { "; the goal of 10 % needs more of them" } else { "" };
    format!(
        "with {draws} alternative drives, ends of intervals are known to within {:.0} % of their widths (one standard error){goal}\n",
        100.0 * error
    )
}
