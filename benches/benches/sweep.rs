//! What a sweep costs beside its simulations, and how it gets faster with more cores.
//!
//! The first is the time of a sweep whose points have next to nothing to simulate, less that of the
//! same simulations alone, a point; making the drives is told apart, as it is a part of neither. The
//! second is the time of one sweep on one core and on all, in turns.

#![allow(clippy::print_stdout, reason = "a benchmark prints")]
#![allow(clippy::disallowed_methods, reason = "a benchmark reads its arguments and the clock")]
#![allow(clippy::cast_precision_loss, reason = "counts are far below 2^53")]

use std::sync::atomic::AtomicBool;
use std::time::Instant;

use flashscope_benches::{median, verdict};
use flashscope_document::sweep::SweepStatus;
use flashscope_result::sweep::SweepFolder;
use flashscope_sim::budget::Budget;
use flashscope_simulate::Resources;
use flashscope_simulate::sweep::{Runner, Space, explore, finish};
use flashscope_simulate::{Simulator, simulate};

/// The most that a point may cost beside its simulation, in ms.
const OVERHEAD_LIMIT: f64 = 1.0;
/// The least of the time on one core that each of all cores saves.
const EFFICIENCY_LIMIT: f64 = 0.9;
/// Each is measured so often, in turns.
const ROUNDS: usize = 5;

/// A drive that takes no time, and next to no work on it: 2,000 points.
const SMALL: &str = "drive = \"sim:demo?flash.packages=1&flash.dies_per_package=1&\
                     flash.planes_per_die=1&flash.blocks_per_plane=64\"\n\
                     ios = 10\nwarm_up = \"none\"\nfill = \"none\"\n[factors]\n\
                     over_provisioning = { from = 0.15, to = 0.5, count = 250 }\n\
                     cleaning.policy = [\"greedy\", \"fifo\"]\n\
                     workload.reads = [0.0, 0.1, 0.2, 0.5]";

/// Points as people sweep them: 96, of the drive `demo`.
const LARGE: &str = "drive = \"sim:demo\"\nworkload = \"uniform\"\nios = 20000\nwarm_up = \"0.1x\"\n\
                     [factors]\nover_provisioning = { from = 0.12, to = 0.4, count = 12 }\n\
                     cleaning.policy = [\"greedy\", \"fifo\"]\n\
                     workload.reads = [0.0, 0.2, 0.4, 0.6]";

fn main() {
    let wanted: Vec<String> =
        std::env::args().skip(1).filter(|argument| !argument.starts_with("--")).collect();
    let chosen = |name: &str| wanted.is_empty() || wanted.iter().any(|part| name.contains(part));
    if chosen("overhead") {
        overhead(&Space::parse(SMALL).expect("a space"));
    }
    if chosen("scaling") {
        scaling(&Space::parse(LARGE).expect("a space"));
    }
    println!();
}

fn seconds(work: impl FnOnce()) -> f64 {
    let start = Instant::now();
    work();
    start.elapsed().as_secs_f64()
}

/// All of a sweep, as the command has it, from the space to the folder.
fn sweep(space: &Space, jobs: usize) {
    let place = tempfile::tempdir().expect("a folder");
    let (stop, mut progress) = (AtomicBool::new(false), ());
    let begun = finish(space, &[], SweepStatus::Unfinished);
    let folder = SweepFolder::create(&place.path().join("sweep"), &begun);
    let mut folder = folder.expect("the folder is writable");
    let names = begun.factors.clone();
    let mut runner = Runner::new(Resources::new(jobs, &stop), &mut progress).keeping(
        &mut folder,
        names,
        Vec::new(),
    );
    let rows = explore(space, &mut |trials| runner.run(trials)).expect("nobody stops it");
    drop(runner);
    let found = finish(space, &rows, SweepStatus::Complete);
    assert_eq!(found.counts.done, found.counts.asked, "{:?}", found.skipped.first());
    folder.finish(&found, &rows).expect("the folder is writable");
}

fn overhead(space: &Space) {
    let (trials, stop) = (space.trials(), AtomicBool::new(false));
    let mut rounds = Vec::new();
    for _ in 0..ROUNDS {
        let all = seconds(|| sweep(space, 1));
        let alone = seconds(|| {
            for trial in &trials {
                simulate(&trial.asked, &stop, &mut ()).expect("it works");
            }
        });
        let made = seconds(|| {
            for trial in &trials {
                Simulator::open(&trial.asked, &Budget::default(), &stop, &mut ())
                    .expect("it can be made");
            }
        });
        rounds.push([all, alone, made].map(|time| time * 1e3 / trials.len() as f64));
    }
    let middle = |of: fn(&[f64; 3]) -> f64| median(rounds.iter().map(of));
    let beside = middle(|[all, alone, _]| all - alone);
    let with_drives = middle(|[all, alone, made]| all - alone + made);
    println!("a sweep of {} points, on one core    ms a point   limit", trials.len());
    for (name, value) in
        [("beside the simulations", beside), ("and with making the drives", with_drives)]
    {
        let verdict = verdict(value <= OVERHEAD_LIMIT);
        println!("{name:<38} {value:>8.3}   {OVERHEAD_LIMIT:>5} {verdict}");
    }
}

fn scaling(space: &Space) {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let points = space.trials().len();
    let rounds: Vec<[f64; 2]> =
        (0..ROUNDS).map(|_| [1, cores].map(|jobs| seconds(|| sweep(space, jobs)))).collect();
    let best = |of: fn(&[f64; 2]) -> f64| rounds.iter().map(of).fold(f64::INFINITY, f64::min);
    let [one, all] = [best(|[one, _]| *one), best(|[_, all]| *all)];
    let efficiency = one / all / cores as f64;
    println!("a sweep of {points} points               seconds   efficiency   limit");
    println!("on 1 core   {one:>33.2}");
    println!(
        "on {cores} cores  {all:>33.2}   {:>8.1} %   {:>3} % {}",
        100.0 * efficiency,
        100.0 * EFFICIENCY_LIMIT,
        verdict(efficiency >= EFFICIENCY_LIMIT)
    );
}
