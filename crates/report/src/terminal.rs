use std::fmt::Write;

use flashscope_block::{Bytes, Nanos};
use flashscope_document::environment::Disturbance;
use flashscope_document::facts::Facts;
use flashscope_document::facts::{Characteristics, CheapLimit, Latency, PauseEffect, RunFacts};
use flashscope_document::manifest::{Experiment, Manifest, MicroBenchmark, Progress, Run, Status};
use flashscope_document::methodology::{EndedBy, Interference};
use flashscope_stats::Estimate;
use flashscope_workload::pattern::Reference;
use flashscope_workload::playback::Pace;

use crate::conclusions::{conclusions, depths};
use crate::judgement::judgement;
use crate::reliability::{named, reliability};
use crate::table::Table;
use crate::{BARS, rounds, write_grid};

/// Formats the summary of a result as text: the drive, its key characteristics, and the mean
/// response times of each experiment as a row of bars (on a log axis).
pub fn terminal(manifest: &Manifest, facts: &Facts) -> String {
    let mut out = String::new();
    head(&mut out, manifest);
    out += &conclusions(&facts.conclusions);
    harness(&mut out, manifest, facts);
    characteristics(&mut out, &facts.characteristics);
    if let Some(rounds) = &facts.rounds {
        rounds::report(&mut out, manifest, rounds);
        return out;
    }
    if let Some(grid) = flashscope_analysis::write_grid(manifest, facts) {
        write_grid::report(&mut out, &grid);
        return out;
    }
    judgement(&mut out, facts);
    for benchmark in &manifest.micro_benchmarks {
        let runs = benchmark.experiments.iter().flat_map(|experiment| &experiment.runs);
        let traced = runs.clone().find(|run| matches!(run.reference, Reference::Trace { .. }));
        let run_facts = traced.and_then(|run| facts.runs.iter().find(|facts| facts.run == run.id));
        match (traced, run_facts) {
            (Some(run), Some(facts)) => trace(&mut out, run, facts),
            _ => micro_benchmark(&mut out, benchmark, facts),
        }
    }
    depths(&mut out, &facts.depths);
    reliability(&mut out, manifest, facts);
    out
}

fn head(out: &mut String, manifest: &Manifest) {
    let device = &manifest.device;
    let model = device.model.as_deref().map(|model| format!("{model}, ")).unwrap_or_default();
    line!(out, "{}: {model}{}", device.name, device.capacity);
    if let Some(engine) = &device.engine {
        line!(out, "through {engine}");
    }
    let count = |selects: fn(&Progress) -> bool| {
        manifest.runs().filter(|run| selects(&run.progress)).count()
    };
    let done = count(|p| matches!(p, Progress::Done { .. }));
    let failed = count(|p| matches!(p, Progress::Failed { .. }));
    let skipped = count(|p| matches!(p, Progress::Skipped { .. }));
    let left = count(|p| matches!(p, Progress::Pending | Progress::Interrupted { .. }));
    let status = match manifest.status {
        Status::Running => "cut off",
        Status::Complete if skipped == 0 => "complete",
        Status::Complete => "finished",
        Status::Interrupted => "interrupted",
        Status::Failed => "failed",
    };
    let counts = [(failed, "failed"), (skipped, "skipped"), (left, "not finished")];
    let more = counts.iter().filter(|(n, _)| *n > 0).map(|(n, what)| format!(", {n} {what}"));
    let all = manifest.runs().count();
    let runs = if done == all { done.to_string() } else { format!("{done} of {all}") };
    line!(out, "{}, {status}: {runs} runs{}", manifest.started, more.collect::<String>());
    for note in manifest.imported.iter().flat_map(|imported| &imported.notes) {
        line!(out, "{note}");
    }
    failures(out, manifest);
    for what in [Disturbance::Ios, Disturbance::Processors] {
        disturbed(out, manifest, what);
    }
    methodology(out, manifest);
}

