//! Predictors of traces agree with simulations and with closed forms on uniform writes.

use std::fs;
use std::path::Path;

use flashscope_model::trace::{
    Decomposition, Dftl, FragmentBast, FragmentFast, GcPolicy, Map, MergePolicy, Predictor, Ranges,
    Reuse, Space, Stretches, Survivors, Total,
};
use flashscope_model::{Model, Translation, fifo, greedy};

/// The drive of `bast-fast-uniform.csv`.
const SPACE: Space = Space { pages_per_block: 64, logical_blocks: 8192, free_blocks: 573 };

/// Returns a column of `bast-fast-uniform.csv`: pairs of w and the value.
fn simulated(column: &str) -> Vec<(f64, f64)> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"));
    let path = path.join("../../testdata/reference/bast-fast-uniform.csv");
    let text = fs::read_to_string(path).unwrap();
    let mut lines = text.lines().map(|line| line.split(',').collect::<Vec<_>>());
    let at = lines.next().unwrap().iter().position(|name| *name == column).unwrap();
    lines.map(|line| (line[0].parse().unwrap(), line[at].parse().unwrap())).collect()
}

/// Writes `pages` pages, in writes of geometric length with starts from `start`.
#[allow(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "lengths are positive and far below 2^64"
)]
fn write<S>(
    predictor: &mut dyn Predictor<S>,
    rng: &mut fastrand::Rng,
    mean_len: f64,
    pages: u64,
    start: fn(&mut fastrand::Rng) -> u64,
) -> S {
    let mut written = 0;
    while written < pages {
        let longer = (1.0 - rng.f64()).ln() / (-1.0 / mean_len).ln_1p();
        let len = if mean_len > 1.0 { 1 + longer as u64 } else { 1 };
        predictor.write(start(rng), len);
        written += len;
    }
    predictor.total()
}

fn anywhere(rng: &mut fastrand::Rng) -> u64 {
    rng.u64(0..SPACE.pages())
}

/// Returns a random page: nine in ten pages lie within the first tenth of the drive.
fn hot_and_cold(rng: &mut fastrand::Rng) -> u64 {
    let hot = SPACE.pages() / 10;
    if rng.f64() < 0.9 { rng.u64(0..hot) } else { rng.u64(hot..SPACE.pages()) }
}

/// Returns the cost of writes of geometric length, in a steady state.
fn steady(
    predictor: &mut dyn Predictor,
    mean_len: f64,
    pages: u64,
    start: fn(&mut fastrand::Rng) -> u64,
) -> Total {
    let rng = &mut fastrand::Rng::with_seed(11);
    let before = write(predictor, rng, mean_len, pages, start);
    write(predictor, rng, mean_len, pages, start).since(&before)
}

/// Returns the cost of uniform writes, in a steady state.
fn uniform(predictor: &mut dyn Predictor, mean_len: f64, pages: u64) -> Total {
    steady(predictor, mean_len, pages, anywhere)
}

/// Asserts that a predictor's throughput agrees with a simulation to within a tolerance.
#[track_caller]
fn check(make: &dyn Fn() -> Box<dyn Predictor>, column: &str, tolerance: f64) {
    for (w, expected) in simulated(column) {
        // Long writes need more pages for a stable result.
        let pages = if w < 256.0 { 500_000 } else { 6_000_000 };
        let r = uniform(make().as_mut(), w, pages).equivalent_throughput(SPACE.pages_per_block);
        assert!((r / expected - 1.0).abs() < tolerance, "{column}, w = {w}: {r} for {expected}");
    }
}

// Covers both merge policies.
#[test]
fn fragment_bast_agrees_with_a_simulation() {
    for (merging, column) in
        [(MergePolicy::Eager, "BAST_r_sim_fifo_eager"), (MergePolicy::Lazy, "BAST_r_sim_fifo_lazy")]
    {
        check(&|| Box::new(FragmentBast::new(SPACE, merging).unwrap()), column, 0.015);
    }
}

