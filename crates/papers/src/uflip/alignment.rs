use flashscope_sim::Profile;
use flashscope_workload::uflip::Baseline;

use super::bench::{Measurement, section_5_2};
use super::mix::SIGNIFICANT;
use super::{DRIVES, DTHX, DTI, MEMORIGHT, MLC, MODULE, MTRON, OFF, SAMSUNG, SEED};
use crate::times::mean;
use crate::{
    Axis, Claim, Error, Figure, Input, Item, Outcome, Paper, Run, Series, State, Tolerance,
};

/// The statement about unaligned IOs at the end of section 5.2.
pub(crate) const ALIGNMENT: Item = Item {
    id: "uflip-alignment",
    paper: Paper::Uflip,
    place: "Section 5.2, other results: Alignment",
    title: "unaligned IOs of seven drives, compared with aligned ones",
    expected: State::NotReproduced,
    // The relative costs of the Memoright and the DTI do not depend on the times of their flash.
    // The other values of these two inputs are therefore other drives.
    inputs: &[
        Input { other: "mtron", ..MEMORIGHT },
        MTRON,
        SAMSUNG,
        MODULE,
        MLC,
        DTHX,
        Input { other: "mtron", ..DTI },
        SEED,
    ],
    run,
};

const KIB: i64 = 1 << 10;

const CROSSING: &str = "an unaligned write costs a second merge if it crosses into another log block. The log blocks of the simulated \
                       drive have stripes of 128 KB, which its large increments imply, and one write of 32 KB in four crosses; \
                       the printed value implies three in four";

fn run(run: &Run<'_>) -> Result<Outcome, Error> {
    let (mut costs, mut series) = (Vec::new(), Vec::new());
    let measured = section_5_2(&DRIVES, run)?;
    for (drive, found) in DRIVES.into_iter().zip(&measured) {
        costs.push((drive, Baseline::ALL.map(|baseline| highest(found, baseline))));
        let points = found.means("alignment", "RW").into_iter();
        let aligned = found.mean("alignment", "RW", 0);
        #[allow(clippy::cast_precision_loss, reason = "the values are far below 2^53")]
        let point = |(shift, mean): (i64, f64)| [shift as f64 / KIB as f64, mean / aligned];
        series.push(Series::line(drive, points.map(point).collect()));
    }
    let mut claims = vec![some(&costs)];
    let profile = run.profile(SAMSUNG.name)?;
    let of_samsung = DRIVES.into_iter().zip(&measured).find(|(drive, _)| *drive == SAMSUNG.name);
    claims.extend(of_samsung.into_iter().flat_map(|(_, found)| samsung(found, &profile)));
    let figure = Figure {
        title: "Unaligned random writes, relative to aligned ones".into(),
        x: Axis::linear("shift (KB)"),
        y: Axis::linear("response time relative to aligned IOs"),
        series,
    };
    Ok(Outcome { claims, figures: vec![figure] })
}

/// Returns the highest cost of shifted IOs of a baseline, relative to aligned ones.
fn highest(found: &Measurement, baseline: Baseline) -> f64 {
    let means = found.means("alignment", baseline.name());
    let aligned = found.mean("alignment", baseline.name(), 0);
    let shifted = means.into_iter().filter(|(shift, _)| *shift > 0);
    shifted.map(|(_, mean)| mean / aligned).fold(f64::NAN, f64::max)
}

/// Checks that unaligned IOs are expensive for some of the drives.
fn some(costs: &[(&str, [f64; 4])]) -> Claim {
    let most = |ratios: &[f64; 4]| ratios.iter().copied().fold(f64::NAN, f64::max);
    let count = costs.iter().filter(|(_, ratios)| most(ratios) >= SIGNIFICANT).count();
    let texts = costs.iter().map(|(drive, ratios)| format!("{drive} {:.2}", most(ratios)));
    Claim::statement(
        "unaligned IO requests result in significant performance degradation for some devices",
        format!("times the cost of aligned IOs: {}", texts.collect::<Vec<_>>().join(", ")),
        (1..costs.len()).contains(&count),
    )
}

/// Compares the printed times of the Samsung SSD.
fn samsung(found: &Measurement, profile: &Profile) -> Vec<Claim> {
    let shifts = found.means("alignment", "RW");
    let of = |is: fn(i64) -> bool| {
        let means = shifts.iter().filter(|(shift, _)| is(*shift)).map(|(_, mean)| *mean);
        mean(&means.collect::<Vec<_>>())
    };
    let aligned = of(|shift| shift % (16 * KIB) == 0);
    let unaligned = of(|shift| shift % (16 * KIB) != 0);
    #[allow(clippy::cast_precision_loss, reason = "a stripe is far below 2^53 bytes")]
    let crossing = (32 << 10) as f64 / profile.stripe.0 as f64;
    vec![
        Claim::within(("samsung: random writes aligned to 16 KB", "ms"), 18.0, aligned, OFF),
        Claim::within(("samsung: unaligned random writes", "ms"), 32.0, unaligned, OFF)
            .not_reproduced_by(aligned * (1.0 + crossing), Tolerance::Share(OFF), CROSSING),
    ]
}