/// The maximum number of failed runs to list. Without it, a drive that fails all the time would
/// fill the summary.
const LISTED_FAILURES: usize = 8;

fn failures(out: &mut String, manifest: &Manifest) {
    let mut failed = manifest.runs().filter_map(|run| match &run.progress {
        Progress::Failed { error, offset_bytes, .. } => Some((run.id, error, offset_bytes.0)),
        _ => None,
    });
    for (id, error, offset) in failed.by_ref().take(LISTED_FAILURES) {
        line!(out, "run {id} failed at offset {offset} with {error}");
    }
    match failed.count() {
        0 => {}
        1 => line!(out, "and one more"),
        more => line!(out, "and {more} more: `flashscope report --json` lists them"),
    }
}

/// Writes the findings of the preparation, and the runs that fell short of the precision.
fn methodology(out: &mut String, manifest: &Manifest) {
    let Some(precision) = manifest.options.methodology.precision else { return };
    let findings = &manifest.findings;
    let phases = findings.phases.iter().filter_map(|phases| {
        let start_up = phases.start_up.map(|phase| format!("start-up {}", phase.ios));
        let period = phases.period.map(|phase| format!("period {}", phase.ios));
        let parts: Vec<String> = start_up.into_iter().chain(period).collect();
        let name = phases.baseline.name();
        (!parts.is_empty()).then(|| format!("{name} {}", parts.join(" and ")))
    });
    let phases: Vec<String> = phases.collect();
    let phases = match phases.is_empty() {
        true => "no start-up and no period".into(),
        false => format!("{} IOs", phases.join(", ")),
    };
    if !findings.phases.is_empty() {
        line!(
            out,
            "preparation: {phases}{}",
            findings.interference.last().map(lingering).unwrap_or_default()
        );
    }
    let short = |run: &&Run| run.length.is_some_and(|length| length.ended_by != EndedBy::Precision);
    let runs: Vec<&Run> = manifest.runs().filter(short).collect();
    if !runs.is_empty() {
        line!(
            out,
            "{} ended before {} mean was known within {} % ({}){}",
            runs_text(runs.len()),
            if runs.len() == 1 { "its" } else { "their" },
            100.0 * precision.relative,
            least_precise(&runs),
            // The options do not change the limit on the writes of a grid.
            match manifest.options.grid {
                Some(_) => "",
                None => ": allow more with --max-ios and --max-time",
            }
        );
    }
}

/// Returns a number of runs, such as `1 run`.
fn runs_text(count: usize) -> String {
    if count == 1 { "1 run".into() } else { format!("{count} runs") }
}

/// Describes the runs whose means are least precise: those without an interval or, if all have one,
/// the run with the widest interval.
fn least_precise(runs: &[&Run]) -> String {
    let precision = |run: &&Run| run.length.and_then(|length| length.relative_precision);
    let unknown = runs.iter().filter(|run| precision(run).is_none());
    let unknown: Vec<String> = unknown.map(|run| run.id.to_string()).collect();
    if !unknown.is_empty() {
        return format!("{} had too few IOs for an interval", named(&unknown));
    }
    let widest = runs.iter().filter_map(precision).fold(0.0, f64::max);
    format!("the worst: {:.1} %", 100.0 * widest)
}

/// Writes the share of response times that the harness itself takes, if it is significant in any
/// run.
fn harness(out: &mut String, manifest: &Manifest, facts: &Facts) {
    let shares = facts.runs.iter().filter_map(|facts| facts.harness_share);
    let (count, largest) = (shares.clone().count(), shares.fold(0.0, f64::max));
    if let Some(cost) = manifest.calibration.harness_cost_ns.filter(|_| count > 0) {
        line!(
            out,
            "the harness itself takes {cost:.0} ns per IO, up to {:.0} % of the response times of \
             {}, which include it",
            100.0 * largest.min(1.0),
            runs_text(count)
        );
    }
}

