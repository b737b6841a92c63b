//! The verdicts of comparisons on simulated drives: how often they are false, and what they detect.

use std::sync::atomic::AtomicBool;

use flashscope_analysis::compare::{Contestant, Subject, compare};
use flashscope_block::{Bytes, Device};
use flashscope_document::comparison::{Comparison, ComparisonVerdict};
use flashscope_document::manifest::{OnError, Options, State};
use flashscope_document::methodology::Methodology;
use flashscope_document::what_if::Quantity;
use flashscope_document::{Simulation, SimulationStatus};
use flashscope_measure::{MIN_RUN_PAUSE, WarmUp, plan};
use flashscope_sim::{SimDevice, setup};
use flashscope_simulate::{SimulationRequest, Work, simulate};
use flashscope_workload::uflip::{self, PerBaseline, Setup};
use serde_json::Value;

use crate::measured::MeasuredDrive;

/// The limit of the checks for regressions.
const LIMIT: f64 = 0.05;

/// A small drive, which fills in a negligible time.
const SMALL: &str = "demo?flash.packages=1&flash.dies_per_package=1&flash.planes_per_die=1&flash.blocks_per_plane=64";

/// The fields that make the operations of [`SMALL`] 10 % slower.
const SLOWER: &str = "&flash.page_read=27500ns&flash.page_program=220us&flash.block_erase=1650us&flash.serial_access_per_kib=28160ns";

fn simulated(drive: &str, workload: &str, seed: u64) -> Simulation<Value> {
    let work = Work {
        workload: workload.into(),
        warm_up: Some(WarmUp::Capacities(3.0)),
        ios: Some(20_000),
        seed,
        ..Work::default()
    };
    let request = SimulationRequest { drive: drive.into(), work };
    let done = simulate(&request, &AtomicBool::new(false), &mut ()).unwrap().simulation;
    assert_eq!(done.status, SimulationStatus::Complete);
    serde_json::from_value(serde_json::to_value(done).unwrap()).unwrap()
}

fn compared_simulations(a: &Simulation<Value>, b: &Simulation<Value>) -> Comparison {
    let [a, b] =
        [("a", a), ("b", b)].map(|(name, one)| Contestant::new(name, Subject::Simulation(one)));
    compare(&[a, b], Some(LIMIT))
}

fn measured(drive: &str, seed: u64, ios: u64) -> MeasuredDrive {
    let mut device = SimDevice::new(drive, &setup::parse(drive).unwrap()).unwrap();
    let setup = Setup::paper(device.info().capacity.round_down(Bytes::kib(32)), seed);
    let options = Options {
        setup: Setup { io_count: PerBaseline::same(ios), io_size: Bytes::kib(4), ..setup },
        state: State::Random,
        spare: None,
        run_pause_ns: MIN_RUN_PAUSE,
        on_error: OnError::Stop,
        methodology: Methodology { repeats: 3, ..Methodology::default() },
        rounds: None,
        grid: None,
    };
    let benchmarks = [uflip::find("granularity").unwrap()];
    let plan = plan(&benchmarks, &options, device.info(), false);
    MeasuredDrive::of(&mut device, options, plan)
}

fn compared_measurements(a: &MeasuredDrive, b: &MeasuredDrive) -> Comparison {
    let [a, b] = [("a", a), ("b", b)].map(|(name, one)| {
        let MeasuredDrive { manifest, facts, .. } = one;
        let subject = Subject::Measurement { manifest, facts };
        Contestant::new(name, subject)
    });
    compare(&[a, b], Some(LIMIT))
}

/// Returns the verdicts of a comparison that claim a difference.
fn differences(comparison: &Comparison) -> Vec<String> {
    let mut found = Vec::new();
    for workload in &comparison.workloads {
        for compared in &workload.quantities {
            let number = &compared.results[1];
            if matches!(number.verdict, Some(ComparisonVerdict::Better | ComparisonVerdict::Worse))
            {
                let values = [&compared.results[0].value, &number.value, &number.ratio];
                found.push(format!("{}: {:?} {values:?}", workload.name, compared.quantity));
            }
        }
    }
    found
}

