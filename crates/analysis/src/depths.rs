//! The IOs per second and the latency of patterns by IO size and queue depth.

use flashscope_document::Manifest;
use flashscope_document::facts::{DepthCell, DepthTable, Facts};
use flashscope_document::what_if::Quantity;
use flashscope_stats::Estimate;

use crate::compare::{DepthNumbers, by_depth};

/// Returns a table for each pattern that ran with several IO sizes or several IOs in flight.
pub(crate) fn tables(manifest: &Manifest, facts: &Facts) -> Vec<DepthTable> {
    let mut tables: Vec<DepthTable> = Vec::new();
    for numbers in by_depth(manifest, facts) {
        let Some(cell) = cell(&numbers) else { continue };
        match tables.iter_mut().find(|table| table.pattern == numbers.class) {
            Some(table) => table.cells.push(cell),
            None => tables.push(DepthTable { pattern: numbers.class, cells: vec![cell] }),
        }
    }
    for table in &mut tables {
        table.cells.sort_by_key(|cell| (cell.io_size_bytes, cell.queue_depth));
    }
    tables.retain(|table| table.cells.len() > 1);
    tables
}

fn cell(of: &DepthNumbers) -> Option<DepthCell> {
    let number = |quantity| -> Option<Estimate> {
        of.numbers.iter().find(|(one, _)| *one == quantity).map(|(_, value)| *value)
    };
    Some(DepthCell {
        io_size_bytes: of.size,
        queue_depth: of.depth,
        iops: number(Quantity::IosPerSecond)?,
        throughput_bytes_per_s: number(Quantity::Throughput)?,
        mean_latency_ns: number(Quantity::MeanLatency)?,
        p99_latency_ns: number(Quantity::P99Latency)?.value,
        runs: of.runs.clone(),
    })
}
