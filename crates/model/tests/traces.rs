//! Do the predictors of traces find of uniform writes what simulations found, and what the forms say?

use std::fs;
use std::path::Path;

use flashscope_model::trace::{
    Decomposition, FragmentBast, FragmentFast, Merging, Predictor, Ranges, Reuse, Space, Total,
};
use flashscope_model::{Model, fifo};

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

/// What uniform writes of geometric length come to, in a steady state.
#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "lengths in pages")]
fn uniform(predictor: &mut dyn Predictor, mean_len: f64, pages: u64) -> Total {
    let mut rng = fastrand::Rng::with_seed(11);
    for half in 0..2 {
        if half == 1 {
            predictor.begin();
        }
        let mut written = 0;
        while written < pages {
            let longer = (1.0 - rng.f64()).ln() / (-1.0 / mean_len).ln_1p();
            let len = if mean_len > 1.0 { 1 + longer as u64 } else { 1 };
            predictor.write(rng.u64(0..SPACE.pages()), len);
            written += len;
        }
    }
    predictor.total()
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
        let mut decomposed = Decomposition::new(model, SPACE, Ranges::Whole).unwrap();
        let got = uniform(&mut decomposed, w, 500_000).equivalent_throughput(64);
        assert!((got / r - 1.0 - off).abs() < 0.015, "{name}, w = {w}: {got} for {r}");
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
