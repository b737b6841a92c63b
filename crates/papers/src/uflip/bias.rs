use flashscope_command::bench::Part;
use flashscope_stats::Phases;
use flashscope_workload::uflip::{Baseline, PREPARATION};

use super::bench::{Method, measure, measure_by};
use super::phases::ios;
use super::{MTRON, OFF, SEED};
use crate::times::mean;
use crate::{Claim, Error, Input, Item, Outcome, Paper, Run, State, Tolerance};

/// Section 4.2: the paper's example, and the drive that it describes.
pub(crate) const SECTION_4_2: Item = Item {
    id: "uflip-section4.2",
    paper: Paper::Uflip,
    place: "Section 4.2",
    title: "\"the measured time will be about 25% lower than it should be\"",
    expected: State::PrintWrong,
    inputs: &[
        MTRON,
        SEED,
        Input {
            name: "start_up",
            summary: "the number of initial, very fast random writes",
            value: "128",
            other: "64",
        },
        Input { name: "fast", summary: "the time of a fast write, ms", value: "0.4", other: "4" },
        Input {
            name: "slow",
            summary: "the time of every second write after the initial writes, ms",
            value: "27",
            other: "10",
        },
    ],
    run,
};

const COUNT: usize = 512;

const RATIO: i64 = 8;

const EXACT: &str = "384/512 x 13.7 + 128/512 x .4 = 10.4 ms is 24.3 % below 13.7 ms, the mean of alternating .4 and 27 ms";

/// Returns by how many percent the mean of the first `count` times is below the true mean.
fn too_low(times: &[f64], count: usize, truth: f64) -> f64 {
    100.0 * (1.0 - mean(&times[..count]) / truth)
}

fn run(run: &Run<'_>) -> Result<Outcome, Error> {
    let (start_up, fast, slow): (usize, f64, f64) =
        (run.number("start_up")?, run.number("fast")?, run.number("slow")?);
    let alternate = |nth: usize| if nth < start_up || nth.is_multiple_of(2) { fast } else { slow };
    let times: Vec<f64> = (0..8 * COUNT).map(alternate).collect();
    let truth = (fast + slow) / 2.0;
    let low = too_low(&times, COUNT, truth);
    let phases = Phases::of(&times);
    let ignored = phases.start_up.map_or(0, |phase| phase.ios);
    let mut claims = vec![
        Claim::number(("512 IOs: too low by", "%"), 25.0, low, Tolerance::Absolute(0.5))
            .print_wrong_by(24.3, Tolerance::Absolute(0.5), EXACT),
        Claim::statement(
            "with shorter experiments the difference is even more pronounced",
            format!("256 IOs: {:.1} %", too_low(&times, COUNT / 2, truth)),
            too_low(&times, COUNT / 2, truth) > low,
        ),
        Claim::statement(
            "we must ignore the start-up phase when summarizing the results",
            format!(
                "ignoring the detected {ignored} IOs leaves an error of {:.1} %",
                100.0 * (1.0 - mean(&times[ignored..]) / truth)
            ),
            (mean(&times[ignored..]) / truth - 1.0).abs() < 0.01,
        ),
    ];
    claims.extend(drive(run)?);
    Ok(claims.into())
}

/// Checks the same bias on the simulated Mtron.
fn drive(run: &Run<'_>) -> Result<Vec<Claim>, Error> {
    let prepared = measure(MTRON.name, &[], run)?;
    let start_up = ios(prepared.phases(Baseline::RandomWrite).and_then(|phases| phases.start_up));
    let times = prepared.times(PREPARATION.name, Baseline::RandomWrite.name(), None);
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a count of IOs")]
    let (first, running) = times.split_at(start_up as usize);
    let truth = mean(running);
    let share = 100.0 * start_up / COUNT as f64 * (1.0 - mean(first) / truth);
    let parts = [Part::of("mix", "RR/RW").at(RATIO..=RATIO)];
    let method = Method::default().with("--io-count", &COUNT.to_string());
    let drive = (MTRON.name, run.inputs.get(MTRON.name));
    let mixed = measure_by(&method, drive, &parts, run)?;
    let times_of_mix = mixed.times("mix", "RR/RW", Some(RATIO));
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "RATIO is 8")]
    let every = RATIO as usize + 1;
    let writes: Vec<f64> = times_of_mix.into_iter().skip(every - 1).step_by(every).collect();
    let short = mean(&writes[..COUNT / every]);
    Ok(vec![
        Claim::within(
            ("Mtron, 512 IOs: too low by the share of the start-up phase", "%"),
            share,
            too_low(&times, COUNT, truth),
            OFF,
        ),
        Claim::statement(
            "the Mix of random reads and writes with an IOCount of 512 when Ratio is higher than 4: our measurements only capture \
             the initial, very cheap random writes",
            format!(
                "Mtron, ratio 8: writes take {short:.2} ms, and {truth:.2} ms in the running phase"
            ),
            short < 0.5 * truth,
        ),
    ])
}