fn lingering(effect: &Interference) -> String {
    let pause = effect.run_pause_ns;
    match effect.reads {
        None => format!("; writes do not linger; pauses of {pause}"),
        Some(reads) => format!(
            "; writes linger for {} reads ({}{}); pauses of {pause}",
            reads.ios,
            effect.lasted_ns,
            if effect.settled { "" } else { " or more" }
        ),
    }
}

/// Writes the runs that other processes disturbed.
fn disturbed(out: &mut String, manifest: &Manifest, what: Disturbance) {
    let is = |run: &&Run| run.conditions.as_ref().is_some_and(|c| c.disturbed_by.contains(&what));
    let runs: Vec<String> = manifest.runs().filter(is).map(|run| run.id.to_string()).collect();
    if runs.is_empty() {
        return;
    }
    line!(out, "disturbed: other processes {} during {}", what.text(), named(&runs));
}

fn characteristics(out: &mut String, values: &Characteristics) {
    let Some(io_size) = values.io_size_bytes else { return };
    line!(out, "\nKey characteristics, IOs of {io_size}");
    let basics = [
        ("sequential reads", values.sequential_read_ns),
        ("random reads", values.random_read_ns),
        ("sequential writes", values.sequential_write_ns),
        ("random writes", values.random_write_ns),
    ];
    for (what, estimate) in basics {
        if let Some(estimate) = estimate {
            line!(out, "  {what:<19} {}", duration(estimate));
        }
    }
    if let Some(effect) = values.pause {
        line!(out, "  {:<19} {}", "pauses", pause(effect));
    }
    let area = |value| format!("cheap in areas up to {}", Bytes(value));
    let partitions = |value| format!("cheap in up to {value} partitions");
    let (bytes, count) = (|value| Bytes(value).to_string(), |value: u64| value.to_string());
    if let Some(bounded) = values.locality {
        line!(out, "  {:<19} {}", "random writes", up_to(bounded, area, bytes));
    }
    if let Some(bounded) = values.partitioning {
        line!(out, "  {:<19} {}", "sequential writes", up_to(bounded, partitions, count));
    }
    let ratios = [
        ("reverse order", values.reverse, "writes in order"),
        ("in place", values.in_place, "writes in order"),
        ("large gaps", values.large_increments, "random writes"),
    ];
    for (what, ratio, than) in ratios {
        if let Some(estimate) = ratio {
            line!(out, "  {what:<19} ×{}, relative to {than}", ratio_text(estimate));
        }
    }
}

fn pause(effect: PauseEffect) -> String {
    match effect {
        PauseEffect::None => "no effect on random writes".into(),
        PauseEffect::AsSequential { pause_ns } => {
            format!("of {pause_ns} make random writes as cheap as sequential ones")
        }
        PauseEffect::Cheaper { ratio } => {
            format!("make random writes cheaper, ×{}", ratio_text(ratio))
        }
    }
}

fn up_to(
    bounded: CheapLimit,
    value_text: impl Fn(u64) -> String,
    text: impl Fn(u64) -> String,
) -> String {
    let times = |ratio| format!("×{} of sequential writes", ratio_text(ratio));
    match bounded {
        CheapLimit::No => "slow even for the smallest value".into(),
        CheapLimit::Unlimited { measured, ratio } => {
            format!("{} (all that was measured), {}", value_text(measured), times(ratio))
        }
        CheapLimit::UpTo { value, ratio, range } => {
            let range = range.filter(|range| range.low < range.high);
            let range = range.map(|range| {
                format!(" (the limit is {} to {})", text(range.low), text(range.high))
            });
            format!("{}{}, {}", value_text(value), range.unwrap_or_default(), times(ratio))
        }
    }
}

