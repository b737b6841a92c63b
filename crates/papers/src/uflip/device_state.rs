use flashscope_block::{Bytes, Nanos};
use flashscope_document::manifest::State;
use flashscope_document::methodology::Findings;
use flashscope_sim::Profile;
use flashscope_workload::uflip::PerBaseline;

use super::bench::{Method, execute_on};
use super::phases::by_number;
use super::{MEMORIGHT, MTRON, SAMSUNG, SEED};
use crate::times::{mean, numbered};
use crate::{Claim, Error, Item, Outcome, Paper, Run, Series, Tolerance};

/// Section 4.1, and its figure in the slides.
pub(crate) const SECTION_4_1: Item = Item {
    id: "uflip-section4.1",
    paper: Paper::Uflip,
    place: "Section 4.1, and Methodology (1) of the slides",
    title: "device state: random writes on the Samsung SSD out of the box, and after filling it",
    expected: crate::State::NotReproduced,
    inputs: &[SAMSUNG, MEMORIGHT, MTRON, SEED],
    run,
};

/// The number of IOs in a run.
const COUNT: u64 = 2048;

/// "A 16KB random write".
const IO_SIZE: Bytes = Bytes::kib(16);

/// The tolerance for "around" with a one-digit number.
const AROUND: f64 = 0.5;

/// The largest ratio between drives that the paper calls "comparable": in Table 3, 18 ms to the
/// mean of 5 ms and 9 ms.
const COMPARABLE: f64 = 18.0 / 7.0;

const ERASES: &str = "the simulated drive erases the old block of a merge at once, even while nearly all of its blocks are \
                      unused; without the time of erases a write takes at most the printed time";

/// Returns the response times in ms of random writes to a drive in the given state.
fn writes(drive: (&'static str, Profile), state: State, run: &Run<'_>) -> Result<Vec<f64>, Error> {
    let method =
        Method { io_count: PerBaseline::same(COUNT), repeats: 1, state, ..Method::ssd(run) };
    let size = i64::try_from(IO_SIZE.0).expect("a few KiB");
    let selected = |benchmark: &str, experiment: &str, value| {
        (benchmark, experiment, value) == ("granularity", "RW", size)
    };
    let measurement = execute_on(drive, method, Findings::default(), selected, run)?;
    Ok(measurement.times("granularity", "RW", Some(size)))
}

fn run(run: &Run<'_>) -> Result<Outcome, Error> {
    let drive = |name| Ok::<_, Error>((name, run.profile(name)?));
    let fresh = writes(drive(SAMSUNG.name)?, State::Keep, run)?;
    let filled = writes(drive(SAMSUNG.name)?, State::Random, run)?;
    let mut without_erases = drive(SAMSUNG.name)?;
    without_erases.1.flash.block_erase = Nanos(1);
    let unerased = mean(&writes(without_erases, State::Keep, run)?);
    let memoright = mean(&writes(drive(MEMORIGHT.name)?, State::Random, run)?);
    let mtron = mean(&writes(drive(MTRON.name)?, State::Random, run)?);
    let others = mean(&[memoright, mtron]);
    let (before, after) = (mean(&fresh), mean(&filled));
    let claims = vec![
        Claim::statement(
            "samsung: out of the box, around 1 msec for a 16KB random write",
            format!("{before:.1} ms, and {unerased:.1} ms without the time of erases"),
            Tolerance::Share(AROUND).holds(1.0, before),
        )
        .not_reproduced_if(unerased <= 1.0, ERASES),
        Claim::within(("other SSDs (memoright and mtron), around", "ms"), 8.0, others, AROUND),
        Claim::statement(
            "samsung: after writing all of it the performance decreased by almost an order of magnitude",
            format!("{after:.1} ms, {:.1} times as much", after / before),
            after / before > 10.0 * (1.0 - AROUND),
        )
        .not_reproduced_if(unerased <= 1.0 && after / unerased > 10.0, ERASES),
        Claim::statement(
            "samsung: and became comparable to the other SSDs",
            format!("{:.1} times the time of the others", after / others),
            (1.0 / COMPARABLE..COMPARABLE).contains(&(after / others)),
        ),
    ];
    let shown = [("out of the box", fresh), ("after filling the device", filled)];
    let series = shown.map(|(name, times)| Series::dots(name, numbered(&times)));
    let figure = by_number("Random Writes - Samsung SSD", series.into());
    Ok(Outcome { claims, figures: vec![figure] })
}
