//! Table lookups agree with their model.

use flashscope_model::trace::{Decomposition, Predictor, Ranges, Space, Stretches};
use flashscope_model::{Family, MODELS, Model, Table, Uniform};

fn table(name: &str, pages_per_block: f64) -> Table {
    Table::of(Model::named(name).unwrap(), pages_per_block).unwrap()
}

/// Returns a random number between two bounds, even on a logarithmic scale.
fn over(rng: &mut fastrand::Rng, from: f64, to: f64) -> f64 {
    from * (to / from).powf(rng.f64())
}

// Checks the documented accuracy over the range of the tables.
#[test]
fn tables_are_close_to_their_model() {
    for (name, block, tolerance) in [
        ("best-of-ten", 16.0, 1e-4),
        ("cost-benefit", 16.0, 1e-4),
        ("windowed", 64.0, 1e-3),
        ("windowed", 256.0, 2e-3),
    ] {
        let (model, table) = (Model::named(name).unwrap(), table(name, block));
        let rng = &mut fastrand::Rng::with_seed(5);
        for _ in 0..5000 {
            let (free, len) = (over(rng, 1e-3, 1e3), over(rng, 1.0, 1000.0));
            let uniform = Uniform::new(block, 8192.0, free, len).unwrap();
            let (got, expected) = (table.predict(&uniform), (model.predict)(&uniform));
            let off = got.write_amplification() / expected.write_amplification() - 1.0;
            assert!(off.abs() < tolerance, "{name}: {off} of {uniform:?}");
            assert!((got.erasures / expected.erasures - 1.0 - off).abs() < 1e-12);
        }
    }
}

#[test]
fn tables_cover_smaller_blocks_and_fall_back_to_the_model() {
    let (model, table) = (Model::named("windowed").unwrap(), table("windowed", 64.0));
    let at = |block: f64, free: f64| {
        let uniform = Uniform::new(block, 8192.0, free, 1.0).unwrap();
        (table.predict(&uniform).erasures, (model.predict)(&uniform).erasures)
    };
    let (got, expected) = at(32.0, 0.1);
    assert!(got != expected && (got / expected - 1.0).abs() < 1e-3, "{got} {expected}");
    for (block, free) in [(128.0, 0.1), (64.0, 1e-4), (64.0, 2000.0)] {
        let (got, expected) = at(block, free);
        assert_eq!(got, expected, "{block} pages, {free} free");
    }
}

#[test]
fn log_block_models_have_no_table() {
    for model in MODELS.iter().filter(|model| model.family != Family::PageMap) {
        assert!(Table::of(model, 64.0).is_none(), "{}", model.name);
    }
}

#[test]
fn tables_predict_traces_like_their_model() {
    let space = Space { pages_per_block: 64, logical_blocks: 512, free_blocks: 64 };
    let (ranges, stretches) = (Ranges::Whole, Stretches::LogList);
    let model = Model::named("windowed").unwrap();
    let mut by_model = Decomposition::new(model, space, ranges, stretches).unwrap();
    let table = table("windowed", 64.0);
    let mut by_table = Decomposition::new(&table, space, ranges, stretches).unwrap();
    let mut rng = fastrand::Rng::with_seed(8);
    for _ in 0..20_000 {
        let (page, pages) = (rng.u64(0..space.pages()), rng.u64(1..9));
        by_model.write(page, pages);
        by_table.write(page, pages);
    }
    let (got, expected) = (by_table.total(), by_model.total());
    assert!(expected.erasures > 0.0 && got.pages == expected.pages);
    assert!((got.erasures / expected.erasures - 1.0).abs() < 1e-3, "{got:?} {expected:?}");
}
