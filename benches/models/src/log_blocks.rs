//! FTLs with log blocks, on the drive of Boboila and Desnoyers: 30 GB, 7 % free, pages of 2 KB, blocks of 64.

use flashscope_model::Model;
use flashscope_model::trace::{
    Decomposition, FragmentBast, FragmentFast, Merging, Predictor, Ranges, Total,
};

use crate::requests::{self, Request};
use crate::simulator::{self, Passes, SPACE, Simulator, repeated};

/// A trace on both, beside what they are predicted by.
pub fn compare(name: &str, spec: &str) {
    let mut writes = requests::of(&format!("{spec}?remap=fold"), SPACE.pages(), u64::MAX);
    writes.retain(|request| request.is_write);
    let name: String = name.chars().take(30).collect();
    for ftl in ["bast", "fast"] {
        let blocks = SPACE.logical_blocks + SPACE.free_blocks + 1;
        let fields = format!("ftl={ftl}&log.blocks={}", SPACE.free_blocks);
        let profile = simulator::drive(blocks, 64, SPACE.logical_blocks, &fields);
        let passes = passes(&writes);
        let (truth, nanos) = repeated(&mut Simulator::new(&profile), &writes, passes);
        let line = |by: &str, total: &Total, nanos: f64| {
            let erasures = |total: &Total| 1e3 * total.erasures / total.pages as f64;
            println!(
                "{name:<32} {ftl:<10} {:>10.3} {:>+7.1} % {:>8.3} {by:<18} {nanos:>8.0} ns/write",
                erasures(total),
                100.0 * (erasures(total) / erasures(&truth) - 1.0),
                total.write_amplification(),
            );
        };
        line("simulator", &truth, nanos);
        for (by, mut predictor) in predictors(ftl) {
            let (total, nanos) = repeated(predictor.as_mut(), &writes, passes);
            line(by, &total, nanos);
        }
    }
}

fn predictors(ftl: &str) -> Vec<(&'static str, Box<dyn Predictor>)> {
    let decomposed = |model: &str, ranges| -> Box<dyn Predictor> {
        let model = Model::named(model).expect("a model by name");
        Box::new(Decomposition::new(model, SPACE, ranges).expect("a space in range"))
    };
    match ftl {
        "bast" => vec![
            ("equations", decomposed("bast", Ranges::Whole)),
            ("equations, written", decomposed("bast", Ranges::Written)),
            ("fragments", Box::new(FragmentBast::new(SPACE, Merging::Eager).expect("in range"))),
        ],
        _ => vec![
            ("equations", decomposed("fast", Ranges::Whole)),
            ("equations 2011", decomposed("fast-2011", Ranges::Whole)),
            ("fragments", Box::new(FragmentFast::new(SPACE).expect("in range"))),
        ],
    }
}

/// As often as it takes until the ring of log blocks, or as many pages where nothing goes to the ring, has
/// come round three times, and once more: before that nothing is evicted, and what is then seen is not
/// what the trace comes to.
fn passes(writes: &[Request]) -> Passes {
    let ring = f64::from(SPACE.free_blocks) * f64::from(SPACE.pages_per_block);
    let mut fast = FragmentFast::new(SPACE).expect("in range");
    writes.iter().for_each(|request| request.go_to(&mut fast));
    let all = writes.iter().map(|write| write.pages).sum::<u64>() as f64;
    let in_turn = (fast.pages_in_turn() as f64).max(0.05 * all);
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a few thousands")]
    let counted = (ring / in_turn).ceil() as u64;
    Passes { warm_up: (3 * counted).max(2), counted }
}
