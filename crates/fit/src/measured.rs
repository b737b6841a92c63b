//! Describes each run by the numbers that a twin is fitted to.

use std::ops::ControlFlow;
use std::path::Path;
use std::sync::atomic::AtomicBool;

use flashscope_block::{Bytes, Completion, Device, Nanos};
use flashscope_document::manifest::{Manifest, Progress, Run};
use flashscope_measure::{again, order};
use flashscope_result::ResultFolder;
use flashscope_sim::budget::Budget;
use flashscope_sim::{Drive, Profile};
use flashscope_stats::{mean_interval, quantile_interval};

use super::FitError;

/// The quantiles that describe the distribution of response times, in addition to the mean.
pub const SHARES: [f64; 4] = [0.1, 0.5, 0.9, 0.99];

/// The count of numbers that describe a run: the mean and the quantiles.
pub(crate) const NUMBERS: usize = 1 + SHARES.len();

/// The mean of response times and their quantiles at [`SHARES`], in ns.
pub type Numbers = [f64; NUMBERS];

/// A measured result: a twin is fitted to it or compared with it.
#[derive(Clone)]
pub struct MeasuredResult {
    /// The path of the result, for messages.
    pub name: String,
    /// The manifest of the result.
    pub manifest: Manifest,
    /// The complete runs with enough response times.
    pub runs: Vec<MeasuredRun>,
}

/// A complete run.
#[derive(Clone)]
pub struct MeasuredRun {
    /// The number of the run in the result.
    pub id: u32,
    /// The micro-benchmark, the experiment and the value of the parameter.
    pub title: String,
    /// Bytes read and written.
    pub bytes: Bytes,
    /// The measured mean and quantiles.
    pub numbers: Numbers,
    /// The standard errors of `numbers`, relative to them.
    pub errors: Numbers,
}

/// The smallest relative error of a number. No simulated drive matches a real drive more closely.
const MIN_ERROR: f64 = 0.01;

/// The relative error of a quantile that has too few values for an estimate.
const UNKNOWN_ERROR: f64 = 0.1;

/// The minimum number of response times of a run. With fewer, the 99th percentile is meaningless.
const MIN_IOS: usize = 16;

impl MeasuredResult {
    /// Reads the result in the folder at `path`.
    ///
    /// # Errors
    /// If the result cannot be read, or if no complete run has enough response times.
    pub fn read(path: &Path) -> Result<MeasuredResult, FitError> {
        let (folder, manifest) = ResultFolder::open(path)?;
        let mut runs = Vec::new();
        for id in order(&manifest.micro_benchmarks) {
            let place = flashscope_document::manifest::find_run(&manifest.micro_benchmarks, id);
            let Some((benchmark, experiment, run)) = place else { continue };
            if !matches!(run.progress, Progress::Done { .. }) {
                continue;
            }
            let (mut times, mut seen, mut bytes) = (Vec::new(), 0, Bytes(0));
            folder.records(run)?.for_each(|record| {
                seen += 1;
                bytes.0 = bytes.0.saturating_add(record.len.0);
                if seen > run.reference.io_ignore() && record.result.is_ok() {
                    times.push(to_f64(record.latency));
                }
            })?;
            if times.len() >= MIN_IOS {
                let value = benchmark.unit.text(run.value);
                let title = format!(
                    "{} {} {} = {value}",
                    benchmark.name, experiment.name, benchmark.parameter
                );
                let errors = errors(&times);
                let numbers = numbers(&mut times);
                runs.push(MeasuredRun { id, title, bytes, numbers, errors });
            }
        }
        let name = path.display().to_string();
        if runs.is_empty() {
            return Err(FitError::TooFew {
                what: format!("no runs of {MIN_IOS} IOs or more in {name}"),
                needed: "let `flashscope bench` run to its end".into(),
            });
        }
        Ok(MeasuredResult { name, manifest, runs })
    }

    /// Returns the capacity of the drive.
    #[must_use]
    pub fn capacity(&self) -> Bytes {
        self.manifest.device.capacity
    }

    /// Builds a simulated drive that can repeat the runs; `None` if the profile is invalid, the
    /// drive is too small or `memory` does not suffice.
    #[must_use]
    pub fn drive(&self, profile: &Profile, memory: &Budget) -> Option<Drive> {
        let drive = Drive::within("sim:twin", profile, memory).ok()?;
        (drive.info().capacity >= self.capacity()).then_some(drive)
    }

