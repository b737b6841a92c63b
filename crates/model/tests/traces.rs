//! Do the predictors of traces find of uniform writes what simulations found, and what the forms say?

use std::fs;
use std::path::Path;

use flashscope_model::trace::{
    Cleaning, Decomposition, Dftl, FragmentBast, FragmentFast, Map, Merging, Predictor, Ranges,
    Reuse, Space, Stretches, Survivors, Total,
};
use flashscope_model::{Model, Translation, fifo, greedy};

/// The drive of `bast-fast-uniform.csv`.
const SPACE: Space = Space { pages_per_block: 64, logical_blocks: 8192, free_blocks: 573 };

/// A column of that table, by w.
fn simulated(column: &str) -> Vec<(f64, f64)> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"));
    let path = path.join("../../testdata/reference/bast-fast-uniform.csv");
    let text = fs::read_to_string(path).unwrap();
    let mut lines = text.lines().map(|line| line.split(',').collect::<Vec<_>>());
    let at = lines.next().unwrap().iter().position(|name| *name == column).unwrap();
    lines.map(|line| (line[0].parse().unwrap(), line[at].parse().unwrap())).collect()
}

/// Writes so many pages, in writes of geometric length that start where told.
#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "lengths in pages")]
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

/// Nine in ten to a tenth of the drive.
fn hot_and_cold(rng: &mut fastrand::Rng) -> u64 {
    let hot = SPACE.pages() / 10;
    if rng.f64() < 0.9 { rng.u64(0..hot) } else { rng.u64(hot..SPACE.pages()) }
}

/// What writes of geometric length come to, in a steady state.
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

/// The same of uniform ones.
fn uniform(predictor: &mut dyn Predictor, mean_len: f64, pages: u64) -> Total {
    steady(predictor, mean_len, pages, anywhere)
}

/// That the throughput of a predictor is within a tolerance of what a simulation found.
#[track_caller]
fn check(make: &dyn Fn() -> Box<dyn Predictor>, column: &str, tolerance: f64) {
    for (w, expected) in simulated(column) {
        // Long writes are few in as many pages.
        let pages = if w < 256.0 { 500_000 } else { 6_000_000 };
        let r = uniform(make().as_mut(), w, pages).equivalent_throughput(SPACE.pages_per_block);
        assert!((r / expected - 1.0).abs() < tolerance, "{column}, w = {w}: {r} for {expected}");
    }
}

// Do the fragments of uniform writes cost what a simulation of BAST found, whenever it merges?
#[test]
fn fragments_of_bast() {
    for (merging, column) in
        [(Merging::Eager, "BAST_r_sim_fifo_eager"), (Merging::Lazy, "BAST_r_sim_fifo_lazy")]
    {
        check(&|| Box::new(FragmentBast::new(SPACE, merging).unwrap()), column, 0.015);
    }
}

// Do the forms of BAST hold where half of the data blocks and more have log blocks?
#[test]
fn forms_of_bast_with_many_log_blocks() {
    for (free_blocks, w) in [(4096, 1.0), (4096, 16.0), (4096, 256.0), (6554, 4.0), (6554, 64.0)] {
        let space = Space { free_blocks, ..SPACE };
        let pages = if w < 256.0 { 2_000_000 } else { 10_000_000 };
        for (name, merging) in [("bast-eager", Merging::Eager), ("bast-lazy", Merging::Lazy)] {
            let expected = uniform(&mut FragmentBast::new(space, merging).unwrap(), w, pages);
            let free = f64::from(free_blocks) / 8192.0;
            let whole = flashscope_model::Uniform::new(64.0, 8192.0, free, w).unwrap();
            let got = (Model::named(name).unwrap().predict)(&whole).equivalent_throughput(64.0);
            let off = got / expected.equivalent_throughput(64) - 1.0;
            assert!(off.abs() < 0.015, "{name}, {free_blocks} log blocks, w = {w}: {off}");
        }
    }
}

// And FAST?
#[test]
fn fragments_of_fast() {
    check(&|| Box::new(FragmentFast::new(SPACE).unwrap()), "FAST_r_sim", 0.02);
}

