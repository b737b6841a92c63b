use flashscope_block::Bytes;
use flashscope_document::facts::{CheapLimit, Interest};
use flashscope_stats::Estimate;
use flashscope_workload::uflip::Baseline;

use super::bench::{Measurement, measure_everything};
use super::phases::by_number;
use super::{MEMORIGHT, SEED, granularity};
use crate::times::numbered;
use crate::{Claim, Error, Figure, Item, Outcome, Paper, Run, Series, State};

/// The slide "Results: summary", and the screenshots of the visual tool.
pub(crate) const SCREENS: Item = Item {
    id: "uflip-slides-screens",
    paper: Paper::UflipSlides,
    place: "Results: summary, and the screens of the visual tool",
    title: "the views of a device: summary grid, experiment, run",
    expected: State::AsPrinted,
    inputs: &[MEMORIGHT, SEED],
    run,
};

/// "Device result summary": the experiments of each micro-benchmark. Partitioning and order list R
/// and W, which are sequential.
const GRID: [(&str, &[&str]); 9] = [
    ("granularity", &["SR", "RR", "SW", "RW"]),
    ("alignment", &["SR", "RR", "SW", "RW"]),
    ("locality", &["SR", "RR", "SW", "RW"]),
    ("partitioning", &["SR", "SW"]),
    ("order", &["SR", "SW"]),
    ("parallelism", &["SR", "RR", "SW", "RW"]),
    ("mix", &["SR/RR", "SR/RW", "SR/SW", "RR/SW", "RR/RW", "SW/RW"]),
    ("pause", &["SR", "RR", "SW", "RW"]),
    ("bursts", &["SR", "RR", "SW", "RW"]),
];

/// The least ratio of "large" latency to "very efficient".
const LARGE: f64 = 5.0;

/// The largest cost, relative to sequential writes, of "good support".
const GOOD: f64 = 2.0;

/// The largest number of processes in Table 1, and the least gain in throughput that counts as
/// support for parallel IOs.
const DEGREE: u32 = 16;
const SUPPORTED: f64 = 2.0;

/// The IO size of the run in the detail view, in bytes.
const SHOWN: i64 = 32 << 10;

fn run(run: &Run<'_>) -> Result<Outcome, Error> {
    let (mut claims, mut shown) = (Vec::new(), Vec::new());
    for found in measure_everything(&[MEMORIGHT.name], run)? {
        claims.extend(results(&found));
        claims.push(grid(&found));
        shown.extend(figures(&found));
    }
    Ok(Outcome { claims, figures: shown })
}

/// Checks the conclusions of the slides.
fn results(found: &Measurement) -> Vec<Claim> {
    let of = &found.facts.characteristics;
    let fast = [Baseline::SequentialRead, Baseline::RandomRead, Baseline::SequentialWrite]
        .map(|baseline| found.baseline(baseline));
    let times = found.baseline(Baseline::RandomWrite) / fast.into_iter().fold(0.0, f64::max);
    let degree = i64::from(DEGREE);
    let gains = Baseline::ALL.map(|of| {
        let [one, all] = [1, degree].map(|degree| found.mean("parallelism", of.name(), degree));
        f64::from(DEGREE) * one / all
    });
    let gain = gains.into_iter().fold(0.0, f64::max);
    let ratio = |of: Option<Estimate>| of.map_or(f64::NAN, |estimate| estimate.value);
    let (reverse, in_place) = (ratio(of.reverse), ratio(of.in_place));
    let (area, areas) = limit(of.locality, |area| Bytes(area).to_string());
    let (partitions, few) = limit(of.partitioning, |count| format!("{count} of them"));
    vec![
        Claim::statement(
            "SR, RR and SW are very efficient, flash devices incur large latency for RW",
            format!("random writes take {times:.1} times as long as the slowest of the others"),
            times >= LARGE,
        ),
        Claim::statement("random writes should be limited to a focused area", area, areas),
        Claim::statement(
            "sequential writes should be limited to a few partitions",
            partitions,
            few,
        ),
        Claim::statement(
            "good support for reverse and in place patterns",
            format!("{reverse:.2} and {in_place:.2} times the cost of sequential writes"),
            reverse <= GOOD && in_place <= GOOD,
        ),
        Claim::statement(
            "no device supports parallel IO submission",
            format!("{DEGREE} processes complete {gain:.2} times as many IOs as one, at best"),
            gain < SUPPORTED,
        ),
    ]
}

/// Describes the limit of fast values of a parameter, and returns true if there is a limit.
fn limit(bound: Option<CheapLimit>, show: impl Fn(u64) -> String) -> (String, bool) {
    match bound {
        Some(CheapLimit::UpTo { value, ratio, .. }) => {
            let text =
                format!("up to {}, at {:.1} times sequential writes", show(value), ratio.value);
            (text, true)
        }
        Some(CheapLimit::Unlimited { measured, .. }) => {
            (format!("no limit up to {}", show(measured)), false)
        }
        Some(CheapLimit::No) | None => ("nowhere".into(), false),
    }
}

/// Checks the grid of the "Device result summary".
fn grid(found: &Measurement) -> Claim {
    let cells = &found.facts.grid;
    let shown = cells.iter().map(|cell| (cell.micro_benchmark.as_str(), cell.experiment.as_str()));
    let printed = GRID.iter().flat_map(|(of, all)| all.iter().map(|experiment| (*of, *experiment)));
    let count = |interest| cells.iter().filter(|cell| cell.interest == interest).count();
    let (interesting, missing) = (count(Interest::Interesting), count(Interest::NotPerformed));
    Claim::statement(
        "the device result summary marks each experiment as interesting, as not interesting, or as not performed",
        format!(
            "{interesting} of {} experiments are interesting, and {missing} were not performed",
            cells.len()
        ),
        shown.eq(printed) && interesting > 0 && interesting + missing < cells.len(),
    )
}

/// Redraws "Experiment analysis" and "Details".
fn figures(found: &Measurement) -> Vec<Figure> {
    let times = found.times("granularity", "RW", Some(SHOWN));
    vec![
        granularity::figure("Experiment analysis: granularity", found, &Baseline::ALL),
        by_number("Details: RW of 32 KB", vec![Series::dots("response time", numbered(&times))]),
    ]
}