    /// Repeats the runs on a simulated drive and returns their numbers, in the order of `runs`.
    /// Calls `each` at the end of every run. Returns `None` if the drive fails a run, or if `stop`
    /// or `each` ends the simulation.
    #[must_use]
    pub fn simulate(
        &self,
        mut drive: Drive,
        stop: &AtomicBool,
        each: impl FnMut(&MeasuredRun, &Numbers) -> ControlFlow<()>,
    ) -> Option<Vec<Numbers>> {
        let mut seen = RunCollector {
            runs: &self.runs,
            under_way: (0, 0),
            times: Vec::new(),
            done: Vec::with_capacity(self.runs.len()),
            each,
        };
        let last = self.runs.last().map(|run| run.id);
        let see = |run: &Run, _, completion: &Completion| seen.see(run, completion);
        again(&mut drive, &self.manifest, last, stop, see).ok()?;
        let ended = seen.end_run();
        (ended.is_continue() && seen.done.len() == self.runs.len()).then_some(seen.done)
    }
}

/// The state of a simulation that repeats measured runs.
struct RunCollector<'m, F> {
    /// The runs whose numbers are collected, in order.
    runs: &'m [MeasuredRun],
    /// The number of the current run, and how many of its IOs are complete.
    under_way: (u32, u64),
    /// The response times of the current run, without the ignored first IOs, in ns.
    times: Vec<f64>,
    /// The numbers of the runs so far, in the order of `runs`.
    done: Vec<Numbers>,
    each: F,
}

impl<F: FnMut(&MeasuredRun, &Numbers) -> ControlFlow<()>> RunCollector<'_, F> {
    fn see(&mut self, run: &Run, completion: &Completion) -> ControlFlow<()> {
        if run.id != self.under_way.0 {
            self.end_run()?;
            self.under_way = (run.id, 0);
        }
        self.under_way.1 += 1;
        let counts = self.under_way.1 > run.reference.io_ignore() && completion.result.is_ok();
        if counts && self.next_run().is_some() {
            self.times.push(to_f64(completion.latency()));
        }
        ControlFlow::Continue(())
    }

    /// Returns the current run if its numbers are collected.
    fn next_run(&self) -> Option<&MeasuredRun> {
        self.runs.get(self.done.len()).filter(|run| run.id == self.under_way.0)
    }

    fn end_run(&mut self) -> ControlFlow<()> {
        if self.next_run().is_none() {
            return ControlFlow::Continue(());
        }
        if self.times.len() < MIN_IOS {
            return ControlFlow::Break(());
        }
        let numbers = numbers(&mut self.times);
        self.times.clear();
        let run = &self.runs[self.done.len()];
        self.done.push(numbers);
        (self.each)(run, &numbers)
    }
}

#[allow(clippy::cast_precision_loss, reason = "response times are below 2^53 ns")]
fn to_f64(time: Nanos) -> f64 {
    time.0 as f64
}

#[allow(clippy::cast_precision_loss, reason = "the IOs of a run are far below 2^53")]
#[allow(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a rank among the IOs of a run"
)]
fn numbers(times: &mut [f64]) -> Numbers {
    let mean = times.iter().sum::<f64>() / times.len() as f64;
    times.sort_unstable_by(f64::total_cmp);
    let mut numbers = [mean; NUMBERS];
    for (number, share) in numbers[1..].iter_mut().zip(SHARES) {
        *number = times[((share * times.len() as f64).ceil() as usize).max(1) - 1];
    }
    // Keeps the logarithm finite for response times of 0.
    numbers.map(|number| number.max(1.0))
}

fn errors(times: &[f64]) -> Numbers {
    let of = |interval: Option<flashscope_stats::Interval>| {
        let error = interval
            .map_or(UNKNOWN_ERROR, |estimate| estimate.standard_error / estimate.value.max(1.0));
        if error.is_finite() { error.max(MIN_ERROR) } else { UNKNOWN_ERROR }
    };
    let mut errors = [of(mean_interval(times, 1, 0.9)); NUMBERS];
    for (error, share) in errors[1..].iter_mut().zip(SHARES) {
        *error = of(quantile_interval(times, share, 1, 0.9));
    }
    errors
}
