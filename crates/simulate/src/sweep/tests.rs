use std::sync::atomic::AtomicBool;

use flashscope_document::sweep::{
    Counts, Effect, FrontPoint, Level, Row, RowStatus, Sweep, SweepStatus,
};
use flashscope_measure::{Progress, Step};
use flashscope_result::sweep::SweepFolder;
use flashscope_sim::budget::Budget;
use heuropt::metrics::hypervolume_2d;
use heuropt::prelude::{Candidate, Evaluation};
use proptest::prelude::*;

use super::*;
use crate::Resources;

/// A drive that is simulated in a millisecond.
const TINY: &str = "drive = \"sim:demo?flash.packages=1&flash.dies_per_package=1&\
                    flash.planes_per_die=1&flash.blocks_per_plane=64\"\nios = 500\nwarm_up = \"1x\"\n";

fn space(text: &str) -> Space {
    Space::parse(&format!("{TINY}{text}")).unwrap()
}

fn wrong(text: &str) -> String {
    Space::parse(text).unwrap_err().to_string()
}

/// Explores a space on `jobs` threads.
fn run(space: &Space, jobs: usize) -> Vec<Row> {
    let (stop, mut progress) = (AtomicBool::new(false), ());
    let mut runner = Runner::new(Resources::new(jobs, &stop), &mut progress);
    explore(space, &mut |trials| runner.run(trials)).unwrap()
}

fn swept(space: &Space) -> Sweep {
    finish(space, &run(space, 2), SweepStatus::Complete)
}

fn levels(trials: &[Trial]) -> Vec<String> {
    let text = |level: &Option<Level>| level.as_ref().map_or("-".into(), ToString::to_string);
    trials.iter().map(|trial| trial.levels.iter().map(text).collect::<Vec<_>>().join(" ")).collect()
}

#[test]
fn invalid_spaces_get_an_error_with_the_nearest_name() {
    let factor = |text: &str| wrong(&format!("[factors]\n{text}"));
    for (error, says) in [
        (wrong("drive = 1"), "drive"),
        (wrong("drvie = 'demo'\n[factors]\nftl=['bast']"), "did you mean `drive`?"),
        (wrong("sampling = 'sobl'"), "unknown variant"),
        (wrong(""), "at least one factor"),
        (wrong("warm_up = 'often'\n[factors]\nftl=['bast']"), "warm_up: write it like"),
        (wrong("duration = '3 parsec'\n[factors]\nftl=['bast']"), "duration"),
        (wrong("repeats = 0\n[factors]\nftl=['bast']"), "repeats"),
        (wrong("objectives = ['least ios']\n[factors]\nftl=['bast']"), "minimize latency_ns.p99"),
        (
            wrong("objectives = ['minimize write_amplificaton']\n[factors]\nftl=['bast']"),
            "did you mean `write_amplification`?",
        ),
        (factor("over_provisionin = [1]"), "did you mean `over_provisioning`?"),
        (factor("workload.raeds = [1]"), "did you mean `workload.reads`?"),
        (factor("ftl = []"), "at least one value"),
        (factor("ftl = ['bast', 'bast']"), "twice"),
        (factor("ftl = 'bast'"), "a list of values"),
        (factor("drive = [1]"), "names"),
        (factor("seed = {from = 1, to = 8}"), "`step` or `count`"),
        (factor("seed = {from = 8, to = 1, count = 2}"), "`from` must be below `to`"),
        (factor("seed = {from = 0, to = 8, count = 2, scale = 'log'}"), "above 0"),
        (factor("seed = {from = 0, to = 8, count = 1}"), "at least 2"),
        (factor("seed = {from = 0, to = 8, step = 1, count = 2}"), "not both"),
        (factor("seed = {from = 0, to = 800000, step = 1}"), "10000 levels"),
        (factor("seed = {from = 0, to = 8, stepp = 1}"), "did you mean `step`?"),
        (factor("seed = {from = 0, to = 'x', step = 1}"), "must be numbers"),
        (factor("seed={from=1,to=5000,step=1}\nstripe={from=1,to=5000,step=1}"), "25000000 points"),
        (factor("ftl=['bast']\n[[conditions]]\nexclude=true"), "`when`"),
        (factor("ftl=['bast']\n[[conditions]]\nwhen.ftl='bast'"), "`exclude = true`"),
        (
            factor("ftl=['bast']\n[[conditions]]\nwhen.ftll='bast'\nexclude=true"),
            "did you mean `ftl`?",
        ),
        (
            factor("ftl=['bast']\n[[conditions]]\nwhen.ftl='bast'\nset.over_provisionin=1"),
            "did you mean `over_provisioning`?",
        ),
        (factor("ftl=['bast']\n[[conditions]]\nwhn.ftl='bast'"), "did you mean `when`?"),
        (wrong("sampling = 'search'\npopulation = 7\n[factors]\nftl=['bast']"), "even"),
    ] {
        assert!(error.contains(says), "{says}: {error}");
    }
}

