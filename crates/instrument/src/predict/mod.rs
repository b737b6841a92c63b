//! `flashscope predict`: what a workload comes to, without simulating it.

mod args;
mod grid;

use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::anyhow;
use flashscope_block::{Bytes, Nanos};
use flashscope_drive::Clock;
use flashscope_sim::ftl::Layout;
use flashscope_sim::{Profile, profile};
use flashscope_twin::predict::validation::{self, Case, Factors};
use flashscope_twin::predict::{
    Chosen, Found, Numbers, PREDICTION_VERSION, Passes, Pools, PredictError, PredictionReport,
    Request, Requests, Simulated, SimulatedReport, Validation, not_modelled, space,
};
use flashscope_twin::simulate::profile_name;
use flashscope_workload::synthetic::{self, Ios, Target};

pub use self::args::{PredictArgs, WorkloadArgs};
use crate::{Failure, Onlooker, Step, Unit, trace, usage};

/// Predicts what a workload comes to on a drive.
///
/// # Errors
/// Where that cannot be predicted, and where `stop` was set before it was.
pub fn predict(
    args: &PredictArgs,
    stop: &AtomicBool,
    onlooker: &mut dyn Onlooker,
) -> Result<PredictionReport, Failure> {
    if let Some(result) = &args.grid {
        return grid::predict(args, result, (stop, onlooker));
    }
    let clock = Clock::new();
    let begun = clock.now();
    let profile = profile(args)?;
    let layout = profile.layout().map_err(usage)?;
    let chosen = match &args.model {
        Some(name) => Chosen::named(name, &layout),
        None => Chosen::for_drive(&layout),
    }
    .map_err(usage)?;
    let mut loaded = load(args, Addressed::of(&layout), (stop, onlooker))?;
    let mut pools = Pools::new(&layout, chosen, args.pieces()).map_err(usage)?;
    let tell = &mut |share| tell(onlooker, "predicting", share, stop);
    let free_pages = free_pages(&layout);
    let Found { passes, total } =
        Passes::find(&mut pools, free_pages, &mut loaded.requests, tell).map_err(failure)?;
    let cases = cases(chosen.name(), layout.ftl.name);
    let not_modelled = not_modelled(&layout);
    // The cases are of drives of which all is modelled.
    let factors = Factors::of(&cases, args.confidence).filter(|_| not_modelled.is_empty());
    let numbers = Numbers::new(&layout, total, factors);
    let wall_ns = (clock.now() - begun).0;
    let mut report = PredictionReport {
        schema_version: PREDICTION_VERSION,
        drive: args.drive.clone(),
        ftl: layout.ftl.name.into(),
        workload: args.workload.spec().into(),
        seed: loaded.seed,
        model: chosen.name().into(),
        passes,
        host_pages_written: total.pages,
        bytes_written: Bytes(total.pages * u64::from(layout.logical_page_size())),
        erases: Some(numbers.erases()),
        write_amplification: Some(numbers.write_amplification()),
        equivalent_throughput: numbers.equivalent_throughput(),
        ns_per_page: numbers.ns_per_page(),
        bytes_per_second: numbers.bytes_per_second(),
        validation: Validation { level: args.confidence, cases: cases.len() as u64 },
        not_modelled,
        lifetime: None,
        simulated: None,
        wall_ns,
    };
    if args.lifetime {
        let per_day = per_day(args, &loaded, &report)?;
        report.lifetime = Some(numbers.lifetime(args.worn.into(), per_day));
    }
    if args.compare {
        let mut again = load(args, Addressed::of(&layout), (stop, onlooker))?;
        let shown = (stop, onlooker);
        report.simulated = Some(simulate(&profile, &report, &mut again.requests, shown)?);
    }
    Ok(report)
}

/// What is known of a model and an FTL.
fn cases(model: &str, ftl: &str) -> Vec<Case<'static>> {
    validation::cases().filter(|case| case.model == model && case.ftl == ftl).collect()
}

/// The profile of the drive, which is one drive.
fn profile(args: &PredictArgs) -> Result<Profile, Failure> {
    let name = args.drive.as_str();
    let profile = profile::parse(profile_name(name).map_err(usage)?).map_err(usage)?;
    if profile.raid.drives > 1 {
        return Err(usage(anyhow!(
            "`{name}` is an array of {} drives, and a prediction is of one: set raid.drives=1",
            profile.raid.drives
        )));
    }
    Ok(profile)
}

