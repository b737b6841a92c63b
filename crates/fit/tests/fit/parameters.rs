//! Fits twins to simulated drives, from their response times alone.

use std::collections::BTreeSet;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

use flashscope_block::{Bytes, Device, Nanos};
use flashscope_document::manifest::{
    Calibration, Machine, Manifest, OnError, Options, Run, State, Tool,
};
use flashscope_document::methodology::Methodology;
use flashscope_document::twin::{Check, DepthSource, Twin};
use flashscope_fit::{
    FitOptions, MeasuredResult, PredictionOptions, Sources, drives_of, predict, read_twin,
    write_twin,
};
use flashscope_measure::{Bench, Progress, Step, plan};
use flashscope_result::ResultFolder;
use flashscope_sim::budget::Budget;
use flashscope_simulate::{Resources, Work};
use flashscope_workload::uflip::{self, PerBaseline, Setup};
use tempfile::TempDir;

/// A small drive whose times differ from the defaults.
const HIDDEN: &str = "agrawal-2008?flash.dies_per_package=1&flash.planes_per_die=1&flash.packages=4\
    &persistence.map=pages&flash.blocks_per_plane=128&flash.pages_per_block=32\
    &cleaning.free_threshold=0.03&flash.page_read=42us&flash.page_program=510us\
    &flash.serial_access_per_kib=9us&interface.request_overhead=31us&interface.transfer_per_kib=7us";

const HOW: FitOptions =
    FitOptions { seed: 1, confidence: 0.9, sample: Bytes::gib(8), queue_depth: None };

/// Creates a folder in memory if possible: a result waits for its disk after every run.
fn place() -> TempDir {
    tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir()).unwrap()
}

/// Runs micro-benchmarks on a drive and returns the path of the result.
fn measured(place: &TempDir, name: &str, spec: &str, benchmarks: &[&str]) -> PathBuf {
    let mut device = flashscope_sim::open(spec).unwrap();
    let info = device.info().clone();
    let benchmarks: Vec<_> = benchmarks.iter().map(|name| uflip::find(name).unwrap()).collect();
    let options = Options {
        setup: Setup { io_count: PerBaseline::same(48), ..Setup::paper(info.capacity, 1) },
        state: State::Random,
        spare: None,
        run_pause_ns: Nanos::secs(1),
        on_error: OnError::Continue,
        methodology: Methodology::default(),
        rounds: None,
        grid: None,
    };
    let plan = plan(&benchmarks, &options, &info, false);
    let calibration = Calibration {
        clock_resolution_ns: Nanos(1),
        clock_cost_ns: Nanos(0),
        harness_cost_ns: None,
    };
    let machine = Machine {
        processor: "any".into(),
        processors: 1,
        memory_bytes: Bytes(0),
        kernel: "any".into(),
    };
    let tool = Tool { version: "0".into(), commit: None };
    let mut manifest =
        Manifest::new(tool, machine, calibration, info, options, plan, String::new());
    let path = place.path().join(name);
    let folder = ResultFolder::create(&path, &manifest).unwrap();
    let (device, manifest, stop) = (&mut device, &mut manifest, &AtomicBool::new(false));
    let (folder, observer) = (&folder, &mut ());
    Bench { device, folder, manifest, forgot: false, stop, observer, surroundings: None }
        .run()
        .unwrap();
    path
}

fn fit(paths: &[&Path]) -> Result<Twin, flashscope_fit::FitError> {
    let paths: Vec<PathBuf> = paths.iter().map(|path| path.to_path_buf()).collect();
    let stop = AtomicBool::new(false);
    Sources::read(&paths)?.fit(HOW, &Resources::new(2, &stop), &mut ())
}

// If all runs are within the limit, the sample has all runs. Otherwise it has the first repeats of
// some values of every experiment. No run outside the sample is simulated.
#[test]
fn samples_keep_first_repeats_and_simulate_nothing_else() {
    let place = place();
    let path = measured(&place, "all.flashscope", HIDDEN, &["granularity", "locality"]);
    let all = MeasuredResult::read(&path).unwrap();
    let experiments = |of: &MeasuredResult| -> BTreeSet<(String, String)> {
        let experiments = of.manifest.micro_benchmarks.iter().flat_map(|one| {
            one.experiments.iter().map(|experiment| (one.name.clone(), experiment))
        });
        let run = |run: &Run| of.runs.iter().any(|kept| kept.id == run.id);
        let run = experiments.filter(|(_, experiment)| experiment.runs.iter().any(run));
        run.map(|(name, experiment)| (name, experiment.name.clone())).collect()
    };
    let bytes = |of: &MeasuredResult| of.runs.iter().map(|run| run.bytes.0).sum::<u64>();
    let enough = Bytes(bytes(&all) + 20 * all.capacity().0);
    assert_eq!(all.sampled(enough).runs.len(), all.runs.len());
    let profile = flashscope_sim::setup::parse(HIDDEN).unwrap();
    let (least, mut last) = (all.sampled(Bytes(0)).runs.len(), all.runs.len());
    assert_eq!(all.sampled(all.min_work()).runs.len(), least);
    assert!(all.min_work() > all.capacity() && all.min_work() < enough);
    for most in [Bytes(bytes(&all) / 2), Bytes(bytes(&all) / 8), Bytes(0)] {
        let some = all.sampled(most);
        assert!(some.runs.len() <= last && experiments(&some) == experiments(&all));
        assert!(bytes(&some) <= most.0 || some.runs.len() == least);
        let done: Vec<_> = some.manifest.runs().filter(|run| run.progress.ios() > 0).collect();
        assert!(done.iter().all(|run| run.repeat == 1) && done.len() == some.runs.len());
        let drive = some.drive(&profile, &Budget::default()).unwrap();
        let mut calls = Vec::new();
        let simulated = some.simulate(drive, &AtomicBool::new(false), |run, _| {
            calls.push(run.id);
            ControlFlow::Continue(())
        });
        assert_eq!(simulated.unwrap().len(), some.runs.len());
        assert!(calls.iter().eq(some.runs.iter().map(|run| &run.id)));
        last = some.runs.len();
    }
    assert!(3 * least < all.runs.len(), "{least}");
}

