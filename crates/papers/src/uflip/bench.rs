//! Benchmarks simulated drives as `flashscope bench` does, in virtual time.

use std::collections::BTreeMap;
use std::mem;
use std::ops::ControlFlow;
use std::sync::{Arc, LazyLock};

use flashscope_analysis::analyse_records;
use flashscope_block::{Bytes, Device, Nanos, Op, Record};
use flashscope_document::Manifest;
use flashscope_document::facts::Facts;
use flashscope_document::manifest;
use flashscope_document::manifest::{
    Calibration, Experiment, Machine, OnError, Options, Progress, State, Tool, find_run,
};
use flashscope_document::methodology::{BaselinePhases, Findings, Methodology};
use flashscope_measure::{LEAST_RUN_PAUSE, RunEnd, again, learn, place, plan_where, start_up};
use flashscope_sim::{Profile, SimDevice};
use flashscope_workload::uflip::{self, Baseline, PREPARATION, PerBaseline, Setup};
use quick_cache::Weighter;
use quick_cache::sync::Cache;

use crate::times::{mean, range};
use crate::{Error, Run};

/// The lengths and the number of runs (section 5.1).
#[derive(Debug, Clone, Copy)]
pub(super) struct Method {
    pub io_count: PerBaseline,
    /// The IOs of a preparation run.
    pub preparation: u64,
    /// The number of repeats of each run, in a row. Only the last repeat counts: unlike the paper's
    /// large drives, these small drives are still busy with earlier runs during the first repeats.
    pub repeats: u32,
    pub state: State,
    /// The queue depth, above 1 only for parallel patterns: other IOs are synchronous (section
    /// 4.3).
    pub queue_depth: u32,
}

impl Method {
    /// The paper's method for SSDs: "we set IOCount to 1,024 for SR, RR and SW and to 5,120 for
    /// RW"; "each experiment was run three times". A quick run has fewer random writes but as many
    /// repeats: only the second repeat is free of the log blocks that the random state filled.
    pub(super) fn ssd(run: &Run<'_>) -> Method {
        let random_write = if run.full { 5120 } else { 1024 };
        Method {
            io_count: PerBaseline { random_write, ..PerBaseline::same(1024) },
            preparation: if run.full { 20_480 } else { 2048 },
            repeats: 3,
            state: State::Random,
            queue_depth: 1,
        }
    }

    /// The paper's method for other drives: "We set the IOCount to 512 in all cases for slow and/or
    /// small devices (USB drives, IDE module, and SD card)".
    pub(super) fn small(run: &Run<'_>) -> Method {
        Method { io_count: PerBaseline::same(512), ..Method::ssd(run) }
    }

    /// The method for SSDs with fewer IOs in a quick run, for experiments with many runs.
    pub(super) fn few(run: &Run<'_>) -> Method {
        let few = PerBaseline { random_write: 1024, ..PerBaseline::same(512) };
        let method = Method::ssd(run);
        if run.full { method } else { Method { io_count: few, ..method } }
    }

    fn options(self, capacity: Bytes, seed: u64, run_pause_ns: Nanos) -> Options {
        let mut setup = Setup::paper(capacity.round_down(Bytes::kib(32)), seed);
        (setup.io_count, setup.preparation_io_count) = (self.io_count, self.preparation);
        Options {
            setup,
            state: self.state,
            run_pause_ns,
            on_error: OnError::Stop,
            methodology: Methodology { repeats: self.repeats, ..Methodology::default() },
            rounds: None,
            grid: None,
        }
    }
}

/// The results of a measured drive.
#[derive(Clone)]
pub(super) struct Measurement {
    /// The findings of the preparation.
    pub findings: Findings,
    /// The facts derived from the records.
    pub facts: Facts,
    manifest: Manifest,
    records: BTreeMap<u32, Vec<Record>>,
    /// The mean response times of the repeats of each run, in ms.
    repeats: Vec<Vec<f64>>,
}

/// Runs the preparation on the drive in the input `drive`, and returns its findings and IOs.
///
/// # Errors
/// Fails if the profile is invalid, or the drive fails.
pub(super) fn prepare(
    drive: &'static str,
    method: Method,
    run: &Run<'_>,
) -> Result<Measurement, Error> {
    let selected = |benchmark: &str, _: &str, _| benchmark == PREPARATION.name;
    let mut prepared =
        Arc::unwrap_or_clone(execute(drive, method, Findings::default(), selected, run)?);
    let mut findings = Findings::default();
    for experiment in prepared.manifest.micro_benchmarks.iter().flat_map(|b| &b.experiments) {
        for run in &experiment.runs {
            #[allow(clippy::cast_precision_loss, reason = "far below 2^53 ns")]
            let times = prepared.records[&run.id].iter().map(|record| record.latency.0 as f64);
            learn(&mut findings, &experiment.name, run, &times.collect::<Vec<_>>());
        }
    }
    prepared.findings = findings;
    Ok(prepared)
}

