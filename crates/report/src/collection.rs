//! Formats collections of traces as text.

use std::fmt::Write;

use flashscope_block::{Bytes, Nanos};
use flashscope_document::collection::{
    Collection, CollectionPrediction, CollectionTotal, PredictedVolume, Quantiles, Spread,
    VolumeStatistics,
};
use flashscope_stats::Estimate;

use crate::count::grouped;
use crate::table::Table;
use crate::trace::{duration, size};

/// The maximum number of volumes to list.
const MAX_LINES: usize = 20;

/// Formats a collection as text: the total, and the volumes with the most bytes accessed.
pub fn collection(collection: &Collection) -> String {
    let mut out = String::new();
    let Some(total) = &collection.total else { return out };
    let read = collection.files.iter().filter(|file| file.problem.is_none()).count();
    line!(
        out,
        "{} requests to {} volumes in {} files, over {}",
        grouped(total.requests.total),
        grouped(total.volumes),
        grouped(read as u64),
        duration(Nanos(total.end_ns.0.saturating_sub(total.start_ns.0)))
    );
    summary(&mut out, total);
    volumes(&mut out, &collection.volumes);
    out
}

fn summary(out: &mut String, total: &CollectionTotal) {
    let (requests, bytes) = (total.requests, total.bytes);
    line!(out);
    line!(
        out,
        "  reads         {}, {}{}",
        grouped(requests.reads),
        bytes.read,
        sizes(total.read_sizes)
    );
    line!(
        out,
        "  writes        {}, {}{}",
        grouped(requests.writes),
        bytes.written,
        sizes(total.write_sizes)
    );
    line!(
        out,
        "  footprint     {} accessed, {} written",
        size(&total.accessed_bytes),
        size(&total.written_bytes)
    );
    if let Some(ratio) = total.overwrite_ratio {
        line!(out, "  overwritten   {:.2} bytes written for each distinct byte", ratio.value);
    }
    if let Some(share) = total.sequential_share {
        line!(out, "  sequential    {:.1} % of accesses", 100.0 * share);
    }
}

fn sizes(sizes: Option<Quantiles>) -> String {
    let sizes = sizes.map(|Quantiles { p50, p99, max, .. }| {
        format!("; sizes: p50 {}, p99 {}, max {}", Bytes(p50), Bytes(p99), Bytes(max))
    });
    sizes.unwrap_or_default()
}

fn volumes(out: &mut String, volumes: &[VolumeStatistics]) {
    let accessed =
        |volume: &VolumeStatistics| volume.bytes.read.0.saturating_add(volume.bytes.written.0);
    let mut order: Vec<_> = volumes.iter().collect();
    // The sort is stable: volumes with equally many bytes stay in the order of their names.
    order.sort_by_key(|volume| std::cmp::Reverse(accessed(volume)));
    let shown = order.len().min(MAX_LINES);
    let title = match order.len() > shown {
        true => format!("the {shown} busiest of {} volumes", grouped(order.len() as u64)),
        false => "volumes".into(),
    };
    let mut table = Table::of_numbers();
    let heads = ["requests", "read", "written", "footprint written", "overwritten", "sequential"];
    table.named_row(title, heads);
    for volume in &order[..shown] {
        let ratio = volume.overwrite_ratio.map(|ratio| format!("{:.2}", ratio.value));
        let sequential = volume.sequential_share.map(|share| format!("{:.1} %", 100.0 * share));
        table.row([
            format!("  {}", volume.name),
            grouped(volume.requests.total),
            volume.bytes.read.to_string(),
            volume.bytes.written.to_string(),
            size(&volume.written_bytes),
            ratio.unwrap_or_default(),
            sequential.unwrap_or_default(),
        ]);
    }
    let _ = write!(out, "\n{table}");
}

/// Formats the predictions of a collection as text: the summary, and the volumes with the most
/// programmed pages.
pub fn collection_prediction(prediction: &CollectionPrediction) -> String {
    let mut out = String::new();
    let summary = &prediction.summary;
    line!(
        out,
        "{} of {} volumes, each on {} ({})",
        grouped(summary.predicted),
        grouped(summary.volumes),
        prediction.drive,
        prediction.ftl
    );
    if let (Some(all), Some(of)) =
        (summary.write_amplification, summary.write_amplification_of_volumes)
    {
        line!(out, "  write amplification  {all:.2} over all pages written");
        let Spread { min, p50, p90, p99, max } = of;
        line!(
            out,
            "  of volumes           min {min:.2}, p50 {p50:.2}, p90 {p90:.2}, p99 {p99:.2}, max {max:.2}"
        );
        line!(out, "  erases of a pass     {:.0}", summary.erases);
    }
    predicted_volumes(&mut out, prediction);
    let problems: Vec<_> = prediction.volumes.iter().filter(|row| row.problem.is_some()).collect();
    for row in problems.iter().take(MAX_LINES) {
        line!(out, "not predicted: {}: {}", row.name, row.problem.as_deref().unwrap_or_default());
    }
    if problems.len() > MAX_LINES {
        line!(out, "and {} more: --json lists all", grouped((problems.len() - MAX_LINES) as u64));
    }
    out
}

fn predicted_volumes(out: &mut String, prediction: &CollectionPrediction) {
    let volumes = prediction.volumes.iter();
    let mut rows: Vec<_> =
        volumes.filter_map(|row| Some((&row.name, row.predicted.as_ref()?))).collect();
    let programmed =
        |one: &PredictedVolume| one.host_pages_written as f64 * one.write_amplification.value;
    rows.sort_by(|(_, one), (_, other)| programmed(other).total_cmp(&programmed(one)));
    if rows.is_empty() {
        return;
    }
    let mut table = Table::of_numbers();
    let heads = ["pages written", "write amplification", "bandwidth"];
    table.named_row("volumes by pages programmed", heads);
    for (name, one) in rows.iter().take(MAX_LINES) {
        let interval = one
            .write_amplification
            .interval
            .map(|interval| format!(" ({:.2} to {:.2})", interval.low, interval.high));
        let amplification =
            format!("{:.2}{}", one.write_amplification.value, interval.unwrap_or_default());
        let bandwidth = Estimate { value: one.bytes_per_second.value, low: None, high: None };
        table.row([
            format!("  {name}"),
            grouped(one.host_pages_written),
            amplification,
            format!("{}/s", size(&bandwidth)),
        ]);
    }
    let _ = write!(out, "\n{table}");
}
