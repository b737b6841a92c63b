use flashscope_command::bench::Part;

use super::bench::{Method, measure_by};
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

/// "A 16KB random write", in bytes.
const IO_SIZE: i64 = 16 << 10;

/// The tolerance for "around" with a one-digit number.
const AROUND: f64 = 0.5;

/// The largest ratio between drives that the paper calls "comparable": in Table 3, 18 ms to the
/// mean of 5 ms and 9 ms.
const COMPARABLE: f64 = 18.0 / 7.0;

const ERASES: &str = "the simulated drive erases the old block of a merge at once, even while nearly all of its blocks are \
                      unused; without the time of erases a write takes at most the printed time";

/// Returns the response times in ms of random writes to a drive in the given state.
fn writes(drive: (&'static str, &str), state: &str, run: &Run<'_>) -> Result<Vec<f64>, Error> {
    let method = Method::default().with("--io-count", &COUNT.to_string()).with("--repeats", "1");
    let method = method.with("--state", state);
    let parts = [Part::of("granularity", "RW").at(IO_SIZE..=IO_SIZE)];
    let measurement = measure_by(&method, drive, &parts, run)?;
    Ok(measurement.times("granularity", "RW", Some(IO_SIZE)))
}

fn run(run: &Run<'_>) -> Result<Outcome, Error> {
    let drive = |name| (name, run.inputs.get(name));
    let fresh = writes(drive(SAMSUNG.name), "keep", run)?;
    let filled = writes(drive(SAMSUNG.name), "random", run)?;
    let (_, samsung) = drive(SAMSUNG.name);
    let separator = if samsung.contains('?') { '&' } else { '?' };
    let without_erases = format!("{samsung}{separator}flash.block_erase=1ns");
    let unerased = mean(&writes((SAMSUNG.name, &without_erases), "keep", run)?);
    let memoright = mean(&writes(drive(MEMORIGHT.name), "random", run)?);
    let mtron = mean(&writes(drive(MTRON.name), "random", run)?);
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
