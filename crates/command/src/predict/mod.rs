//! `flashscope predict`: predicts the performance of a workload without simulating it.

mod args;
mod collection;
mod grid;
mod request;

use std::sync::atomic::AtomicBool;

use anyhow::anyhow;
use flashscope_analysis::conclusions::Conclude;
use flashscope_block::{Bytes, Nanos};
use flashscope_document::prediction::{Passes, PredictionReport, SimulatedReport};
use flashscope_drive::Clock;
use flashscope_predict::long_run::LongRunModel;
use flashscope_predict::validation::{self, Case, Stratum};
use flashscope_predict::{
    CountedPasses, LONG_RUN_TURNS, PredictError, Requests, SimulatedDrive, free_pages,
    simulate_passes, simulated_beside,
};
use flashscope_result::prediction::PredictionFolder;

pub use self::args::PredictArgs;
pub use self::collection::predict_collection;
use self::request::AddressSpace;
pub use self::request::{Prediction, PredictionRequest};
use crate::{Failure, Progress, not_made, usage};

/// Predicts the performance of a workload on a drive.
///
/// # Errors
/// If the request cannot be predicted, or `stop` was set first.
pub fn predict(
    args: &PredictArgs,
    stop: &AtomicBool,
    sink: &mut dyn Progress,
) -> Result<PredictionReport, Failure> {
    if args.collection.is_some() {
        let reason = "the prediction of a collection has a row for each volume: use `flashscope predict --collection`";
        return Err(usage(anyhow!(reason)));
    }
    let folder = args.output.folder.as_deref();
    let folder = folder.map(|path| PredictionFolder::create(path).map_err(not_made)).transpose()?;
    let report = match &args.grid {
        Some(result) => grid::predict(args, result, (stop, sink)),
        None => by_model(args, (stop, sink)),
    }?;
    let report = report.with_conclusions();
    folder.map_or(Ok(()), |mut folder| folder.write(&report))?;
    Ok(report)
}

fn by_model(
    args: &PredictArgs,
    (stop, sink): (&AtomicBool, &mut dyn Progress),
) -> Result<PredictionReport, Failure> {
    let spec = args.workload.spec();
    let request = args.request(&spec);
    let Prediction { profile, mut report, numbers, span } = request.make((stop, sink))?;
    if args.lifetime {
        let per_day = per_day(args.per_day, span, &report)?;
        report.lifetime = Some(numbers.lifetime(args.worn.into(), per_day));
    }
    if args.compare {
        let design = profile.design().map_err(usage)?;
        let mut again = request.load(AddressSpace::of(&design), (stop, sink))?;
        let (memory, shown) = (&request.memory, (stop, sink));
        let drive = SimulatedDrive::within(&profile, memory).map_err(usage)?;
        let requests = &mut again.requests;
        let simulated = match LongRunModel::named(&report.model) {
            Some(_) => simulate_long_run(drive, &report, free_pages(&design), requests, shown)?,
            None => simulate(drive, &report, report.passes, requests, shown)?,
        };
        report.simulated = Some(simulated);
    }
    Ok(report)
}

/// Returns the validation cases of a model and an FTL in a stratum.
fn cases(model: &str, ftl: &str, stratum: Stratum) -> Vec<Case<'static>> {
    let is_one = |case: &Case<'_>| (case.model, case.ftl, case.stratum) == (model, ftl, stratum);
    validation::cases().filter(is_one).collect()
}

/// Returns the bytes that the host writes per day.
#[allow(clippy::cast_precision_loss, reason = "bytes of a workload are below 2^53")]
fn per_day(
    given: Option<Bytes>,
    span: Option<Nanos>,
    report: &PredictionReport,
) -> Result<f64, Failure> {
    if let Some(given) = given {
        return match given.0 {
            0 => Err(usage(anyhow!(
                "--per-day 0: a drive without writes never wears out; give more than 0 bytes"
            ))),
            bytes => Ok(bytes as f64),
        };
    }
    let span = span.ok_or_else(|| {
        usage(anyhow!("--lifetime: the workload has no request times: give the bytes written per day with --per-day SIZE"))
    })?;
    let pass = report.bytes_written.0 as f64 / f64::from(report.passes.counted);
    Ok(pass / span.0 as f64 * 86_400e9)
}

/// Runs these passes on the simulator, and compares them with a prediction.
fn simulate(
    mut drive: SimulatedDrive,
    report: &PredictionReport,
    passes: Passes,
    requests: &mut Requests,
    (stop, sink): (&AtomicBool, &mut dyn Progress),
) -> Result<SimulatedReport, Failure> {
    let clock = Clock::new();
    let begun = clock.now();
    let done = simulate_passes(&passes, &mut drive, requests, (stop, sink)).map_err(failure)?;
    Ok(simulated_beside(report, done, clock.now() - begun))
}

/// Simulates requests until the drive is in the steady state, and compares the counts of one pass
/// in that state with a computed prediction.
fn simulate_long_run(
    mut drive: SimulatedDrive,
    report: &PredictionReport,
    free_pages: u64,
    requests: &mut Requests,
    (stop, sink): (&AtomicBool, &mut dyn Progress),
) -> Result<SimulatedReport, Failure> {
    let clock = Clock::new();
    let begun = clock.now();
    let (watched, turns) = ((stop, sink), (LONG_RUN_TURNS, free_pages));
    let CountedPasses { passes, total, took } =
        CountedPasses::until_steady(&mut drive, turns, requests, "simulating", watched)
            .map_err(failure)?;
    let mut simulated = simulated_beside(report, (total, took), clock.now() - begun);
    simulated.erases /= f64::from(passes.counted);
    simulated.erases_error = simulated
        .erases_error
        .and(report.erases)
        .map(|predicted| predicted.value / simulated.erases - 1.0);
    Ok(simulated)
}

fn failure(error: PredictError) -> Failure {
    match error {
        PredictError::Interrupted => Failure::Interrupted(error.into()),
        error => usage(error),
    }
}