// At least half of the data blocks have log blocks.
#[test]
fn bast_models_are_accurate_with_many_log_blocks() {
    for (free_blocks, w) in [(4096, 1.0), (4096, 16.0), (4096, 256.0), (6554, 4.0), (6554, 64.0)] {
        let space = Space { free_blocks, ..SPACE };
        let pages = if w < 256.0 { 2_000_000 } else { 10_000_000 };
        for (name, merging) in
            [("bast-eager", MergePolicy::Eager), ("bast-lazy", MergePolicy::Lazy)]
        {
            let expected = uniform(&mut FragmentBast::new(space, merging).unwrap(), w, pages);
            let free = f64::from(free_blocks) / 8192.0;
            let whole = flashscope_model::Uniform::new(64.0, 8192.0, free, w).unwrap();
            let got = (Model::named(name).unwrap().predict)(&whole).equivalent_throughput(64.0);
            let off = got / expected.equivalent_throughput(64) - 1.0;
            assert!(off.abs() < 0.015, "{name}, {free_blocks} log blocks, w = {w}: {off}");
        }
    }
}

#[test]
fn fragment_fast_agrees_with_a_simulation() {
    check(&|| Box::new(FragmentFast::new(SPACE).unwrap()), "FAST_r_sim", 0.02);
}

// A block has few writes in a stretch, and their number varies by chance. The equations are not
// linear in the resulting share of free space. The sum over blocks therefore deviates.
#[test]
fn decomposition_deviates_from_the_equations_as_known() {
    let known = [
        ("bast", 1.0, -0.064),
        ("bast", 4.0, -0.045),
        ("fast", 1.0, 0.045),
        ("fast", 4.0, 0.272),
        ("fast-2011", 1.0, 0.038),
        ("fast-2011", 4.0, 0.287),
    ];
    for (name, w, off) in known {
        let model = Model::named(name).unwrap();
        let whole = flashscope_model::Uniform::new(64.0, 8192.0, 573.0 / 8192.0, w).unwrap();
        let r = (model.predict)(&whole).equivalent_throughput(64.0);
        let mut decomposed =
            Decomposition::new(model, SPACE, Ranges::Whole, Stretches::LogList).unwrap();
        let got = uniform(&mut decomposed, w, 500_000).equivalent_throughput(64);
        assert!((got / r - 1.0 - off).abs() < 0.015, "{name}, w = {w}: {got} for {r}");
    }
}

/// Returns the relative deviation of a decomposition's erases from those of `drive`.
fn off(
    model: &str,
    stretches: Stretches,
    drive: &mut dyn Predictor,
    mean_len: f64,
    start: fn(&mut fastrand::Rng) -> u64,
) -> f64 {
    let model = Model::named(model).unwrap();
    let mut decomposed = Decomposition::new(model, SPACE, Ranges::Whole, stretches).unwrap();
    let [got, expected] = [&mut decomposed as &mut dyn Predictor, drive]
        .map(|predictor| steady(predictor, mean_len, 500_000, start).erasures);
    got / expected - 1.0
}

// In long stretches, the shares of writes vary less by chance.
#[test]
fn long_stretches_predict_stationary_writes_better() {
    for (w, log_list, stationary) in [(1.0, 0.04, 0.01), (4.0, 0.22, 0.06), (16.0, 0.35, 0.15)] {
        let fast = || FragmentFast::new(SPACE).unwrap();
        let cut = off("fast", Stretches::LogList, &mut fast(), w, anywhere);
        let whole = off("fast", Stretches::Stationary, &mut fast(), w, anywhere);
        assert!(cut.abs() < log_list && whole.abs() < stationary, "w = {w}: {cut} {whole}");
        assert!(whole.abs() < 0.5 * cut.abs(), "w = {w}: {cut} {whole}");
    }
}

// The prediction of each phase is the same as without the other phases.
#[test]
fn stationary_stretches_end_where_writes_change() {
    let list = u64::from(SPACE.free_blocks) * u64::from(SPACE.pages_per_block);
    let model = Model::named("fast").unwrap();
    let decomposed =
        || Decomposition::new(model, SPACE, Ranges::Whole, Stretches::Stationary).unwrap();
    let (mut both, mut apart) = (decomposed(), [decomposed(), decomposed()]);
    let rng = &mut fastrand::Rng::with_seed(4);
    for phase in 0..10 {
        let (w, start): (f64, fn(&mut fastrand::Rng) -> u64) =
            if phase % 2 == 0 { (1.0, anywhere) } else { (32.0, hot_and_cold) };
        let same = rng.clone();
        write(&mut apart[phase % 2], rng, w, 2 * list, start);
        // Both predictors receive the same writes.
        *rng = same;
        write(&mut WithoutTotal(&mut both), rng, w, 2 * list, start);
    }
    let expected: f64 = apart.iter_mut().map(|one| one.total().erasures).sum();
    let got = both.total().erasures;
    assert!((got / expected - 1.0).abs() < 0.03, "{got} for {expected}");
}