/// The false alarms among comparisons of a drive with itself.
#[derive(Debug, Default)]
struct FalseAlarms {
    /// The false verdicts of each comparison that has any.
    verdicts: Vec<Vec<String>>,
    /// The number of comparisons with a regression.
    regressions: usize,
}

fn false_alarms(comparisons: impl Iterator<Item = Comparison>) -> FalseAlarms {
    let mut alarms = FalseAlarms::default();
    for one in comparisons {
        assert!(one.workloads.iter().any(|workload| {
            workload.quantities.iter().any(|quantity| quantity.results[1].verdict.is_some())
        }));
        alarms.verdicts.extend(Some(differences(&one)).filter(|found| !found.is_empty()));
        alarms.regressions += usize::from(!one.regressions.unwrap().found.is_empty());
    }
    alarms
}

fn mean_verdicts(comparison: &Comparison) -> Vec<(String, ComparisonVerdict)> {
    let of = |workload: &flashscope_document::comparison::ComparedWorkload| {
        let mean = workload.quantities.iter().find(|one| one.quantity == Quantity::MeanLatency)?;
        Some((workload.name.clone(), mean.results[1].verdict?))
    };
    comparison.workloads.iter().filter_map(of).collect()
}

// Of 120 comparisons of simulations of the same drive with other seeds, none has a false verdict.
// The test repeats 45 of them.
#[test]
fn simulations_of_the_same_drive_rarely_differ() {
    let workloads = ["uniform", "uniform?reads=0.5&queue_depth=4", "zipf?reads=0.3"];
    for workload in workloads {
        let pair = |n: u64| {
            let [a, b] = [2 * n, 2 * n + 1].map(|seed| simulated(SMALL, workload, seed));
            compared_simulations(&a, &b)
        };
        let found = false_alarms((0..15).map(pair));
        assert!(found.verdicts.len() <= 1 && found.regressions == 0, "{workload}: {found:?}");
    }
}

// docs/compare.md states the result of 96 comparisons at the default lengths. The test makes eight
// others.
#[test]
fn measurements_of_the_same_drive_rarely_differ() {
    for (ios, pairs) in [(1024, 6), (8192, 2)] {
        let pair = |n: u64| {
            let [a, b] = [2 * n, 2 * n + 1].map(|seed| measured(SMALL, seed, ios));
            compared_measurements(&a, &b)
        };
        let found = false_alarms((0..pairs).map(pair));
        assert!(found.verdicts.is_empty(), "{ios}: {found:?}");
    }
}

#[test]
fn a_drive_that_is_ten_percent_slower_is_a_regression() {
    let slower = format!("{SMALL}{SLOWER}");
    for seed in 0..5 {
        let found = compared_simulations(
            &simulated(SMALL, "uniform", seed),
            &simulated(&slower, "uniform", seed + 100),
        );
        assert!(
            mean_verdicts(&found).iter().all(|(_, verdict)| *verdict == ComparisonVerdict::Worse)
        );
        let latency = |quantity| quantity == Quantity::MeanLatency;
        let regressions = found.regressions.unwrap().found;
        assert!(regressions.iter().any(|one| latency(one.quantity)), "{seed}: {regressions:?}");
        let back = compared_simulations(
            &simulated(&slower, "uniform", seed),
            &simulated(SMALL, "uniform", seed + 100),
        );
        assert!(
            mean_verdicts(&back).iter().all(|(_, verdict)| *verdict == ComparisonVerdict::Better)
        );
        assert!(back.regressions.unwrap().found.is_empty());
    }
    let found = compared_measurements(&measured(SMALL, 1, 1024), &measured(&slower, 2, 1024));
    println!("{:?}\n{}", mean_verdicts(&found), found.conclusions[0].text);
    let worse = mean_verdicts(&found)
        .iter()
        .filter(|(_, verdict)| *verdict == ComparisonVerdict::Worse)
        .count();
    assert!(worse >= 20, "{:?}", mean_verdicts(&found));
    assert!(!found.regressions.unwrap().found.is_empty());
}