/// Measures the drive in the input `drive` as `flashscope bench` does: the preparation determines
/// the ignored IOs and the pause between runs. `select` chooses runs by micro-benchmark, experiment
/// and value.
///
/// # Errors
/// Fails if the profile is invalid, or the drive fails.
pub(super) fn measure(
    drive: &'static str,
    method: Method,
    select: impl Fn(&str, &str, i64) -> bool,
    run: &Run<'_>,
) -> Result<Arc<Measurement>, Error> {
    let findings = prepare(drive, method, run)?.findings;
    execute(drive, method, findings, select, run)
}

/// Executes the selected runs of the plan, with the findings of a preparation.
///
/// # Errors
/// Fails if the profile is invalid, or the drive fails.
pub(super) fn execute(
    drive: &'static str,
    method: Method,
    findings: Findings,
    select: impl Fn(&str, &str, i64) -> bool,
    run: &Run<'_>,
) -> Result<Arc<Measurement>, Error> {
    execute_on((drive, run.profile(drive)?), method, findings, select, run)
}

/// Executes the selected runs like [`execute`], but on a drive with the given profile.
///
/// # Errors
/// Fails if the profile is invalid, or the drive fails.
pub(super) fn execute_on(
    (drive, mut profile): (&'static str, Profile),
    method: Method,
    findings: Findings,
    select: impl Fn(&str, &str, i64) -> bool,
    run: &Run<'_>,
) -> Result<Arc<Measurement>, Error> {
    run.check_interrupt()?;
    profile.interface.queue_depth = method.queue_depth;
    let device = SimDevice::new("sim:paper", &profile);
    let device = device.map_err(|error| Error::input(drive, &error))?;
    let longest = findings.interference.iter().map(|one| one.run_pause_ns).max();
    let pause = longest.unwrap_or(LEAST_RUN_PAUSE);
    let mut options = method.options(device.info().capacity, run.number("seed")?, pause);
    options.setup.io_ignore = ignored(method.io_count, findings.clone());
    let mut manifest = plan(&device, options, findings, select);
    let benchmarks = manifest.micro_benchmarks.iter_mut();
    let experiments = benchmarks.flat_map(|benchmark| &mut benchmark.experiments);
    experiments.flat_map(|experiment| &mut experiment.runs).for_each(execute_in_order);
    place(&mut manifest.micro_benchmarks, &manifest.options);
    let benchmarks = manifest.micro_benchmarks.iter_mut();
    let experiments = benchmarks.flat_map(|benchmark| &mut benchmark.experiments);
    experiments.flat_map(repeats_of).for_each(reset_before);
    let key = serde_json::to_string(&(&profile, &manifest)).expect("profiles and plans are JSON");
    MEASURED.get_or_insert_with(&key, || run_plan(device, manifest, run).map(Arc::new))
}

/// The recent measurements, by profile and plan, which determine them: several items measure the same drive in the same way.
static MEASURED: LazyLock<Cache<String, Arc<Measurement>, Records>> =
    LazyLock::new(|| Cache::with_weighter(500, 2_000_000, Records));

/// Weighs a measurement by the number of its records.
#[derive(Clone)]
struct Records;

impl Weighter<String, Arc<Measurement>> for Records {
    fn weight(&self, _: &String, measurement: &Arc<Measurement>) -> u64 {
        1 + measurement.records.values().map(|records| records.len() as u64).sum::<u64>()
    }
}

/// Executes the plan in `manifest`.
fn run_plan(
    mut device: SimDevice,
    mut manifest: Manifest,
    run: &Run<'_>,
) -> Result<Measurement, Error> {
    let mut records = BTreeMap::<u32, Vec<Record>>::new();
    let ended = again(&mut device, &manifest, None, run.stop, |run, began, completion| {
        records.entry(run.id).or_default().push(Record::new(completion, began));
        ControlFlow::Continue(())
    });
    match ended {
        Ok(RunEnd::Complete) => {}
        Ok(RunEnd::Interrupted) => return Err(Error::Interrupted),
        Ok(RunEnd::Failed { .. }) | Err(_) => return Err(Error::Failed),
    }
    let mut repeats = Vec::new();
    for experiment in manifest.micro_benchmarks.iter_mut().flat_map(|b| &mut b.experiments) {
        let of = |run: &manifest::Run| Some(mean(&times(records.get(&run.id)?)));
        repeats.extend(repeats_of(experiment).map(|runs| runs.iter().filter_map(of).collect()));
        experiment.runs = repeats_of(experiment).filter_map(|runs| runs.last().cloned()).collect();
    }
    let facts = analyse_records(&manifest, |run| records.get(&run.id).map_or(&[], |of| of));
    Ok(Measurement { findings: manifest.findings.clone(), facts, manifest, records, repeats })
}

/// Returns the response times in ms.
#[allow(clippy::cast_precision_loss, reason = "far below 2^53 ns")]
fn times(records: &[Record]) -> Vec<f64> {
    records.iter().map(|record| record.latency.0 as f64 / 1e6).collect()
}

/// Returns IOIgnore for each baseline. For random writes it covers the start-up phase, as in the
/// paper, but at most half a run; for other baselines it is 0.
fn ignored(io_count: PerBaseline, mut findings: Findings) -> PerBaseline {
    findings.phases.retain(|phases| phases.baseline == Baseline::RandomWrite);
    let random_write = start_up(&findings, &[Op::Write]).min(io_count.random_write / 2);
    PerBaseline { random_write, ..PerBaseline::same(0) }
}

/// Makes all repeats of a run execute in a row, in the order of the plan.
fn execute_in_order(run: &mut manifest::Run) {
    run.repeat = 1;
    if run.progress == Progress::Pending {
        run.progress = Progress::Done { ios: run.reference.io_count() };
    }
}

/// Groups the runs of an experiment by value, each group with its repeats.
fn repeats_of(experiment: &mut Experiment) -> impl Iterator<Item = &mut [manifest::Run]> {
    experiment.runs.chunk_by_mut(|a, b| a.value == b.value)
}

/// Moves a reset of the state from between the repeats of a run to before the first. The last
/// repeat, which counts, must not begin with the buffer and the log blocks that a reset fills. On
/// the paper's 32 GB drives "the state is in fact never reset" (section 4.2).
fn reset_before(repeats: &mut [manifest::Run]) {
    let reset = repeats.iter_mut().fold(false, |reset, run| reset | mem::take(&mut run.reset));
    repeats.iter_mut().take(1).for_each(|first| first.reset = reset);
}

/// Creates a manifest with the selected runs. A simulated drive needs only the plan; other fields
/// stay empty.
fn plan(
    device: &SimDevice,
    options: Options,
    findings: Findings,
    select: impl Fn(&str, &str, i64) -> bool,
) -> Manifest {
    let select = |benchmark: &uflip::MicroBenchmark, experiment: &uflip::Experiment, value| {
        select(benchmark.name, &experiment.name, value)
    };
    let benchmarks: Vec<_> = uflip::all().collect();
    let plan = plan_where(select, &benchmarks, &options, device.info(), false);
    let empty = String::new;
    let tool = Tool { version: empty(), commit: None };
    let (processor, kernel) = (empty(), empty());
    let machine = Machine { processor, processors: 1, memory_bytes: Bytes(0), kernel };
    let clock_resolution_ns = Nanos(1);
    let calibration =
        Calibration { clock_resolution_ns, clock_cost_ns: Nanos(0), harness_cost_ns: None };
    let info = device.info().clone();
    let manifest = Manifest::new(tool, machine, calibration, info, options, plan, empty());
    Manifest { findings, ..manifest }
}

impl Measurement {
    /// Returns the mean response times of an experiment in ms, by ascending value of its parameter.
    pub(super) fn means(&self, benchmark: &str, experiment: &str) -> Vec<(i64, f64)> {
        let mut means = BTreeMap::new();
        for facts in &self.facts.runs {
            let place = find_run(&self.manifest.micro_benchmarks, facts.run);
            let Some((of, within, run)) = place else { continue };
            if of.name == benchmark && within.name == experiment {
                means.insert(run.value, facts.latency_ns.mean.value / 1e6);
            }
        }
        means.into_iter().collect()
    }

    /// Returns the mean response time in ms for one value of the parameter, or NaN if it was not
    /// measured.
    pub(super) fn mean(&self, benchmark: &str, experiment: &str, value: i64) -> f64 {
        let means = self.means(benchmark, experiment);
        means.iter().find(|(at, _)| *at == value).map_or(f64::NAN, |(_, mean)| *mean)
    }

    /// Returns the mean of a baseline, which is among the runs of the micro-benchmark `alignment`.
    pub(super) fn baseline(&self, baseline: Baseline) -> f64 {
        self.mean("alignment", baseline.name(), 0)
    }

    /// Returns the response times in ms of the experiment's run with `value`, or of its first run.
    pub(super) fn times(&self, benchmark: &str, experiment: &str, value: Option<i64>) -> Vec<f64> {
        let benchmarks = self.manifest.micro_benchmarks.iter().filter(|b| b.name == benchmark);
        let mut runs = benchmarks
            .flat_map(|b| &b.experiments)
            .filter(|e| e.name == experiment)
            .flat_map(|e| &e.runs)
            .filter(|run| value.is_none_or(|value| run.value == value));
        let records = runs.next().and_then(|run| self.records.get(&run.id));
        records.map_or(vec![], |records| times(records))
    }

    /// Returns the relative spread of the repeats' means for each run, without the repeats before
    /// `first`, counted from 0.
    pub(super) fn spreads(&self, first: usize) -> Vec<f64> {
        let spread = |repeats: &Vec<f64>| {
            let [least, most] = range(repeats.iter().skip(first).copied());
            most / least - 1.0
        };
        self.repeats.iter().map(spread).collect()
    }

    /// Returns the phases of a baseline that the preparation found.
    pub(super) fn phases(&self, baseline: Baseline) -> Option<&BaselinePhases> {
        self.findings.phases.iter().find(|phases| phases.baseline == baseline)
    }
}
