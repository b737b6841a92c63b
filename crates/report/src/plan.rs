use std::fmt::Write;

use flashscope_block::{Bytes, DeviceKind, Nanos};
use flashscope_document::manifest::{Progress, Run, State, find_run};
use flashscope_document::methodology::Precision;
use flashscope_document::plan::{Amount, Cost, Plan};
use flashscope_workload::steady_fill::SpareSpace;

use crate::{rounds, write_grid};

/// The size of an IO's record in bytes (docs/benchmarks.md).
const RECORD_BYTES: u64 = 5;

/// Formats a plan as text. `order` holds the numbers of its runs in the order of execution.
pub fn plan(plan: &Plan, order: &[u32]) -> String {
    let mut out = String::new();
    let capacity = plan.device.capacity;
    line!(
        out,
        "{}: {capacity}, of which {} are used",
        plan.device.name,
        plan.options.setup.target_size
    );
    row(&mut out, "state", &state(plan));
    row(&mut out, "runs", &runs(plan));
    row(&mut out, "length", &length(plan));
    row(&mut out, "pauses", &pauses(plan));
    takes(&mut out, plan);
    for (i, what) in plan.left_out.iter().enumerate() {
        row(&mut out, if i == 0 { "left out" } else { "" }, what);
    }
    line!(out, "\nIn this order:");
    match plan.options.rounds {
        Some(_) => rounds::steps(&mut out, &plan.micro_benchmarks, &plan.options),
        None => steps(&mut out, plan, order),
    }
    out
}

fn row(out: &mut String, name: &str, text: &str) {
    line!(out, "  {name:<10} {text}");
}

/// Describes the preparation of a target space of `size` bytes to steady state.
fn steady(spare: SpareSpace, size: Bytes) -> String {
    let (written, share) = (spare.written(size), 100.0 * spare.share);
    let [least, most] = [5, 10].map(|times| Bytes(times * size.0));
    format!(
        "brought to the steady state of random writes (assumes {share:.1} % spare flash; writes {written}, where random \
         writes alone need about {least} to {most})"
    )
}

fn state(plan: &Plan) -> String {
    let steady = plan.options.spare.map(|spare| steady(spare, plan.options.setup.target_size));
    let name = match plan.options.state {
        State::Keep => return "kept unchanged".into(),
        State::Purged => "purged",
        State::Formatted => "formatted by the drive itself (takes an unknown time)",
        State::Sanitized => "sanitized by the drive itself (takes an unknown time)",
        State::Sequential => "written in sequence",
        State::Random => "written at random",
        State::Steady => steady.as_deref().unwrap_or("written to a steady state"),
    };
    match plan.estimate.states {
        0 | 1 => format!("{name} before the first run"),
        times => format!(
            "{name} before the first run and {} times more, after sequential writes have covered \
             the target space",
            times - 1
        ),
    }
}

fn runs(plan: &Plan) -> String {
    let all = || plan.micro_benchmarks.iter().flat_map(|m| &m.experiments).flat_map(|e| &e.runs);
    let skipped = all().filter(|run| matches!(run.progress, Progress::Skipped { .. })).count();
    let reason = all().find_map(|run| match &run.progress {
        Progress::Skipped { reason } => Some(reason),
        _ => None,
    });
    let skipped = match reason {
        Some(reason) => format!("; {skipped} cannot be run (the first: {reason})"),
        None => String::new(),
    };
    let repeats = plan.options.methodology.repeats;
    format!("{}, each done {repeats} times with other addresses{skipped}", plan.estimate.runs)
        .replace("each done 1 times with other addresses", "each done once")
}

fn length(plan: &Plan) -> String {
    if let Some(rule) = &plan.options.rounds {
        return rounds::length(rule);
    }
    let counts = plan.options.setup.io_count;
    let Some(precision) = plan.options.methodology.precision else {
        return format!(
            "SR={}, RR={}, SW={}, RW={} IOs",
            counts.sequential_read,
            counts.random_read,
            counts.sequential_write,
            counts.random_write
        );
    };
    let Precision { quantile, relative, confidence, .. } = precision;
    if let Some(rule) = &plan.options.grid {
        return write_grid::length(rule, relative, confidence);
    }
    let statistic = quantile.map_or("mean".into(), |share| format!("p{}", 100.0 * share));
    format!(
        "until the {statistic} is known within {} % at {} % confidence, {} IOs at most",
        100.0 * relative,
        100.0 * confidence,
        counts.random_write,
    )
}