// Comparing 200,000 levels with each other would take long, so the check must come first.
#[test]
fn lists_of_too_many_levels_are_refused() {
    let levels: Vec<u32> = (0..200_000).collect();
    let error = wrong(&format!("[factors]\nseed = {levels:?}"));
    assert!(error.contains("at most 10000 levels"), "{error}");
}

#[test]
fn too_many_repeats_of_many_samples_are_refused() {
    for sampling in ["sobol", "latin-hypercube", "search"] {
        let text = format!("sampling = '{sampling}'\nsamples = 65536\nrepeats = 10000");
        let error = wrong(&format!("{text}\n[factors]\nseed = {{from = 1, to = 8}}"));
        assert!(error.contains("655360000 simulations"), "{error}");
        assert!(error.contains("use fewer points or repeats"), "{error}");
    }
    let error = wrong("repeats = 2000\n[factors]\nseed = {from = 0, to = 9999, step = 1}");
    assert!(error.contains("20000000 simulations"), "{error}");
}

#[test]
fn trial_count_skips_excluded_and_equal_points() {
    let conditions = "[[conditions]]\nwhen.ftl = 'fast'\nexclude = true\n\
                      [[conditions]]\nwhen.ftl = 'bast'\nwithout = ['cleaning.policy']";
    let factors =
        "[factors]\nftl = ['page-map', 'bast', 'fast']\ncleaning.policy = ['greedy', 'fifo']";
    for sampling in ["full", "sobol", "latin-hypercube"] {
        let space =
            space(&format!("repeats = 3\nsampling = '{sampling}'\n{factors}\n{conditions}"));
        assert_eq!(space.simulations(), space.trials().len() as u64);
    }
    assert_eq!(space(&format!("repeats = 3\n{factors}\n{conditions}")).simulations(), 9);
}

#[test]
fn grid_has_every_point_once_in_order() {
    let space = space(
        "seed = 7\nrepeats = 2\n[factors]\ncleaning.policy = ['greedy', 'fifo']\n\
         workload.reads = {from = 0.0, to = 0.3, step = 0.1}",
    );
    let trials = space.trials();
    assert_eq!(
        levels(&trials).into_iter().step_by(2).collect::<Vec<_>>(),
        [
            "greedy 0",
            "greedy 0.1",
            "greedy 0.2",
            "greedy 0.3",
            "fifo 0",
            "fifo 0.1",
            "fifo 0.2",
            "fifo 0.3"
        ]
    );
    let Trial { point, repeat, request, .. } = &trials[15];
    assert_eq!((*point, *repeat, request.work.seed), (7, 1, 8));
    assert!(
        request.drive.ends_with("blocks_per_plane=64&cleaning.policy=fifo"),
        "{}",
        request.drive
    );
    assert_eq!(request.work.workload, "uniform?reads=0.3");
    let text = serde_json::to_string(&trials).unwrap();
    assert_eq!(serde_json::from_str::<Vec<Trial>>(&text).unwrap(), trials);
}

