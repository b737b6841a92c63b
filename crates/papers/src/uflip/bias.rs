use flashscope_stats::Phases;
use flashscope_workload::uflip::{Baseline, PREPARATION};

use super::bench::{Method, execute, prepare};
use super::phases::ios;
use super::{MTRON, OFF, SEED};
use crate::times::mean;
use crate::{Claim, Error, Found, Input, Item, Paper, Run, State, Tolerance};

/// The paper's example, and the drive that it is of.
pub const SECTION_4_2: Item = Item {
    id: "uflip-section4.2",
    paper: Paper::Uflip,
    place: "Section 4.2",
    title: "\"the measured time will be about 25% lower than it should be\"",
    stands: State::Explained,
    inputs: &[
        MTRON,
        SEED,
        Input {
            name: "start_up",
            summary: "random writes that are very cheap at first",
            value: "128",
            other: "64",
        },
        Input { name: "cheap", summary: "what these take, ms", value: "0.4", other: "4" },
        Input {
            name: "dear",
            summary: "what every other one takes after them, ms",
            value: "27",
            other: "10",
        },
    ],
    run,
};

const COUNT: usize = 512;

const RATIO: i64 = 8;

const EXACT: &str = "384/512 x 13.7 + 128/512 x .4 = 10.4 ms are 24.3 % less than 13.7 ms, the mean of .4 and 27 ms by turns";

/// By how much the mean of the first IOs is below the truth, %.
fn too_low(times: &[f64], count: usize, truth: f64) -> f64 {
    100.0 * (1.0 - mean(&times[..count]) / truth)
}

fn run(run: &Run<'_>) -> Result<Found, Error> {
    let (start_up, cheap, dear): (usize, f64, f64) =
        (run.number("start_up")?, run.number("cheap")?, run.number("dear")?);
    let by_turns = |nth: usize| if nth < start_up || nth.is_multiple_of(2) { cheap } else { dear };
    let times: Vec<f64> = (0..8 * COUNT).map(by_turns).collect();
    let truth = (cheap + dear) / 2.0;
    let low = too_low(&times, COUNT, truth);
    let phases = Phases::of(&times);
    let found = phases.start_up.map_or(0, |found| found.ios);
    let mut claims =
        vec![
            Claim::number(("512 IOs: too low by", "%"), 25.0, low, Tolerance::Absolute(0.5))
                .unless(24.3, Tolerance::Absolute(0.5), EXACT),
            Claim::statement(
                "with shorter experiments the difference is even more pronounced",
                format!("256 IOs: {:.1} %", too_low(&times, COUNT / 2, truth)),
                too_low(&times, COUNT / 2, truth) > low,
            ),
            Claim::statement(
                "we must ignore the start-up phase when summarizing the results",
                format!(
                    "{found} IOs are found to be left out, which leaves {:.1} %",
                    100.0 * (1.0 - mean(&times[found..]) / truth)
                ),
                (mean(&times[found..]) / truth - 1.0).abs() < 0.01,
            ),
        ];
    claims.extend(drive(run)?);
    Ok(claims.into())
}

/// The same on the simulated Mtron.
fn drive(run: &Run<'_>) -> Result<Vec<Claim>, Error> {
    let method = Method { preparation: 4096, ..Method::ssd(run) };
    let prepared = prepare(MTRON.name, method, run)?;
    let start_up = ios(prepared.phases(Baseline::RandomWrite).and_then(|phases| phases.start_up));
    let times = prepared.times(PREPARATION.name, Baseline::RandomWrite.name(), None);
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a count of IOs")]
    let (first, running) = times.split_at(start_up as usize);
    let truth = mean(running);
    let share = 100.0 * start_up / COUNT as f64 * (1.0 - mean(first) / truth);
    let wanted = |benchmark: &str, experiment: &str, value| {
        benchmark == "mix" && experiment == "RR/RW" && value == RATIO
    };
    let mixed = execute(MTRON.name, method, prepared.findings, wanted, run)?;
    let times_of_mix = mixed.times("mix", "RR/RW", Some(RATIO));
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "8")]
    let every = RATIO as usize + 1;
    let writes: Vec<f64> = times_of_mix.into_iter().skip(every - 1).step_by(every).collect();
    let seen = mean(&writes[..COUNT / every]);
    Ok(vec![
        Claim::close(
            ("Mtron, 512 IOs: too low by the share of its start-up phase", "%"),
            share,
            too_low(&times, COUNT, truth),
            OFF,
        ),
        Claim::statement(
            "the Mix of random reads and writes with an IOCount of 512 when Ratio is higher than 4: our measurements only capture \
             the initial, very cheap random writes",
            format!(
                "Mtron, ratio 8: writes take {seen:.2} ms, and {truth:.2} ms in the running phase"
            ),
            seen < 0.5 * truth,
        ),
    ])
}
