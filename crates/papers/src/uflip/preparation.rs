use std::sync::Arc;

use flashscope_block::Bytes;
use flashscope_sim::Profile;
use flashscope_workload::uflip::{Baseline, PREPARATION};

use super::bench::{Measurement, Method, execute, prepare};
use super::phases::ios;
use super::{DTHX, DTI, MEMORIGHT, MLC, MODULE, MTRON, SAMSUNG, SEED};
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

/// The drives, each with true for a slow or small drive, and with IOIgnore for random writes.
const DRIVES: [(&str, bool, u64); 7] = [
    (MEMORIGHT.name, false, 30),
    (MTRON.name, false, 128),
    (SAMSUNG.name, false, 0),
    (MODULE.name, true, 0),
    (MLC.name, false, 0),
    (DTHX.name, true, 0),
    (DTI.name, true, 0),
];

/// "Each experiment was run three times."
const REPEATS: u32 = 3;

/// The IOs of the preparation: "a very large IOCount".
const COUNT: u64 = 8192;

/// "Within 5%".
const WITHIN: f64 = 0.05;

const EMPTY: &str = "a simulated drive empties its buffer in the rest after the state is enforced: the start-up phase refills it, \
                    with at most one extra write per log block; after the pause between runs less of the buffer is empty";

fn run(run: &Run<'_>) -> Result<Outcome, Error> {
    let (mut claims, mut measured) = (Vec::new(), Vec::new());
    for (drive, small, ignored) in DRIVES {
        let method = if small { Method::small(run) } else { Method::ssd(run) };
        let method = Method { repeats: REPEATS, preparation: COUNT, ..method };
        let prepared = prepare(drive, method, run)?;
        claims.push(start_up(drive, &prepared, ignored, &run.profile(drive)?));
        let baselines = |benchmark: &str, _: &str, value| (benchmark, value) == ("alignment", 0);
        measured.push(execute(drive, method, prepared.findings, baselines, run)?);
    }
    claims.push(repeats(&measured));
    Ok(claims.into())
}

/// Compares the start-up phase of random writes with the number of IOs that the paper ignores.
#[allow(clippy::cast_precision_loss, reason = "counts of IOs")]
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
    let within = |first| {
        let spreads = measured.iter().flat_map(|found| found.spreads(first));
        spreads.filter(|spread| *spread <= WITHIN).count()
    };
    let all: usize = measured.iter().map(|found| found.spreads(0).len()).sum();
    let count = within(0);
    Claim::statement(
        format!("the differences between {REPEATS} repeats are typically within 5%"),
        format!(
            "for {count} of {all}, and for {} without the first repeat: SR, RR, SW and RW of all drives",
            within(1)
        ),
        2 * count > all,
    )
}