/// A wrapper that does not compute totals until the end.
struct WithoutTotal<'a, P>(&'a mut P);

impl<P: Predictor> Predictor<()> for WithoutTotal<'_, P> {
    fn write(&mut self, page: u64, pages: u64) {
        self.0.write(page, pages);
    }

    fn total(&mut self) {}
}

// Each block has its own stretches, and log blocks are counted for each block.
#[test]
fn own_time_is_better_for_hot_and_cold_blocks() {
    for (w, log_list, own) in [(1.0, 0.88, 0.27), (4.0, 0.6, 0.13), (16.0, 0.22, 0.07)] {
        let bast = || FragmentBast::new(SPACE, MergePolicy::Eager).unwrap();
        let shared = off("bast", Stretches::LogList, &mut bast(), w, hot_and_cold);
        let by_itself = off("bast", Stretches::OwnTime, &mut bast(), w, hot_and_cold);
        assert!(shared.abs() < log_list && by_itself.abs() < own, "w = {w}: {shared} {by_itself}");
        assert!(by_itself.abs() < 0.5 * shared.abs(), "w = {w}: {shared} {by_itself}");
    }
}

// Compares the prediction with Desnoyers' equation 4.
#[test]
fn reuse_of_uniform_writes_agrees_with_equation_4() {
    let space = Space { pages_per_block: 64, logical_blocks: 1000, free_blocks: 200 };
    let mut reuse = Reuse::new(space, false).unwrap();
    let mut rng = fastrand::Rng::with_seed(5);
    (0..space.pages()).for_each(|page| reuse.write(page, 1));
    (0..10 * space.pages()).for_each(|_| reuse.write(rng.u64(0..space.pages()), 1));
    reuse.restart();
    (0..20 * space.pages()).for_each(|_| reuse.write(rng.u64(0..space.pages()), 1));
    let (got, expected) = (reuse.write_amplification(), fifo::write_amplification(1.2));
    assert!((got / expected - 1.0).abs() < 0.01, "{got} for {expected}");
}

// A drive written in order has no moves under both policies. Only FIFO moves pages that are never
// overwritten.
#[test]
fn reuse_of_sequential_writes_moves_only_static_pages() {
    let space = Space { pages_per_block: 64, logical_blocks: 100, free_blocks: 10 };
    let amplification = |greedy: bool, upto: u64| {
        let mut reuse = Reuse::new(space, greedy).unwrap();
        for pass in 0..20 {
            if pass == 10 {
                reuse.restart();
            }
            (0..upto).for_each(|block| reuse.write(block * 64, 64));
        }
        reuse.write_amplification()
    };
    assert_eq!(amplification(false, 100), 1.0);
    assert_eq!(amplification(true, 100), 1.0);
    // In the queue of 110 blocks, 90 hold static pages: the collector passes 110 blocks for every
    // 20 blocks that the host writes.
    assert!((amplification(false, 10) - 5.5).abs() < 0.01);
    assert_eq!(amplification(true, 10), 1.0);
}

// A new drive reaches the smallest solution. On a drive written in order with 7 of 8 blocks live,
// moving each page seven times is another solution.
#[test]
fn reuse_returns_the_smallest_solution() {
    let space = Space { pages_per_block: 64, logical_blocks: 70, free_blocks: 10 };
    let mut reuse = Reuse::new(space, false).unwrap();
    for pass in 0..4 {
        if pass == 2 {
            reuse.restart();
        }
        (0..space.pages()).for_each(|page| reuse.write(page, 1));
    }
    assert_eq!(reuse.write_amplification(), 1.0);
}

