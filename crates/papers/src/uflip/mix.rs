use flashscope_workload::uflip::Baseline;

use super::bench::{Measurement, section_5_2};
use super::{DRIVES, DTHX, DTI, MEMORIGHT, MLC, MODULE, MTRON, SAMSUNG, SEED};
use crate::times::range;
use crate::{Axis, Claim, Error, Figure, Item, Outcome, Paper, Run, Series, State};

/// The statement about mixes at the end of section 5.2.
pub(crate) const MIXES: Item = Item {
    id: "uflip-mixes",
    paper: Paper::Uflip,
    place: "Section 5.2, other results: Mix",
    title: "mixes of two baseline patterns, compared with the mean of the two",
    expected: State::NotReproduced,
    inputs: &[MEMORIGHT, MTRON, SAMSUNG, MODULE, MLC, DTHX, DTI, SEED],
    run,
};

/// The mixes of Table 1. With a ratio of n, n IOs of the first pattern precede one of the second.
const PAIRS: [[Baseline; 2]; 6] = {
    use Baseline::{RandomRead, RandomWrite, SequentialRead, SequentialWrite};
    [
        [SequentialRead, RandomRead],
        [SequentialRead, RandomWrite],
        [SequentialRead, SequentialWrite],
        [RandomRead, SequentialWrite],
        [RandomRead, RandomWrite],
        [SequentialWrite, RandomWrite],
    ]
};

/// The names of the mixes.
const NAMES: [&str; 6] = ["SR/RR", "SR/RW", "SR/SW", "RR/SW", "RR/RW", "SW/RW"];

/// The measured ratios: one IO of the second pattern after each of the first, and after four of
/// them.
const RATIOS: [i64; 2] = [1, 4];

/// The largest cost of a mix, relative to that of its patterns, that is not significant. It is the
/// limit of hint 6: see docs/judgement.md.
pub(super) const SIGNIFICANT: f64 = 1.25;

fn run(run: &Run<'_>) -> Result<Outcome, Error> {
    let (mut claims, mut series) = (Vec::new(), Vec::new());
    for (drive, found) in DRIVES.into_iter().zip(section_5_2(&DRIVES, run)?) {
        claims.push(not_significant(drive, &found));
        let points = (0..).zip(costs(&found)).map(|(at, (_, cost))| [f64::from(at), cost]);
        series.push(Series::dots(drive, points.collect()));
    }
    let figure = Figure {
        title: "Cost of mixes".into(),
        x: Axis::named("mix", &NAMES),
        y: Axis::linear("cost relative to the two patterns"),
        series,
    };
    Ok(Outcome { claims, figures: vec![figure] })
}

/// Checks that no mix of a drive costs significantly more than its patterns.
fn not_significant(drive: &str, found: &Measurement) -> Claim {
    let costs = costs(found);
    let [least, most] = range(costs.iter().map(|(_, cost)| *cost));
    let costliest = costs.iter().max_by(|(_, a), (_, b)| a.total_cmp(b));
    Claim::statement(
        format!(
            "{drive}: the Mix patterns did not affect significantly the overall cost of the workloads"
        ),
        format!(
            "{least:.3} to {most:.3} times the cost of the two patterns; most in {}",
            costliest.map_or("", |(name, _)| name)
        ),
        most <= SIGNIFICANT,
    )
}

/// Returns the largest cost of each mix.
fn costs(found: &Measurement) -> Vec<(&'static str, f64)> {
    NAMES.into_iter().zip(PAIRS).map(|(name, pair)| (name, cost(found, name, pair))).collect()
}

/// Returns the largest cost of a mix by ratio, relative to the mean of its patterns that is
/// weighted by their IOs.
#[allow(clippy::cast_precision_loss, reason = "the ratios are 1 and 4")]
fn cost(found: &Measurement, mix: &str, pair: [Baseline; 2]) -> f64 {
    let [first, second] = pair.map(|baseline| found.baseline(baseline));
    let relative = RATIOS.map(|ratio| {
        let each = (ratio as f64 * first + second) / (ratio as f64 + 1.0);
        found.mean("mix", mix, ratio) / each
    });
    relative.into_iter().fold(f64::NAN, f64::max)
}