#[test]
fn ranges_have_levels_in_every_unit_and_scale() {
    let of = |range: &str| {
        let space = space(&format!("[factors]\nseed = {range}"));
        levels(&space.trials())
    };
    assert_eq!(of("{from = 1, to = 8, count = 4, scale = 'log'}"), ["1", "2", "4", "8"]);
    assert_eq!(of("{from = '4KiB', to = '16KiB', count = 2}"), ["4096", "16384"]);
    assert_eq!(of("{from = '1us', to = '3us', step = '1us'}"), ["1000", "2000", "3000"]);
    assert_eq!(of("{from = 1, to = 2, count = 9}"), ["1", "2"], "whole numbers");
    assert_eq!(of("{from = 0.0, to = 1.0, step = 0.4}"), ["0", "0.4", "0.8"]);
}

#[test]
fn conditions_set_drop_and_exclude_and_equal_points_merge() {
    let space = space(
        "[factors]\nftl = ['page-map', 'bast', 'fast']\ncleaning.policy = ['greedy', 'fifo']\n\
         [[conditions]]\nwhen.ftl = ['bast']\nwithout = ['cleaning.policy']\n\
         set = { background_cleaning = false, persistence.map = 'pages' }\n\
         [[conditions]]\nwhen = { ftl = 'fast' }\nexclude = true",
    );
    let trials = space.trials();
    // Sorted by factor name.
    assert_eq!(levels(&trials), ["greedy page-map", "- bast", "fifo page-map"]);
    assert!(
        trials[1]
            .request
            .drive
            .ends_with("ftl=bast&background_cleaning=false&persistence.map=pages")
    );
    let rows = run(&space, 2);
    assert!(rows.iter().all(|row| row.status == RowStatus::Done), "{rows:?}");
}

#[test]
fn samples_cover_each_factor_and_depend_on_the_seed() {
    let of = |sampling: &str, samples: u32, seed: u32| {
        let text = format!(
            "sampling = '{sampling}'\nsamples = {samples}\nseed = {seed}\n[factors]\n\
             over_provisioning = {{from = 0.0, to = 32.0}}\nworkload.reads = {{from = 0.0, to = 1.0}}"
        );
        space(&text).trials()
    };
    let number = |trial: &Trial, factor: usize| match &trial.levels[factor] {
        Some(Level::Number(number)) => *number,
        other => panic!("{other:?}"),
    };
    for (factor, scale) in [(0, 1.0), (1, 32.0)] {
        let trials = of("latin-hypercube", 32, 1);
        let mut parts: Vec<f64> =
            trials.iter().map(|trial| (number(trial, factor) * scale).floor()).collect();
        parts.sort_by(f64::total_cmp);
        assert_eq!(parts, (0..32).map(f64::from).collect::<Vec<_>>());
    }
    let (short, long) = (of("sobol", 8, 1), of("sobol", 64, 1));
    assert_eq!(short, long[..8]);
    for half in [0..32, 32..64] {
        let low = long[half].iter().filter(|trial| number(trial, 0) < 16.0).count();
        assert_eq!(low, 16, "each half of a Sobol sequence is even");
    }
    for sampling in ["latin-hypercube", "sobol"] {
        assert_ne!(levels(&of(sampling, 8, 1)), levels(&of(sampling, 8, 2)));
        assert_eq!(of(sampling, 8, 1), of(sampling, 8, 1));
    }
}

#[test]
fn threads_and_interruptions_change_nothing() {
    for sampling in ["full", "search"] {
        let space = space(&format!(
            "repeats = 2\nsampling = '{sampling}'\nsamples = 24\npopulation = 6\n[factors]\n\
             over_provisioning = [0.15, 0.2, 0.3]\ncleaning.policy = ['greedy', 'fifo', 'none-such']\n\
             workload.reads = [0.0, 0.5]"
        ));
        let whole = run(&space, 1);
        assert!(whole.iter().any(|row| row.status == RowStatus::Done));
        assert_eq!(run(&space, 3), whole);
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("s");
        let start = finish(&space, &[], SweepStatus::Unfinished);
        let mut folder = SweepFolder::create(&path, &start).unwrap();
        for stop_after in [3, 10, 1_000_000] {
            let (stop, names) = (AtomicBool::new(false), start.factors.clone());
            let (_, _, rows) = {
                drop(folder);
                SweepFolder::resume(&path).unwrap()
            };
            folder = SweepFolder::resume(&path).unwrap().0;
            let before = rows.len() as u64;
            let mut progress = StopAfter { rows: before + stop_after, stop: &stop };
            let mut runner = Runner::new(Resources::new(2, &stop), &mut progress).keeping(
                &mut folder,
                names,
                rows,
            );
            let explored = explore(&space, &mut |trials| runner.run(trials));
            assert!(explored.is_some() || stop_after < 1_000_000);
            assert!(runner.finish().unwrap().len() as u64 >= before);
            assert!(explored.is_none_or(|rows| rows == whole));
        }
    }
}

