//! Measures simulated drives with `flashscope bench`, in virtual time.

#![cfg_attr(
    lint_writes,
    expect(
        clippy::disallowed_methods,
        reason = "results of simulated drives: a temporary folder with a name of its own"
    )
)]

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, LazyLock};

use flashscope_command::Failure;
use flashscope_command::bench::{BenchResult, Part, bench_part, outcome};
use flashscope_document::Manifest;
use flashscope_document::facts::Facts;
use flashscope_document::manifest::Experiment;
use flashscope_document::methodology::{BaselinePhases, Interference};
use flashscope_fit::side_by_side;
use flashscope_workload::uflip::{self, Baseline, PREPARATION};
use quick_cache::Weighter;
use quick_cache::sync::Cache;

use crate::times::range;
use crate::{Error, Run};

/// The options of a measurement, as words of the command line of `flashscope bench`.
#[derive(Debug, Clone, Default)]
pub(super) struct Method {
    words: Vec<String>,
}

impl Method {
    /// Returns the default options of the benchmark, which follow the paper's method. A preparation
    /// finds the start-up phases and the pause between runs (section 4), and a run has up to 5,120
    /// IOs and three repeats (section 5.1). A quick run has one repeat; its other options are those
    /// of [`Method::repeated`].
    pub(super) fn default_of(run: &Run<'_>) -> Method {
        let method = Method::repeated(run);
        if run.full { method } else { method.with("--repeats", "1") }
    }

    /// Returns the default options of the benchmark. A quick run has a shorter preparation and less
    /// precision.
    pub(super) fn repeated(run: &Run<'_>) -> Method {
        let method = Method::default();
        if run.full {
            return method;
        }
        method.with("--precision", "5%").with("--preparation-io-count", "8192")
    }

    /// Sets an option.
    pub(super) fn with(mut self, option: &str, value: &str) -> Method {
        self.words.extend([option, value].map(String::from));
        self
    }
}

/// The results of a measured drive.
pub(super) struct Measurement {
    /// The facts that the benchmark derived.
    pub facts: Facts,
    manifest: Manifest,
    /// The response times in ms, by run: the first run with each value in the experiments of
    /// [`WITH_TIMES`].
    times: BTreeMap<u32, Vec<f64>>,
}

/// The micro-benchmarks whose response times items read, with the experiment if items read a single
/// experiment. The times of all runs would fill the memory, and [`MEASURED`] could not keep them.
const WITH_TIMES: [(&str, Option<&str>); 3] =
    [(PREPARATION.name, None), ("granularity", Some("RW")), ("mix", Some("RR/RW"))];

/// Returns true if items read the response times of an experiment.
fn has_times(benchmark: &str, experiment: &str) -> bool {
    let is_it = |(name, only): &(&str, Option<&str>)| {
        *name == benchmark && only.is_none_or(|only| only == experiment)
    };
    WITH_TIMES.iter().any(is_it)
}

/// Measures the drive in an input by the default method: the preparation, and `parts` of the
/// micro-benchmarks.
///
/// # Errors
/// Fails if the profile is invalid, or the drive fails.
pub(super) fn measure(
    drive: &'static str,
    parts: &[Part],
    run: &Run<'_>,
) -> Result<Arc<Measurement>, Error> {
    let preparation = [Part::all(PREPARATION.name)];
    let parts: Vec<Part> = preparation.iter().chain(parts).cloned().collect();
    measure_by(&Method::default_of(run), (drive, run.inputs.get(drive)), &parts, run)
}

/// The runs behind section 5.2: all its items share one measurement of a drive.
const SECTION_5_2: [Part; 11] = [
    Part::all(PREPARATION.name),
    Part::all("alignment"),
    Part::of("locality", "RW"),
    Part::of("locality", "SW"),
    Part::of("partitioning", "SW"),
    Part::of("order", "SW").at(-1..=1),
    // Gaps from 1 MB to 8 MB.
    Part::of("order", "SW").at(32..=256),
    Part::of("parallelism", "SW").at(16..=16),
    Part::all("mix").at(1..=1),
    Part::all("mix").at(4..=4),
    Part::of("pause", "RW"),
];