// A stretch is the time between two totals. Random writes cost the same after sequential writes as
// without sequential writes.
#[test]
fn reuse_predicts_each_stretch_separately() {
    let space = Space { pages_per_block: 64, logical_blocks: 500, free_blocks: 100 };
    let mut rng = fastrand::Rng::with_seed(8);
    let mut reuse = Reuse::new(space, false).unwrap();
    (0..2 * space.pages()).for_each(|page| reuse.write(page % space.pages(), 1));
    let in_order = reuse.total();
    assert_eq!(in_order.copies, 0.0);
    (0..5 * space.pages()).for_each(|_| reuse.write(rng.u64(0..space.pages()), 1));
    let before = reuse.total();
    (0..20 * space.pages()).for_each(|_| reuse.write(rng.u64(0..space.pages()), 1));
    let (got, expected) =
        (reuse.total().since(&before).write_amplification(), fifo::write_amplification(1.2));
    assert!((got / expected - 1.0).abs() < 0.01, "{got} for {expected}");
}

/// Returns the cost of random single-page writes, after several passes over the drive.
fn random_pages(predictor: &mut dyn Predictor, space: Space) -> Total {
    let mut rng = fastrand::Rng::with_seed(3);
    let mut go = |times: u64| {
        (0..times * space.pages()).for_each(|_| predictor.write(rng.u64(0..space.pages()), 1));
        predictor.total()
    };
    let before = go(5);
    go(10).since(&before)
}

// Covers both GC policies.
#[test]
fn survivors_of_uniform_writes_agree_with_closed_forms() {
    let space = Space { pages_per_block: 32, logical_blocks: 2000, free_blocks: 300 };
    let forms = [
        (GcPolicy::Greedy, greedy::write_amplification(1.15, 32.0)),
        (GcPolicy::Fifo, fifo::write_amplification(1.15)),
    ];
    for (policy, expected) in forms {
        let mut survivors = Survivors::new(space, policy).unwrap();
        let got = random_pages(&mut survivors, space).write_amplification();
        assert!((got / expected - 1.0).abs() < 0.01, "{policy:?}: {got} for {expected}");
    }
}

// Compares the traffic with the closed form of batched write-backs, for lambda of .5 and 2. The
// form omits GC, and GC does not run here.
#[test]
fn mapping_of_uniform_writes_agrees_with_the_closed_form() {
    for entries in [32, 128] {
        let space = Space { pages_per_block: 32, logical_blocks: 500, free_blocks: 100_000 };
        let held = u32::try_from(space.pages() / 64).unwrap();
        let map = Map { cached: held, per_page: entries, max_blocks: 50_000 };
        let mut dftl = Dftl::new(space, map, GcPolicy::Greedy).unwrap();
        let total = random_pages(&mut dftl, space);
        let (traffic, form) =
            (dftl.traffic(), Translation::batched(1.0 / 64.0, f64::from(entries)).unwrap());
        assert_eq!(total.erasures, 0.0, "GC has not run yet");
        let share = |count: u64| count as f64 / traffic.look_ups as f64;
        let (misses, writes) = (share(traffic.misses), share(traffic.write_backs));
        assert!((misses / form.misses - 1.0).abs() < 0.01, "{misses} for {form:?}");
        assert!((writes / form.write_backs - 1.0).abs() < 0.02, "{writes} for {form:?}");
    }
}

// Reads change the cost of a map in flash, but not of a map in memory.
#[test]
fn reads_miss_too() {
    let space = Space { pages_per_block: 32, logical_blocks: 100, free_blocks: 20 };
    let mut rng = fastrand::Rng::with_seed(4);
    let requests: Vec<(u64, u64)> =
        (0..30_000).map(|_| (rng.u64(0..space.pages()), rng.u64(0..space.pages()))).collect();
    let cost = |cached: u32, reads: bool| {
        let map = Map { cached, per_page: 512, max_blocks: 4 };
        let mut dftl = Dftl::new(space, map, GcPolicy::Greedy).unwrap();
        for (written, read) in &requests {
            dftl.write(*written, 1);
            if reads {
                dftl.read(*read, 1);
            }
        }
        (dftl.traffic().misses, dftl.total())
    };
    // Nine in ten entries are not in memory.
    let ((with, costs), (without, costs_without)) = (cost(320, true), cost(320, false));
    assert!(with.abs_diff(54_000) < 500 && without.abs_diff(27_000) < 500, "{with} {without}");
    assert_ne!(costs, costs_without);
    assert_eq!(cost(3200, true), cost(3200, false));
}
