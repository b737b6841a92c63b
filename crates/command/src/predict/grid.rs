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
    InterpolatedModel, LawCost, Point, SimulatedDrive, equivalent_throughput, model_family,
    modelled_ftl, predicted_value, steady_passes,
};
use flashscope_result::ResultFolder;
use flashscope_sim::Profile;

use super::args::{DRIVE_OF_GRID, LikeArg};
use super::request::{LoadedWorkload, profile};
use super::{AddressSpace, PredictArgs, cases, failure};
use crate::{Failure, Progress, usage};

/// The assumed size of an erase block if the drive does not report it.
const BLOCK: Bytes = Bytes(1 << 20);

/// Predicts the performance of a workload on the drive of a result.
pub(super) fn predict(
    args: &PredictArgs,
    result: &Path,
    (stop, sink): (&AtomicBool, &mut dyn Progress),
) -> Result<PredictionReport, Failure> {
    let clock = Clock::new();
    let begun = clock.now();
    let grid = read(result)?;
    let named = named_drive(args, &grid)?;
    let (interpolated, like) = interpolated(args, &grid, named.as_ref())?;
    let space = space(args, &grid, named.as_ref())?;
    let addressed = AddressSpace { page_size: grid.page.0, pages: space.pages() };
    let spec = args.workload.spec();
    let mut loaded = args.request(&spec).load(addressed, (stop, &mut *sink))?;
    let applied = AppliedGrid { args, grid: &grid, interpolated, space };
    let predicted = match like {
        Family::PageMap => applied.distribution(&loaded)?,
        _ => applied.requests(&mut loaded, modelled_ftl(like).name)?,
    };
    let mut report = applied.report(&predicted);
    report.drive = named.as_ref().map_or(&grid.device.name, |named| &named.name).clone();
    report.ftl = modelled_ftl(like).name.into();
    (report.workload, report.seed) = (spec.to_string(), loaded.seed);
    report.wall_ns = (clock.now() - begun).0;
    if args.compare {
        let drive = named.ok_or_else(|| not_simulated(&grid))?;
        let mut again = args.request(&spec).load(addressed, (stop, &mut *sink))?;
        let simulated =
            SimulatedDrive::for_pages(&drive.profile, &args.memory.budget(), grid.page.0)
                .map_err(usage)?;
        let requests = &mut again.requests;
        report.simulated = Some(match like {
            Family::PageMap => {
                let free = u64::from(space.free_blocks) * u64::from(space.pages_per_block);
                super::simulate_long_run(simulated, &report, free, requests, (stop, sink))?
            }
            _ => {
                let passes = steady_passes(report.passes, report.host_pages_written, space);
                super::simulate(simulated, &report, passes, requests, (stop, sink))?
            }
        });
    }
    Ok(report)
}

/// A grid, applied to a drive of its size.
struct AppliedGrid<'a> {
    args: &'a PredictArgs,
    grid: &'a Grid,
    interpolated: InterpolatedModel,
    space: Space,
}

/// The result of a grid.
struct GridPrediction {
    counted: u32,
    pages: u64,
    nanos_per_page: f64,
    /// The total number of erases, and the programs per page; `None` if the grid does not have
    /// them.
    counts: Option<(f64, f64)>,
    factors: Option<Factors>,
    /// The number of cases behind the factors.
    cases: usize,
    not_modelled: Vec<String>,
}

/// The largest factor between the predicted and the actual cost of a distribution on a page-mapped
/// drive, from the test `grid_of_a_page_mapped_drive_predicts_distributions`. It covers the errors
/// of the grid and of the model.
const KNOWN: f64 = 1.06;

/// The number of cases in that test.
const KNOWN_CASES: usize = 8;

