//! Measures the overhead of a sweep beyond its simulations, and its scaling with cores.
//!
//! The overhead per point is the time of a sweep with nearly empty simulations, less the time of
//! the same simulations alone. The time to create the drives is reported separately, because it is
//! neither overhead nor simulation. The scaling compares a sweep on one core with the same sweep on
//! all cores, alternating.

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

/// The largest overhead per point, in ms.
const OVERHEAD_LIMIT: f64 = 1.0;
/// The least parallel efficiency.
const EFFICIENCY_LIMIT: f64 = 0.9;
/// The number of alternating rounds.
const ROUNDS: usize = 5;

/// 2,000 points with nearly empty simulations.
const SMALL: &str = "drive = \"sim:demo?flash.packages=1&flash.dies_per_package=1&\
                     flash.planes_per_die=1&flash.blocks_per_plane=64\"\n\
                     ios = 10\nwarm_up = \"none\"\nfill = \"none\"\n[factors]\n\
                     over_provisioning = { from = 0.15, to = 0.5, count = 250 }\n\
                     cleaning.policy = [\"greedy\", \"fifo\"]\n\
                     workload.reads = [0.0, 0.1, 0.2, 0.5]";

/// 96 points of realistic size, of the drive `demo`.
const LARGE: &str = "drive = \"sim:demo\"\nworkload = \"uniform\"\nios = 20000\nwarm_up = \"0.1x\"\n\
                     [factors]\nover_provisioning = { from = 0.12, to = 0.4, count = 12 }\n\
                     cleaning.policy = [\"greedy\", \"fifo\"]\n\
                     workload.reads = [0.0, 0.2, 0.4, 0.6]";

fn main() {
    let arguments: Vec<String> =
        std::env::args().skip(1).filter(|argument| !argument.starts_with("--")).collect();
    let selected =
        |name: &str| arguments.is_empty() || arguments.iter().any(|part| name.contains(part));
    if selected("overhead") {
        overhead(&Space::parse(SMALL).expect("a space"));
    }
    if selected("scaling") {
        scaling(&Space::parse(LARGE).expect("a space"));
    }
    println!();
}

fn seconds(work: impl FnOnce()) -> f64 {
    let start = Instant::now();
    work();
    start.elapsed().as_secs_f64()
}

/// Runs a sweep as the command does, from the space to the result folder.
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
    let rows = explore(space, &mut |trials| runner.run(trials)).expect("the sweep is not stopped");
    drop(runner);
    let complete = finish(space, &rows, SweepStatus::Complete);
    assert_eq!(complete.counts.done, complete.counts.requested, "{:?}", complete.skipped.first());
    folder.finish(&complete, &rows).expect("the folder is writable");
}

fn overhead(space: &Space) {
    let (trials, stop) = (space.trials(), AtomicBool::new(false));
    let mut rounds = Vec::new();
    for _ in 0..ROUNDS {
        let all = seconds(|| sweep(space, 1));
        let alone = seconds(|| {
            for trial in &trials {
                simulate(&trial.request, &stop, &mut ()).expect("a valid simulation");
            }
        });
        let made = seconds(|| {
            for trial in &trials {
                Simulator::open(&trial.request, &Budget::default(), &stop, &mut ())
                    .expect("a valid drive");
            }
        });
        rounds.push([all, alone, made].map(|time| time * 1e3 / trials.len() as f64));
    }
    let middle = |of: fn(&[f64; 3]) -> f64| median(rounds.iter().map(of));
    let overhead = middle(|[all, alone, _]| all - alone);
    let with_drives = middle(|[all, alone, made]| all - alone + made);
    println!("a sweep of {} points, on one core    ms per point   limit", trials.len());
    for (name, value) in
        [("overhead", overhead), ("overhead, with creating the drives", with_drives)]
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
