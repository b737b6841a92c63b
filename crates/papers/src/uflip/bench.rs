//! A simulated drive under this project's benchmark, in virtual time.

use std::collections::BTreeMap;
use std::mem;
use std::ops::ControlFlow;

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

use crate::times::{mean, range};
use crate::{Error, Run};

/// How long runs are (section 5.1).
#[derive(Debug, Clone, Copy)]
pub(super) struct Method {
    pub io_count: PerBaseline,
    /// IOs of a run of the preparation.
    pub preparation: u64,
    /// How often each run is done, one after the other; the last counts, as there is more here than in the paper's large drives
    /// that other runs before have left to do.
    pub repeats: u32,
    pub state: State,
    /// IOs that the drive takes at once: more than one for parallel patterns alone, as IOs are synchronous (section 4.3).
    pub queue_depth: u32,
}

impl Method {
    /// "For the SSDs, we set IOCount to 1,024 for SR, RR and SW and to 5,120 for RW"; "each experiment was run three
    /// times". With fewer random writes where it is not to take long, but as often: what the random state has left in the log blocks
    /// is not gone before the second time.
    pub fn ssd(run: &Run<'_>) -> Method {
        let random_write = if run.full { 5120 } else { 1024 };
        Method {
            io_count: PerBaseline { random_write, ..PerBaseline::same(1024) },
            preparation: if run.full { 20_480 } else { 2048 },
            repeats: 3,
            state: State::Random,
            queue_depth: 1,
        }
    }

    /// "We set the IOCount to 512 in all cases for slow and/or small devices (USB drives, IDE module, and SD card)".
    pub fn small(run: &Run<'_>) -> Method {
        Method { io_count: PerBaseline::same(512), ..Method::ssd(run) }
    }