/// Measures drives by the default method for the items of section 5.2, several at once.
///
/// # Errors
/// Fails if a profile is invalid, or a drive fails.
pub(super) fn section_5_2(
    drives: &[&'static str],
    run: &Run<'_>,
) -> Result<Vec<Arc<Measurement>>, Error> {
    let method = Method::default_of(run);
    side_by_side_each(drives, |drive| {
        measure_by(&method, (drive, run.inputs.get(drive)), &SECTION_5_2, run)
    })
}

/// Measures drives by the default method, with the preparation and all nine micro-benchmarks,
/// several at once. A quick run has shorter runs.
///
/// # Errors
/// Fails if a profile is invalid, or a drive fails.
pub(super) fn measure_everything(
    drives: &[&'static str],
    run: &Run<'_>,
) -> Result<Vec<Arc<Measurement>>, Error> {
    let method = Method::default_of(run);
    let method = if run.full { method } else { method.with("--max-ios", "1024") };
    let parts: Vec<Part> = uflip::all().map(|benchmark| Part::all(benchmark.name)).collect();
    side_by_side_each(drives, |drive| {
        measure_by(&method, (drive, run.inputs.get(drive)), &parts, run)
    })
}

/// Measures several drives like [`measure`], at the same time.
///
/// # Errors
/// Fails if a profile is invalid, or a drive fails.
pub(super) fn measure_all(
    drives: &[&'static str],
    parts: &[Part],
    run: &Run<'_>,
) -> Result<Vec<Arc<Measurement>>, Error> {
    side_by_side_each(drives, |drive| measure(drive, parts, run))
}

/// Measures each of several drives, on all processors.
fn side_by_side_each(
    drives: &[&'static str],
    measure: impl Fn(&'static str) -> Result<Arc<Measurement>, Error> + Sync,
) -> Result<Vec<Arc<Measurement>>, Error> {
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    side_by_side(drives, threads, |drive| measure(drive)).into_iter().collect()
}

/// Measures `parts` of the benchmark by a method, on a drive with the name of its input and its
/// profile.
///
/// # Errors
/// Fails if the profile is invalid, or the drive fails.
pub(super) fn measure_by(
    method: &Method,
    (drive, profile): (&'static str, &str),
    parts: &[Part],
    run: &Run<'_>,
) -> Result<Arc<Measurement>, Error> {
    run.check_interrupt()?;
    let mut words = vec![format!("sim:{profile}")];
    words.extend(method.words.iter().cloned());
    words.extend(["--seed".into(), run.number::<u64>("seed")?.to_string()]);
    let key = format!("{words:?} {parts:?}");
    MEASURED.get_or_insert_with(&key, || {
        // Writing a result waits for its disk many times, which takes longer than a simulated
        // drive.
        let folder = tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir());
        let folder = folder.map_err(|error| Error::Bench(error.to_string()))?;
        let place = folder.path().join("paper.flashscope").display().to_string();
        words.extend(["--output".into(), place]);
        let result = bench_part(&words, parts, run.stop, &mut ());
        let measurement = result.and_then(|result| {
            outcome(&result.folder, &result.manifest)?;
            Measurement::of(result)
        });
        measurement.map(Arc::new).map_err(|failure| match failure {
            Failure::Usage(error) => Error::input(drive, &error),
            Failure::Interrupted(_) => Error::Interrupted,
            failure => Error::Bench(failure.message()),
        })
    })
}

/// The recent measurements, by the arguments of the benchmark and its parts, which determine them:
/// several items measure the same drive in the same way.
static MEASURED: LazyLock<Cache<String, Arc<Measurement>, Records>> =
    LazyLock::new(|| Cache::with_weighter(500, 8_000_000, Records));

/// Weighs a measurement by the number of its records.
#[derive(Clone)]
struct Records;

impl Weighter<String, Arc<Measurement>> for Records {
    fn weight(&self, _: &String, measurement: &Arc<Measurement>) -> u64 {
        1 + measurement.times.values().map(|times| times.len() as u64).sum::<u64>()
    }
}

impl Measurement {
    fn of(result: BenchResult) -> Result<Measurement, Failure> {
        let BenchResult { folder, manifest, facts } = result;
        let read = manifest.micro_benchmarks.iter().flat_map(|benchmark| {
            let experiments = benchmark.experiments.iter();
            experiments.filter(|experiment| has_times(&benchmark.name, &experiment.name))
        });
        let mut times = BTreeMap::<u32, Vec<f64>>::new();
        for experiment in read {
            let mut values = BTreeSet::new();
            for run in experiment.runs.iter().filter(|run| values.insert(run.value)) {
                let times = times.entry(run.id).or_default();
                #[allow(clippy::cast_precision_loss, reason = "far below 2^53 ns")]
                folder
                    .records(run)?
                    .for_each(|record| times.push(record.latency.0 as f64 / 1e6))?;
            }
        }
        Ok(Measurement { facts, manifest, times })
    }

    fn experiment(&self, benchmark: &str, experiment: &str) -> Option<&Experiment> {
        let benchmarks = self.manifest.micro_benchmarks.iter();
        let experiments = benchmarks.filter(|b| b.name == benchmark).flat_map(|b| &b.experiments);
        experiments.into_iter().find(|e| e.name == experiment)
    }

    /// Returns the mean response times of an experiment in ms, by ascending value of its parameter.
    pub(super) fn means(&self, benchmark: &str, experiment: &str) -> Vec<(i64, f64)> {
        let Some(experiment) = self.experiment(benchmark, experiment) else { return vec![] };
        let means = self.facts.means(experiment).into_iter();
        let mut means: Vec<(i64, f64)> =
            means.filter_map(|(value, mean)| Some((value, mean?.value / 1e6))).collect();
        means.sort_unstable_by_key(|(value, _)| *value);
        means
    }

    /// Returns the mean response time in ms for one value of the parameter, or NaN if it was not
    /// measured.
    pub(super) fn mean(&self, benchmark: &str, experiment: &str, value: i64) -> f64 {
        let means = self.means(benchmark, experiment);
        means.iter().find(|(at, _)| *at == value).map_or(f64::NAN, |(_, mean)| *mean)
    }

    /// Returns the mean of a baseline in ms, as the benchmark states it.
    pub(super) fn baseline(&self, baseline: Baseline) -> f64 {
        let of = &self.facts.characteristics;
        let mean = match baseline {
            Baseline::SequentialRead => of.sequential_read_ns,
            Baseline::RandomRead => of.random_read_ns,
            Baseline::SequentialWrite => of.sequential_write_ns,
            Baseline::RandomWrite => of.random_write_ns,
        };
        mean.map_or(f64::NAN, |mean| mean.value / 1e6)
    }

    /// Returns the response times in ms of the experiment's first run with `value`, or of its first
    /// run if `value` is `None`. Empty unless [`WITH_TIMES`] contains the experiment.
    pub(super) fn times(&self, benchmark: &str, experiment: &str, value: Option<i64>) -> Vec<f64> {
        let runs = self.experiment(benchmark, experiment).into_iter().flat_map(|e| &e.runs);
        let mut runs = runs.filter(|run| value.is_none_or(|value| run.value == value));
        runs.next().and_then(|run| self.times.get(&run.id)).cloned().unwrap_or_default()
    }

    /// Returns the number of IOs that count in the repeats of a run.
    pub(super) fn counted(&self, benchmark: &str, experiment: &str, value: i64) -> u64 {
        let runs = self.experiment(benchmark, experiment).into_iter().flat_map(|e| &e.runs);
        let runs: Vec<u32> = runs.filter(|run| run.value == value).map(|run| run.id).collect();
        let facts = self.facts.runs.iter().filter(|facts| runs.contains(&facts.run));
        facts.map(|facts| facts.ios).sum()
    }

    /// Returns the relative spread of the means of each run's repeats.
    pub(super) fn spreads(&self) -> Vec<f64> {
        let mean = |run: &u32| {
            let facts = self.facts.runs.iter().find(|facts| facts.run == *run)?;
            Some(facts.latency_ns.mean.value)
        };
        let spread = |runs: &Vec<u32>| {
            let [least, most] = range(runs.iter().filter_map(mean));
            most / least - 1.0
        };
        self.facts.repeats.iter().map(|repeats| spread(&repeats.runs)).collect()
    }

    /// Returns the phases of a baseline that the preparation detected.
    pub(super) fn phases(&self, baseline: Baseline) -> Option<&BaselinePhases> {
        self.manifest.findings.phases.iter().find(|phases| phases.baseline == baseline)
    }

    /// Returns the first observation of how long writes slow down the reads after them.
    pub(super) fn interference(&self) -> Option<&Interference> {
        self.manifest.findings.interference.first()
    }
}
