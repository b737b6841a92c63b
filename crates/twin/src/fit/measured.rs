//! What was measured of each run, in the numbers that a twin is fitted to.

use std::path::Path;
use std::sync::atomic::AtomicBool;

use flashscope_block::{Bytes, Device, Nanos};
use flashscope_measure::{again, order};
use flashscope_result::ResultFolder;
use flashscope_result::manifest::{Manifest, Progress};
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
pub struct Measured {
    /// Where it is from, for readers.
    pub name: String,
    /// What was done.
    pub manifest: Manifest,
    /// The runs that were run to their end.
    pub runs: Vec<MeasuredRun>,
}

/// A run that was run to its end.
pub struct MeasuredRun {
    /// Its number in the result.
    pub id: u32,
    /// The micro-benchmark, the experiment and the value of the parameter.
    pub title: String,
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
            let (mut times, mut seen) = (Vec::new(), 0);
            folder.records(run)?.for_each(|record| {
                seen += 1;
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
                runs.push(MeasuredRun { id, title, numbers: numbers(times), errors });
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

    /// The same runs on a simulated drive: what they come to, in the order of `runs`; `None` where the
    /// drive cannot work, or not as the one that was measured.
    #[must_use]
    pub fn simulate(&self, profile: &Profile, stop: &AtomicBool) -> Option<Vec<Numbers>> {
        let mut drive = Drive::new("sim:twin", profile).ok()?;
        if drive.info().capacity < self.capacity() {
            return None;
        }
        let mut times: Vec<Vec<f64>> = self.runs.iter().map(|_| Vec::new()).collect();
        let (mut at, mut seen) = (0, (0, 0));
        let last = self.runs.last().map(|run| run.id);
        again(&mut drive, &self.manifest, last, stop, |run, _, completion| {
            while at < self.runs.len() && self.runs[at].id != run.id && seen.0 != run.id {
                at += 1;
            }
            seen = if seen.0 == run.id { (run.id, seen.1 + 1) } else { (run.id, 1) };
            let counts = seen.1 > run.reference.io_ignore() && completion.result.is_ok();
            if counts && self.runs.get(at).is_some_and(|wanted| wanted.id == run.id) {
                times[at].push(to_f64(completion.latency()));
            }
        })
        .ok()?;
        let complete = times.iter().all(|times| times.len() >= LEAST_IOS);
        complete.then(|| times.into_iter().map(numbers).collect())
    }
}

#[allow(clippy::cast_precision_loss, reason = "response times are below 2^53 ns")]
fn to_f64(time: Nanos) -> f64 {
    time.0 as f64
}

#[allow(clippy::cast_precision_loss, reason = "IOs of a run")]
#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a rank")]
fn numbers(mut times: Vec<f64>) -> Numbers {
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