fn pauses(plan: &Plan) -> String {
    let pause = plan.options.run_pause_ns;
    match plan.options.methodology.finds_run_pause {
        true => {
            format!("of {pause} between runs, longer if the preparation finds that writes linger")
        }
        false => format!("of {pause} between runs"),
    }
}

fn takes(out: &mut String, plan: &Plan) {
    let estimate = &plan.estimate;
    let amount = |amount: Amount| (rounded(amount.time_ns), amount.bytes_written);
    let ((least, less), (expected, some), (most, more)) =
        (amount(estimate.min), amount(estimate.expected), amount(estimate.max));
    let clock = if plan.device.kind == DeviceKind::Sim { " of simulated time" } else { "" };
    row(out, "takes", &format!("about {expected}{clock}, from {least} to {most}"));
    let share = estimate.endurance_share;
    let share = share.map(|share| format!(": {:.2} % of its endurance", 100.0 * share));
    let writes = format!("about {some}, from {less} to {more}{}", share.unwrap_or_default());
    row(out, "writes", &writes);
    let costs = &estimate.costs;
    let size = plan.options.setup.io_size;
    let cost = |cost: &Cost| {
        let time = rounded(nanos(cost.of(size)));
        format!("{time}{}", if cost.measured { "" } else { " (assumed)" })
    };
    row(
        out,
        "",
        &format!(
            "if IOs of {size} take {} to read, {} to write in sequence and {} to write at random",
            cost(&costs.read),
            cost(&costs.sequential_write),
            cost(&costs.random_write)
        ),
    );
    let keeps = |amount: Amount| Bytes(amount.ios * RECORD_BYTES);
    let (some, most) = (keeps(estimate.expected), keeps(estimate.max));
    row(out, "keeps", &format!("about {some} of records, at most {most}"));
}

#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // saturates
fn nanos(ns: f64) -> Nanos {
    Nanos(ns as u64)
}

/// Formats a time with two digits, the precision of an estimate.
#[allow(clippy::cast_precision_loss)]
fn rounded(time: Nanos) -> String {
    let minutes = time.as_secs_f64() / 60.0;
    match minutes {
        ..2.0 => {
            let unit = 10u64.pow(time.0.max(1).ilog10().saturating_sub(1));
            Nanos(time.0.next_multiple_of(unit)).to_string()
        }
        ..120.0 => format!("{minutes:.0} min"),
        _ => format!("{:.1} h", minutes / 60.0),
    }
}

/// Writes the runs in the order of execution. Consecutive runs of an experiment share a line.
fn steps(out: &mut String, plan: &Plan, order: &[u32]) {
    let run_of = |id: &u32| find_run(&plan.micro_benchmarks, *id);
    let mut steps: Vec<(String, Vec<&Run>)> = Vec::new();
    for (benchmark, experiment, run) in order.iter().filter_map(run_of) {
        let name = match run.repeat {
            1 => format!("{} {}", benchmark.name, experiment.name),
            repeat => format!("{} {}, repeat {repeat}", benchmark.name, experiment.name),
        };
        match steps.last_mut().filter(|(last, _)| *last == name && !run.reset) {
            Some((_, runs)) => runs.push(run),
            None => steps.push((name, vec![run])),
        }
    }
    if plan.options.state != State::Keep {
        line!(out, "       the state is enforced");
    }
    for (name, runs) in &steps {
        if runs[0].reset {
            line!(out, "       the state is enforced again");
        }
        let space = space(runs).map(|(from, to)| format!(", {from} to {to}"));
        let values = match runs.len() {
            1 => String::new(),
            count => format!(", {count} values"),
        };
        line!(out, "  {:>4} {name}{values}{}", runs[0].id, space.unwrap_or_default());
    }
}

/// Returns the range of addresses that runs use.
fn space(runs: &[&Run]) -> Option<(Bytes, Bytes)> {
    let spaces = || runs.iter().flat_map(|run| run.reference.target_spaces());
    let from = spaces().map(|(offset, _)| offset).min()?;
    let to = spaces().map(|(offset, size)| offset + size).max()?;
    Some((from, to))
}