// Is the decomposition of uniform writes as far from what the equations say of them as it is known to be?
// In a stretch a block has few writes by chance, and equations are not straight lines in the share of free
// space that follows: what is taken apart into single blocks is not quite put together again.
#[test]
fn decomposition_of_uniform_writes() {
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

/// How far the erasures of a decomposition are off those of what the drive does.
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

// Are stationary writes that are not cut at the end of each log list predicted better, as shares of more writes are
// less by chance?
#[test]
fn stationary_stretches_are_better_where_little_changes() {
    for (w, log_list, stationary) in [(1.0, 0.04, 0.01), (4.0, 0.22, 0.06), (16.0, 0.35, 0.15)] {
        let fast = || FragmentFast::new(SPACE).unwrap();
        let cut = off("fast", Stretches::LogList, &mut fast(), w, anywhere);
        let whole = off("fast", Stretches::Stationary, &mut fast(), w, anywhere);
        assert!(cut.abs() < log_list && whole.abs() < stationary, "w = {w}: {cut} {whole}");
        assert!(whole.abs() < 0.5 * cut.abs(), "w = {w}: {cut} {whole}");
    }
}

// Are stretches that end where writes change predicted as each kind is by itself, which those that are longer than
// a phase would not be?
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
        // Where both are told the same.
        *rng = same;
        write(&mut WithoutTotal(&mut both), rng, w, 2 * list, start);
    }
    let expected: f64 = apart.iter_mut().map(|one| one.total().erasures).sum();
    let got = both.total().erasures;
    assert!((got / expected - 1.0).abs() < 0.03, "{got} for {expected}");
}

/// A predictor that is not asked before the end.
struct WithoutTotal<'a, P>(&'a mut P);

impl<P: Predictor> Predictor<()> for WithoutTotal<'_, P> {
    fn write(&mut self, page: u64, pages: u64) {
        self.0.write(page, pages);
    }

    fn total(&mut self) {}
}

// Are hot and cold blocks with log blocks of their own predicted better where the stretches and the use of log
// blocks are those of each block?
#[test]
fn own_time_is_better_for_hot_and_cold_blocks() {
    for (w, log_list, own) in [(1.0, 0.88, 0.27), (4.0, 0.6, 0.13), (16.0, 0.22, 0.07)] {
        let bast = || FragmentBast::new(SPACE, Merging::Eager).unwrap();
        let shared = off("bast", Stretches::LogList, &mut bast(), w, hot_and_cold);
        let by_itself = off("bast", Stretches::OwnTime, &mut bast(), w, hot_and_cold);
        assert!(shared.abs() < log_list && by_itself.abs() < own, "w = {w}: {shared} {by_itself}");
        assert!(by_itself.abs() < 0.5 * shared.abs(), "w = {w}: {shared} {by_itself}");
    }
}

// Is the queue of uniform writes that of Desnoyers' equation 4?
#[test]
fn reuse_of_uniform_writes() {
    let space = Space { pages_per_block: 64, logical_blocks: 1000, free_blocks: 200 };
    let mut reuse = Reuse::new(space, false).unwrap();
    let mut rng = fastrand::Rng::with_seed(5);
    (0..space.pages()).for_each(|page| reuse.write(page, 1));
    (0..10 * space.pages()).for_each(|_| reuse.write(rng.u64(0..space.pages()), 1));
    reuse.begin();
    (0..20 * space.pages()).for_each(|_| reuse.write(rng.u64(0..space.pages()), 1));
    let (got, expected) = (reuse.write_amplification(), fifo::write_amplification(1.2));
    assert!((got / expected - 1.0).abs() < 0.01, "{got} for {expected}");
}

// Is a drive that is written in order over and over moved nothing of, greedily or not, and one of which most
// is never written again moved round in a queue only?
#[test]
fn reuse_in_order() {
    let space = Space { pages_per_block: 64, logical_blocks: 100, free_blocks: 10 };
    let amplification = |greedy: bool, upto: u64| {
        let mut reuse = Reuse::new(space, greedy).unwrap();
        for pass in 0..20 {
            if pass == 10 {
                reuse.begin();
            }
            (0..upto).for_each(|block| reuse.write(block * 64, 64));
        }
        reuse.write_amplification()
    };
    assert_eq!(amplification(false, 100), 1.0);
    assert_eq!(amplification(true, 100), 1.0);
    // Of 110 blocks in the queue 90 hold what is never written: 110 are passed for 20 written.
    assert!((amplification(false, 10) - 5.5).abs() < 0.01);
    assert_eq!(amplification(true, 10), 1.0);
}

