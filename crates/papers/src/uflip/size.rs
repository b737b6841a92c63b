use flashscope_block::Bytes;
use flashscope_workload::uflip::{self, Experiment, MICRO_BENCHMARKS, PerBaseline, Setup};

use crate::{Claim, Error, Input, Item, Outcome, Paper, Run, State};

/// The slide "Conclusion".
pub(crate) const SIZE: Item = Item {
    id: "uflip-slides-size",
    paper: Paper::UflipSlides,
    place: "Conclusion",
    title: "the size of the benchmark: experiments, runs and IOs",
    expected: State::NotReproduced,
    inputs: &[
        Input {
            name: "target_size",
            summary: "the size of the drive",
            value: "32GiB",
            other: "1GiB",
        },
        Input {
            name: "repeats",
            summary: "the number of repeats of each experiment (section 5.1)",
            value: "3",
            other: "1",
        },
    ],
    run,
};

const VALUES: &str = "the values that Table 1 prints give 858 runs with three repeats, and 1278 with one more value between powers of two; the \
                     slides do not say which other values they use";

const RATIO: &str = "the IOCount of a mix applies to its second pattern, and the ratio multiplies it: 5,120 random writes with up to 64 others \
                    each are millions of IOs, and the paper does not say how it limits them";

fn run(run: &Run<'_>) -> Result<Outcome, Error> {
    let (size, repeats): (Bytes, u64) = (run.number("target_size")?, run.number("repeats")?);
    let setup = Setup::paper(size, 0);
    let experiments: Vec<Experiment> = uflip::all().flat_map(|b| b.experiments(&setup)).collect();
    let fits = |run: &&uflip::Run| run.reference.validate(size, Bytes(512)).is_ok();
    let runs = || experiments.iter().flat_map(|e| &e.runs).filter(fits);
    #[allow(clippy::cast_precision_loss, reason = "counts are far below 2^53")]
    let all = (runs().count() as u64 * repeats) as f64;
    #[allow(clippy::cast_precision_loss, reason = "counts are far below 2^53")]
    let millions = |setup: &Setup| {
        let experiments = uflip::all().flat_map(|b| b.experiments(setup));
        let ios = experiments.flat_map(|e| e.runs).map(|run| run.reference.io_count());
        (ios.sum::<u64>() * repeats) as f64 / 1e6
    };
    let slow = Setup { io_count: PerBaseline::same(512), ..setup.clone() };
    let of_all = [millions(&slow), millions(&setup)];
    let count = |n: usize| f64::from(u32::try_from(n).unwrap_or(u32::MAX));
    Ok(vec![
        Claim::exact("micro-benchmarks", 9.0, count(MICRO_BENCHMARKS.len())),
        Claim::exact("experiments, including the preparation", 39.0, count(experiments.len())),
        Claim::statement("1400 runs", format!("{all}"), (1330.0..=1470.0).contains(&all))
            .not_reproduced_if((858.0..=1278.0).contains(&all), VALUES),
        Claim::statement(
            "1 to 5 million I/Os ... for a single device",
            format!("{:.1} million for a slow device, {:.1} for an SSD", of_all[0], of_all[1]),
            of_all.iter().all(|count| (1.0..=5.0).contains(count)),
        )
        .not_reproduced_if((1.0..=5.0).contains(&of_all[0]), RATIO),
    ]
    .into())
}
