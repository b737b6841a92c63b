//! Measures how well twins of random simulated drives predict experiments they were not fitted to.

#![allow(clippy::disallowed_methods, reason = "prints its own figures, not untrusted text")]

mod hidden;
mod trial;

use std::io::{Write, stderr, stdout};
use std::time::Duration;

use clap::Parser;
use flashscope_measure::{Progress, Step};

use trial::{CONFIDENCE, Prediction, Trial, trial};

/// Measures how well twins of random simulated drives predict experiments they were not fitted to
#[derive(Parser)]
struct Args {
    /// Number of drives
    #[arg(long, default_value_t = 100)]
    drives: u64,
    /// Seed of the first drive
    #[arg(long, default_value_t = 0)]
    first: u64,
    /// Number of parallel simulations
    #[arg(long, default_value_t = 2)]
    jobs: usize,
    /// Print each step of a fit, and each prediction with a large error
    #[arg(long)]
    verbose: bool,
    /// Fit without a probe: find the structure by search alone
    #[arg(long)]
    blind: bool,
}

/// The largest median error of mean response times.
const MEAN_LIMIT: f64 = 0.05;

/// The largest median error of 99th percentiles.
const P99_LIMIT: f64 = 0.15;

/// The smallest and the largest share of intervals that contain the truth.
const COVERAGE: (f64, f64) = (0.85, 0.95);

/// The longest duration of a fit.
const TIME_LIMIT: Duration = Duration::from_secs(300);

/// The error above which `--verbose` prints a prediction.
const FAR_OFF: f64 = 0.1;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let args = Args::parse();
    let (traces, mut trials) = (trial::traces(), Vec::new());
    for seed in args.first..args.first + args.drives {
        let mut progress = Printer { is_verbose: args.verbose, last: String::new() };
        match trial(seed, args.jobs, args.blind, &traces, &mut progress) {
            Ok(trial) => {
                writeln!(stdout(), "{}", line(seed, &trial))?;
                if args.verbose {
                    write!(stdout(), "{}", large_errors(seed, &trial))?;
                }
                trials.push(trial);
            }
            Err(error) => writeln!(stdout(), "{seed:>5}  no twin: {error}")?,
        }
    }
    write!(stdout(), "\n{}", table(&trials, args.drives))?;
    Ok(())
}

/// Prints each improvement of a fit.
struct Printer {
    is_verbose: bool,
    last: String,
}

impl Progress for Printer {
    fn show(&mut self, step: &Step<'_>) {
        if self.is_verbose && self.last != step.now {
            self.last = step.now.into();
            // If standard error is closed, nobody reads the progress.
            let _ = writeln!(stderr(), "  {} {}", step.done, step.now);
        }
    }

    fn note(&mut self, _text: &str) {}
}

fn line(seed: u64, trial: &Trial) -> String {
    let (means, p99s) = (median(&trial.means), median(&trial.p99s));
    format!(
        "{seed:>5}  misfit {:>8.4}  mean error {:>6.2} %  p99 error {:>6.2} %  covered {:>3.0} %  fit {:>5.1} s",
        trial.twin.misfit.unwrap_or_default(),
        100.0 * means,
        100.0 * p99s,
        100.0 * coverage(trial.means.iter().chain(&trial.p99s)),
        trial.took.as_secs_f64()
    )
}

/// Lists the differences between the twin and its drive, and the predicted means with a large
/// error.
fn large_errors(seed: u64, trial: &Trial) -> String {
    let mut text = format!("       sim:{}\n", hidden::spec(seed));
    let fields =
        flashscope_fit::drive_of(&trial.twin).map(|drive| drive.fields()).unwrap_or_default();
    let truth = flashscope_sim::setup::parse(&hidden::spec(seed)).map(|truth| truth.fields());
    for ((name, value), (_, truth)) in fields.into_iter().zip(truth.unwrap_or_default()) {
        if value != truth && name != "model" {
            text += &format!("       {name} = {value}, truly {truth}\n");
        }
    }
    for one in trial.means.iter().filter(|one| one.error() > FAR_OFF) {
        let Prediction { title, truth, predicted } = one;
        text += &format!("       {title}: mean {truth:.0} ns, predicted {:.0}\n", predicted.value);
    }
    text
}

/// Returns the results over all drives, with their limits.
fn table(trials: &[Trial], drives: u64) -> String {
    let all = |of: fn(&Trial) -> &Vec<Prediction>| trials.iter().flat_map(of);
    let (means, p99s) = (all(|trial| &trial.means), all(|trial| &trial.p99s));
    let covered = coverage(means.clone().chain(p99s.clone()));
    let times = trials.iter().map(|trial| trial.took);
    let longest = times.clone().max().unwrap_or_default();
    let verdict = |holds: bool| if holds { "holds" } else { "missed" };
    let mean = median(means);
    let p99 = median(p99s);
    let within = (COVERAGE.0..=COVERAGE.1).contains(&covered);
    format!(
        "{} twins of {drives} drives\n\
         median error of mean response times {:.2} %, at most {:.0} %: {}\n\
         median error of 99th percentiles {:.2} %, at most {:.0} %: {}\n\
         intervals of {:.0} % contain the truth in {:.1} % of cases, limits {:.0} to {:.0} %: {}\n\
         longest fit {:.0} s, at most {:.0} s: {}\n",
        trials.len(),
        100.0 * mean,
        100.0 * MEAN_LIMIT,
        verdict(mean <= MEAN_LIMIT),
        100.0 * p99,
        100.0 * P99_LIMIT,
        verdict(p99 <= P99_LIMIT),
        100.0 * CONFIDENCE,
        100.0 * covered,
        100.0 * COVERAGE.0,
        100.0 * COVERAGE.1,
        verdict(within),
        longest.as_secs_f64(),
        TIME_LIMIT.as_secs_f64(),
        verdict(longest <= TIME_LIMIT),
    )
}

fn median<'p>(predictions: impl IntoIterator<Item = &'p Prediction>) -> f64 {
    let mut errors: Vec<f64> = predictions.into_iter().map(Prediction::error).collect();
    errors.sort_unstable_by(f64::total_cmp);
    errors.get(errors.len() / 2).copied().unwrap_or(f64::NAN)
}

#[allow(clippy::cast_precision_loss, reason = "a few thousand predictions")]
fn coverage<'p>(predictions: impl IntoIterator<Item = &'p Prediction>) -> f64 {
    let covered: Vec<bool> = predictions.into_iter().map(Prediction::covers_truth).collect();
    covered.iter().filter(|covered| **covered).count() as f64 / covered.len().max(1) as f64
}
