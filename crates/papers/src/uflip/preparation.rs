use std::sync::Arc;

use flashscope_block::Bytes;
use flashscope_command::bench::Part;
use flashscope_sim::Profile;
use flashscope_workload::uflip::{Baseline, PREPARATION};

use super::bench::{Measurement, Method, measure_all, measure_by};
use super::phases::ios;
use super::{DRIVES, DTHX, DTI, MEMORIGHT, MLC, MODULE, MTRON, SAMSUNG, SEED};
use crate::times::range;
use crate::{Claim, Error, Item, Outcome, Paper, Run, State};

/// Section 5.1.
pub(crate) const SECTION_5_1: Item = Item {
    id: "uflip-section5.1",
    paper: Paper::Uflip,
    place: "Section 5.1",
    title: "benchmark preparation: agreement of repeats, and the start-up phases of the drives",
    expected: State::NotReproduced,
    inputs: &[MEMORIGHT, MTRON, SAMSUNG, MODULE, MLC, DTHX, DTI, SEED],
    run,
};

/// The runs whose repeats are compared; the preparation finds how many of their IOs do not count.
const BASELINES: [Part; 2] = [Part::all(PREPARATION.name), Part::all("alignment").at(0..=0)];

/// IOIgnore for random writes; 0 for other drives.
const IGNORED: [(&str, u64); 2] = [(MEMORIGHT.name, 30), (MTRON.name, 128)];

/// "Each experiment was run three times."
const REPEATS: u32 = 3;

/// "Within 5%".
const WITHIN: f64 = 0.05;

const EMPTY: &str = "a simulated drive empties its buffer in the idle pause after the state is enforced: the start-up phase refills it, \
                    with at most one extra write per log block; after the pause between runs less of the buffer is empty";

fn run(run: &Run<'_>) -> Result<Outcome, Error> {
    let (mut claims, mut measured) = (Vec::new(), Vec::new());
    for (drive, prepared) in DRIVES.into_iter().zip(measure_all(&DRIVES, &[], run)?) {
        let ignored = IGNORED.iter().find(|(name, _)| *name == drive).map_or(0, |(_, ios)| *ios);
        claims.push(start_up(drive, &prepared, ignored, &run.profile(drive)?));
        let (method, drive) = (Method::repeated(run), (drive, run.inputs.get(drive)));
        measured.push(measure_by(&method, drive, &BASELINES, run)?);
    }
    claims.push(repeats(&measured));
    Ok(claims.into())
}

/// Compares the start-up phase of random writes with the number of IOs that the paper ignores.
#[allow(clippy::cast_precision_loss, reason = "counts of IOs are far below 2^53")]
fn start_up(drive: &str, found: &Measurement, ignored: u64, profile: &Profile) -> Claim {
    let phases = found.phases(Baseline::RandomWrite);
    let ios = ios(phases.and_then(|phases| phases.start_up));
    let published = match ignored {
        0 => format!("{drive}: random writes have no start-up phase"),
        _ => format!("{drive}: ignoring {ignored} random writes covers the start-up phase"),
    };
    let logs = f64::from(profile.flash.packages * profile.log.blocks);
    let buffered = (profile.cache.size.0 / Bytes::kib(32).0) as f64;
    let times = found.times(PREPARATION.name, Baseline::RandomWrite.name(), None);
    let [least, most] = range(times.iter().copied());
    let measured = format!("{ios} IOs; all IOs take {least:.2} to {most:.0} ms");
    Claim::statement(published, measured, ios <= ignored as f64)
        .not_reproduced_if((buffered..=buffered + logs).contains(&ios), EMPTY)
}

/// Checks that the repeats of most baselines agree.
fn repeats(measured: &[Arc<Measurement>]) -> Claim {
    let spreads: Vec<f64> = measured.iter().flat_map(|found| found.spreads()).collect();
    let (all, count) = (spreads.len(), spreads.iter().filter(|spread| **spread <= WITHIN).count());
    Claim::statement(
        format!("the differences between {REPEATS} repeats are typically within 5%"),
        format!("for {count} of {all}: SR, RR, SW and RW of all drives"),
        2 * count > all,
    )
}