// The structure is fitted to a few of the runs. The fit must report its progress and must not
// depend on the number of threads.
#[test]
fn fit_to_a_sample_predicts_as_well_as_to_all_runs() {
    let place = place();
    let fitted = measured(&place, "fit.flashscope", HIDDEN, &["granularity", "locality"]);
    let held = measured(&place, "held.flashscope", HIDDEN, &["order", "alignment"]);
    let sources = Sources::read(&[fitted]).unwrap();
    let how = FitOptions { sample: Bytes(0), ..HOW };
    let (stop, mut steps) = (AtomicBool::new(false), Steps::default());
    let twin = sources.fit(how, &Resources::new(2, &stop), &mut steps).unwrap();
    assert_eq!(twin.runs.len(), sources.measured[0].runs.len());
    let Steps(steps) = steps;
    assert!(steps.is_sorted_by_key(|(done, ..)| *done));
    let misfit = format!("misfit {:.4};", twin.misfit.unwrap());
    assert!(steps.last().unwrap().2.contains(&misfit), "{misfit}: {:?}", steps.last());
    assert_eq!(sources.fit(how, &Resources::new(1, &stop), &mut ()).unwrap(), twin);
    let summary = check(&twin, &held).summary.unwrap();
    assert!(summary.mean_error < 0.03 && summary.p99_error < 0.1, "{summary:?}");
}

fn check(twin: &Twin, held: &Path) -> Check {
    let held = Sources::read(&[held.to_path_buf()]).unwrap();
    flashscope_fit::check(twin, &held, &Resources::new(2, &AtomicBool::new(false)), &mut ())
        .unwrap()
}

/// Collects progress: done, total and the current part.
#[derive(Default)]
struct Steps(Vec<(u64, Option<u64>, String)>);

impl Progress for Steps {
    fn show(&mut self, step: &Step<'_>) {
        self.0.push((step.done, step.total, step.now.into()));
    }

    fn note(&mut self, _text: &str) {}
}

// The twin is fitted to two micro-benchmarks and predicts other micro-benchmarks to within a few
// percent, for any number of threads. It lists the fields that the measurements do not determine.
// It survives writing and reading, and its draws work.
#[test]
fn twin_predicts_other_micro_benchmarks() {
    let place = place();
    let fitted = measured(&place, "fit.flashscope", HIDDEN, &["granularity", "locality"]);
    let held = measured(&place, "held.flashscope", HIDDEN, &["order", "alignment"]);
    let twin = fit(&[&fitted]).unwrap();
    let time = twin.times.iter().find(|time| time.field == "interface.request_overhead").unwrap();
    assert!(time.is_determined && (time.nanos.low..=time.nanos.high).contains(&time.nanos.value));
    let summary = check(&twin, &held).summary.unwrap();
    assert!(summary.mean_error < 0.03 && summary.p99_error < 0.1, "{summary:?}");

    let path = place.path().join("drive.toml");
    write_twin(&twin, &path).unwrap();
    let read = read_twin(&path).unwrap();
    // Numbers may differ in the last digit after the round trip.
    assert_eq!((&read.profile, &read.draws), (&twin.profile, &twin.draws));
    assert_eq!((&read.choices, read.runs.len()), (&twin.choices, twin.runs.len()));
    assert!(flashscope_sim::open(path.to_str().unwrap()).is_ok());
    let (_, draws) = drives_of(&twin, 100).unwrap();
    assert!(draws.len() >= 20);

    let work = Work { ios: Some(500), warm_up: Some("none".parse().unwrap()), ..Work::default() };
    let predict = |threads: usize| {
        let (stop, mut steps) = (AtomicBool::new(false), Steps::default());
        let resources = Resources::new(threads, &stop);
        let options = PredictionOptions { draws: Some(4), filled: None };
        let predicted = predict(&twin, &work, options, &resources, &mut steps).unwrap();
        let counts: Vec<_> = steps.0.into_iter().map(|(done, total, _)| (done, total)).collect();
        assert_eq!(counts, [1, 2, 3, 4, 5].map(|done| (done, Some(5))));
        predicted
    };
    assert_eq!(twin.queue_depth.map(|depth| (depth.usual, depth.max)), Some((1, 1)));
    let (predicted, alone) = (predict(2), predict(1));
    let depth = (predicted.queue_depth, predicted.queue_depth_from);
    assert_eq!(depth, (1, DepthSource::Measurement));
    assert_eq!(predicted, alone);
    let latency = predicted.latency_ns;
    assert!(latency.mean.low <= latency.mean.value && latency.mean.value <= latency.mean.high);
    assert!(latency.p50.value <= latency.p99.value && predicted.bytes_per_second.value > 0.0);
}

