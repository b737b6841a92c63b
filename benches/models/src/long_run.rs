//! Compares the models of the long run with simulations to the steady state, on random drives.

use std::fmt::Write as _;
use std::sync::atomic::AtomicBool;

use flashscope_model::trace::Total;
use flashscope_predict::long_run::{LONG_RUN_MODELS, LongRun, Skew, required_coverage};
use flashscope_predict::{CountedPasses, LONG_RUN_TURNS, Requests, SimulatedDrive, free_pages};
use flashscope_sim::{Design, setup};
use flashscope_workload::synthetic::{Generator, Ios};

use crate::population::{Part, target_of};
use crate::side_by_side::side_by_side;

/// A drive with a workload.
#[derive(Clone)]
struct Pair {
    drive: String,
    workload: String,
}

/// The computed and the simulated write amplification of a pair.
pub(crate) struct LongRunCase {
    pair: Pair,
    policy: &'static str,
    skew: Skew,
    computed: f64,
    simulated: f64,
}

impl LongRunCase {
    fn error(&self) -> f64 {
        (self.computed / self.simulated).ln()
    }
}

impl Pair {
    /// Generates a random pair. The held-out part has other block sizes, numbers of packages, spare
    /// space and skews.
    fn draw(part: Part, rng: &mut fastrand::Rng, nth: usize) -> Pair {
        let held_out = part == Part::HeldOut;
        let policy = LONG_RUN_MODELS[nth % LONG_RUN_MODELS.len()].policy;
        let pick = |rng: &mut fastrand::Rng, of: [&[&'static str]; 2]| {
            let choices = of[usize::from(held_out)];
            choices[rng.usize(..choices.len())]
        };
        let packages = pick(rng, [&["1", "2", "4"], &["1", "3", "5"]]);
        let block = pick(rng, [&["16", "32", "64", "128", "256"], &["24", "48", "96"]]);
        let number = |text: &str| text.parse::<u64>().expect("a number of a list");
        let pages = rng.u64(1 << 13..1 << 15);
        let blocks = (pages / number(block) / number(packages)).max(128);
        let spare = match held_out {
            true => [0.08 + 0.02 * rng.f64(), 0.3 + 0.1 * rng.f64()][rng.usize(..2)],
            false => 0.08 + 0.32 * rng.f64(),
        };
        let spare = spare.max(8.0 / blocks as f64);
        let mut drive = format!(
            "agrawal-2008?flash.packages={packages}&flash.dies_per_package=1&flash.planes_per_die=1\
             &flash.blocks_per_plane={blocks}&flash.pages_per_block={block}&over_provisioning={spare:.4}\
             &cleaning.policy={policy}&cleaning.free_threshold={:.4}&timed=false",
            3.0 / blocks as f64
        );
        drive += ["", "&persistence.map=nv-ram"][rng.usize(..2)];
        match policy {
            "greedy" if rng.usize(..3) == 0 => drive += "&cleaning.ties=youngest",
            "windowed-greedy" => {
                let share = if held_out { 0.5 } else { 0.05 + 0.6 * rng.f64() };
                let _ = write!(drive, "&cleaning.window={:.0}", (share * blocks as f64).max(1.0));
            }
            "d-choices" => {
                drive += pick(
                    rng,
                    [
                        &["&cleaning.choices=3", "", "&cleaning.choices=20"],
                        &["&cleaning.choices=5"],
                    ],
                )
            }
            _ => {}
        }
        Pair { drive, workload: workload(held_out, rng) }
    }

    fn design(&self) -> Option<Design> {
        setup::parse(&self.drive).ok()?.design().ok()
    }

    fn generator(&self, design: &Design) -> Option<Box<Generator>> {
        match flashscope_trace::open_workload(&self.workload, &target_of(design)).ok()?.ios {
            Ios::Endless(generator) => Some(generator),
            _ => None,
        }
    }

    fn compare(&self) -> Option<LongRunCase> {
        let (profile, design) = (setup::parse(&self.drive).ok()?, self.design()?);
        let generator = self.generator(&design)?;
        let run = LongRun::of(&generator.law()?, &design, &profile.interface)?;
        let (page_size, ios) = (design.logical_page_size().into(), design.logical_pages().into());
        let computed = run.total(ios, &design).write_amplification();
        let mut requests = Requests::Endless { stream: generator, page_size, ios, trims: false };
        let mut drive = SimulatedDrive::new(&profile).ok()?;
        let never = AtomicBool::new(false);
        let counted = CountedPasses::until_steady(
            &mut drive,
            (LONG_RUN_TURNS, free_pages(&design)),
            &mut requests,
            "",
            (&never, &mut ()),
        );
        let CountedPasses { passes, total, .. } = counted.ok()?;
        let simulated = Total::write_amplification(&total);
        let (policy, skew) = (run.model.policy, run.skew);
        passes.converged.then_some(LongRunCase {
            pair: self.clone(),
            policy,
            skew,
            computed,
            simulated,
        })
    }
}

fn workload(held_out: bool, rng: &mut fastrand::Rng) -> String {
    let level = if held_out { 0.5 + 1.5 * rng.f64() } else { 2.0 * rng.f64() };
    let trims = if rng.usize(..4) == 0 {
        format!("&trims={:.3}", 0.02 + 0.2 * rng.f64())
    } else {
        String::new()
    };
    let reads = ["", "&reads=0.3"][rng.usize(..2)];
    let size = match (rng.usize(..4), held_out) {
        (0, true) => "&size=16KiB",
        (0, false) => ["&size=8KiB", "&size=8KiB", "&size=12KiB", "&size=32KiB"][rng.usize(..4)],
        _ => "",
    };
    match rng.usize(..3) {
        0 if reads.is_empty() => format!("uniform?op=write{trims}{size}"),
        0 => format!("uniform?reads=0.3{trims}{size}"),
        1 => format!("zipf?exponent={:.3}{reads}{trims}{size}", 0.4 + 0.45 * level),
        _ => {
            let (space, writes) = (0.3 - 0.13 * level, 0.6 + 0.17 * level);
            format!("hotcold?hot_space={space:.3}&hot_writes={writes:.3}{reads}{trims}{size}")
        }
    }
}

/// Compares `count` pairs of a part, on two threads. Leaves out pairs without a steady state.
pub(crate) fn run(part: Part, count: usize) -> Vec<LongRunCase> {
    let mut rng = fastrand::Rng::with_seed(if part == Part::HeldOut { 77 } else { 76 });
    let pairs: Vec<Pair> = (0..count).map(|nth| Pair::draw(part, &mut rng, nth)).collect();
    side_by_side(&pairs, Pair::compare).into_iter().flatten().collect()
}

/// Returns the errors as CSV.
pub(crate) fn csv(compared: &[LongRunCase]) -> String {
    let mut text = String::from("policy,skew,error\n");
    for one in compared {
        let _ = writeln!(text, "{},{},{:.5}", one.policy, one.skew.name(), one.error());
    }
    text
}

/// Returns the bound of the absolute errors that covers the share `level`; `None` for too few
/// errors.
#[allow(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a rank among few errors"
)]
fn bound(mut errors: Vec<f64>, level: f64) -> Option<f64> {
    errors.iter_mut().for_each(|error| *error = error.abs());
    errors.sort_unstable_by(f64::total_cmp);
    let rank = ((errors.len() as f64 + 1.0) * level).ceil() as usize;
    errors.get(rank.checked_sub(1)?).copied()
}

