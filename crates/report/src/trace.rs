//! The characteristics of a trace, as a document and as text.

use std::fmt::Write;

use flashscope_block::{Bytes, Nanos, Op};
use flashscope_document::facts::Latency;
use flashscope_document::trace::{
    Concentration, Fragment, Fragments, OpLatency, Series, SizeSummary, Step, TraceFacts,
};
pub use flashscope_document::trace::{Trace, TraceStatus};
use flashscope_stats::Estimate;

use crate::BARS;
use crate::count::grouped;
use crate::simulation::{latency_row, latency_table};
use crate::table::Table;

/// The maximum width of a row of bars, in characters.
const WIDTH: usize = 60;

/// The maximum number of volumes to list.
const VOLUMES: usize = 10;

/// Formats the characteristics of a trace as text.
pub fn trace(trace: &Trace) -> String {
    let mut out = String::new();
    let facts = &trace.facts;
    head(&mut out, trace);
    for doubt in &facts.doubts {
        line!(out, "! {}", doubt.text);
    }
    if facts.requests.total > 0 {
        requests(&mut out, facts);
        space(&mut out, facts);
        concentration(&mut out, facts);
        fragments(&mut out, facts);
        time(&mut out, facts);
        latency(&mut out, &facts.latency);
        volumes(&mut out, facts);
    }
    out
}

fn head(out: &mut String, trace: &Trace) {
    let TraceFacts { requests, time, .. } = &trace.facts;
    let rate = time.requests_per_s.map(|rate| format!(", {} a second", number(rate)));
    line!(
        out,
        "{} ({}): {} requests in {}{}",
        trace.inputs.join(", "),
        trace.formats.join(", "),
        grouped(requests.total),
        duration(time.span_ns),
        rate.unwrap_or_default()
    );
    if trace.status == TraceStatus::Interrupted {
        line!(out, "interrupted: the statistics cover only the requests read until then");
    }
    if trace.bad_lines_skipped > 0 {
        line!(out, "{} bad lines were skipped", grouped(trace.bad_lines_skipped));
    }
}

fn requests(out: &mut String, facts: &TraceFacts) {
    let TraceFacts { requests, bytes, sizes, .. } = facts;
    let mut table = Table::of_numbers();
    table.row(["", "requests", "bytes", "mean size", "min", "p50", "p90", "p99", "max"]);
    let mut row = |name: &str, count: u64, bytes: Option<Bytes>, sizes: Option<&SizeSummary>| {
        if count == 0 {
            return;
        }
        let bytes = bytes.map(|bytes| bytes.to_string()).unwrap_or_default();
        let mut cells = vec![name.to_owned(), grouped(count), bytes];
        if let Some(SizeSummary { mean, min, p50, p90, p99, max, .. }) = sizes {
            let all = [whole_bytes(*mean), *min, *p50, *p90, *p99, *max];
            cells.extend(all.map(|size| size.to_string()));
        }
        table.row(cells);
    };
    let of = |op: Op| match op {
        Op::Read => sizes.as_ref()?.reads.as_ref(),
        Op::Write => sizes.as_ref()?.writes.as_ref(),
        Op::Trim | Op::Flush => None,
    };
    row("reads", requests.reads, Some(bytes.read), of(Op::Read));
    row("writes", requests.writes, Some(bytes.written), of(Op::Write));
    row("trims", requests.trims, Some(bytes.trimmed), None);
    row("flushes", requests.flushes, None, None);
    let _ = write!(out, "\n{table}");
    if let (Some(requests), Some(bytes)) = (facts.read_share, facts.read_bytes_share) {
        line!(
            out,
            "reads are {} of reads and writes, {} of their bytes",
            share(requests),
            share(bytes)
        );
    }
    let Some(sizes) = sizes else { return };
    let total = (requests.reads + requests.writes) as f64;
    let most = sizes.most_frequent.iter().take(5).map(|size| {
        format!("{} {}", share((size.reads + size.writes) as f64 / total), size.size_bytes)
    });
    let most = most.collect::<Vec<_>>().join(", ");
    line!(out, "{} different sizes, the most frequent: {most}", grouped(sizes.distinct));
}

