use flashscope_document::methodology::Interference;
use flashscope_measure::PAUSE_MARGIN;
use flashscope_sim::Profile;
use flashscope_workload::uflip::{Baseline, INTERFERENCE, PREPARATION};

use super::bench::{Measurement, measure, measure_all};
use super::phases::{by_number, ios};
use super::{DTHX, DTI, MEMORIGHT, MLC, MODULE, MTRON, OFF, SAMSUNG, SEED};
use crate::times::{mean, numbered};
use crate::{Claim, Error, Input, Item, Outcome, Paper, Run, Series, State, Tolerance};

/// Figure 5, in sections 4.3 and 5.1.
pub(crate) const FIGURE_5: Item = Item {
    id: "uflip-figure5",
    paper: Paper::Uflip,
    place: "Figure 5, section 4.3",
    title: "pause determination: sequential reads, random writes, and sequential reads again",
    expected: State::NotReproduced,
    inputs: &[
        MTRON,
        Input { other: LINGERS, ..MEMORIGHT },
        Input { other: LINGERS, ..SAMSUNG },
        Input { other: LINGERS, ..MODULE },
        Input { other: LINGERS, ..MLC },
        Input { other: LINGERS, ..DTHX },
        Input { other: LINGERS, ..DTI },
        SEED,
    ],
    run,
};

/// A drive whose random writes have a lingering effect.
const LINGERS: &str = "mtron";

/// "For all the other devices, including the other SSDs, there was no lingering impact".
const OTHERS: [&str; 6] =
    [MEMORIGHT.name, SAMSUNG.name, MODULE.name, MLC.name, DTHX.name, DTI.name];

fn run(run: &Run<'_>) -> Result<Outcome, Error> {
    let found = measure(MTRON.name, &[], run)?;
    let mut claims = mtron(&found, &run.profile(MTRON.name)?);
    for (drive, other) in OTHERS.iter().zip(measure_all(&OTHERS, &[], run)?) {
        let effect = other.interference();
        claims.push(Claim::statement(
            format!("{drive}: no lingering impact from the random writes, and a pause of 1 s"),
            effect.map_or("not measured".into(), describe),
            effect.is_some_and(|effect| effect.run_pause_ns.as_secs_f64() == 1.0),
        ));
    }
    let times = found.times(PREPARATION.name, INTERFERENCE, None);
    let series = vec![Series::dots("response time", numbered(&times))];
    Ok(Outcome { claims, figures: vec![by_number("Mtron SSD: SR, RW and SR", series)] })
}

fn describe(effect: &Interference) -> String {
    format!(
        "{} reads over {:.2} s: a pause of {:.1} s",
        ios(effect.reads),
        effect.lasted_ns.as_secs_f64(),
        effect.run_pause_ns.as_secs_f64()
    )
}

const DEFERRED: &str = "the start-up phase defers work, and the lingering effect is its execution: 125 writes of 9 ms are 1.1 s, and 3000 \
                      reads of .4 ms are 1.2 s. The paper's drive works in small steps between reads. The simulated drive blocks the reads \
                      during each batch of merges, which affects few reads, and only for the time of the merges";

const TWICE: &str = "the pause is twice the observed time, as 5 s is twice 2.5 s";

/// The relative tolerance of the calculation in [`DEFERRED`].
const ROUGHLY: f64 = 0.25;

fn mtron(found: &Measurement, profile: &Profile) -> Vec<Claim> {
    let Some(effect) = found.interference() else { return vec![] };
    let (affected, lasted) = (ios(effect.reads), effect.lasted_ns.as_secs_f64());
    let start_up = found.phases(Baseline::RandomWrite).and_then(|phases| phases.start_up);
    let times = found.times(PREPARATION.name, Baseline::RandomWrite.name(), None);
    let running = &times[times.len() / 3..];
    let each = mean(running) / 1e3;
    let pages = profile.cache.size.0 as f64 / profile.flash.page_size.0 as f64;
    let batches = pages * profile.cache.write_back / f64::from(profile.cache.batch);
    vec![
        Claim::within(("reads affected", ""), 3000.0, affected, OFF).not_reproduced_by(
            batches,
            Tolerance::Absolute(2.0),
            DEFERRED,
        ),
        Claim::within(("duration of the effect", "s"), 2.5, lasted, OFF).not_reproduced_by(
            ios(start_up) * each,
            Tolerance::Share(ROUGHLY),
            DEFERRED,
        ),
        Claim::within(("pause, overestimated", "s"), 5.0, effect.run_pause_ns.as_secs_f64(), OFF)
            .not_reproduced_by(PAUSE_MARGIN as f64 * lasted, Tolerance::Share(0.01), TWICE),
    ]
}
