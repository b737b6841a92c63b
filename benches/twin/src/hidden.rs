//! A hidden drive and its measurements.

use std::path::Path;
use std::sync::atomic::AtomicBool;

use flashscope_block::{Bytes, Device, DeviceInfo, Nanos};
use flashscope_document::manifest::{
    Calibration, Machine, Manifest, OnError, Options, State, Tool,
};
use flashscope_document::methodology::Methodology;
use flashscope_fit::{FitError, MeasuredResult};
use flashscope_measure::{Bench, plan};
use flashscope_probe_bench::drives::generate;
use flashscope_result::ResultFolder;
use flashscope_workload::uflip::{self, PerBaseline, Setup};

/// The micro-benchmarks that a twin is fitted to.
pub(crate) const FITTED: [&str; 3] = ["granularity", "locality", "partitioning"];

/// The micro-benchmarks that the twin then predicts.
pub(crate) const PREDICTED: [&str; 6] =
    ["alignment", "order", "parallelism", "mix", "pause", "bursts"];

/// The number of IOs per run.
const IOS: u64 = 256;

/// Returns the spec of the drive of a seed, without `sim:`.
pub(crate) fn spec(seed: u64) -> String {
    generate(seed).spec
}

/// Measures micro-benchmarks on a new drive, into the folder at `path`.
///
/// # Errors
/// Fails if no run succeeded.
///
/// # Panics
/// Panics if the drive fails, which would be a bug of the simulator.
pub(crate) fn measure(
    spec: &str,
    seed: u64,
    names: &[&str],
    path: &Path,
) -> Result<MeasuredResult, FitError> {
    let mut device = flashscope_sim::open(spec).expect("generated drives are valid");
    let mut manifest = manifest(device.info(), seed, names);
    let folder = ResultFolder::create(path, &manifest)?;
    let stop = AtomicBool::new(false);
    let bench = Bench {
        device: &mut device,
        folder: &folder,
        manifest: &mut manifest,
        forgot: false,
        stop: &stop,
        observer: &mut (),
        surroundings: None,
    }
    .run();
    bench.unwrap_or_else(|error| panic!("{spec}: {error}"));
    MeasuredResult::read(path)
}

fn manifest(info: &DeviceInfo, seed: u64, names: &[&str]) -> Manifest {
    let benchmarks: Vec<_> = names.iter().filter_map(|name| uflip::find(name)).collect();
    let setup = Setup { io_count: PerBaseline::same(IOS), ..Setup::paper(info.capacity, seed) };
    let options = Options {
        setup,
        state: State::Random,
        spare: None,
        run_pause_ns: Nanos::secs(1),
        on_error: OnError::Continue,
        methodology: Methodology::default(),
        rounds: None,
        grid: None,
    };
    let plan = plan(&benchmarks, &options, info, false);
    let tool = Tool { version: env!("CARGO_PKG_VERSION").into(), commit: None };
    let machine = Machine {
        processor: String::new(),
        processors: 1,
        memory_bytes: Bytes(0),
        kernel: String::new(),
    };
    let calibration = Calibration {
        clock_resolution_ns: Nanos(1),
        clock_cost_ns: Nanos(0),
        harness_cost_ns: None,
    };
    Manifest::new(tool, machine, calibration, info.clone(), options, plan, String::new())
}