/// Stops a run once there are this many rows.
struct StopAfter<'a> {
    rows: u64,
    stop: &'a AtomicBool,
}

impl Progress for StopAfter<'_> {
    fn show(&mut self, step: &Step<'_>) {
        self.stop.store(step.done >= self.rows, std::sync::atomic::Ordering::Relaxed);
    }

    fn note(&mut self, _text: &str) {}
}

/// Workers that return rows out of order, twice and unrequested, and lose the first `lost` trials.
struct UnrulyWorkers {
    lost: usize,
}

impl Workers for UnrulyWorkers {
    fn run(&mut self, trials: &[&Trial], give: &mut dyn FnMut(Row) -> bool) {
        let stop = AtomicBool::new(false);
        for trial in trials[self.lost.min(trials.len())..].iter().rev() {
            let row = run_trial(trial, &Budget::default(), &stop).unwrap();
            let (foreign, other) =
                (Row { point: 1000, ..row.clone() }, Row { numbers: [].into(), ..row.clone() });
            assert!([foreign, row, other].into_iter().all(&mut *give));
        }
    }
}

// The workers return rows in another order, twice, and without a request. Lost rows are run again
// later.
#[test]
fn remote_workers_give_the_same_rows() {
    for sampling in ["sampling = 'full'", "sampling = 'search'\nsamples = 6\npopulation = 2"] {
        let space = space(&format!(
            "repeats = 2\n{sampling}\n[factors]\nover_provisioning = [0.15, 0.2, 0.3]\n\
             workload.reads = [0.0, 0.5]"
        ));
        let (stop, mut progress) = (AtomicBool::new(false), ());
        let mut workers = UnrulyWorkers { lost: 2 };
        let mut runner =
            Runner::new(Resources::new(1, &stop), &mut progress).by(Some(&mut workers));
        assert_eq!(explore(&space, &mut |trials| runner.run(trials)), None);
        let kept = runner.finish().unwrap();
        let mut workers = UnrulyWorkers { lost: 0 };
        let mut progress = ();
        let mut runner =
            Runner::new(Resources::new(1, &stop), &mut progress).by(Some(&mut workers));
        assert_eq!(explore(&space, &mut |trials| runner.run(trials)).unwrap(), run(&space, 1));
        assert!(runner.finish().unwrap().len() >= kept.len());
    }
}

#[test]
fn impossible_points_are_listed_with_their_reason() {
    let sweep =
        swept(&space("[factors]\nover_provisioning = [0.15, 1.5]\nworkload.reads = [0.0, 0.5]"));
    assert_eq!(sweep.counts, Counts { points: 4, requested: 4, done: 2, impossible: 2, failed: 0 });
    assert_eq!(sweep.skipped.len(), 2);
    assert!(sweep.skipped[0].reason.contains("over_provisioning"), "{:?}", sweep.skipped);
    assert_eq!(sweep.front.len() + sweep.skipped.len(), 3, "without reads nothing else differs");
}

// The first and the last level of over-provisioning are impossible. Its effect is that between the
// other two levels.
#[test]
fn impossible_levels_do_not_hide_the_effect_of_a_factor() {
    let sweep = swept(&space(
        "repeats = 2\nobjectives = ['minimize write_amplification']\n\
         [factors]\nover_provisioning = [0, 0.15, 0.3, 1.5]\nreliability.block_lifetime = [1000, 100000]",
    ));
    let of = |effect: &&Effect| effect.step.factor == "over_provisioning";
    let steps: Vec<_> = sweep.effects.iter().filter(of).collect();
    let [effect] = &steps[..] else { panic!("{steps:?}") };
    assert_eq!([&effect.step.from, &effect.step.to].map(ToString::to_string), ["0.15", "0.3"]);
    assert_eq!((effect.sign, effect.pairs), (-1, 2));
    assert_eq!(sweep.interactions.len(), 1);
    assert_eq!(sweep.skipped.len(), 4);
}