#[test]
fn contradictory_or_too_few_results_are_errors() {
    let place = place();
    let one = measured(&place, "one.flashscope", HIDDEN, &["locality", "order"]);
    let slower = format!("{HIDDEN}&interface.request_overhead=900us");
    let slower = measured(&place, "two.flashscope", &slower, &["locality", "order"]);
    let error = fit(&[&one, &slower]).unwrap_err().to_string();
    assert!(
        error.contains("contradict each other") && error.contains("differ in their times"),
        "{error}"
    );
    let larger = format!("{HIDDEN}&flash.blocks_per_plane=160");
    let larger = measured(&place, "three.flashscope", &larger, &["locality"]);
    let error = fit(&[&one, &larger]).unwrap_err().to_string();
    assert!(error.contains("fit a separate twin for each drive"), "{error}");
    let few = measured(&place, "few.flashscope", HIDDEN, &["pause"]);
    let mut sources = Sources::read(&[few]).unwrap();
    sources.measured[0].runs.truncate(4);
    let error = sources
        .fit(HOW, &Resources::new(2, &AtomicBool::new(false)), &mut ())
        .unwrap_err()
        .to_string();
    assert!(error.contains("4 runs to fit") && error.contains("flashscope bench"), "{error}");
}

#[test]
fn simulated_twin_reproduces_the_fill_sweep() {
    let place = place();
    let table = place.path().join("sweep.csv");
    // T = 1200 MiB, FIFO (A = 1.2550, 1.7158 and 2.3639 by the reference), 200 MB/s at a WA of 1,
    // and `moved` = 1.5. The drive programs 1.3 bytes for each byte of data.
    let rows = [(600, 1.2550), (800, 1.7158), (923, 2.3639)].map(|(mib, policy): (u64, f64)| {
        let wa = 1.3 * policy;
        format!("{},{wa},{}\n", mib << 20, 200.0 / (1.0 + 1.5 * (wa - 1.0)))
    });
    std::fs::write(&table, format!("fill,write_amplification,mb_per_s\n{}", rows.concat()))
        .unwrap();
    let twin = fit(&[&table]).unwrap();
    let fill = twin.fill.as_ref().unwrap();
    assert!(
        (fill.flash_bytes.value / 1_258_291_200.0 - 1.0).abs() < 0.01,
        "{:?}",
        fill.flash_bytes
    );
    let as_well = &twin.choices[0].as_well;
    assert!(as_well.iter().all(|policy| policy != "random"), "{as_well:?}");

    let work = Work { workload: "uniform?size=4KiB".into(), ios: Some(200_000), ..Work::default() };
    let predicted = predict(
        &twin,
        &work,
        PredictionOptions { draws: Some(0), filled: None },
        &Resources::new(1, &AtomicBool::new(false)),
        &mut (),
    )
    .unwrap();
    let wa = predicted.write_amplification.unwrap().value;
    assert!(predicted.is_amplification_identified);
    assert!((wa / (1.3 * 2.3639) - 1.0).abs() < 0.06, "{wa}");
    let rate = predicted.bytes_per_second.value / 1e6;
    let expected = 200.0 / (1.0 + 1.5 * (1.3 * 2.3639 - 1.0));
    assert!((rate / expected - 1.0).abs() < 0.05, "{rate} for {expected}");
}

#[test]
fn levels_of_two_drives_are_an_error() {
    let place = place();
    let table = place.path().join("sweep.csv");
    std::fs::write(&table, "fill,mb_per_s\n100GiB,500\n200GiB,900\n300GiB,300\n").unwrap();
    let error = fit(&[&table]).unwrap_err().to_string();
    assert!(error.contains("contradict each other") && error.contains("two drives"), "{error}");
    std::fs::write(&table, "fill,mb_per_s\n100GiB,500\n200GiB,400\n").unwrap();
    let error = fit(&[&table]).unwrap_err().to_string();
    assert!(error.contains("2 fill levels") && error.contains("measure uniform writes"), "{error}");
}
