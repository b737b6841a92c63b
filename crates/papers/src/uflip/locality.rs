use flashscope_document::facts::CheapLimit;
use flashscope_sim::Profile;
use flashscope_workload::uflip::Baseline;

use super::bench::{Measurement, section_5_2};
use super::table_3::{COVERED, ROWS, Row, covered, slowest};
use super::{DRIVES, DTHX, DTI, MEMORIGHT, MLC, MODULE, MTRON, SAMSUNG, SEED};
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
    run: figure_8,
};

/// Sections 5.2 and 5.3: the locality of all drives.
pub(crate) const LOCALITY: Item = Item {
    id: "uflip-locality",
    paper: Paper::Uflip,
    place: "Section 5.2, Effect of locality, and hint 4",
    title: "locality for all seven drives",
    expected: State::NotReproduced,
    inputs: &[MEMORIGHT, MTRON, SAMSUNG, MODULE, MLC, DTHX, DTI, SEED],
    run: all,
};

/// The drives of the figure.
const SHOWN: [&str; 3] = [SAMSUNG.name, MEMORIGHT.name, MTRON.name];

/// The areas in MB of hint 4.
const AREAS: [f64; 2] = [4.0, 16.0];

const MIB: i64 = 1 << 20;

/// The largest ratio that counts as "nearly the same": Table 3 has areas with up to twice the cost.
const NEARLY: f64 = 2.0;

const LAPS: &str = "these areas span one or two blocks of the simulated drive: each lap begins in the middle of a block, which is merged like \
                   a block after reverse writes, at the same cost";

/// The tolerance of "the same cost".
const ALIKE: f64 = 0.15;

fn figure_8(run: &Run<'_>) -> Result<Outcome, Error> {
    let (mut claims, mut series) = (Vec::new(), Vec::new());
    let names = SHOWN.into_iter().chain([DTI.name]).collect::<Vec<_>>();
    let measured = section_5_2(&names, run)?;
    for (name, found) in SHOWN.into_iter().zip(&measured) {
        let (row, profile) = (row(name), run.profile(name)?);
        claims.extend(small_area(name, row, found));
        claims.push(area(name, row, found, &profile));
        claims.push(sequential(name, found));
        series.push(relative(name, found));
    }
    claims.extend(measured.last().map(|found| no_benefit(DTI.name, found)));
    Ok(Outcome { claims, figures: vec![figure(series)] })
}

fn all(run: &Run<'_>) -> Result<Outcome, Error> {
    let (mut claims, mut series, mut costs) = (Vec::new(), Vec::new(), Vec::new());
    for (name, found) in DRIVES.into_iter().zip(section_5_2(&DRIVES, run)?) {
        claims.push(area(name, row(name), &found, &run.profile(name)?));
        claims.push(sequential(name, &found));
        costs.push((name, cost_in(&found, AREAS)));
        series.push(relative(name, &found));
    }
    claims.push(max_devices(&costs));
    Ok(Outcome { claims, figures: vec![figure(series)] })
}

/// Returns the row of a drive in Table 3.
fn row(name: &str) -> &'static Row {
    let row = ROWS.iter().find(|row| row.drive == name);
    row.expect("every drive has a row in Table 3")
}

/// Returns the mean of sequential writes in ms.
fn sw(found: &Measurement) -> f64 {
    found.baseline(Baseline::SequentialWrite)
}

/// Checks that random writes within half of the printed area cost nearly as much as sequential
/// ones.
fn small_area(name: &str, row: &Row, found: &Measurement) -> Option<Claim> {
    let [area, _] = row.locality?;
    let random = found.means("locality", "RW");
    #[allow(clippy::cast_possible_truncation, reason = "printed areas are whole and small")]
    let half = area as i64 / 2;
    let focused = slowest(&random, half * MIB) / sw(found);
    let all = random.last().map_or(f64::NAN, |(_, mean)| mean / sw(found));
    Some(Claim::statement(
        format!(
            "{name}: random writes within a small area have nearly the same response time as sequential writes"
        ),
        format!("{focused:.2} times as long up to {half} MB, {all:.1} times in the largest area"),
        focused <= NEARLY && all > 2.0 * NEARLY,
    ))
}