    /// The same with fewer IOs, where many runs are not to take long.
    pub fn few(run: &Run<'_>) -> Method {
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

/// A drive that was measured.
pub(super) struct Measured {
    /// What the preparation found.
    pub findings: Findings,
    /// What the records say.
    pub facts: Facts,
    manifest: Manifest,
    records: BTreeMap<u32, Vec<Record>>,
    /// The means of the repeats of each run, ms.
    repeats: Vec<Vec<f64>>,
}

/// Runs the preparation on the drive that an input names: what is found of it, and its IOs.
///
/// # Errors
/// There is no such drive, or it fails.
pub(super) fn prepare(
    drive: &'static str,
    method: Method,
    run: &Run<'_>,
) -> Result<Measured, Error> {
    let wanted = |benchmark: &str, _: &str, _| benchmark == PREPARATION.name;
    let mut prepared = execute(drive, method, Findings::default(), wanted, run)?;
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

/// Measures the drive that an input names by the runs that are `wanted`, by micro-benchmark, experiment and value, as
/// `flashscope bench` does: the preparation finds what runs leave out at their start, and the pause between them.
///
/// # Errors
/// There is no such drive, or it fails.
pub(super) fn measure(
    drive: &'static str,
    method: Method,
    wanted: impl Fn(&str, &str, i64) -> bool,
    run: &Run<'_>,
) -> Result<Measured, Error> {
    let findings = prepare(drive, method, run)?.findings;
    execute(drive, method, findings, wanted, run)
}

/// Runs those of the plan that are `wanted`, with what a preparation has found.
///
/// # Errors
/// There is no such drive, or it fails.
pub(super) fn execute(
    drive: &'static str,
    method: Method,
    findings: Findings,
    wanted: impl Fn(&str, &str, i64) -> bool,
    run: &Run<'_>,
) -> Result<Measured, Error> {
    execute_on((drive, run.profile(drive)?), method, findings, wanted, run)
}

/// The same on the drive of an input that was changed.
///
/// # Errors
/// There can be no such drive, or it fails.
pub(super) fn execute_on(
    (drive, mut profile): (&'static str, Profile),
    method: Method,
    findings: Findings,
    wanted: impl Fn(&str, &str, i64) -> bool,
    run: &Run<'_>,
) -> Result<Measured, Error> {
    run.go_on()?;
    profile.interface.queue_depth = method.queue_depth;
    let device = SimDevice::new("sim:paper", &profile);
    let mut device = device.map_err(|error| Error::input(drive, &error))?;
    let found = findings.interference.iter().map(|found| found.run_pause_ns).max();
    let pause = found.unwrap_or(LEAST_RUN_PAUSE);
    let mut options = method.options(device.info().capacity, run.number("seed")?, pause);
    options.setup.io_ignore = ignored(method.io_count, findings.clone());
    let mut manifest = planned(&device, options, findings, wanted);
    let benchmarks = manifest.micro_benchmarks.iter_mut();
    let experiments = benchmarks.flat_map(|benchmark| &mut benchmark.experiments);
    experiments.flat_map(|experiment| &mut experiment.runs).for_each(in_a_row);
    place(&mut manifest.micro_benchmarks, &manifest.options);
    let benchmarks = manifest.micro_benchmarks.iter_mut();
    let experiments = benchmarks.flat_map(|benchmark| &mut benchmark.experiments);
    experiments.flat_map(repeated).for_each(reset_before);
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
        repeats.extend(repeated(experiment).map(|runs| runs.iter().filter_map(of).collect()));
        experiment.runs = repeated(experiment).filter_map(|runs| runs.last().cloned()).collect();
    }
    let facts = analyse_records(&manifest, |run| records.get(&run.id).map_or(&[], |of| of));
    Ok(Measured { findings: manifest.findings.clone(), facts, manifest, records, repeats })
}

/// Response times, ms.
#[allow(clippy::cast_precision_loss, reason = "far below 2^53 ns")]
fn times(records: &[Record]) -> Vec<f64> {
    records.iter().map(|record| record.latency.0 as f64 / 1e6).collect()
}

/// IOIgnore: what covers the start-up phase of random writes that was found, as in the paper, and half of a run at most.
fn ignored(io_count: PerBaseline, mut findings: Findings) -> PerBaseline {
    findings.phases.retain(|phases| phases.baseline == Baseline::RandomWrite);
    let random_write = start_up(&findings, &[Op::Write]).min(io_count.random_write / 2);
    PerBaseline { random_write, ..PerBaseline::same(0) }
}

/// Has runs done in the order of the plan, each with its repeats.
fn in_a_row(run: &mut manifest::Run) {
    run.repeat = 1;
    if run.progress == Progress::Pending {
        run.progress = Progress::Done { ios: run.reference.io_count() };
    }
}

/// The runs of an experiment, each with its repeats.
fn repeated(experiment: &mut Experiment) -> impl Iterator<Item = &mut [manifest::Run]> {
    experiment.runs.chunk_by_mut(|a, b| a.value == b.value)
}

/// Has the state enforced before the first of the repeats of a run, where it was to be between them: the last, which counts, is
/// not to begin with what the state has left in the buffer and the log blocks. In the paper's drives of 32 GB "the state is in
/// fact never reset" (section 4.2).
fn reset_before(repeats: &mut [manifest::Run]) {
    let reset = repeats.iter_mut().fold(false, |reset, run| reset | mem::take(&mut run.reset));
    repeats.iter_mut().take(1).for_each(|first| first.reset = reset);
}

/// The manifest of such a measurement, of which a simulated drive needs the plan alone.
fn planned(
    device: &SimDevice,
    options: Options,
    findings: Findings,
    wanted: impl Fn(&str, &str, i64) -> bool,
) -> Manifest {
    let wanted = |benchmark: &uflip::MicroBenchmark, experiment: &uflip::Experiment, value| {
        wanted(benchmark.name, &experiment.name, value)
    };
    let benchmarks: Vec<_> = uflip::all().collect();
    let plan = plan_where(wanted, &benchmarks, &options, device.info(), false);
    let nowhere = String::new;
    let tool = Tool { version: nowhere(), commit: None };
    let (processor, kernel) = (nowhere(), nowhere());
    let machine = Machine { processor, processors: 1, memory_bytes: Bytes(0), kernel };
    let clock_resolution_ns = Nanos(1);
    let calibration =
        Calibration { clock_resolution_ns, clock_cost_ns: Nanos(0), harness_cost_ns: None };
    let info = device.info().clone();
    let manifest = Manifest::new(tool, machine, calibration, info, options, plan, nowhere());
    Manifest { findings, ..manifest }
}

impl Measured {
    /// Mean response times of an experiment, ms, by rising value of its parameter.
    pub fn means(&self, benchmark: &str, experiment: &str) -> Vec<(i64, f64)> {
        let mut means = BTreeMap::new();
        for facts in &self.facts.runs {
            let found = find_run(&self.manifest.micro_benchmarks, facts.run);
            let Some((of, within, run)) = found else { continue };
            if of.name == benchmark && within.name == experiment {
                means.insert(run.value, facts.latency_ns.mean.value / 1e6);
            }
        }
        means.into_iter().collect()
    }

    /// The mean for one value, ms; not a number where it was not measured.
    pub fn mean(&self, benchmark: &str, experiment: &str, value: i64) -> f64 {
        let means = self.means(benchmark, experiment);
        means.iter().find(|(at, _)| *at == value).map_or(f64::NAN, |(_, mean)| *mean)
    }

    /// A baseline, as the micro-benchmark of alignment has it among its runs.
    pub fn baseline(&self, baseline: Baseline) -> f64 {
        self.mean("alignment", baseline.name(), 0)
    }

    /// The response times of the first run of an experiment for a value, or of that of the preparation, ms.
    pub fn times(&self, benchmark: &str, experiment: &str, value: Option<i64>) -> Vec<f64> {
        let benchmarks = self.manifest.micro_benchmarks.iter().filter(|b| b.name == benchmark);
        let mut runs = benchmarks
            .flat_map(|b| &b.experiments)
            .filter(|e| e.name == experiment)
            .flat_map(|e| &e.runs)
            .filter(|run| value.is_none_or(|value| run.value == value));
        let records = runs.next().and_then(|run| self.records.get(&run.id));
        records.map_or(vec![], |records| times(records))
    }

    /// How far the means of the repeats of each run are apart, from the `first`, counted from 0: as a share.
    pub fn spreads(&self, first: usize) -> Vec<f64> {
        let spread = |repeats: &Vec<f64>| {
            let [least, most] = range(repeats.iter().skip(first).copied());
            most / least - 1.0
        };
        self.repeats.iter().map(spread).collect()
    }

    /// The phases of a baseline, as the preparation shows them.
    pub fn phases(&self, baseline: Baseline) -> Option<&BaselinePhases> {
        self.findings.phases.iter().find(|phases| phases.baseline == baseline)
    }
}
