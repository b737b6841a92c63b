//! The grid of uniform writes (as opposed to the summary grid of uFLIP in `grid.rs`).

use std::cmp::Reverse;

use flashscope_block::Bytes;
use flashscope_document::Manifest;
use flashscope_document::grid::{GRID_SCHEMA_VERSION, Grid, GridPoint, GridRule};
use flashscope_document::manifest::Run;
use flashscope_stats::Estimate;
use flashscope_workload::pattern::Reference;

use crate::Facts;
use flashscope_document::facts::UniformFacts;

/// Returns the grid of uniform writes of a result; `None` if the result has none.
pub fn write_grid(manifest: &Manifest, facts: &Facts) -> Option<Grid> {
    let rule = manifest.options.grid.as_ref()?;
    let mut points: Vec<GridPoint> =
        manifest.runs().filter_map(|run| point(run, rule, facts)).collect();
    points.sort_by_key(|point| (point.mean_len, Reverse(point.target)));
    let mut levels = manifest.runs().filter_map(|run| run.level);
    Some(Grid {
        schema_version: GRID_SCHEMA_VERSION,
        tool: manifest.tool.clone(),
        device: manifest.device.clone(),
        page: rule.page,
        block: levels.find_map(|level| level.inside).map(|inside| inside.block_bytes),
        physical_capacity: Bytes(manifest.device.capacity.0.saturating_add(rule.free.0)),
        points,
    })
}

/// Returns the point of a run; `None` if no IO counts, or if the page size is 0.
#[allow(clippy::cast_precision_loss)] // counts of a run are far below 2^53
fn point(run: &Run, rule: &GridRule, facts: &Facts) -> Option<GridPoint> {
    let Reference::Uniform { writes } = &run.reference else { return None };
    let (level, found) = (run.level?, facts.runs.iter().find(|facts| facts.run == run.id)?);
    let UniformFacts { bytes: Bytes(bytes), per_byte_ns: per_byte } = found.uniform?;
    let page = rule.page.0 as f64;
    let per = |what: u64, unit: f64| what as f64 / bytes as f64 * unit;
    let scaled = |end: Option<f64>| end.map(|ns| ns * page);
    Some(GridPoint {
        mean_len: writes.mean_len,
        target: writes.target_size,
        free_space: rule.free_space(writes),
        run: run.id,
        ios: found.ios,
        pages: bytes.checked_div(rule.page.0)?,
        per_page: Estimate {
            value: per_byte.value * page,
            low: scaled(per_byte.low),
            high: scaled(per_byte.high),
        },
        erasures_per_page: level.inside.map(|inside| per(inside.erasures, page)),
        write_amplification: level.inside.map(|inside| per(inside.programmed_bytes.0, 1.0)),
        steady: level.steady,
    })
}
