//! What was measured of each run, in the numbers that a twin is fitted to.

use std::ops::ControlFlow;
use std::path::Path;
use std::sync::atomic::AtomicBool;

use flashscope_block::{Bytes, Completion, Device, Nanos};
use flashscope_measure::{again, order};
use flashscope_result::ResultFolder;
use flashscope_result::manifest::{Manifest, Progress, Run};
use flashscope_sim::{Drive, Profile};
use flashscope_stats::{mean_interval, quantile_interval};

use super::FitError;

/// The shares of response times by which their distribution is described, beside the mean.
pub const SHARES: [f64; 4] = [0.1, 0.5, 0.9, 0.99];

/// Numbers of each run: the mean and the quantiles, in ns.
pub const NUMBERS: usize = 1 + SHARES.len();

/// The mean of response times and their quantiles at [`SHARES`], ns.
pub type Numbers = [f64; NUMBERS];

/// A result to which a twin is fitted, or with which it is compared.
#[derive(Clone)]
pub struct Measured {
    /// Where it is from, for readers.
    pub name: String,
    /// What was done.
    pub manifest: Manifest,
    /// The runs that were run to their end.
    pub runs: Vec<MeasuredRun>,
}

/// A run that was run to its end.
#[derive(Clone)]
pub struct MeasuredRun {
    /// Its number in the result.
    pub id: u32,
    /// The micro-benchmark, the experiment and the value of the parameter.
    pub title: String,
    /// What it read and wrote.
    pub bytes: Bytes,
    /// What was measured.
    pub numbers: Numbers,
    /// The standard errors of these, relative to them.
    pub errors: Numbers,
}

/// Closer than this nothing is told apart: no drive is exactly as a simulated one.
const LEAST_ERROR: f64 = 0.01;

/// What is taken for the error of a quantile of which too few values tell.
const UNKNOWN_ERROR: f64 = 0.1;

/// Fewer response times have no 99th percentile.
const LEAST_IOS: usize = 16;

impl Measured {
    /// Reads the result in the folder at `path`.
    ///
    /// # Errors
    /// It cannot be read, or none of its runs was done.
    pub fn read(path: &Path) -> Result<Measured, FitError> {
        let (folder, manifest) = ResultFolder::open(path)?;
        let mut runs = Vec::new();
        for id in order(&manifest.micro_benchmarks) {
            let found = flashscope_result::manifest::find_run(&manifest.micro_benchmarks, id);
            let Some((benchmark, experiment, run)) = found else { continue };
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
            if times.len() >= LEAST_IOS {
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
                what: format!("no runs of {LEAST_IOS} IOs or more in {name}"),
                needed: "measure with `flashscope bench`, to the end".into(),
            });
        }
        Ok(Measured { name, manifest, runs })
    }

    /// Bytes of the drive.
    #[must_use]
    pub fn capacity(&self) -> Bytes {
        self.manifest.device.capacity
    }

    /// A simulated drive on which the same may be run, if there can be such a one that holds as much.
    #[must_use]
    pub fn drive(&self, profile: &Profile) -> Option<Drive> {
        let drive = Drive::new("sim:twin", profile).ok()?;
        (drive.info().capacity >= self.capacity()).then_some(drive)
    }

    /// The same runs on a simulated drive: what they come to, in the order of `runs`; `None` where the
    /// drive does not get through them. `each` is told of every run as it ends, and may end everything, which is `None`,
    /// too.
    #[must_use]
    pub fn simulate(
        &self,
        mut drive: Drive,
        stop: &AtomicBool,
        each: impl FnMut(&MeasuredRun, &Numbers) -> ControlFlow<()>,
    ) -> Option<Vec<Numbers>> {
        let mut seen = Seen {
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

/// The runs of a simulation, as far as it has come.
struct Seen<'m, F> {
    /// Those that are wanted, in their order.
    runs: &'m [MeasuredRun],
    /// The number of the one that is under way, and how many of its IOs were answered.
    under_way: (u32, u64),
    /// The response times of it that count, ns.
    times: Vec<f64>,
    /// What those that are wanted came to.
    done: Vec<Numbers>,
    each: F,
}

impl<F: FnMut(&MeasuredRun, &Numbers) -> ControlFlow<()>> Seen<'_, F> {
    fn see(&mut self, run: &Run, completion: &Completion) -> ControlFlow<()> {
        if run.id != self.under_way.0 {
            self.end_run()?;
            self.under_way = (run.id, 0);
        }
        self.under_way.1 += 1;
        let counts = self.under_way.1 > run.reference.io_ignore() && completion.result.is_ok();
        if counts && self.wanted().is_some() {
            self.times.push(to_f64(completion.latency()));
        }
        ControlFlow::Continue(())
    }

    /// The run that is under way, if it is among those that are wanted.
    fn wanted(&self) -> Option<&MeasuredRun> {
        self.runs.get(self.done.len()).filter(|wanted| wanted.id == self.under_way.0)
    }

    fn end_run(&mut self) -> ControlFlow<()> {
        if self.wanted().is_none() {
            return ControlFlow::Continue(());
        }
        if self.times.len() < LEAST_IOS {
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

#[allow(clippy::cast_precision_loss, reason = "IOs of a run")]
#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a rank")]
fn numbers(times: &mut [f64]) -> Numbers {
    let mean = times.iter().sum::<f64>() / times.len() as f64;
    times.sort_unstable_by(f64::total_cmp);
    let mut numbers = [mean; NUMBERS];
    for (number, share) in numbers[1..].iter_mut().zip(SHARES) {
        *number = times[((share * times.len() as f64).ceil() as usize).max(1) - 1];
    }
    // An answer that takes no time at all has no logarithm.
    numbers.map(|number| number.max(1.0))
}

fn errors(times: &[f64]) -> Numbers {
    let of = |interval: Option<flashscope_stats::Interval>| {
        let error =
            interval.map_or(UNKNOWN_ERROR, |found| found.standard_error / found.value.max(1.0));
        if error.is_finite() { error.max(LEAST_ERROR) } else { UNKNOWN_ERROR }
    };
    let mut errors = [of(mean_interval(times, 1, 0.9)); NUMBERS];
    for (error, share) in errors[1..].iter_mut().zip(SHARES) {
        *error = of(quantile_interval(times, share, 1, 0.9));
    }
    errors
}