#[test]
fn over_provisioning_has_a_significant_effect() {
    let sweep = swept(&space(
        "repeats = 4\nobjectives = ['minimize write_amplification', 'maximize drive.capacity_bytes']\n\
         [factors]\nover_provisioning = [0.15, 0.3]\nreliability.block_lifetime = [1000, 100000]",
    ));
    let sign = |objective: &str, factor: &str| {
        let of = |effect: &&Effect| effect.objective == objective && effect.step.factor == factor;
        let effect = sweep.effects.iter().find(of).unwrap();
        assert_eq!(effect.pairs, 2);
        effect.sign
    };
    assert_eq!(sign("write_amplification", "over_provisioning"), -1);
    assert_eq!(sign("drive.capacity_bytes", "over_provisioning"), -1);
    assert_eq!(sign("write_amplification", "reliability.block_lifetime"), 0);
    assert_eq!(sweep.interactions.len(), 2);
    assert!(sweep.interactions.iter().all(|sweep| sweep.sign == 0 && sweep.squares == 1));
}

/// Returns the rows of a grid of 2 x 3 points, with a value that is a function of the levels and
/// the repeat.
fn scripted(space: &Space, value: impl Fn(f64, f64, f64) -> f64) -> Vec<Row> {
    let number = |level: &Option<Level>| match level {
        Some(Level::Number(number)) => *number,
        other => panic!("{other:?}"),
    };
    let row = |trial: Trial| {
        let [a, b] = [number(&trial.levels[0]), number(&trial.levels[1])];
        let value = value(a, b, f64::from(trial.repeat));
        let numbers = [("ios".to_owned(), value), ("bytes_read".into(), -a)].into();
        let (point, repeat, levels) = (trial.point, trial.repeat, trial.levels);
        Row { point, repeat, levels, status: RowStatus::Done, reason: None, numbers }
    };
    space.trials().into_iter().map(row).collect()
}

const SCRIPTED: &str = "repeats = 3\nobjectives = ['minimize ios', 'maximize bytes_read']\n[factors]\n\
                        flash.packages = [1, 2]\nseed = [0, 10, 20]";

proptest! {
    // The errors that all points share by their seed must cancel.
    #[test]
    fn effects_are_those_of_the_function(a in -9.0..9.0, b in -9.0..9.0, ab in -9.0..9.0, luck in -1e3..1e3) {
        let space = space(SCRIPTED);
        let rows = scripted(&space, |x, y, repeat| a * x + b * y + ab * x * y + luck * repeat);
        let sweep = finish(&space, &rows, SweepStatus::Complete);
        let near = |value: f64, is: f64| (value - is).abs() < 1e-6;
        // The mean level of the second factor (0, 10, 20) is 10, that of the first (1, 2) is 1.5.
        prop_assert!(near(sweep.effects[0].difference.value, a + ab * 10.0));
        prop_assert!(near(sweep.effects[1].difference.value, 10.0 * (b + ab * 1.5)));
        prop_assert!(near(sweep.effects[2].difference.value, 20.0 * (b + ab * 1.5)));
        prop_assert!(near(sweep.interactions[0].difference.value, 20.0 * ab));
        prop_assert!(sweep.effects[0].difference.half_width().unwrap() < 1e-6, "luck is shared");
    }

    #[test]
    fn front_dominates_all_other_points(values in proptest::collection::vec(0_u8..4, 6)) {
        let space = space(SCRIPTED);
        let at = |x: f64, y: f64| f64::from(values[usize::from(x > 1.5) + 2 * usize::from(y > 5.0) + 2 * usize::from(y > 15.0)]);
        let rows = scripted(&space, |x, y, _| at(x, y));
        let sweep = finish(&space, &rows, SweepStatus::Complete);
        // Negates the second objective, so that both are minimized.
        let points: Vec<(u32, [f64; 2])> = rows.iter().step_by(3)
            .map(|row| (row.point, [row.numbers["ios"], -row.numbers["bytes_read"]])).collect();
        for (point, [x, y]) in &points {
            let beaten = points.iter().any(|(_, [u, v])| u <= x && v <= y && (u < x || v < y));
            prop_assert_eq!(sweep.front.iter().any(|front| front.point == *point), !beaten);
        }
    }
}