fn space(out: &mut String, facts: &TraceFacts) {
    let footprint = &facts.footprint;
    line!(out, "\nspace");
    line!(
        out,
        "  footprint      {} accessed, {} written, in pages of {}; highest end {}",
        size(&footprint.accessed_bytes),
        size(&footprint.written_bytes),
        footprint.page_bytes,
        footprint.highest_end
    );
    if let Some(ratio) = &facts.overwrite_ratio {
        line!(out, "  overwritten    {} bytes written for each distinct byte", times(ratio));
    }
    if let Some(sequentiality) = &facts.sequentiality {
        line!(
            out,
            "  sequential     {} of accesses; runs of {:.2} requests, {} on average",
            share(sequentiality.sequential_share),
            sequentiality.mean_run_requests,
            whole_bytes(sequentiality.mean_run_bytes)
        );
    }
    if let Some(alignment) = &facts.alignment {
        let total: u64 = alignment.lba_mod_8.iter().sum();
        let cells = alignment.lba_mod_8.iter().enumerate().filter(|(_, count)| **count > 0);
        let cells =
            cells.map(|(lba, count)| format!("{lba}: {}", share(*count as f64 / total as f64)));
        let cells = cells.collect::<Vec<_>>().join(", ");
        line!(
            out,
            "  unaligned      {} to 4 KiB; LBA mod 8 is {cells}",
            share(alignment.unaligned_share)
        );
    }
}

fn concentration(out: &mut String, facts: &TraceFacts) {
    let both = [
        ("accesses", "accessed", &facts.access_concentration),
        ("writes", "written", &facts.write_concentration),
    ];
    let mut table = Table::of_numbers();
    for (what, of, concentration) in both {
        let Some(Concentration { hottest, .. }) = concentration else { continue };
        if table.is_empty() {
            let heads = hottest.iter().map(|hot| format!("{:.0} %", 100.0 * hot.pages));
            table.named_row("the hottest pages", heads);
        }
        let cells = hottest.iter().map(|hot| share_of(&hot.share));
        table.named_row(format!("  {of} pages: % of {what}"), cells);
    }
    if !table.is_empty() {
        let _ = write!(out, "\n{table}");
    }
    if facts.sampling.rate < 1.0 {
        line!(
            out,
            "  estimated from a sample of {} of the pages, which represents {} of accesses",
            share(facts.sampling.rate),
            facts.sampling.coverage.map_or("none".into(), share)
        );
    }
}

fn fragments(out: &mut String, facts: &TraceFacts) {
    let Some(lengths) = &facts.write_lengths else { return };
    let (block, page) = (lengths.block_bytes, lengths.page_bytes);
    line!(out, "\nwrites by erase blocks of {block}, pages of {page}");
    let mut table = Table::of_numbers();
    table.row(["", "writes", "mean pages", "heads", "middles", "tails"]);
    for (name, fragments) in [("each", &lengths.requests), ("joined in order", &lengths.joined)] {
        let Fragments { writes, mean_pages, head, middle, tail, .. } = fragments;
        let all = (head.pages + middle.pages + tail.pages) as f64;
        let cell = |fragment: &Fragment| {
            let of = share(fragment.pages as f64 / all);
            format!("{} ({of})", grouped(fragment.count))
        };
        let [head, middle, tail] = [head, middle, tail].map(cell);
        let name = format!("  {name}");
        table.row([name, grouped(*writes), number(*mean_pages), head, middle, tail]);
    }
    let _ = write!(out, "{table}");
    line!(out, "  in brackets: the share of the pages written");
}

fn time(out: &mut String, facts: &TraceFacts) {
    line!(out, "\ntime");
    if let Some(gaps) = &facts.inter_arrival {
        let variation = gaps.coefficient_of_variation.map(|cv| format!("; variation {cv:.2}"));
        line!(
            out,
            "  inter-arrival  mean {}, p50 {}, p90 {}, p99 {}, max {}{}",
            whole_nanos(gaps.mean),
            duration(Nanos(gaps.p50)),
            duration(Nanos(gaps.p90)),
            duration(Nanos(gaps.p99)),
            duration(Nanos(gaps.max)),
            variation.unwrap_or_default()
        );
    }
    rows_of_bars(out, &facts.series);
    windows(out, facts);
}

