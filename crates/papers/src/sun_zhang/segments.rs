use flashscope_block::Data;

use super::writes::SEGMENT;
use super::{DRIVE, PAGE, READ_OFF};
use crate::bed::Bed;
use crate::{Axis, Claim, Error, Figure, Found, Item, Paper, Run, Series, State, Tolerance};

/// Section 4.3.
pub const TABLE_2: Item = Item {
    id: "sun-zhang-table2",
    paper: Paper::SunZhang,
    place: "Table 2",
    title: "two rounds of writes to as many segments: the log list",
    stands: State::Explained,
    inputs: &[DRIVE],
    run,
};

/// What is printed of two rounds, us, over three segments and over four.
const THREE: [[f64; 3]; 2] = [[28994.0, 28750.0, 28657.0], [2600.0, 2722.0, 2598.0]];
const FOUR: [[f64; 4]; 2] =
    [[29296.0, 28495.0, 28723.0, 28919.0], [28594.0, 28726.0, 28719.0, 28797.0]];

const WRITTEN: &str = "of a write without a merge the paper gives 2.6 ms here and 1.5 to 2 ms elsewhere; the drive has 2 ms";

/// What each write of two rounds takes, us.
pub(super) fn rounds(
    bed: &mut Bed,
    segment: u64,
    first: u64,
    m: u64,
) -> Result<[Vec<f64>; 2], Error> {
    let mut round = || -> Result<Vec<f64>, Error> {
        let segments = first..first + m;
        segments.map(|nth| Ok(1e3 * bed.write(Data::Random, nth * segment * PAGE)?)).collect()
    };
    Ok([round()?, round()?])
}

/// A drive of zeros, whose log list is full of segments that will not be asked for.
pub(super) fn ready(run: &Run<'_>) -> Result<Bed, Error> {
    let profile = run.profile("drive")?;
    let mut bed = Bed::filled(&profile, Data::Zeros)?;
    for nth in 0..8 {
        bed.write(Data::Random, (1000 + nth) * SEGMENT * PAGE)?;
    }
    Ok(bed)
}

fn run(run: &Run<'_>) -> Result<Found, Error> {
    let mut bed = ready(run)?;
    let (mut claims, mut series) = (Vec::new(), Vec::new());
    let printed: [Vec<&[f64]>; 2] = [
        THREE.iter().map(|round| &round[..]).collect(),
        FOUR.iter().map(|round| &round[..]).collect(),
    ];
    for (m, printed) in (3_u64..).zip(&printed) {
        let found = rounds(&mut bed, SEGMENT, 100 * m, m)?;
        for ((round, printed), found) in (1..).zip(printed).zip(&found) {
            let points = (0_u32..).zip(found).map(|(nth, time)| [f64::from(nth), *time / 1e3]);
            let beside = (0_u32..).zip(*printed).map(|(nth, time)| [f64::from(nth), *time / 1e3]);
            let name = format!("n = {m}, round {round}");
            series.push(Series::dots(&name, points.collect()));
            series.push(Series::printed(&name, beside.collect()));
            for ((nth, printed), found) in (1..).zip(*printed).zip(found) {
                let what = format!("n = {m}, round {round}, write {nth}");
                let claim = Claim::close((what, "us"), *printed, *found, READ_OFF);
                claims.push(match *printed < 1e4 {
                    true => claim.unless(2000.0, Tolerance::Share(0.1), WRITTEN),
                    false => claim,
                });
            }
        }
    }
    let list = list(&mut bed, SEGMENT)?;
    claims.push(Claim::same("the log list is 3", 3.0, f64::from(list)));
    let figure = Figure {
        title: "Writes of two rounds".into(),
        x: Axis::named("segment of the round", &["1", "2", "3", "4"]),
        y: Axis::log("response time (ms)"),
        series,
    };
    Ok(Found { claims, figures: vec![figure] })
}

/// As many segments as have log blocks at once: up to that no write of a second round merges (section 4.3).
pub(super) fn list(bed: &mut Bed, segment: u64) -> Result<u32, Error> {
    // From here on the list is full, and it is known what a merge takes.
    let [full, _] = rounds(bed, segment, 200, u64::from(MOST))?;
    let merge = full.into_iter().fold(0.0, f64::max);
    for m in 1..=MOST {
        let [_, second] = rounds(bed, segment, 300 + u64::from(m) * 40, u64::from(m))?;
        if second.iter().any(|time| *time > merge / 2.0) {
            return Ok(m - 1);
        }
    }
    Ok(MOST)
}

/// Log lists that are longer are not looked for.
const MOST: u32 = 32;