/// Writes the response times of a trace.
fn trace(out: &mut String, run: &Run, facts: &RunFacts) {
    let Reference::Trace { playback, queue_depth, .. } = &run.reference else { return };
    let pace = match playback.pace {
        Pace::Timed => "each IO at its time",
        Pace::Asap => "each IO as soon as an earlier one completes",
    };
    let files = playback.files.join(" and ");
    line!(out, "\nTrace {files}: {pace}, up to {queue_depth} in flight");
    let mut table = Table::of_numbers();
    table.row(["", "mean", "p50", "p99", "max"]);
    let mut row = |name: &str, latency: &Latency| {
        let [p50, p99, max] =
            [latency.p50, latency.p99, latency.max].map(|ns| Nanos(ns).to_string());
        table.row([format!("  {name}"), duration(latency.mean), p50, p99, max]);
    };
    row(&format!("{} IOs, from submission", facts.ios), &facts.latency_ns);
    for operation in &facts.operations {
        row(&format!("{} {}s", operation.ios, operation.op), &operation.latency_ns);
    }
    if let Some(open_loop) = &facts.open_loop {
        row("from when they were due", &open_loop.latency_ns);
        row("submitted late by", &open_loop.late_ns);
    }
    let _ = write!(out, "{table}");
}

fn micro_benchmark(out: &mut String, benchmark: &MicroBenchmark, facts: &Facts) {
    let runs = benchmark.experiments.iter().flat_map(|e| &e.runs);
    let values: Vec<i64> = runs.map(|run| run.value).collect();
    let range = values.iter().min().zip(values.iter().max()).map(|(min, max)| {
        let [min, max] = [min, max].map(|&value| benchmark.unit.text(value));
        format!(", {} {min} … {max}", benchmark.parameter)
    });
    line!(out, "\n{}{}", benchmark.title, range.unwrap_or_default());
    let means = |experiment: &Experiment| -> Vec<Option<Estimate>> {
        facts.means(experiment).into_iter().map(|(_, mean)| mean).collect()
    };
    let experiments: Vec<_> = benchmark.experiments.iter().map(|e| (&e.name, means(e))).collect();
    let all = || experiments.iter().flat_map(|(_, means)| means.iter().flatten()).map(|m| m.value);
    let (low, high) = (all().fold(f64::MAX, f64::min), all().fold(0.0, f64::max));
    for (name, means) in &experiments {
        let bars: String = means.iter().map(|mean| bar(*mean, low, high)).collect();
        let mut measured = means.iter().flatten();
        let first = measured.next().map_or("–".into(), |mean| duration(*mean));
        let last = measured.next_back().map_or(String::new(), |m| format!(" … {}", duration(*m)));
        line!(out, "  {name:<9} {bars:<18} {first}{last}");
    }
}

/// Returns the bar for `mean` on a logarithmic axis from `low` to `high`.
fn bar(mean: Option<Estimate>, low: f64, high: f64) -> char {
    let Some(mean) = mean else { return '·' };
    let position = if high > low { (mean.value / low).ln() / (high / low).ln() } else { 0.0 };
    // The position is between 0 and 1.
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, clippy::cast_precision_loss)]
    let index = (position * (BARS.len() - 1) as f64).round() as usize;
    BARS[index.min(BARS.len() - 1)]
}

fn duration(estimate: Estimate) -> String {
    // A mean of response times is far below 2⁶³ ns, and never negative.
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
    let value = Nanos(estimate.value.round() as u64);
    match estimate.high {
        Some(high) => format!("{value} ±{:.1} %", 100.0 * (high - estimate.value) / estimate.value),
        None => value.to_string(),
    }
}

fn ratio_text(estimate: Estimate) -> String {
    match (estimate.low, estimate.high) {
        (Some(low), Some(high)) => format!("{:.2} ({low:.2} to {high:.2})", estimate.value),
        (Some(low), None) => format!("{:.2} (at least {low:.2})", estimate.value),
        _ => format!("{:.2}", estimate.value),
    }
}

#[cfg(test)]
mod tests {
    use super::runs_text;

    #[test]
    fn one_run_is_singular() {
        assert_eq!([1, 2].map(runs_text), ["1 run", "2 runs"]);
    }
}
