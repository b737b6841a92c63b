//! The effect of the written data on the cost of writes.

use flashscope_block::Data;

use crate::outcome::Outcome;
use crate::{
    Finding, Halt, Knowledge, Lab, Parameter, Probe, Request, Run, median, standard_error,
};
use flashscope_document::probe::{Shape, Signal};

/// The length of the writes in bytes: a multiple of any drive's flash page, because a drive only
/// recognizes whole pages of zeros.
const LEN: u64 = 64 << 10;

/// The capacity of the drive divided by the size of the overwritten part, within 16 to 256 writes.
const SHARE: u64 = 96;

/// The number of passes with each content.
const PASSES: u32 = 8;

/// Zeros count as faster if they take less than this share of the time of random data.
const CHEAPER: f64 = 0.92;

pub(super) const PROBE: Probe = Probe {
    name: "content",
    summary: "overwrites the same part of the drive with random data, with zeros, and with halves of \
                 both, in turns",
    source: "Sun and Zhang, section 4.2, Figures 9 to 15",
    finds: &[Parameter::ContentEffect],
    assumes: &[],
    writes: true,
    cost: |scene, _| scene.cost(0, 3 * u64::from(PASSES) * blocks(scene.capacity.0), LEN),
    run,
};

/// Returns the number of blocks overwritten in a pass.
fn blocks(capacity: u64) -> u64 {
    (capacity / SHARE / LEN).clamp(16, 256).min(capacity / LEN)
}

fn run(lab: &mut Lab<'_>, _: &Knowledge) -> Result<Outcome, Halt> {
    lab.ensure_filled()?;
    let blocks = blocks(lab.capacity());
    let pass = |data| (0..blocks).map(move |i| Request::write(i * LEN, LEN).with_data(data));
    let mut passes = Vec::new();
    for _ in 0..PASSES {
        let contents = [Data::Random, Data::HalfZeros, Data::Zeros];
        let purposes =
            ["overwrite with random data", "overwrite with half zeros", "overwrite with zeros"];
        for (data, purpose) in contents.into_iter().zip(purposes) {
            passes.push((data, lab.run(purpose, pass(data))?));
        }
    }
    Ok(vec![estimate(&passes)].into())
}

/// Returns the time of a write with this content for each pass but the first, which may still
/// include costs of earlier writes. The time is the lower quartile, because occasional merges make
/// some writes slow.
fn times(passes: &[(Data, Run)], data: Data) -> Vec<f64> {
    let quartile = |run: &Run| {
        let mut costs = run.latencies();
        costs.sort_unstable_by(f64::total_cmp);
        costs[costs.len() / 4]
    };
    passes.iter().filter(|(of, _)| *of == data).skip(1).map(|(_, run)| quartile(run)).collect()
}

fn estimate(passes: &[(Data, Run)]) -> Finding {
    let [random, half, zeros] =
        [Data::Random, Data::HalfZeros, Data::Zeros].map(|data| times(passes, data));
    let ratio = median(&zeros) / median(&random).max(1.0);
    let error = |times: &[f64]| standard_error(times) / median(times).max(1.0);
    let noise = error(&random).hypot(error(&zeros)).max(0.002);
    // The distance of the ratio from the border between the classes, in standard errors.
    let apart = (ratio - CHEAPER).abs() / noise;
    let parameter = Parameter::ContentEffect;
    let finding = if apart < 2.5 {
        Finding::unknown(parameter, "passes vary too much to distinguish zeros from other data")
    } else {
        let class = if ratio < CHEAPER { "zeros-cost-less" } else { "none" };
        Finding::class(parameter, class, if apart > 4.0 { 0.99 } else { 0.95 }).because(format!(
            "overwriting with zeros takes {:.2} of the time of random data, with half zeros {:.2}",
            ratio,
            median(&half) / median(&random).max(1.0)
        ))
    };
    finding.runs(passes.iter().map(|(_, run)| run.number)).signal(picture(passes))
}

fn picture(passes: &[(Data, Run)]) -> Signal {
    let mut signal = Signal::new(
        "Cost of overwriting with each content (Sun and Zhang, Figures 9 to 15)",
        "write",
        "response time (ms)",
        Shape::Points,
    );
    // Each pass overwrites the data of the pass before. Show the last pass of each content, which
    // follows another content.
    let last = passes.len().saturating_sub(3);
    for (nth, (data, run)) in passes.iter().enumerate().skip(last) {
        let over = nth.checked_sub(1).map_or("the fill", |before| name(passes[before].0));
        let points = run.latencies().into_iter().enumerate();
        signal = signal.series(
            &format!("{} over {over}", name(*data)),
            points.map(|(i, cost)| (i as f64, cost / 1e6)),
        );
    }
    signal
}

fn name(data: Data) -> &'static str {
    match data {
        Data::Random => "random",
        Data::HalfZeros => "half zeros",
        Data::Zeros => "zeros",
    }
}

#[cfg(test)]
mod tests {
    use flashscope_block::Op;

    use super::*;

    fn passes(zeros: u64, noise: u64) -> Vec<(Data, Run)> {
        let mut rng = fastrand::Rng::with_seed(1);
        let mut pass = |data: Data, cost: u64| {
            let writes = (0..16).map(|_| (0, cost + rng.u64(0..=noise)));
            (data, Run::of(Op::Write, LEN, writes))
        };
        let contents =
            [(Data::Random, 1_000_000), (Data::HalfZeros, 1_000_000), (Data::Zeros, zeros)];
        (0..PASSES).flat_map(|_| contents).map(|(data, cost)| pass(data, cost)).collect()
    }

    #[test]
    fn faster_zeros_are_told_from_equal_ones_unless_noise_hides_it() {
        let class = |zeros, noise| estimate(&passes(zeros, noise));
        let parameter = Parameter::ContentEffect;
        assert!(class(400_000, 50_000).agrees_with(&Finding::class(
            parameter,
            "zeros-cost-less",
            1.0
        )));
        assert!(class(1_000_000, 50_000).agrees_with(&Finding::class(parameter, "none", 1.0)));
        assert!(!class(900_000, 900_000).is_known());
    }
}
