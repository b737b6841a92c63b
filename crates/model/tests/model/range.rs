//! Predictions are valid over the whole range of parameters.

use flashscope_model::{Family, MODELS, Model, Uniform};
use proptest::prelude::*;

/// Generates numbers between two bounds, evenly on a logarithmic scale.
fn over(from: f64, to: f64) -> impl Strategy<Value = f64> {
    (from.ln()..=to.ln()).prop_map(move |log| log.exp().clamp(from, to))
}

proptest! {
    #[test]
    fn predictions_are_finite_and_non_negative(
        block in over(2.0, 4096.0),
        blocks in over(1.0, 1e9),
        free in over(1e-6, 1e6),
        len in prop_oneof![Just(1.0), over(1.0, 1e9)],
    ) {
        let uniform = Uniform::new(block.round(), blocks, free, len).unwrap();
        for model in MODELS {
            let predicted = (model.predict)(&uniform);
            let merges = predicted.merges.unwrap_or_default();
            for (what, count) in [
                ("erasures", predicted.erasures),
                ("copies", predicted.copies),
                ("switch", merges.switch),
                ("partial", merges.partial),
                ("full", merges.full),
            ] {
                prop_assert!(
                    count.is_finite() && count >= 0.0,
                    "{} of {}: {count} of {uniform:?}", what, model.name
                );
            }
            let r = predicted.equivalent_throughput(block.round());
            prop_assert!(r.is_finite() && r > 0.0, "{}: r = {r} of {uniform:?}", model.name);
        }
    }

    // BAST is an exception. A middle that would cause a switch merge causes a full merge if its
    // data block already has a log block (equation 6).
    #[test]
    fn more_spare_space_never_costs_more(
        block in 4_u32..512,
        free in over(1e-3, 10.0),
        more in over(1.001, 3.0),
        len in prop_oneof![Just(1.0), over(1.0, 3000.0)],
    ) {
        for model in MODELS.iter().filter(|model| model.family != Family::Bast) {
            let at = |free: f64| {
                let uniform = Uniform::new(f64::from(block), 8192.0, free, len).unwrap();
                (model.predict)(&uniform).erasures
            };
            // Allows for the tolerance of the root finder.
            let (less, with_more) = (at(free), at(free * more));
            prop_assert!(with_more <= less * (1.0 + 1e-9), "{}: {less} {with_more}", model.name);
        }
    }
}

// Every model depends on the same parameters as its policy.
#[test]
fn predictions_depend_on_the_parameters() {
    let at = |model: &Model, block: f64, free: f64, len: f64| {
        (model.predict)(&Uniform::new(block, 8192.0, free, len).unwrap()).erasures
    };
    for model in MODELS {
        let base = at(model, 64.0, 0.07, 4.0);
        assert!(at(model, 64.0, 0.2, 4.0) < base, "{}: free space", model.name);
        assert_ne!(at(model, 128.0, 0.07, 4.0), base, "{}: pages in a block", model.name);
        // In FIFO and random GC, the survival of a page does not depend on its neighbours.
        let longer = at(model, 64.0, 0.07, 16.0);
        if ["fifo", "random"].contains(&model.name) {
            assert_eq!(longer, base, "{}: length", model.name);
        } else {
            assert!(longer < base, "{}: length", model.name);
        }
    }
}

#[test]
fn models_have_unique_names() {
    for model in MODELS {
        assert_eq!(Model::named(model.name).unwrap().summary, model.summary);
        let same = MODELS.iter().filter(|other| other.name == model.name).count();
        assert!(same == 1 && !model.source.is_empty(), "{}", model.name);
    }
    assert!(Model::named("none").is_none());
}