/// Compares the area of cheap random writes, within one power of two.
fn area(name: &str, row: &Row, found: &Measurement, profile: &Profile) -> Claim {
    let limit = found.facts.characteristics.locality;
    let Some([area, _]) = row.locality else { return no_benefit(name, found) };
    let knee = match limit {
        Some(CheapLimit::UpTo { value, .. }) => u32::try_from(value >> 20).unwrap_or(u32::MAX),
        _ => 0,
    };
    let knee = f64::from(knee);
    let claim = Claim::statement(
        format!("{name}: the area that random writes can cover is {area} MB"),
        format!("{knee} MB"),
        (area / 2.0..=area * 2.0).contains(&knee),
    );
    claim.not_reproduced_if(knee == covered(profile), COVERED)
}

/// Checks that sequential writes cost the same in all areas from 1 MB on.
fn sequential(name: &str, found: &Measurement) -> Claim {
    let means = found.means("locality", "SW").into_iter();
    let large = means.filter(|(size, _)| *size >= MIB).map(|(_, mean)| mean / sw(found));
    let reverse = found.mean("order", "SW", -1) / sw(found);
    let [least, most] = range(large);
    Claim::statement(
        format!("{name}: locality does not affect the performance of sequential writes"),
        format!("{least:.2} to {most:.2} times the cost in areas from 1 MB on"),
        least > 0.5 && most < 1.5,
    )
    .not_reproduced_if((most / reverse - 1.0).abs() < ALIKE, LAPS)
}

/// Checks that a drive has no area of cheap random writes.
fn no_benefit(name: &str, found: &Measurement) -> Claim {
    let none = found.facts.characteristics.locality == Some(CheapLimit::No);
    Claim::statement(
        format!(
            "some low end USB devices (e.g., Kingston DTI) do not show any benefit by focusing random \
             IOs in a reduced area: {name}"
        ),
        if none { "no such area" } else { "has an area" },
        none,
    )
}

/// Returns the lowest and the highest cost of random writes in areas between these sizes in MB,
/// relative to sequential writes.
#[allow(clippy::cast_precision_loss, reason = "sizes of areas are far below 2^53")]
fn cost_in(found: &Measurement, [first, last]: [f64; 2]) -> [f64; 2] {
    let random = found.means("locality", "RW").into_iter();
    let within = random.filter(|(size, _)| (first..=last).contains(&(*size as f64 / MIB as f64)));
    range(within.map(|(_, mean)| mean / sw(found)))
}

/// Checks hint 4 across the drives: an area of one of its sizes is cheap.
fn max_devices(drives: &[(&str, [f64; 2])]) -> Claim {
    let count = drives.iter().filter(|(_, [least, _])| *least <= NEARLY).count();
    let texts =
        drives.iter().map(|(name, [least, most])| format!("{name} {least:.1} to {most:.1}"));
    Claim::statement(
        "for most devices, random writes to an area of 4-16MB perform nearly as well as sequential writes",
        format!("times as long: {}", texts.collect::<Vec<_>>().join(", ")),
        2 * count > drives.len(),
    )
}

/// Plots random writes by the size of the area.
fn relative(name: &str, found: &Measurement) -> Series {
    let sw = sw(found);
    #[allow(clippy::cast_precision_loss, reason = "sizes of areas are far below 2^53")]
    let point = |(size, mean): (i64, f64)| [size as f64 / MIB as f64, mean / sw];
    Series::line(name, found.means("locality", "RW").into_iter().map(point).collect())
}

fn figure(series: Vec<Series>) -> Figure {
    Figure {
        title: "Random writes, relative to sequential ones".into(),
        x: Axis::log("target size (MB)"),
        y: Axis::linear("response time of RW relative to SW"),
        series,
    }
}
