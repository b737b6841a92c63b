//! The held-out part: drives and noise of kinds that no probe was developed on, scored by stratum.

use std::collections::BTreeMap;
use std::fmt::Write;

use flashscope_document::probe::Parameter;
use flashscope_probe::Event;

use crate::drives::generate_within;
use crate::drives::strata::{STRATA, Stratum};
use crate::noise::Noise;
use crate::score::{Judgement, Tally, Verdict, calibration, calibration_error, total};
use crate::sweep::in_parallel;
use crate::targets;
use crate::trial::{Trial, trial};

/// The first seed. Choose another seed after every change of a probe that was based on results for
/// these drives.
const FIRST_SEED: u64 = 9_000_000;

/// The fewest answers of a stratum that is scored by itself.
pub(crate) const MIN_ANSWERS: usize = 200;

/// A kind of noise.
pub struct Disturbance {
    /// The name.
    pub name: &'static str,
    /// The noise.
    pub noise: Noise,
}

/// The kinds of noise, which the drives of each stratum have in turn.
pub(crate) const DISTURBANCES: &[Disturbance] = &[
    Disturbance { name: "none", noise: Noise::NONE },
    Disturbance { name: "5 %", noise: Noise::of(0.05) },
    Disturbance { name: "20 %", noise: Noise::of(0.2) },
    Disturbance {
        name: "5 %, and outliers in 1 % of responses",
        noise: Noise { outliers: 0.01, ..Noise::of(0.05) },
    },
    Disturbance { name: "5 %, and drift by 10 %", noise: Noise { drift: 0.1, ..Noise::of(0.05) } },
];

/// The result for a held-out drive.
pub struct HeldOutTrial {
    /// The stratum of the drive.
    pub stratum: &'static Stratum,
    /// The noise.
    pub disturbance: &'static Disturbance,
    /// The answers.
    pub trial: Trial,
}

