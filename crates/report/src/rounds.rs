//! Formats tests in rounds: their plans and reports.

use std::fmt::Write;

use flashscope_block::{Bytes, Nanos};
use flashscope_document::Manifest;
use flashscope_document::facts::{Cell, RoundsFacts, TrackedValue};
use flashscope_document::manifest::{MicroBenchmark, Options};
use flashscope_document::rounds::{Metric, Rounds};

use crate::BARS;
use crate::table::Table;

/// The maximum number of characters in a row of bars. With more rounds than that, the row shows
/// every n-th round.
const SHOWN: usize = 60;

/// Writes the report of a test.
pub(crate) fn report(out: &mut String, manifest: &Manifest, facts: &RoundsFacts) {
    let Some((rule, test)) = manifest.rounds() else { return };
    line!(out, "\n{}: {} rounds{}", test.title, facts.rounds, depth(&facts.cells));
    verdict(out, rule, facts);
    for tracked in &facts.tracked {
        series(out, tracked);
    }
    let [first, last] = facts.window;
    line!(out, "  means of rounds {first} to {last}:");
    match rule.metric {
        Metric::Iops if facts.cells.len() > 1 => matrix(out, &facts.cells),
        _ => rows(out, &facts.cells),
    }
    for deviation in &facts.deviations {
        line!(out, "  not as specified: {deviation}");
    }
}

fn depth(cells: &[Cell]) -> String {
    match cells.iter().map(|cell| cell.queue_depth).max() {
        Some(1) => ", one IO at a time".into(),
        Some(depth) => format!(", {depth} IOs in flight"),
        None => String::new(),
    }
}

fn verdict(out: &mut String, rule: &Rounds, facts: &RoundsFacts) {
    match facts.steady_round {
        Some(round) => {
            let since = (round + 1).saturating_sub(rule.window);
            line!(out, "  steady since round {since}, detected after round {round}");
        }
        None if rule.until_steady => {
            line!(out, "  NOT STEADY in any {} successive rounds of {}", rule.window, facts.rounds);
        }
        None => line!(out, "  not steady in the last {} rounds", rule.window),
    }
}

/// Writes a tracked value round by round, with its steadiness and the limits.
fn series(out: &mut String, tracked: &TrackedValue) {
    let values = &tracked.values;
    let high = values.iter().flatten().copied().fold(0.0, f64::max);
    let step = values.len().div_ceil(SHOWN).max(1);
    let bars: String = values.iter().step_by(step).map(|value| bar(*value, high)).collect();
    let how = match (tracked.range, tracked.slope) {
        (Some(range), Some(slope)) => format!(
            "range {:.1} % (at most {:.0} %), slope {:+.1} % (at most {:.0} %)",
            100.0 * range,
            100.0 * tracked.range_limit,
            100.0 * slope,
            100.0 * tracked.slope_limit
        ),
        _ => "too few rounds to judge, or a round with fewer than 30 IOs".into(),
    };
    line!(out, "  {:<14} {bars}  {how}", tracked.experiment);
}

/// Returns the bar for `value` on an axis from 0 to `high`.
#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, clippy::cast_precision_loss)]
fn bar(value: Option<f64>, high: f64) -> char {
    let Some(value) = value else { return '·' };
    let position = if high > 0.0 { value / high } else { 0.0 };
    BARS[((position * BARS.len() as f64) as usize).min(BARS.len() - 1)]
}

/// Writes a table of IOs per second by size and mix.
fn matrix(out: &mut String, cells: &[Cell]) {
    let mut mixes: Vec<u8> = cells.iter().map(|cell| cell.reads_percent).collect();
    mixes.dedup();
    let mut sizes: Vec<Bytes> = cells.iter().map(|cell| cell.io_size_bytes).collect();
    sizes.sort_unstable();
    sizes.dedup();
    // Untrusted facts may have a share above 100 %.
    let head = |reads: &u8| format!("{reads}/{}", 100u8.saturating_sub(*reads));
    let mut table = Table::of_numbers();
    let of_head = mixes.iter().map(head).chain(["reads/writes, IOs a second".into()]);
    table.named_row("", of_head);
    for size in sizes {
        let of = |reads: &u8| {
            let mut all = cells.iter();
            let cell = all.find(|c| (c.reads_percent, c.io_size_bytes) == (*reads, size));
            cell.map_or("–".into(), |cell| number(cell.iops))
        };
        table.named_row(format!("  {size}"), mixes.iter().map(of));
    }
    let _ = write!(out, "{table}");
}

/// Writes a table with a row of numbers for each run of a round.
fn rows(out: &mut String, cells: &[Cell]) {
    let mut table = Table::of_numbers();
    table.row(["  reads/writes", "IOs a second", "MiB/s", "mean", "longest"]);
    for cell in cells {
        let throughput = cell.throughput_bytes_per_s / 1_048_576.0;
        // A mean response time is positive and far below 2⁶³ ns.
        #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
        let mean = Nanos(cell.mean_latency_ns.round() as u64);
        table.row([
            format!("  {}", cell.experiment),
            number(cell.iops),
            format!("{throughput:.1}"),
            mean.to_string(),
            Nanos(cell.max_latency_ns).to_string(),
        ]);
    }
    let _ = write!(out, "{table}");
}

/// Formats a number with one decimal below 100, and without decimals from 100 on.
fn number(value: f64) -> String {
    if value < 100.0 { format!("{value:.1}") } else { format!("{value:.0}") }
}

/// Describes the length of a test, for a row of a plan.
pub(crate) fn length(rule: &Rounds) -> String {
    let end = match (rule.until_steady, rule.most_bytes) {
        (true, _) => format!(
            "until {} rounds are steady (range at most {:.0} %, slope at most {:.0} %, of {})",
            rule.window,
            100.0 * rule.range,
            100.0 * rule.slope,
            rule.tracked.join(" and ")
        ),
        (false, Some(bytes)) => format!("until {bytes} are written"),
        (false, None) => "all rounds".into(),
    };
    format!("{} for each run of a round, {end}", rule.round_ns)
}

/// Writes the steps of a plan in their order.
pub(crate) fn steps(out: &mut String, plan: &[MicroBenchmark], options: &Options) {
    for benchmark in plan {
        let in_rounds = options.rounds.as_ref().is_some_and(|rule| rule.test == benchmark.name);
        let runs = benchmark.experiments.len();
        let times = benchmark.experiments.iter().map(|e| e.runs.len()).max().unwrap_or(0);
        match in_rounds {
            true => line!(out, "  {}: {times} rounds at most, each of", benchmark.name),
            false if runs == 1 => line!(out, "  {}, 1 run", benchmark.name),
            false => line!(out, "  {}, {runs} runs", benchmark.name),
        }
        for experiment in benchmark.experiments.iter().filter(|_| in_rounds) {
            line!(out, "       {}", experiment.name);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn more_than_100_percent_reads_do_not_underflow() {
        let cell = Cell {
            experiment: "R".into(),
            reads_percent: 200,
            io_size_bytes: Bytes::kib(4),
            queue_depth: 1,
            runs: vec![],
            iops: 1000.0,
            throughput_bytes_per_s: 1.0,
            mean_latency_ns: 1.0,
            max_latency_ns: 1,
        };
        let mut out = String::new();
        matrix(&mut out, &[cell]);
        assert!(out.contains("200/0"), "{out}");
    }
}
