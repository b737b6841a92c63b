//! Identical baselines of a measurement agree on every simulated drive.

use flashscope_analysis::AGREEMENT;
use flashscope_block::{Bytes, Device, Nanos};
use flashscope_document::facts::{BaselineCheck, Facts};
use flashscope_document::manifest::{OnError, Options, State};
use flashscope_document::methodology::{Methodology, Precision};
use flashscope_measure::{MIN_RUN_PAUSE, plan_where};
use flashscope_sim::{SimDevice, setup};
use flashscope_workload::uflip::{self, PerBaseline, Setup};

use crate::measured::MeasuredDrive;

/// Returns the default options of `flashscope bench`.
fn defaults(device: &SimDevice, seed: u64) -> Options {
    let setup = Setup::paper(device.info().capacity.round_down(Bytes::kib(32)), seed);
    Options {
        setup: Setup { io_count: PerBaseline::same(5120), ..setup },
        state: State::Random,
        spare: None,
        run_pause_ns: MIN_RUN_PAUSE,
        on_error: OnError::Stop,
        methodology: Methodology {
            repeats: 3,
            precision: Some(Precision::default()),
            finds_io_ignore: true,
            finds_run_pause: true,
            most_run_time_ns: Some(Nanos::secs(600)),
            ..Methodology::default()
        },
        rounds: None,
        grid: None,
    }
}

/// Returns true for a run that is one of the baseline patterns.
fn is_baseline(benchmark: &uflip::MicroBenchmark, setup: &Setup, value: i64) -> bool {
    match benchmark.name {
        "preparation" => true,
        "granularity" => u64::try_from(value) == Ok(setup.io_size.0),
        "alignment" => value == 0,
        "partitioning" | "order" | "parallelism" => value == 1,
        _ => false,
    }
}

/// Measures the baselines of a simulated drive as the whole benchmark does.
fn measure(drive: &str, seed: u64) -> Facts {
    let mut device = SimDevice::new(drive, &setup::parse(drive).unwrap()).unwrap();
    let options = defaults(&device, seed);
    let benchmarks: Vec<_> = uflip::all().collect();
    let setup = options.setup.clone();
    let wanted = |benchmark: &uflip::MicroBenchmark, _: &uflip::Experiment, value| {
        is_baseline(benchmark, &setup, value)
    };
    let plan = plan_where(wanted, &benchmarks, &options, device.info(), false);
    MeasuredDrive::of(&mut device, options, plan).facts
}

/// Describes a check that fails.
fn text(drive: &str, check: &BaselineCheck) -> String {
    let findings = check.differences.iter().map(|difference| {
        format!("\n  {} {} ({:?})", difference.baseline, difference.finding, difference.runs)
    });
    let findings: String = findings.collect();
    format!("{drive}: up to {:.1} %{findings}", 100.0 * check.largest_difference)
}

/// A drive whose baselines differ: the check must fail. The fill postpones work, which continues
/// during the first reads, beyond the pause that follows the preparation of the state.
const UNSETTLED: &str = "dram-less";

/// Drives whose merges of log blocks take a quarter of a second each. A few merges left over from
/// the fill make the interval of the first reads wider than 2 %.
const COARSE: [&str; 2] = ["kingston-dthx", "kingston-dti"];

/// The largest drive to check; larger drives take minutes each.
const MAX_CAPACITY: Bytes = Bytes::gib(8);

/// Checks the baselines of a simulated drive.
fn check(drive: &str) {
    let check = measure(drive, 1).baselines.unwrap();
    assert_eq!(check.agree, drive != UNSETTLED, "{}", text(drive, &check));
    let within = check.largest_difference <= AGREEMENT;
    let is_excepted = drive == UNSETTLED || COARSE.contains(&drive);
    assert!(within || is_excepted, "{}", text(drive, &check));
}

#[test]
fn identical_baselines_agree_on_the_demo_drive() {
    check("demo");
}

// Takes minutes: `make test-baselines`.
#[test]
#[ignore = "it takes minutes"]
fn identical_baselines_agree_on_every_simulated_drive() {
    let drives = setup::KINDS.iter().map(|kind| kind.name);
    let is_small = |drive: &&str| setup::parse(drive).unwrap().capacity().unwrap() <= MAX_CAPACITY;
    drives.filter(is_small).for_each(check);
}
