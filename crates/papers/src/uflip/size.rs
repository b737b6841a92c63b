use flashscope_block::Bytes;
use flashscope_workload::uflip::{self, Experiment, MICRO_BENCHMARKS, PerBaseline, Setup};

use crate::{Claim, Error, Found, Input, Item, Paper, Run, State};

/// "Conclusion".
pub const SIZE: Item = Item {
    id: "uflip-slides-size",
    paper: Paper::UflipSlides,
    place: "Conclusion",
    title: "how much there is to the benchmark",
    stands: State::Explained,
    inputs: &[
        Input { name: "target_size", summary: "of a drive", value: "32GiB", other: "1GiB" },
        Input {
            name: "repeats",
            summary: "how often each experiment is run (section 5.1)",
            value: "3",
            other: "1",
        },
    ],
    run,
};

const VALUES: &str = "three times the values that Table 1 prints are 858 runs, and 1278 with one more between any two powers of two: the \
                      slides do not say what the others are";

const RATIO: &str = "in a mix IOCount is that of the second pattern, scaled by the ratio: with 5,120 random writes for up to 64 others each \
                     these alone are millions of IOs, and the paper does not say where they end";

fn run(run: &Run<'_>) -> Result<Found, Error> {
    let (size, repeats): (Bytes, u64) = (run.number("target_size")?, run.number("repeats")?);
    let setup = Setup::paper(size, 0);
    let experiments: Vec<Experiment> = uflip::all().flat_map(|b| b.experiments(&setup)).collect();
    let fits = |run: &&uflip::Run| run.reference.validate(size, Bytes(512)).is_ok();
    let runs = || experiments.iter().flat_map(|e| &e.runs).filter(fits);
    #[allow(clippy::cast_precision_loss, reason = "counts")]
    let all = (runs().count() as u64 * repeats) as f64;
    #[allow(clippy::cast_precision_loss, reason = "counts")]
    let millions = |setup: &Setup| {
        let experiments = uflip::all().flat_map(|b| b.experiments(setup));
        let ios = experiments.flat_map(|e| e.runs).map(|run| run.reference.io_count());
        (ios.sum::<u64>() * repeats) as f64 / 1e6
    };
    let slow = Setup { io_count: PerBaseline::same(512), ..setup.clone() };
    let of_all = [millions(&slow), millions(&setup)];
    let count = |n: usize| f64::from(u32::try_from(n).unwrap_or(u32::MAX));
    Ok(vec![
        Claim::same("micro-benchmarks", 9.0, count(MICRO_BENCHMARKS.len())),
        Claim::same("experiments, with those of the preparation", 39.0, count(experiments.len())),
        Claim::statement("1400 runs", format!("{all}"), (1330.0..=1470.0).contains(&all))
            .since((858.0..=1278.0).contains(&all), VALUES),
        Claim::statement(
            "1 to 5 million I/Os ... for a single device",
            format!("{:.1} million for a slow device, {:.1} for an SSD", of_all[0], of_all[1]),
            of_all.iter().all(|count| (1.0..=5.0).contains(count)),
        )
        .since((1.0..=5.0).contains(&of_all[0]), RATIO),
    ]
    .into())
}
