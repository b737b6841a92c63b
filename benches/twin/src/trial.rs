//! Measures and fits a hidden drive, and predicts experiments that its twin was not fitted to.

use std::error::Error;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use flashscope_block::{Bytes, Device};
use flashscope_document::twin::{Comparison, Range, Twin};
use flashscope_fit::{FitOptions, PredictionOptions, Sources, check, predict};
use flashscope_measure::Progress;
use flashscope_probe_bench::trial::probe;
use flashscope_sim::{Drive, setup};
use flashscope_simulate::{Resources, Simulator, Work};

use crate::hidden;

/// The number of IOs of a trace.
const TRACE_IOS: u64 = 10_000;

/// The confidence level of the intervals.
pub(crate) const CONFIDENCE: f64 = 0.9;

/// A prediction with the true value.
pub(crate) struct Prediction {
    /// The experiment.
    pub title: String,
    /// The value on the hidden drive.
    pub truth: f64,
    /// The value that its twin predicts.
    pub predicted: Range,
}

impl Prediction {
    /// Returns the error relative to the truth.
    pub(crate) fn error(&self) -> f64 {
        (self.predicted.value / self.truth - 1.0).abs()
    }

    /// Returns true if the interval contains the truth.
    pub(crate) fn covers_truth(&self) -> bool {
        (self.predicted.low..=self.predicted.high).contains(&self.truth)
    }
}

/// The results for a drive.
pub(crate) struct Trial {
    /// The twin.
    pub twin: Twin,
    /// The duration of the fit.
    pub took: Duration,
    /// Predictions of mean response times: of the micro-benchmarks, then of the traces.
    pub means: Vec<Prediction>,
    /// Predictions of 99th percentiles.
    pub p99s: Vec<Prediction>,
}

#[allow(clippy::disallowed_methods, reason = "a benchmark reads clocks")]
fn now() -> Instant {
    Instant::now()
}

/// Measures, fits and predicts the drive of a seed; with `blind`, without a probe.
///
/// # Errors
/// Returns the error that prevented a measurement or the fit.
pub(crate) fn trial(
    seed: u64,
    jobs: usize,
    blind: bool,
    traces: &[String],
    progress: &mut dyn Progress,
) -> Result<Trial, Box<dyn Error>> {
    let (spec, folder) = (hidden::spec(seed), tempfile::tempdir()?);
    let at = |name: &str| folder.path().join(name);
    hidden::measure(&spec, seed, &hidden::FITTED, &at("fit.flashscope"))?;
    hidden::measure(&spec, seed + 1, &hidden::PREDICTED, &at("held.flashscope"))?;
    let mut sources = Sources::read(&[at("fit.flashscope")])?;
    let held = Sources::read(&[at("held.flashscope")])?;
    if !blind {
        sources.probed = probed(&spec, seed)?;
    }
    let (begun, stop) = (now(), AtomicBool::new(false));
    let twin = sources.fit(
        FitOptions { seed, confidence: CONFIDENCE, sample: Bytes::gib(8), queue_depth: None },
        &Resources::new(jobs, &stop),
        progress,
    )?;
    let took = begun.elapsed();
    let check = check(&twin, &held, &Resources::new(jobs, &stop), &mut ())?;
    let (mut means, mut p99s) = (Vec::new(), Vec::new());
    for run in check.runs {
        let predicted = |compared: Comparison| Prediction {
            title: run.title.clone(),
            truth: compared.measured,
            predicted: compared.predicted,
        };
        means.push(predicted(run.mean));
        p99s.push(predicted(run.p99));
    }
    for trace in traces {
        let (mean, p99) = traced(&twin, &spec, trace, jobs)?;
        means.push(mean);
        p99s.push(p99);
    }
    Ok(Trial { twin, took, means, p99s })
}

/// Probes the drive, and returns its profile if the probe determined enough.
fn probed(spec: &str, seed: u64) -> Result<Option<flashscope_sim::Profile>, Box<dyn Error>> {
    let mut drive = flashscope_sim::open(spec)?;
    let outcome =
        probe(&mut drive, seed, &[], &mut |_| {}).map_err(|_| "the probe was interrupted")?;
    let text = flashscope_probe::profile(&outcome.knowledge, drive.info());
    Ok(text.map(|text| setup::from_toml(&text)).transpose()?)
}

/// Replays a trace on the drive and on its twin, and returns the predictions of mean and 99th
/// percentile.
#[allow(clippy::cast_precision_loss, reason = "response times are below 2^53 ns")]
fn traced(
    twin: &Twin,
    spec: &str,
    trace: &str,
    jobs: usize,
) -> Result<(Prediction, Prediction), Box<dyn Error>> {
    let work = Work {
        workload: trace.into(),
        ios: Some(TRACE_IOS),
        warm_up: Some("none".parse()?),
        ..Work::default()
    };
    let stop = AtomicBool::new(false);
    let drive = Drive::new("sim:hidden", &setup::parse(spec)?)?;
    let truth = Simulator::on(drive, &work, &stop, &mut ())?.run(&stop, &mut ())?.simulation;
    let truth = truth.latency_ns.ok_or("the trace has no measured IO")?;
    let options = PredictionOptions { draws: None, filled: None };
    let predicted = predict(twin, &work, options, &Resources::new(jobs, &stop), &mut ())?;
    let predicted = predicted.latency_ns;
    let of = |truth: f64, predicted: Range| Prediction { title: trace.into(), truth, predicted };
    Ok((of(truth.mean.value, predicted.mean), of(truth.p99 as f64, predicted.p99)))
}

/// Returns three real traces of the reference data, replayed as fast as possible, or similar
/// synthetic workloads if the data is missing.
#[allow(clippy::disallowed_methods, reason = "a benchmark reads the location of its data")]
pub(crate) fn traces() -> [String; 3] {
    let named = std::env::var_os("FLASHSCOPE_DATA").map(PathBuf::from);
    let default = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data");
    let folder = named.unwrap_or(default).join("traces");
    let real = [
        "msr.cut.per_10k.rw_20_80.105.trace.zst",
        "financial1-first10k.ssdsim.ascii.zst",
        "cloudPhysicsIO.first1h.csv.zst",
    ]
    .map(|name| folder.join(name));
    if real.iter().all(|path| path.exists()) {
        return real.map(|path| format!("trace:{}?remap=fold&pace=asap", path.display()));
    }
    ["zipf?exponent=0.9&reads=0.3", "hotcold?hot_space=0.05&reads=0.5", "uniform?reads=0.7"]
        .map(String::from)
}