// Where several amplifications hold, is it the least, to which a drive comes that begins with none? Of a drive
// written in order, 7 of whose 8 blocks are live, each page may as well be moved seven times.
#[test]
fn reuse_is_the_least() {
    let space = Space { pages_per_block: 64, logical_blocks: 70, free_blocks: 10 };
    let mut reuse = Reuse::new(space, false).unwrap();
    for pass in 0..4 {
        if pass == 2 {
            reuse.begin();
        }
        (0..space.pages()).for_each(|page| reuse.write(page, 1));
    }
    assert_eq!(reuse.write_amplification(), 1.0);
}

// Is each stretch between two totals predicted by itself: after writes in order, is what random ones come to
// the same as without?
#[test]
fn reuse_by_stretches() {
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

/// What random writes of single pages come to, after as many as fill a drive several times.
fn random_pages(predictor: &mut dyn Predictor, space: Space) -> Total {
    let mut rng = fastrand::Rng::with_seed(3);
    let mut go = |times: u64| {
        (0..times * space.pages()).for_each(|_| predictor.write(rng.u64(0..space.pages()), 1));
        predictor.total()
    };
    let before = go(5);
    go(10).since(&before)
}

// Are the survivors of uniform writes as many as the closed forms say, of both kinds of cleaning?
#[test]
fn survivors_of_uniform_writes() {
    let space = Space { pages_per_block: 32, logical_blocks: 2000, free_blocks: 300 };
    let forms = [
        (Cleaning::Greedy, greedy::write_amplification(1.15, 32.0)),
        (Cleaning::Fifo, fifo::write_amplification(1.15)),
    ];
    for (cleaning, expected) in forms {
        let mut survivors = Survivors::new(space, cleaning).unwrap();
        let got = random_pages(&mut survivors, space).write_amplification();
        assert!((got / expected - 1.0).abs() < 0.01, "{cleaning:?}: {got} for {expected}");
    }
}

// Is the traffic of the map, of uniform writes, what the closed form of batched write-backs says, for lambda of
// .5 and 2 entries cached of each translation page? Nothing is cleaned here, which the form leaves out.
#[test]
fn mapping_of_uniform_writes() {
    for entries in [32, 128] {
        let space = Space { pages_per_block: 32, logical_blocks: 500, free_blocks: 100_000 };
        let held = u32::try_from(space.pages() / 64).unwrap();
        let map = Map { cached: held, per_page: entries, most_blocks: 50_000 };
        let mut dftl = Dftl::new(space, map, Cleaning::Greedy).unwrap();
        let total = random_pages(&mut dftl, space);
        let (traffic, form) =
            (dftl.traffic(), Translation::batched(1.0 / 64.0, f64::from(entries)).unwrap());
        assert_eq!(total.erasures, 0.0, "no block has to be cleaned yet");
        let share = |count: u64| count as f64 / traffic.look_ups as f64;
        let (misses, writes) = (share(traffic.misses), share(traffic.write_backs));
        assert!((misses / form.misses - 1.0).abs() < 0.01, "{misses} for {form:?}");
        assert!((writes / form.write_backs - 1.0).abs() < 0.02, "{writes} for {form:?}");
    }
}

// Do reads miss as writes do, and change what a map on the flash costs, but not where it is in memory?
#[test]
fn reads_miss_too() {
    let space = Space { pages_per_block: 32, logical_blocks: 100, free_blocks: 20 };
    let mut rng = fastrand::Rng::with_seed(4);
    let requests: Vec<(u64, u64)> =
        (0..30_000).map(|_| (rng.u64(0..space.pages()), rng.u64(0..space.pages()))).collect();
    let cost = |cached: u32, reads: bool| {
        let map = Map { cached, per_page: 512, most_blocks: 4 };
        let mut dftl = Dftl::new(space, map, Cleaning::Greedy).unwrap();
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
