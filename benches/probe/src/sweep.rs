//! Probes many drives with the same noise.

use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use flashscope_document::probe::Parameter;
use flashscope_probe::Event;

use crate::drives::generate;
use crate::noise::Noise;
use crate::score::{Judgement, Tally, Verdict, calibration, calibration_error, tallies, total};
use crate::trial::{Trial, trial};

/// The drives and parameters to probe.
#[derive(Debug, Clone)]
pub struct Plan {
    /// The first seed.
    pub first: u64,
    /// The number of drives.
    pub drives: u64,
    /// The parameters to determine; all if empty.
    pub parameters: Vec<Parameter>,
    /// The number of drives in parallel.
    pub jobs: usize,
}

/// The results for one noise.
pub struct Sweep {
    /// The relative standard deviation of response times.
    pub noise: f64,
    /// The results of the drives, by seed.
    pub trials: Vec<Trial>,
}

/// Probes all drives of a plan, and calls `observe` with each event and the seed of its drive.
///
/// # Panics
/// Panics like [`trial`].
pub fn sweep(plan: &Plan, noise: f64, observe: &(dyn Fn(u64, &Event<'_>) + Sync)) -> Sweep {
    let trials = in_parallel(plan.jobs, plan.drives, &|nth| {
        let seed = plan.first + nth;
        let observe = &mut |event: &Event<'_>| observe(seed, event);
        trial(seed, generate(seed), Noise::of(noise), &plan.parameters, observe)
    });
    Sweep { noise, trials }
}

/// Calls `work` with 0 to `count - 1` on `jobs` threads, and returns the results in this order.
pub(crate) fn in_parallel<T: Send>(
    jobs: usize,
    count: u64,
    work: &(dyn Fn(u64) -> T + Sync),
) -> Vec<T> {
    let (next, done) = (AtomicU64::new(0), Mutex::new(Vec::new()));
    std::thread::scope(|scope| {
        for _ in 0..jobs {
            scope.spawn(|| {
                loop {
                    let nth = next.fetch_add(1, Ordering::Relaxed);
                    if nth >= count {
                        break;
                    }
                    let result = work(nth);
                    done.lock().expect("no other thread panicked").push((nth, result));
                }
            });
        }
    });
    let mut results = done.into_inner().expect("no thread panicked");
    results.sort_by_key(|(nth, _)| *nth);
    results.into_iter().map(|(_, result)| result).collect()
}

impl Sweep {
    /// Returns every answer about every drive.
    pub fn judged(&self) -> Vec<Judgement> {
        self.trials.iter().flat_map(|trial| trial.judged.iter().cloned()).collect()
    }

    /// Returns the largest amount written to a drive, as a multiple of its capacity.
    pub fn drive_writes(&self) -> f64 {
        self.trials.iter().map(|trial| trial.drive_writes).fold(0.0, f64::max)
    }

    /// Returns the wrong answers, the most confident first.
    pub fn worst(&self) -> Vec<(&Trial, &Judgement)> {
        wrong(self.trials.iter().map(|trial| (trial, trial)))
    }

    /// Returns the table of results as text.
    pub fn table(&self) -> String {
        let judged = self.judged();
        let mut lines = vec![format!(
            "{:<20} {:>6} {:>6} {:>9} {:>6} {:>9} {:>9}",
            "parameter", "right", "wrong", "abstained", "have", "accuracy", "abstains"
        )];
        let row = |name: &str, t: &Tally| {
            let (accuracy, abstention) = (100.0 * t.accuracy(), 100.0 * t.abstention());
            format!(
                "{name:<20} {:>6} {:>6} {:>9} {:>6} {accuracy:>8.1}% {abstention:>8.1}%",
                t.right, t.wrong, t.abstained, t.have
            )
        };
        let each = tallies(&judged);
        lines.extend(each.iter().map(|(parameter, tally)| row(parameter.name(), tally)));
        lines.push(row("all", &total(&judged)));
        let bins = calibration(&judged);
        for bin in bins.iter().filter(|bin| bin.count > 0) {
            lines
                .push(format!("stated {:.3}: right {:.3} of {}", bin.stated, bin.right, bin.count));
        }
        lines.push(format!(
            "expected calibration error {:.3}; at most {:.1} drive-writes\n",
            calibration_error(&bins),
            self.drive_writes()
        ));
        lines.join("\n")
    }

    /// Lists the wrong and missing answers, grouped by drive.
    pub fn faults(&self) -> String {
        faults(&self.trials)
    }
}

/// Returns the wrong answers of trials, each with the name of its trial, the most confident first.
pub(crate) fn wrong<'a, T: Copy>(
    trials: impl Iterator<Item = (T, &'a Trial)>,
) -> Vec<(T, &'a Judgement)> {
    let of = |(name, trial): (T, &'a Trial)| trial.judged.iter().map(move |judged| (name, judged));
    let mut wrong: Vec<(T, &Judgement)> =
        trials.flat_map(of).filter(|(_, judged)| judged.verdict == Verdict::Wrong).collect();
    wrong.sort_by(|(_, a), (_, b)| b.probability.total_cmp(&a.probability));
    wrong
}

/// Lists the wrong and missing answers about drives.
pub fn faults<'a>(trials: impl IntoIterator<Item = &'a Trial>) -> String {
    let mut lines = Vec::new();
    for trial in trials {
        let mut answers =
            trial.judged.iter().filter(|judged| judged.verdict != Verdict::Right).peekable();
        if answers.peek().is_some() {
            lines.push(format!("{}: sim:{}\n", trial.seed, trial.drive.spec));
        }
        lines.extend(answers.map(|judged| {
            let Judgement { verdict, truth, answer, probability, because, .. } = judged;
            let name = judged.parameter.name();
            format!(
                "    {verdict:?} {name}: {truth}, answered {answer} ({probability:.2}): {because}\n"
            )
        }));
    }
    lines.concat()
}