fn windows(out: &mut String, facts: &TraceFacts) {
    let bursts = &facts.burstiness;
    if !bursts.is_empty() {
        let mut table = Table::of_numbers();
        let lengths = bursts.iter().map(|burst| duration(burst.window_ns));
        table.named_row("in windows of", lengths);
        let peaks = bursts.iter().map(|burst| number(burst.peak_to_mean));
        table.named_row("  peak-to-mean ratio of requests", peaks);
        let indices = bursts.iter().map(|burst| number(burst.index_of_dispersion));
        table.named_row("  index of dispersion", indices);
        let _ = write!(out, "\n{table}");
    }
    let mut sets: Vec<_> = facts.working_set.iter().rev().step_by(4).take(6).collect();
    sets.reverse();
    if !sets.is_empty() {
        let mut table = Table::of_numbers();
        table.named_row("in windows of", sets.iter().map(|set| duration(set.window_ns)));
        table.named_row("  average working set", sets.iter().map(|set| size(&set.bytes)));
        let _ = write!(out, "\n{table}");
    }
}

/// The name of a row of bars, and the function that returns the value of a step for the row.
type Row = (&'static str, fn(&Step) -> u64);

fn rows_of_bars(out: &mut String, series: &Series) {
    let rows: [Row; 3] = [
        ("requests", |step| step.requests.total),
        ("bytes read", |step| step.bytes.read.0),
        ("bytes written", |step| step.bytes.written.0),
    ];
    let chunk = series.steps.len().div_ceil(WIDTH).max(1);
    if series.steps.len() < 2 {
        return;
    }
    for (name, of) in rows {
        let sums: Vec<u64> =
            series.steps.chunks(chunk).map(|steps| steps.iter().map(of).sum()).collect();
        let most = sums.iter().max().copied().unwrap_or(0);
        if most > 0 {
            let bars: String = sums.iter().map(|sum| bar(*sum, most)).collect();
            line!(out, "  {name:<14} {bars}");
        }
    }
    let step = Nanos(series.step_ns.0.saturating_mul(chunk as u64));
    line!(out, "  {:<14} each bar {}", "", duration(step));
}

/// Returns a bar of proportional height; a dot for zero.
fn bar(value: u64, most: u64) -> char {
    if value == 0 {
        return '·';
    }
    let eighths = (u128::from(value) * BARS.len() as u128).div_ceil(u128::from(most));
    BARS[usize::try_from(eighths).unwrap_or(BARS.len()) - 1]
}

fn latency(out: &mut String, latencies: &[OpLatency]) {
    if latencies.is_empty() {
        return;
    }
    let mut table = latency_table();
    let one_kind = latencies.len() == 2;
    for OpLatency { op, requests, latency_ns } in latencies.iter().skip(usize::from(one_kind)) {
        let name = match op {
            None => "all",
            Some(Op::Read) => "reads",
            Some(Op::Write) => "writes",
            Some(Op::Trim) => "trims",
            Some(Op::Flush) => "flushes",
        };
        let Latency { mean, min, p50, p99, p999, max, .. } = *latency_ns;
        latency_row(&mut table, (name, *requests), mean, [min, p50, p99, p999, max]);
    }
    let _ = write!(out, "\n{table}");
}

fn volumes(out: &mut String, facts: &TraceFacts) {
    if facts.volume_count < 2 {
        return;
    }
    let mut table = Table::of_numbers();
    let heads = ["requests", "reads", "read", "written", "footprint", "highest", "sequential"];
    let volumes = format!("{} volumes", grouped(facts.volume_count));
    table.named_row(volumes, heads);
    for volume in facts.volumes.iter().take(VOLUMES) {
        let accesses = volume.requests.reads + volume.requests.writes;
        let reads = (accesses > 0).then(|| share(volume.requests.reads as f64 / accesses as f64));
        table.row([
            format!("  {}", volume.name),
            grouped(volume.requests.total),
            reads.unwrap_or_default(),
            volume.bytes.read.to_string(),
            volume.bytes.written.to_string(),
            volume.accessed_bytes.map(|bytes| bytes.to_string()).unwrap_or_default(),
            volume.highest_end.to_string(),
            volume.sequential_share.map(share).unwrap_or_default(),
        ]);
    }
    let _ = write!(out, "\n{table}");
    let left = facts.volume_count.saturating_sub(VOLUMES as u64);
    if left > 0 {
        line!(out, "  and {} more with fewer bytes", grouped(left));
    }
}

/// Formats a share as a percentage with at most three digits.
fn share(share: f64) -> String {
    let per_cent = 100.0 * share;
    match per_cent {
        99.95.. => format!("{per_cent:.0} %"),
        0.0 => "0 %".into(),
        ..0.1 => format!("{per_cent:.1e} %"),
        ..10.0 => format!("{per_cent:.2} %"),
        _ => format!("{per_cent:.1} %"),
    }
}

/// Formats a number with three digits, or with thousands separators.
fn number(value: f64) -> String {
    match value {
        1000.0.. => grouped(whole(value)),
        100.0.. => format!("{value:.0}"),
        10.0.. => format!("{value:.1}"),
        0.01.. => format!("{value:.2}"),
        0.0 => "0".into(),
        _ => format!("{value:.1e}"),
    }
}

/// Formats a size, with its uncertainty if it is not exact.
pub(crate) fn size(bytes: &Estimate) -> String {
    match (bytes.low, bytes.high) {
        (Some(low), Some(high)) if low < high => {
            format!("{} ±{:.1} %", whole_bytes(bytes.value), 50.0 * (high - low) / bytes.value)
        }
        _ => whole_bytes(bytes.value).to_string(),
    }
}

/// Formats a share, with its uncertainty if it is not exact.
fn share_of(estimate: &Estimate) -> String {
    match (estimate.low, estimate.high) {
        (Some(low), Some(high)) if low < high => {
            format!("{} ±{:.1}", share(estimate.value), 50.0 * (high - low))
        }
        _ => share(estimate.value),
    }
}

fn times(ratio: &Estimate) -> String {
    match (ratio.low, ratio.high) {
        (Some(low), Some(high)) if low < high => {
            format!("{:.2} ({low:.2} to {high:.2})", ratio.value)
        }
        _ => format!("{:.2}", ratio.value),
    }
}

/// Formats a time, in minutes, hours or days if it is long.
pub(crate) fn duration(time: Nanos) -> String {
    let seconds = time.0 / 1_000_000_000;
    match seconds {
        172_800.. => format!("{} d", number(time.as_secs_f64() / 86_400.0)),
        7_200.. => format!("{} h", number(time.as_secs_f64() / 3_600.0)),
        300.. => format!("{} min", number(time.as_secs_f64() / 60.0)),
        _ => time.to_string(),
    }
}

fn whole_bytes(bytes: f64) -> Bytes {
    Bytes(whole(bytes))
}

fn whole_nanos(ns: f64) -> Nanos {
    Nanos(whole(ns))
}

#[allow(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "sizes and times are not negative"
)]
fn whole(value: f64) -> u64 {
    value.round() as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_readable_at_every_magnitude() {
        let shares = [0.0, 0.000_012, 0.0123, 0.5, 0.9999, 1.0].map(share);
        assert_eq!(shares, ["0 %", "1.2e-3 %", "1.23 %", "50.0 %", "100 %", "100 %"]);
        let numbers = [0.0, 0.001, 0.5, 12.345, 123.4, 54_321.0].map(number);
        assert_eq!(numbers, ["0", "1.0e-3", "0.50", "12.3", "123", "54,321"]);
        let times = [Nanos::micros(1500), Nanos::secs(600), Nanos::secs(86_400 * 3)].map(duration);
        assert_eq!(times, ["1.5 ms", "10.0 min", "3.00 d"]);
    }

    #[test]
    fn bars_are_proportional_and_zero_is_a_dot() {
        let bars: String = [0, 1, 50, 100].map(|value| bar(value, 100)).iter().collect();
        assert_eq!(bars, "·▁▄█");
        assert_eq!(bar(u64::MAX, u64::MAX), '█');
    }
}