/// Returns the table of the held-out part, by policy and kind of writes.
pub(crate) fn table(calibration: &[LongRunCase], held_out: &[LongRunCase]) -> String {
    let (mut all_held, mut all_cases) = (0_usize, 0_usize);
    let mut text = String::from(
        "| policy | writes | cases | mean error | worst error | half-width of the 90 % interval | intervals hold |\n|---|---|---|---|---|---|---|\n",
    );
    for model in LONG_RUN_MODELS {
        for skew in Skew::ALL {
            let of = |all: &[LongRunCase]| -> Vec<f64> {
                let like = all.iter().filter(|one| one.policy == model.policy && one.skew == skew);
                like.map(LongRunCase::error).collect()
            };
            let (known, errors) = (of(calibration), of(held_out));
            let all = calibration.iter().filter(|one| one.skew == skew).map(LongRunCase::error);
            let share = required_coverage(0.9);
            let pooled = || bound(all.collect(), share);
            let Some(bound) = bound(known, share).or_else(pooled) else { continue };
            if errors.is_empty() {
                continue;
            }
            let held = errors.iter().filter(|error| error.abs() <= bound).count();
            (all_held, all_cases) = (all_held + held, all_cases + errors.len());
            let mean = errors.iter().map(|error| error.abs()).sum::<f64>() / errors.len() as f64;
            let worst =
                errors.iter().fold(
                    0.0_f64,
                    |worst, error| {
                        if error.abs() > worst.abs() { *error } else { worst }
                    },
                );
            let _ = writeln!(
                text,
                "| {} | {} | {} | {:.1} % | {:+.1} % | {:.1} % | {held} of {} |",
                model.policy,
                skew.name(),
                errors.len(),
                100.0 * mean,
                100.0 * worst.exp_m1(),
                100.0 * bound.exp_m1(),
                errors.len()
            );
        }
    }
    let share = 100.0 * all_held as f64 / all_cases as f64;
    let _ = writeln!(text, "\nIn all, {all_held} of {all_cases} intervals hold: {share:.1} %.");
    text
}

/// Prints the cases.
pub(crate) fn print(compared: &[LongRunCase]) {
    for one in compared {
        let LongRunCase { pair, computed, simulated, .. } = one;
        println!(
            "{:+.4} {computed:.3} for {simulated:.3} {} {} {}",
            one.error(),
            one.skew.name(),
            pair.workload,
            pair.drive.replace("agrawal-2008?", "").replace("flash.", "")
        );
    }
}