/// Probes `each` drives of each stratum whose name contains `only`.
///
/// # Panics
/// Panics like [`trial`].
pub fn held_out(
    each: u64,
    only: &str,
    parameters: &[Parameter],
    jobs: usize,
    observe: &(dyn Fn(u64, &Event<'_>) + Sync),
) -> Vec<HeldOutTrial> {
    let strata: Vec<(u64, &Stratum)> =
        (0..).zip(STRATA).filter(|(_, stratum)| stratum.name.contains(only)).collect();
    let nth_of = |nth: u64| {
        let place = usize::try_from(nth / each).expect("few strata");
        let (number, stratum) = strata[place];
        (FIRST_SEED + 1000 * number + nth % each, stratum)
    };
    in_parallel(jobs, each * strata.len() as u64, &|nth| {
        let (seed, stratum) = nth_of(nth);
        let turn = usize::try_from(nth % each).expect("few drives") % DISTURBANCES.len();
        let disturbance = &DISTURBANCES[turn];
        let drive = generate_within(&stratum.ranges, seed);
        let observe = &mut |event: &Event<'_>| observe(seed, event);
        let trial = trial(seed, drive, disturbance.noise, parameters, observe);
        HeldOutTrial { stratum, disturbance, trial }
    })
}

/// The score of a group of answers.
pub struct Score {
    /// The name of the stratum.
    pub name: String,
    /// The number of drives.
    pub drives: usize,
    /// All answers.
    pub tally: Tally,
    /// The number of answers with a stated probability of 0.9 or more.
    pub confident: u32,
    /// The number of right answers with a stated probability of 0.9 or more.
    pub confident_right: u32,
    /// The expected calibration error.
    pub calibration_error: f64,
}

impl Score {
    /// Scores trials.
    pub fn new<'a>(name: String, trials: impl Iterator<Item = &'a Trial>) -> Score {
        let trials: Vec<&Trial> = trials.collect();
        let judged: Vec<Judgement> =
            trials.iter().flat_map(|trial| trial.judged.iter().cloned()).collect();
        let confident =
            |judged: &&Judgement| judged.verdict != Verdict::Abstained && judged.probability >= 0.9;
        let count = |right: bool| {
            let counted = judged.iter().filter(confident);
            let counted = counted.filter(|judged| !right || judged.verdict == Verdict::Right);
            u32::try_from(counted.count()).expect("few answers")
        };
        Score {
            name,
            drives: trials.len(),
            tally: total(&judged),
            confident: count(false),
            confident_right: count(true),
            calibration_error: calibration_error(&calibration(&judged)),
        }
    }

    /// Returns the share of right answers among those with a stated probability of 0.9 or more.
    pub fn confident_share(&self) -> f64 {
        f64::from(self.confident_right) / f64::from(self.confident.max(1))
    }

    /// Returns the 95 % interval of [`Score::confident_share`] (Wilson).
    pub(crate) fn confident_interval(&self) -> [f64; 2] {
        wilson(self.confident_right, self.confident)
    }

    /// Returns true if this interval lies below the target for confident answers.
    pub fn fails(&self) -> bool {
        self.confident_interval()[1] < targets::CONFIDENT
    }

    fn answers(&self) -> usize {
        (self.tally.right + self.tally.wrong) as usize
    }
}

/// Returns the 95 % interval of a share by Wilson's score.
fn wilson(of: u32, total: u32) -> [f64; 2] {
    const Z: f64 = 1.96;
    let (count, total) = (f64::from(of), f64::from(total.max(1)));
    let share = count / total;
    let centre = share + Z * Z / (2.0 * total);
    let half = Z * (share * (1.0 - share) / total + Z * Z / (4.0 * total * total)).sqrt();
    let scale = 1.0 + Z * Z / total;
    [(centre - half) / scale, (centre + half) / scale]
}

/// Returns the scores by stratum, the worst first. Strata with few answers are pooled.
pub fn by_stratum(trials: &[HeldOutTrial]) -> Vec<Score> {
    grouped(trials, |trial| trial.stratum.name)
}

/// Returns the scores by kind of noise, the worst first.
pub fn by_disturbance(trials: &[HeldOutTrial]) -> Vec<Score> {
    grouped(trials, |trial| trial.disturbance.name)
}

/// Returns the score of all answers.
pub fn overall(trials: &[HeldOutTrial]) -> Score {
    Score::new(String::from("all"), trials.iter().map(|trial| &trial.trial))
}

fn grouped(trials: &[HeldOutTrial], name: fn(&HeldOutTrial) -> &'static str) -> Vec<Score> {
    let mut groups: BTreeMap<&str, Vec<&Trial>> = BTreeMap::new();
    for trial in trials {
        groups.entry(name(trial)).or_default().push(&trial.trial);
    }
    let (mut scores, mut small) = (Vec::new(), Vec::new());
    for (name, group) in groups {
        let score = Score::new(String::from(name), group.iter().copied());
        if score.answers() >= MIN_ANSWERS { scores.push(score) } else { small.push((name, group)) }
    }
    if !small.is_empty() {
        let names: Vec<&str> = small.iter().map(|(name, _)| *name).collect();
        let pooled = small.iter().flat_map(|(_, group)| group.iter().copied());
        scores.push(Score::new(names.join(" + "), pooled));
    }
    scores.sort_by(|a, b| a.confident_share().total_cmp(&b.confident_share()));
    scores
}

/// Returns a table of scores as text.
pub fn table(scores: &[Score]) -> String {
    let mut text = String::new();
    for score in scores {
        let [low, high] = score.confident_interval();
        writeln!(
            text,
            "{:<36} {:>3} drives, {:>4} right, {:>3} wrong, {:>3} abstained ({:>4.1} %); at 0.9 or more {:>5.1} % \
             right ({:.1} to {:.1}) of {}; calibration error {:.3}",
            score.name,
            score.drives,
            score.tally.right,
            score.tally.wrong,
            score.tally.abstained,
            100.0 * score.tally.abstention(),
            100.0 * score.confident_share(),
            100.0 * low,
            100.0 * high,
            score.confident,
            score.calibration_error
        )
        .expect("a String can always be written to");
    }
    text
}
