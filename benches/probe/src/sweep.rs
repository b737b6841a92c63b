//! Many drives probed with the same noise.

use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use flashscope_probe::{Event, Parameter};

use crate::score::{Judged, Tally, Verdict, calibration, calibration_error, tallies, total};
use crate::trial::{Trial, trial};

/// What to probe.
#[derive(Debug, Clone)]
pub struct Plan {
    /// The first seed.
    pub first: u64,
    /// How many drives.
    pub drives: u64,
    /// Parameters to look for; all if empty.
    pub wanted: Vec<Parameter>,
    /// How many drives at once.
    pub jobs: usize,
}

/// What came of it.
pub struct Sweep {
    /// By which share response times deviated.
    pub noise: f64,
    /// The drives, by seed.
    pub trials: Vec<Trial>,
}

/// Probes all drives of a plan; `tell` is told what happens to each.
///
/// # Panics
/// As [`trial`].
pub fn sweep(plan: &Plan, noise: f64, tell: &(dyn Fn(u64, &Event<'_>) + Sync)) -> Sweep {
    let (next, done) = (AtomicU64::new(plan.first), Mutex::new(Vec::new()));
    std::thread::scope(|scope| {
        for _ in 0..plan.jobs {
            scope.spawn(|| {
                loop {
                    let seed = next.fetch_add(1, Ordering::Relaxed);
                    if seed >= plan.first + plan.drives {
                        break;
                    }
                    let tell = &mut |event: &Event<'_>| tell(seed, event);
                    let trial = trial(seed, noise, &plan.wanted, tell);
                    done.lock().expect("no other thread panicked").push(trial);
                }
            });
        }
    });
    let mut trials = done.into_inner().expect("no thread panicked");
    trials.sort_by_key(|trial| trial.seed);
    Sweep { noise, trials }
}

impl Sweep {
    /// Every answer about every drive.
    pub fn judged(&self) -> Vec<Judged> {
        self.trials.iter().flat_map(|trial| trial.judged.iter().cloned()).collect()
    }

    /// The most that was written to a drive, as a multiple of it.
    pub fn drive_writes(&self) -> f64 {
        self.trials.iter().map(|trial| trial.drive_writes).fold(0.0, f64::max)
    }

    /// The wrong answers, the surest first.
    pub fn worst(&self) -> Vec<(&Trial, &Judged)> {
        let of = |trial| move |judged| (trial, judged);
        let all = self.trials.iter().flat_map(|trial| trial.judged.iter().map(of(trial)));
        let mut wrong: Vec<(&Trial, &Judged)> =
            all.filter(|(_, judged)| judged.verdict == Verdict::Wrong).collect();
        wrong.sort_by(|(_, a), (_, b)| b.probability.total_cmp(&a.probability));
        wrong
    }

    /// The table that is printed.
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

    /// Each drive with an answer that is not right, and those answers.
    pub fn not_right(&self) -> String {
        let mut lines = Vec::new();
        for trial in &self.trials {
            let mut answers =
                trial.judged.iter().filter(|judged| judged.verdict != Verdict::Right).peekable();
            if answers.peek().is_some() {
                lines.push(format!("{}: sim:{}\n", trial.seed, trial.drawn.spec));
            }
            lines.extend(answers.map(|judged| {
                let Judged { verdict, truth, said, probability, because, .. } = judged;
                let name = judged.parameter.name();
                format!(
                    "    {verdict:?} {name}: {truth}, said {said} ({probability:.2}): {because}\n"
                )
            }));
        }
        lines.concat()
    }
}