/// A workload that was read.
struct Loaded {
    requests: Requests,
    seed: u64,
    /// From the first request of a trace with times to the last.
    span: Option<Nanos>,
}

/// The pages that the host sees.
#[derive(Clone, Copy)]
struct Addressed {
    /// Bytes of a page.
    page_size: u64,
    /// Pages.
    pages: u64,
}

impl Addressed {
    fn of(layout: &Layout) -> Addressed {
        let page_size = layout.logical_page_size().into();
        Addressed { page_size, pages: layout.logical_pages().into() }
    }
}

fn load(
    args: &PredictArgs,
    Addressed { page_size, pages }: Addressed,
    (stop, onlooker): (&AtomicBool, &mut dyn Onlooker),
) -> Result<Loaded, Failure> {
    let target = Target {
        capacity: Bytes(pages * page_size),
        logical_block: Bytes(page_size.min(4096)),
        filled: true,
        seed: args.seed,
    };
    let workload = synthetic::open(&args.workload.spec(), &target).map_err(usage)?;
    let (seed, ios) = (workload.seed, args.ios);
    let endless = |stream| Requests::Endless { stream, page_size, ios };
    let mut span = None;
    let requests = match workload.ios {
        Ios::Endless(generator) => endless(generator),
        Ios::Application(application) => endless(application),
        Ios::Trace(playback) => {
            trace::survey(&playback, stop, onlooker)?;
            let (mut requests, mut last) = (Vec::new(), Nanos(0));
            trace::each_io(&playback, stop, |io| {
                requests.extend(Request::of(io, page_size));
                last = last.max(io.at);
            })?;
            span = (workload.open_loop && last.0 > 0).then_some(last);
            Requests::Repeated(requests)
        }
        Ios::Runs(_) => {
            return Err(usage(anyhow!(
                "runs of uFLIP are not predicted: name another workload (`flashscope simulate --list`)"
            )));
        }
    };
    Ok(Loaded { requests, seed, span })
}

/// Bytes that the host writes in a day.
#[allow(clippy::cast_precision_loss, reason = "bytes of a workload are below 2^53")]
fn per_day(args: &PredictArgs, loaded: &Loaded, report: &PredictionReport) -> Result<f64, Failure> {
    if let Some(given) = args.per_day {
        return Ok(given.0 as f64);
    }
    let span = loaded.span.ok_or_else(|| {
        usage(anyhow!("--lifetime: the workload has no times of its own: say how much is written in a day with --per-day SIZE"))
    })?;
    let pass = report.bytes_written.0 as f64 / f64::from(report.passes.counted);
    Ok(pass / span.0 as f64 * 86_400e9)
}

/// The same passes on the simulator.
fn simulate(
    profile: &Profile,
    report: &PredictionReport,
    requests: &mut Requests,
    (stop, onlooker): (&AtomicBool, &mut dyn Onlooker),
) -> Result<SimulatedReport, Failure> {
    let clock = Clock::new();
    let begun = clock.now();
    let mut simulated = Simulated::new(profile).map_err(usage)?;
    let tell = &mut |share| tell(onlooker, "simulating", share, stop);
    let done = report.passes.simulate(&mut simulated, requests, tell).map_err(failure)?;
    Ok(SimulatedReport::beside(report, done, clock.now() - begun))
}

fn free_pages(layout: &Layout) -> u64 {
    let space = space(layout);
    u64::from(layout.pools) * u64::from(space.free_blocks) * u64::from(space.pages_per_block)
}

/// Shows how much of something is done, and says whether it is to go on.
#[allow(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a share in thousandths"
)]
fn tell(onlooker: &mut dyn Onlooker, phase: &str, share: f64, stop: &AtomicBool) -> bool {
    let (done, total) = ((1e3 * share) as u64, Some(1000));
    onlooker.show(&Step { phase, now: "", done, total, unit: Unit::Share });
    !stop.load(Ordering::Relaxed)
}

fn failure(error: PredictError) -> Failure {
    match error {
        PredictError::Interrupted => Failure::Failed(error.into()),
        error => usage(error),
    }
}