/// A space with factors of each kind, for sampling.
const SAMPLED: &str = "samples = 128\nrepeats = 2\nobjectives = ['minimize ios']\n[factors]\n\
                       cleaning.policy = ['greedy', 'fifo', 'random']\n\
                       over_provisioning = {from = 0.1, to = 0.5}\n\
                       stripe = {from = 1, to = 65536, scale = 'log'}\n\
                       workload.reads = [0.0, 0.5, 1.0]";

#[test]
fn effects_of_samples_are_those_of_the_function() {
    for sampling in ["latin-hypercube", "sobol"] {
        let space = space(&format!("sampling = '{sampling}'\n{SAMPLED}"));
        let value = |levels: &[Option<Level>]| {
            let share =
                |nth: usize| space.factors[nth].share(levels[nth].as_ref().unwrap()).unwrap();
            let policy =
                [0.0, 4.0, -3.0][usize::from(share(0) > 0.25) + usize::from(share(0) > 0.75)];
            policy + 10.0 * share(1) + 6.0 * (share(1) - 0.5) * (share(2) - 0.5)
        };
        let row = |Trial { point, repeat, levels, .. }| {
            let luck = f64::from(point * 7919 % 101) / 101.0 - 0.5;
            let numbers = [("ios".to_owned(), 20.0 + value(&levels) + luck)].into();
            Row { point, repeat, levels, status: RowStatus::Done, reason: None, numbers }
        };
        let rows: Vec<Row> = space.trials().into_iter().map(row).collect();
        let sweep = finish(&space, &rows, SweepStatus::Complete);
        let effects: Vec<(String, f64, i8)> = sweep
            .effects
            .iter()
            .map(|effect| (effect.step.to.to_string(), effect.difference.value, effect.sign))
            .collect();
        let expected = [
            ("fifo", 4.0, 1),
            ("random", -3.0, -1),
            ("0.5", 10.0, 1),
            ("65536", 0.0, 0),
            ("1", 0.0, 0),
        ];
        assert_eq!(effects.len(), expected.len(), "{effects:?}");
        for ((to, difference, sign), (is_to, is, is_sign)) in effects.iter().zip(expected) {
            assert_eq!((to.as_str(), *sign), (is_to, is_sign), "{effects:?}");
            assert!((difference - is).abs() < 0.2, "{effects:?}");
        }
        let large: Vec<_> =
            sweep.interactions.iter().filter(|sweep| sweep.difference.value.abs() > 1.0).collect();
        assert_eq!((large.len(), large[0].sign), (1, 1), "{large:?}");
        let [one, other] = [&large[0].steps[0].factor, &large[0].steps[1].factor];
        assert_eq!([one, other], ["over_provisioning", "stripe"]);
        assert!((large[0].difference.value - 6.0).abs() < 1.0, "{large:?}");
        assert!((0.98..1.0).contains(&sweep.regressions[0].explained));
        assert_eq!(sweep.regressions[0].points, 128);
    }
}

/// Returns the hypervolume that the front of a sweep dominates, below `worst` (both objectives
/// minimized).
fn hypervolume(sweep: &Sweep, worst: [f64; 2]) -> f64 {
    let candidate = |point: &FrontPoint| {
        let values = point.values.iter().map(|estimate| estimate.value).collect();
        Candidate::new(point.point, Evaluation::new(values))
    };
    let front: Vec<_> = sweep.front.iter().map(candidate).collect();
    hypervolume_2d(&front, &front::ranked(&sweep.objectives), worst)
}

