//! Predicts from the measured grid of a drive.

use std::path::Path;
use std::sync::atomic::AtomicBool;

use anyhow::anyhow;
use flashscope_block::Bytes;
use flashscope_document::grid::{Grid, GridPoint};
use flashscope_document::prediction::{
    PREDICTION_VERSION, Passes, PredictedValue, PredictionReport, Validation,
};
use flashscope_drive::Clock;
use flashscope_model::Family;
use flashscope_model::trace::Space;
use flashscope_predict::validation::{Factors, Stratum};
use flashscope_predict::{
    InterpolatedModel, Point, equivalent_throughput, modelled_ftl, predicted_value,
};
use flashscope_result::ResultFolder;

use super::args::LikeArg;
use super::{AddressSpace, PredictArgs, cases, failure};
use crate::{Failure, Progress, usage};

/// The assumed size of an erase block if the drive does not report it.
const BLOCK: Bytes = Bytes(1 << 20);

/// Predicts the performance of a workload on the drive of a result.
#[allow(clippy::cast_precision_loss, reason = "pages are below 2^53")]
pub(super) fn predict(
    args: &PredictArgs,
    result: &Path,
    watched: (&AtomicBool, &mut dyn Progress),
) -> Result<PredictionReport, Failure> {
    let clock = Clock::new();
    let begun = clock.now();
    let grid = read(result)?;
    let (interpolated, like) = interpolated(args, &grid)?;
    let space = space(args, &grid)?;
    let addressed = AddressSpace { page_size: grid.page.0, pages: space.pages() };
    let spec = args.workload.spec();
    let mut loaded = args.request(&spec).load(addressed, watched)?;
    let predicted = interpolated.predict(space, args.pieces(), &mut loaded.requests);
    let (counted, cost) = predicted.map_err(failure)?;
    let (pages, nanos) = (cost.pages as f64, cost.nanos / cost.pages as f64);
    let (erases, programs) = cost.counts;
    let fewest = pages / f64::from(space.pages_per_block);
    let cases = cases("grid", like, Stratum::of(programs / pages, loaded.has_trims()));
    let factors = Factors::of(&cases, args.confidence.level);
    let counted_value = |of: &dyn Fn(f64, f64) -> f64| {
        interpolated
            .counts()
            .then(|| predicted_value((erases, programs / pages), factors, (0.0, 0.0), of))
    };
    Ok(PredictionReport {
        schema_version: PREDICTION_VERSION,
        drive: grid.device.name,
        ftl: like.into(),
        workload: spec.to_string(),
        seed: loaded.seed,
        model: "grid".into(),
        // The prediction treats intervals of the workload independently, so there is no convergence to wait for.
        passes: Passes { warm_up: 0, counted, converged: true },
        host_pages_written: cost.pages,
        bytes_written: Bytes(cost.pages * grid.page.0),
        erases: counted_value(&|erases, _| erases),
        write_amplification: counted_value(&|_, amplification| amplification),
        equivalent_throughput: (erases > 0.0)
            .then(|| counted_value(&|erases, _| equivalent_throughput(fewest, erases)))
            .flatten(),
        ns_per_page: PredictedValue::alone(nanos),
        bytes_per_second: PredictedValue::alone(1e9 * grid.page.0 as f64 / nanos),
        validation: Validation { level: args.confidence.level, cases: cases.len() as u64 },
        not_modelled: loaded.ignored_trims().into_iter().collect(),
        lifetime: None,
        simulated: None,
        wall_ns: (clock.now() - begun).0,
    })
}

/// Builds the model that interpolates a grid, and returns the name of the assumed FTL with it.
fn interpolated(
    args: &PredictArgs,
    grid: &Grid,
) -> Result<(InterpolatedModel, &'static str), Failure> {
    let points: Vec<Point> = grid.points.iter().map(point).collect();
    let family = match args.like {
        LikeArg::Bast => Family::Bast,
        LikeArg::Fast => Family::Fast,
    };
    let interpolated = InterpolatedModel::new(&points, family)
        .map_err(|error| usage(anyhow!("the grid cannot be interpolated: {error}")))?;
    Ok((interpolated, modelled_ftl(family).name))
}

fn read(result: &Path) -> Result<Grid, Failure> {
    let (folder, _) = ResultFolder::open(result).map_err(usage)?;
    let grid = folder.grid().map_err(usage)?.ok_or_else(|| {
        usage(anyhow!(
            "{} has no grid: measure one with `flashscope bench DRIVE --grid`",
            result.display()
        ))
    })?;
    check(&grid)
        .map_err(|error| usage(error.context(result.join("grid.json").display().to_string())))?;
    Ok(grid)
}

/// Checks the page size of a grid, which is used as a divisor. The grid may be untrusted or hand-written. The number of
/// pages per block is checked with the drive.
fn check(grid: &Grid) -> Result<(), anyhow::Error> {
    match grid.page.0 {
        0 => Err(anyhow!("`page_bytes` is 0: a page has at least one byte")),
        _ => Ok(()),
    }
}

fn point(point: &GridPoint) -> Point {
    Point {
        mean_len: f64::from(point.mean_len),
        free_space: point.free_space,
        nanos: point.per_page.value,
        counts: point.erasures_per_page.zip(point.write_amplification),
    }
}

/// Returns the space of the drive in erase blocks, with the grid's page size.
fn space(args: &PredictArgs, grid: &Grid) -> Result<Space, Failure> {
    let block = args.block_size.or(grid.block).unwrap_or(BLOCK);
    let capacity = grid.device.capacity;
    let free = Bytes(grid.physical_capacity.0.saturating_sub(capacity.0));
    let blocks = |bytes: Bytes| u32::try_from(bytes.0 / block.0.max(1)).unwrap_or(u32::MAX);
    let space = Space {
        pages_per_block: u32::try_from(block.0 / grid.page.0).unwrap_or(u32::MAX),
        logical_blocks: blocks(capacity),
        free_blocks: blocks(free),
    };
    space.check().map_err(|error| {
        usage(anyhow!("{capacity} in pages of {} and blocks of {block}: {error}", grid.page))
    })?;
    Ok(space)
}

#[cfg(test)]
mod tests {
    use flashscope_block::{DeviceInfo, DeviceKind};
    use flashscope_document::grid::GRID_SCHEMA_VERSION;
    use flashscope_document::manifest::Tool;

    use super::*;

    fn grid(page: Bytes) -> Grid {
        let device = DeviceInfo {
            name: "sim:demo".into(),
            kind: DeviceKind::Sim,
            capacity: Bytes::GIB,
            logical_block: Bytes(512),
            queue_depth: 1,
            model: None,
            serial: None,
            firmware: None,
            engine: None,
        };
        Grid {
            schema_version: GRID_SCHEMA_VERSION,
            tool: Tool { version: "1".into(), commit: None },
            device,
            page,
            block: None,
            physical_capacity: Bytes::gib(2),
            points: vec![],
        }
    }

    #[test]
    fn page_size_of_zero_is_an_error() {
        let error = check(&grid(Bytes(0))).unwrap_err().to_string();
        assert!(error.contains("page_bytes"), "{error}");
        check(&grid(Bytes::kib(4))).unwrap();
    }
}
