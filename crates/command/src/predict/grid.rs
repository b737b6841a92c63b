//! Predicts from the measured grid of a drive.

use std::path::Path;
use std::sync::atomic::AtomicBool;

use anyhow::anyhow;
use flashscope_block::{Bytes, DeviceKind};
use flashscope_document::grid::{Grid, GridPoint};
use flashscope_document::prediction::{
    PREDICTION_VERSION, Passes, PredictedValue, PredictionReport, Validation,
};
use flashscope_drive::Clock;
use flashscope_model::Family;
use flashscope_model::trace::Space;
use flashscope_predict::validation::{Factors, Stratum};
use flashscope_predict::{
    Cost, InterpolatedModel, Point, SimulatedDrive, equivalent_throughput, modelled_ftl,
    predicted_value, steady_passes,
};
use flashscope_result::ResultFolder;
use flashscope_sim::Profile;

use super::args::{DRIVE_OF_GRID, LikeArg};
use super::request::profile;
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
    let named = named_drive(args, &grid)?;
    let space = space(args, &grid, named.as_ref())?;
    let addressed = AddressSpace { page_size: grid.page.0, pages: space.pages() };
    let spec = args.workload.spec();
    let (stop, sink) = watched;
    let mut loaded = args.request(&spec).load(addressed, (stop, &mut *sink))?;
    let predicted = interpolated.predict(space, args.pieces(), &mut loaded.requests);
    let (counted, cost) = predicted.map_err(failure)?;
    let (pages, nanos) = (cost.pages as f64, cost.nanos / cost.pages as f64);
    let (erases, programs) = cost.counts;
    let fewest = pages / f64::from(space.pages_per_block);
    let cases = cases("grid", like, Stratum::of(programs / pages, loaded.has_trims()));
    let beyond = beyond_the_grid(&grid, &cost);
    let factors = Factors::of(&cases, args.confidence.level).filter(|_| beyond.is_none());
    let counted_value = |of: &dyn Fn(f64, f64) -> f64| {
        interpolated
            .counts()
            .then(|| predicted_value((erases, programs / pages), factors, (0.0, 0.0), of))
    };
    let mut report = PredictionReport {
        schema_version: PREDICTION_VERSION,
        drive: named.as_ref().map_or(&grid.device.name, |named| &named.name).clone(),
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
        not_modelled: loaded.ignored_trims().into_iter().chain(beyond).collect(),
        lifetime: None,
        simulated: None,
        wall_ns: (clock.now() - begun).0,
    };
    if args.compare {
        let drive = named.ok_or_else(|| not_simulated(&grid))?;
        let passes = steady_passes(report.passes, cost.pages, space);
        let mut again = args.request(&spec).load(addressed, (stop, &mut *sink))?;
        let simulated =
            SimulatedDrive::for_pages(&drive.profile, &args.memory.budget(), grid.page.0)
                .map_err(usage)?;
        let requests = &mut again.requests;
        let compared = super::simulate(simulated, &report, passes, requests, (stop, sink))?;
        report.simulated = Some(compared);
    }
    Ok(report)
}

/// Describes the part of a workload that lies beyond the points of a grid, if it is not negligible.
#[allow(clippy::cast_precision_loss, reason = "pages are below 2^53")]
fn beyond_the_grid(grid: &Grid, cost: &Cost) -> Option<String> {
    let share = 100.0 * cost.beyond as f64 / cost.pages as f64;
    let least = grid.points.iter().map(|point| point.free_space).reduce(f64::min)?;
    let shortest = grid.points.iter().map(|point| point.mean_len).min()?;
    (share >= 1.0).then(|| {
        format!(
            "{share:.0} % of the pages, which cost more than any point of the grid: it begins at a free space of {least:.3} of the \
             written space, and at a mean length of {shortest} pages (see --grid-spaces and --grid-lengths of `bench`)"
        )
    })
}

/// A simulated drive to which a grid is applied.
struct NamedDrive {
    name: String,
    profile: Profile,
    block: Bytes,
}

/// Returns the drive of `--drive`. Without that option, returns the drive of the grid if it is simulated.
fn named_drive(args: &PredictArgs, grid: &Grid) -> Result<Option<NamedDrive>, Failure> {
    let given = args.drive.name != DRIVE_OF_GRID;
    let name = if given { &args.drive.name } else { &grid.device.name };
    if !given && (grid.device.kind != DeviceKind::Sim || !args.compare) {
        return Ok(None);
    }
    let profile = profile(name)?;
    let layout = profile.layout().map_err(usage)?;
    let logical_page = u64::from(layout.logical_page_size());
    let capacity = Bytes(u64::from(layout.logical_pages()) * logical_page);
    if capacity != grid.device.capacity {
        return Err(usage(anyhow!(
            "`{name}` has {capacity}, but the grid was measured on {}: name a drive of the same size with --drive, or measure \
             its own grid",
            grid.device.capacity
        )));
    }
    let block = Bytes(u64::from(layout.slots_per_block()) * logical_page);
    Ok(Some(NamedDrive { name: name.clone(), profile, block }))
}

fn not_simulated(grid: &Grid) -> Failure {
    usage(anyhow!(
        "--compare simulates a drive, but `{}` is none: name its twin or a profile of the same size with --drive",
        grid.device.name
    ))
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
fn space(args: &PredictArgs, grid: &Grid, named: Option<&NamedDrive>) -> Result<Space, Failure> {
    let of_drive = named.map(|named| named.block);
    let block = args.block_size.or(grid.block).or(of_drive).unwrap_or(BLOCK);
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
    use flashscope_block::DeviceInfo;
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
