//! Formats conclusions and the evidence for them as text.

use std::fmt::Write;

use flashscope_block::{Bytes, Nanos};
use flashscope_document::conclusion::Conclusion;
use flashscope_document::facts::{DepthCell, DepthTable};

use crate::count::grouped;
use crate::table::Table;

/// Formats conclusions, each on a line after an empty line; empty without conclusions.
#[must_use]
pub fn conclusions(conclusions: &[Conclusion]) -> String {
    let mut out = String::new();
    if !conclusions.is_empty() {
        line!(out);
    }
    for conclusion in conclusions {
        line!(out, "{}", conclusion.text);
    }
    out
}

/// The maximum number of columns of a table.
const MAX_DEPTHS: usize = 7;

/// Writes the tables with several queue depths: a row for each IO size, a column for each queue
/// depth. Of the sizes that ran at one depth, it writes the powers of two from 4 KiB; the page has
/// all.
pub(crate) fn depths(out: &mut String, tables: &[DepthTable]) {
    let varies = |table: &&DepthTable| {
        table.cells.iter().any(|cell| cell.queue_depth != table.cells[0].queue_depth)
    };
    for table in tables.iter().filter(varies) {
        let mut depths: Vec<u32> = table.cells.iter().map(|cell| cell.queue_depth).collect();
        depths.sort_unstable();
        depths.dedup();
        line!(
            out,
            "\n{}: IOs a second and mean response time by queue depth",
            capitalized(&table.pattern)
        );
        for some in depths.chunks(MAX_DEPTHS) {
            part(out, table, some);
        }
    }
}

fn part(out: &mut String, table: &DepthTable, depths: &[u32]) {
    let mut shown = Table::of_numbers();
    shown.named_row("  IO size", depths.iter().map(u32::to_string));
    for of_size in table.cells.chunk_by(|a, b| a.io_size_bytes == b.io_size_bytes) {
        let at = |depth: &u32| of_size.iter().find(|cell| cell.queue_depth == *depth);
        let size: Bytes = of_size[0].io_size_bytes;
        let is_common = size >= Bytes::kib(4) && size.0.is_power_of_two();
        let is_shown = is_common || of_size.len() > 1;
        if !is_shown || !depths.iter().any(|depth| at(depth).is_some()) {
            continue;
        }
        let cells = depths.iter().map(|depth| at(depth).map_or_else(|| "–".into(), cell));
        shown.named_row(format!("  {size}"), cells);
    }
    let _ = write!(out, "{shown}");
}

#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "never negative")]
fn cell(cell: &DepthCell) -> String {
    let (iops, mean) = (cell.iops.value.round() as u64, cell.mean_latency_ns.value.round() as u64);
    format!("{}  {}", grouped(iops), Nanos(mean))
}

fn capitalized(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map(|first| first.to_uppercase().chain(letters).collect()).unwrap_or_default()
}
