use flashscope_document::facts::CheapLimit;
use flashscope_workload::uflip::Baseline;

use super::bench::{Method, measure};
use super::table_3::{COVERED, covered, slowest};
use super::{DTI, MEMORIGHT, MTRON, SAMSUNG, SEED};
use crate::times::range;
use crate::{Axis, Claim, Error, Figure, Input, Item, Outcome, Paper, Run, Series, State};

/// Section 5.2, "Effect of locality".
pub(crate) const FIGURE_8: Item = Item {
    id: "uflip-figure8",
    paper: Paper::Uflip,
    place: "Figure 8",
    title: "locality for Samsung, Memoright and Mtron",
    expected: State::NotReproduced,
    inputs: &[SAMSUNG, MEMORIGHT, MTRON, Input { other: "mtron", ..DTI }, SEED],
    run,
};

/// The drives of the figure, with their area in MB from Table 3.
const DRIVES: [(&str, i64); 3] = [(SAMSUNG.name, 16), (MEMORIGHT.name, 8), (MTRON.name, 8)];

const MIB: i64 = 1 << 20;

/// The largest ratio that counts as "nearly the same": Table 3 has areas with up to twice the cost.
const NEARLY: f64 = 2.0;

const LAPS: &str = "these areas span one or two blocks of the simulated drive: each lap begins in the middle of a block, which is merged like \
                   a block after reverse writes, at the same cost";

/// The tolerance of "the same cost".
const ALIKE: f64 = 0.15;

fn select(benchmark: &str, experiment: &str, value: i64) -> bool {
    match (benchmark, experiment) {
        ("alignment", "SW") => value == 0,
        ("order", "SW") => value == -1,
        ("locality", _) => experiment.ends_with('W'),
        _ => false,
    }
}

fn run(run: &Run<'_>) -> Result<Outcome, Error> {
    let (mut claims, mut series) = (Vec::new(), Vec::new());
    for (drive, area) in DRIVES {
        let found = measure(drive, Method::ssd(run), select, run)?;
        let sw = found.baseline(Baseline::SequentialWrite);
        let random = found.means("locality", "RW");
        let focused = slowest(&random, area / 2 * MIB) / sw;
        let all = random.last().map_or(f64::NAN, |(_, mean)| mean / sw);
        claims.push(Claim::statement(
            format!("{drive}: random writes within a small area have nearly the same response time as sequential writes"),
            format!(
                "{focused:.2} times as long up to {} MB, {all:.1} times in the largest area",
                area / 2
            ),
            focused <= NEARLY && all > 2.0 * NEARLY,
        ));
        let knee = match found.facts.characteristics.locality {
            Some(CheapLimit::UpTo { value, .. }) => u32::try_from(value >> 20).unwrap_or(u32::MAX),
            _ => 0,
        };
        claims.push(
            Claim::statement(
                format!("{drive}: the area that random writes can cover is {area} MB"),
                format!("{knee} MB"),
                (area / 2..=area * 2).contains(&i64::from(knee)),
            )
            .not_reproduced_if(f64::from(knee) == covered(&run.profile(drive)?), COVERED),
        );
        let sequential = found.means("locality", "SW");
        let large = sequential.iter().filter(|(size, _)| *size >= MIB).map(|(_, mean)| mean / sw);
        let reverse = found.mean("order", "SW", -1) / sw;
        let [least, most] = range(large);
        claims.push(
            Claim::statement(
                format!("{drive}: locality does not affect the performance of sequential writes"),
                format!("{least:.2} to {most:.2} times the cost in areas from 1 MB on"),
                least > 0.5 && most < 1.5,
            )
            .not_reproduced_if((most / reverse - 1.0).abs() < ALIKE, LAPS),
        );
        #[allow(clippy::cast_precision_loss, reason = "sizes of areas are far below 2^53")]
        let point = |(size, mean): &(i64, f64)| [*size as f64 / MIB as f64, mean / sw];
        series.push(Series::line(drive, random.iter().map(point).collect()));
    }
    let found = measure(DTI.name, Method::small(run), select, run)?;
    let locality = found.facts.characteristics.locality;
    claims.push(Claim::statement(
        "some low end USB devices (e.g., Kingston DTI) do not show any benefit by focusing random IOs in a reduced area",
        format!("dti: {}", if locality == Some(CheapLimit::No) { "no such area" } else { "has an area" }),
        locality == Some(CheapLimit::No),
    ));
    let figure = Figure {
        title: "Random writes, relative to sequential ones".into(),
        x: Axis::log("target size (MB)"),
        y: Axis::linear("response time of RW relative to SW"),
        series,
    };
    Ok(Outcome { claims, figures: vec![figure] })
}
