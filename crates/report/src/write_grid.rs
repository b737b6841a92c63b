//! Formats a measured grid of uniform writes as text.

use std::fmt::Write;

use flashscope_block::{Bytes, Nanos};
use flashscope_document::grid::{Grid, GridPoint, GridRule};

use crate::table::Table;

/// Writes a table for each measured quantity: a row for each free space, a column for each mean
/// length.
pub(crate) fn report(out: &mut String, grid: &Grid) {
    let free = Bytes(grid.physical_capacity.0 - grid.device.capacity.0);
    line!(
        out,
        "\nUniform writes in pages of {}: the drive has {} of flash, of which {free} is free space",
        grid.page,
        grid.physical_capacity
    );
    table(out, grid, "time per page", |point| Some(time(point)));
    table(out, grid, "blocks erased per page", |point| {
        point.erasures_per_page.map(|erasures| format!("{erasures:.4}"))
    });
    table(out, grid, "write amplification", |point| {
        point.write_amplification.map(|amplification| format!("{amplification:.3}"))
    });
    let unsteady = grid.points.iter().filter(|point| !point.steady).count();
    if unsteady > 0 {
        line!(
            out,
            "  * not steady when counting began: {unsteady} of {} points",
            grid.points.len()
        );
    }
}

/// Formats the mean time per page, with half the width of its interval in percent.
fn time(point: &GridPoint) -> String {
    let page = point.per_page;
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // ns, never negative
    let value = Nanos(page.value.round() as u64);
    match page.half_width() {
        Some(half) if page.value > 0.0 => format!("{value} ±{:.1} %", 100.0 * half / page.value),
        _ => value.to_string(),
    }
}

fn table(out: &mut String, grid: &Grid, what: &str, cell: impl Fn(&GridPoint) -> Option<String>) {
    let mut lengths: Vec<u32> = grid.points.iter().map(|point| point.mean_len).collect();
    lengths.dedup();
    let mut targets: Vec<Bytes> = grid.points.iter().map(|point| point.target).collect();
    targets.sort_unstable_by(|a, b| b.cmp(a));
    targets.dedup();
    if grid.points.iter().all(|point| cell(point).is_none()) {
        return;
    }
    line!(out, "  {what}, by mean length in pages");
    let mut table = Table::of_numbers();
    let heads = lengths.iter().map(u32::to_string);
    table.named_row("  free space", heads);
    for target in targets {
        let of_length = |length: &u32| {
            let same = |point: &&GridPoint| (point.mean_len, point.target) == (*length, target);
            let point = grid.points.iter().find(same);
            let text = point.and_then(&cell).unwrap_or_else(|| "–".into());
            let mark = if point.is_some_and(|point| !point.steady) { "*" } else { "" };
            text + mark
        };
        let space = grid.points.iter().find(|point| point.target == target);
        let space = space.map_or(0.0, |point| point.free_space);
        let name = format!("  {space:<8.3} in {target}");
        table.named_row(name, lengths.iter().map(of_length));
    }
    let _ = write!(out, "{table}");
}

/// Describes the length of the runs of a grid.
pub(crate) fn length(rule: &GridRule, relative: f64, confidence: f64) -> String {
    format!(
        "until the time per page is steady over {} windows, and then until it is known within {} % \
         at {} % confidence",
        rule.windows,
        100.0 * relative,
        100.0 * confidence
    )
}
