use flashscope_block::Bytes;
use flashscope_sim::Profile;
use flashscope_workload::uflip::{Baseline, PREPARATION};

use super::bench::{Measured, Method, execute, prepare};
use super::phases::ios;
use super::{DTHX, DTI, MEMORIGHT, MLC, MODULE, MTRON, SAMSUNG, SEED};
use crate::times::range;
use crate::{Claim, Error, Found, Item, Paper, Run, State};

/// Section 5.1.
pub const SECTION_5_1: Item = Item {
    id: "uflip-section5.1",
    paper: Paper::Uflip,
    place: "Section 5.1",
    title: "benchmark preparation: repeats that agree, and which drives have a start-up phase",
    stands: State::Explained,
    inputs: &[MEMORIGHT, MTRON, SAMSUNG, MODULE, MLC, DTHX, DTI, SEED],
    run,
};

/// The drives, whether they are slow or small, and IOIgnore for random writes.
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

/// IOs of the preparation: "a very large IOCount".
const COUNT: u64 = 8192;

/// "Within 5%".
const WITHIN: f64 = 0.05;

const EMPTY: &str = "there is a rest after the state, in which a simulated drive empties its buffer: the start-up phase is what that takes, \
                     and a write for each log block at most; after the pause between runs less of it is empty";

fn run(run: &Run<'_>) -> Result<Found, Error> {
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

/// The start-up phase of random writes beside what the paper leaves out.
#[allow(clippy::cast_precision_loss, reason = "counts of IOs")]
fn start_up(drive: &str, found: &Measured, ignored: u64, profile: &Profile) -> Claim {
    let phases = found.phases(Baseline::RandomWrite);
    let ios = ios(phases.and_then(|phases| phases.start_up));
    let said = match ignored {
        0 => format!("{drive}: random writes have no start-up phase"),
        _ => format!("{drive}: leaving out {ignored} random writes covers the start-up phase"),
    };
    let logs = f64::from(profile.flash.packages * profile.log.blocks);
    let buffered = (profile.cache.size.0 / Bytes::kib(32).0) as f64;
    let times = found.times(PREPARATION.name, Baseline::RandomWrite.name(), None);
    let [least, most] = range(times.iter().copied());
    let told = format!("{ios} IOs, of all which take {least:.2} to {most:.0} ms");
    Claim::statement(said, told, ios <= ignored as f64)
        .since((buffered..=buffered + logs).contains(&ios), EMPTY)
}

/// How far the repeats of all baselines are apart.
fn repeats(measured: &[Measured]) -> Claim {
    let within = |first| {
        let spreads = measured.iter().flat_map(|found| found.spreads(first));
        spreads.filter(|spread| *spread <= WITHIN).count()
    };
    let all: usize = measured.iter().map(|found| found.spreads(0).len()).sum();
    let count = within(0);
    Claim::statement(
        format!("the differences between {REPEATS} repeats are typically within 5%"),
        format!(
            "for {count} of {all}, and for {} after the first: SR, RR, SW and RW of all drives",
            within(1)
        ),
        2 * count > all,
    )
}