// The search runs a sixth of the points of the full grid and comes within a few percent of its
// front.
#[test]
fn search_finds_the_front_of_the_full_grid() {
    let factors = "objectives = ['minimize write_amplification', 'maximize drive.capacity_bytes']\n\
                   [factors]\nover_provisioning = {from = 0.15, to = 0.45, count = 32}\n\
                   cleaning.policy = ['greedy', 'fifo', 'random']\nworkload.reads = [0.0, 0.1, 0.2]";
    let grid = swept(&space(factors));
    let search =
        swept(&space(&format!("sampling = 'search'\nsamples = 48\npopulation = 12\n{factors}")));
    assert!(search.counts.points <= 48 && grid.counts.points == 288);
    let worst = [4.0, 0.0];
    let share = hypervolume(&search, worst) / hypervolume(&grid, worst);
    assert!((0.95..=1.0).contains(&share), "{share}");
}

// The space has 161,051 points, of which the search runs 800. It must come closer to the front than
// a Sobol sequence of as many points. The function is ZDT1 of E. Zitzler, K. Deb and L. Thiele
// (*Evolutionary Computation* 8(2), 2000) with five variables. Its front is where all variables but
// the first are 0.
#[test]
fn a_search_comes_near_a_known_front() {
    let of = |sampling: &str| {
        let range = "{from = 0.0, to = 1.0, count = 11}";
        let names = [
            "cleaning.background_threshold",
            "cleaning.free_threshold",
            "over_provisioning",
            "workload.reads",
            "workload.trims",
        ];
        let factors = names.map(|name| format!("{name} = {range}\n")).concat();
        let objectives = "objectives = ['minimize ios', 'minimize bytes_read']";
        let space = space(&format!(
            "sampling = '{sampling}'\nsamples = 800\npopulation = 20\n{objectives}\n[factors]\n{factors}"
        ));
        let rows = explore(&space, &mut |trials| Some(trials.iter().map(zdt1).collect())).unwrap();
        let sweep = finish(&space, &rows, SweepStatus::Complete);
        assert!(sweep.counts.points <= 800);
        hypervolume(&sweep, [1.0, 10.0])
    };
    // The hypervolume of the front itself, for eleven points from 0 to 1.
    let front = (0..11).map(|nth| f64::from(nth) / 10.0);
    let whole: f64 = front.take(10).map(|x| 0.1 * (10.0 - (1.0 - x.sqrt()))).sum();
    let [search, sobol] = ["search", "sobol"].map(|sampling| of(sampling) / whole);
    assert!((0.97..=1.0 + 1e-9).contains(&search) && search > sobol + 0.03, "{search} {sobol}");
}

/// Returns a row with the values of ZDT1.
fn zdt1(trial: &Trial) -> Row {
    let number = |level: &Option<Level>| match level {
        Some(Level::Number(number)) => *number,
        other => panic!("{other:?}"),
    };
    let (x, others) = trial.levels.split_first().unwrap();
    let (x, others) = (number(x), others.iter().map(number).sum::<f64>() / 4.0);
    let g = 1.0 + 9.0 * others;
    let numbers = [("ios".to_owned(), x), ("bytes_read".into(), g * (1.0 - (x / g).sqrt()))];
    Row {
        point: trial.point,
        repeat: trial.repeat,
        levels: trial.levels.clone(),
        status: RowStatus::Done,
        reason: None,
        numbers: numbers.into(),
    }
}

// Compares gain and cost of each technique with Table 6 of Agrawal et al.
#[test]
fn agrawal_table_6() {
    let text = include_str!("../../../../docs/examples/agrawal-table6.toml");
    let sweep = swept(&Space::parse(text).unwrap());
    assert_eq!(sweep.counts.done, 96);
    for (factor, objective, sign) in [
        ("packages_per_pool", "ios_per_second", 1), // load balancing
        ("logical_page_size", "flash_reads.host", 1), // read-modify-writes
        ("over_provisioning", "cleaning.count", -1), // less cleaning
        ("over_provisioning", "drive.capacity_bytes", -1), // reduced capacity
        ("gang.packages", "ios_per_second", -1),    // reduced parallelism
        ("stripe", "ios_per_second", 1),            // concurrency
        ("stripe", "cleaning.efficiency", -1),      // loss of locality
    ] {
        let of = |effect: &&Effect| effect.step.factor == factor && effect.objective == objective;
        let effect = sweep.effects.iter().find(of).unwrap();
        assert_eq!((effect.sign, effect.pairs), (sign, 16), "{effect:?}");
    }
}