#[allow(clippy::cast_precision_loss, reason = "pages are below 2^53")]
impl AppliedGrid<'_> {
    /// Predicts requests for a drive with log blocks.
    fn requests(&self, loaded: &mut LoadedWorkload, ftl: &str) -> Result<GridPrediction, Failure> {
        let pieces = self.args.pieces();
        let predicted = self.interpolated.predict(self.space, pieces, &mut loaded.requests);
        let (counted, cost) = predicted.map_err(failure)?;
        let (pages, (erases, programs)) = (cost.pages as f64, cost.counts);
        let cases = cases("grid", ftl, Stratum::of(programs / pages, loaded.has_trims()));
        let beyond = beyond_the_grid(self.grid, cost.beyond as f64 / pages);
        let factors = Factors::of(&cases, self.args.confidence.level);
        Ok(GridPrediction {
            counted,
            pages: cost.pages,
            nanos_per_page: cost.nanos / pages,
            counts: self.interpolated.counts().then_some((erases, programs / pages)),
            factors: factors.filter(|_| beyond.is_none()),
            cases: cases.len(),
            not_modelled: loaded.ignored_trims().into_iter().chain(beyond).collect(),
        })
    }

    /// Predicts the long run of a distribution for a page-mapped drive.
    #[allow(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "at least 1 page, and far fewer than 2^64"
    )]
    fn distribution(&self, loaded: &LoadedWorkload) -> Result<GridPrediction, Failure> {
        let free = u64::from(self.space.free_blocks) * u64::from(self.space.pages_per_block);
        let pages = (self.space.pages(), free);
        let law = loaded.law.as_ref();
        let cost = law.and_then(|law| self.interpolated.long_run(law, self.grid.page.0, pages));
        let LawCost { nanos, counts, separated, is_beyond, pages, writes } =
            cost.ok_or_else(no_distribution)?;
        let written = (self.args.ios as f64 * writes * pages).round().max(1.0);
        let beyond = beyond_the_grid(self.grid, f64::from(u8::from(is_beyond)));
        let factors = Factors {
            erases: KNOWN,
            write_amplification: KNOWN,
            lower: 1.0 / separated,
            upper: 1.0,
        };
        let unknown = (separated < 0.99).then(|| {
            "separation of hot and cold data, which a grid of uniform writes cannot show: intervals extend to the best separation"
                .to_owned()
        });
        Ok(GridPrediction {
            counted: 1,
            pages: written as u64,
            nanos_per_page: nanos,
            counts: counts.map(|(erases, programs)| (erases * written, programs)),
            factors: beyond.is_none().then_some(factors),
            cases: KNOWN_CASES,
            not_modelled: unknown.into_iter().chain(beyond).collect(),
        })
    }

    fn report(&self, predicted: &GridPrediction) -> PredictionReport {
        let GridPrediction { counted, pages, nanos_per_page, counts, factors, cases, .. } =
            *predicted;
        let page = self.grid.page.0;
        let fewest = pages as f64 / f64::from(self.space.pages_per_block);
        let value = |of: &dyn Fn(f64, f64) -> f64| {
            counts.map(|counts| predicted_value(counts, factors, (0.0, 0.0), of))
        };
        PredictionReport {
            schema_version: PREDICTION_VERSION,
            conclusions: Vec::new(),
            drive: String::new(),
            ftl: String::new(),
            workload: String::new(),
            seed: 0,
            model: "grid".into(),
            // The prediction treats intervals of the workload independently, and does not depend on
            // the number of passes.
            passes: Passes { warm_up: 0, counted, converged: true },
            host_pages_written: pages,
            bytes_written: Bytes(pages * page),
            erases: value(&|erases, _| erases),
            write_amplification: value(&|_, amplification| amplification),
            equivalent_throughput: counts
                .filter(|(erases, _)| *erases > 0.0)
                .and_then(|_| value(&|erases, _| equivalent_throughput(fewest, erases))),
            ns_per_page: PredictedValue::alone(nanos_per_page),
            bytes_per_second: PredictedValue::alone(1e9 * page as f64 / nanos_per_page),
            validation: Validation { level: self.args.confidence.level, cases: cases as u64 },
            not_modelled: predicted.not_modelled.clone(),
            lifetime: None,
            simulated: None,
            wall_ns: 0,
        }
    }
}

/// Refuses a workload that no model predicts from a grid of a page-mapped drive.
fn no_distribution() -> Failure {
    usage(anyhow!(
        "a grid of a page-mapped drive predicts uniform, hotcold and zipf writes of one size in whole pages, and no other workload: \
         fit a twin (`flashscope twin fit`) and simulate the workload on it"
    ))
}

/// Describes the share of a workload that lies beyond the points of a grid, if it is not
/// negligible.
fn beyond_the_grid(grid: &Grid, beyond: f64) -> Option<String> {
    let share = 100.0 * beyond;
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
    /// The family of its FTL; `None` if no model predicts it.
    family: Option<Family>,
}

/// Returns the drive of `--drive`. Without that option, returns the drive of the grid if it is
/// simulated.
fn named_drive(args: &PredictArgs, grid: &Grid) -> Result<Option<NamedDrive>, Failure> {
    let given = args.drive.name() != DRIVE_OF_GRID;
    let name = if given { args.drive.name() } else { &grid.device.name };
    if !given && grid.device.kind != DeviceKind::Sim {
        return Ok(None);
    }
    let profile = match profile(name) {
        // The file of the profile may be missing; only a comparison needs it.
        Err(_) if !given && !args.compare => return Ok(None),
        profile => profile?,
    };
    let design = profile.design_without_zones("a modelled workload").map_err(usage)?;
    let logical_page = u64::from(design.logical_page_size());
    let capacity = Bytes(u64::from(design.logical_pages()) * logical_page);
    if capacity != grid.device.capacity {
        return Err(usage(anyhow!(
            "`{name}` has {capacity}, but the grid was measured on {}: name a drive of the same size with --drive, or measure \
             its own grid",
            grid.device.capacity
        )));
    }
    let block = Bytes(u64::from(design.slots_per_block()) * logical_page);
    let family = model_family(&design.ftl);
    Ok(Some(NamedDrive { name: name.into(), profile, block, family }))
}

fn not_simulated(grid: &Grid) -> Failure {
    usage(anyhow!(
        "--compare needs a simulated drive, and `{}` is not one: name its twin or a profile of the same size with \
         --drive",
        grid.device.name
    ))
}

/// Builds the model that interpolates a grid, and returns the assumed family of FTLs with it.
fn interpolated(
    args: &PredictArgs,
    grid: &Grid,
    named: Option<&NamedDrive>,
) -> Result<(InterpolatedModel, Family), Failure> {
    let points: Vec<Point> = grid.points.iter().map(point).collect();
    let family = match args.like {
        Some(LikeArg::Bast) => Family::Bast,
        Some(LikeArg::Fast) => Family::Fast,
        Some(LikeArg::PageMap) => Family::PageMap,
        None => named.and_then(|named| named.family).unwrap_or(Family::Fast),
    };
    let interpolated = InterpolatedModel::new(&points, family)
        .map_err(|error| usage(anyhow!("the grid cannot be interpolated: {error}")))?;
    Ok((interpolated, family))
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

/// Checks the page size of a grid, which is used as a divisor. The grid may be untrusted or
/// hand-written. The number of pages per block is checked with the drive.
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
        let device = DeviceInfo::new(("sim:demo", DeviceKind::Sim), (Bytes::GIB, Bytes(512)), 1);
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
