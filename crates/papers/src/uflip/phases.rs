use flashscope_workload::uflip::{Baseline, PREPARATION};

use super::bench::measure;
use super::{DTI, MTRON, SEED};
use crate::times::{mean, numbered};
use crate::{Axis, Claim, Error, Figure, Item, Outcome, Paper, Run, Series, State, Tolerance};

/// Figure 3, in section 5.1.
pub(crate) const FIGURE_3: Item = Item {
    id: "uflip-figure3",
    paper: Paper::Uflip,
    place: "Figure 3",
    title: "starting and running phase for the Mtron SSD (RW)",
    expected: State::NotReproduced,
    inputs: &[MTRON, SEED],
    run: mtron,
};

/// Figure 4, in section 5.1.
pub(crate) const FIGURE_4: Item = Item {
    id: "uflip-figure4",
    paper: Paper::Uflip,
    place: "Figure 4",
    title: "running phase for the Kingston DTI (SW)",
    expected: State::NotReproduced,
    inputs: &[DTI, SEED],
    run: dti,
};

/// The number of IOs in the figures.
const SHOWN: usize = 1024;

const SINGLE: &str = "the simulated drive keeps part of its buffer free in the background: every write waits until another write leaves the buffer, \
                     and fast writes between slow ones occur only after a pause";

const LEFT: &str = "the first writes merge the log blocks that the random state filled, one merge each; a drive with a smaller share \
                   written at random has fewer such log blocks";

fn mtron(run: &Run<'_>) -> Result<Outcome, Error> {
    let found = measure(MTRON.name, &[], run)?;
    let phases = found.phases(Baseline::RandomWrite);
    let times = found.times(PREPARATION.name, Baseline::RandomWrite.name(), None);
    let start_up = ios(phases.and_then(|phases| phases.start_up));
    let period = ios(phases.and_then(|phases| phases.period));
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a count of IOs")]
    let (with, without) = (running(&times, 0), running(&times, start_up as usize));
    let truth = without.last().map_or(f64::NAN, |last| last[1]);
    let [off_with, off_without] =
        [&with, &without].map(|average| error_after(average, 512.0, truth));
    let claims = vec![
        Claim::within(("start-up phase", "IOs"), 125.0, start_up, 0.05),
        Claim::statement(
            "the period is quite short (tens of IOs)",
            format!("{period} IOs"),
            (10.0..100.0).contains(&period),
        )
        .not_reproduced_if((2.0..10.0).contains(&period), SINGLE),
        Claim::statement(
            "excluding the start-up phase measurements resulted in a faster and more accurate representation of response time",
            format!(
                "after 512 IOs the error of the running average is {:.1} % without the start-up phase, {:.1} % with it",
                100.0 * off_without,
                100.0 * off_with
            ),
            off_without < off_with,
        ),
    ];
    let figure = figure(
        "Mtron SSD, RW",
        vec![
            Series::dots("response time", numbered(&times)),
            Series::line("running average with start-up", with),
            Series::line("running average without start-up", without),
        ],
    );
    Ok(Outcome { claims, figures: vec![figure] })
}

fn dti(run: &Run<'_>) -> Result<Outcome, Error> {
    let found = measure(DTI.name, &[], run)?;
    let phases = found.phases(Baseline::SequentialWrite);
    let times = found.times(PREPARATION.name, Baseline::SequentialWrite.name(), None);
    let start_up = phases.and_then(|phases| phases.start_up);
    let period = ios(phases.and_then(|phases| phases.period));
    let reads = found.times(PREPARATION.name, Baseline::RandomRead.name(), None);
    let [of_reads, of_writes] = [&reads, &times].map(|times| variation(times));
    let logs = f64::from(run.profile(DTI.name)?.log.blocks);
    let measured = start_up.map_or("none".into(), |phase| format!("{} IOs", phase.ios));
    let claims = vec![
        Claim::statement("there is no startup phase", measured, start_up.is_none())
            .not_reproduced_if(ios(start_up) <= logs * period, LEFT),
        Claim::number(("period", "IOs"), 128.0, period, Tolerance::Absolute(1.0)),
        Claim::statement(
            "the other devices show small oscillations for RR, larger ones for SW",
            format!(
                "{:.2} % of the mean for RR, {:.0} % for SW",
                100.0 * of_reads,
                100.0 * of_writes
            ),
            of_reads < of_writes,
        ),
    ];
    let series = vec![
        Series::line("running average", running(&times, 0)),
        Series::dots("response time", numbered(&times)),
    ];
    Ok(Outcome { claims, figures: vec![figure("Kingston DTI, SW", series)] })
}

#[allow(clippy::cast_precision_loss, reason = "counts of IOs are far below 2^53")]
pub(super) fn ios(phase: Option<flashscope_document::methodology::PhaseLength>) -> f64 {
    phase.map_or(0.0, |phase| phase.ios as f64)
}

/// Returns the running average of the times, without the first `ignored`.
fn running(times: &[f64], ignored: usize) -> Vec<[f64; 2]> {
    let mut sum = 0.0;
    let counted = numbered(times).into_iter().skip(ignored).zip(1_u32..);
    let averages = counted.map(|([nth, time], count)| {
        sum += time;
        [nth, sum / f64::from(count)]
    });
    averages.collect()
}

/// Returns the coefficient of variation: standard deviation over mean.
fn variation(times: &[f64]) -> f64 {
    let of_all = mean(times);
    let squares: Vec<f64> = times.iter().map(|time| (time - of_all).powi(2)).collect();
    mean(&squares).sqrt() / of_all
}

/// Returns the relative error of a running average after `ios` IOs.
fn error_after(average: &[[f64; 2]], ios: f64, truth: f64) -> f64 {
    let at = average.iter().find(|[nth, _]| *nth >= ios);
    at.map_or(f64::NAN, |[_, mean]| (mean / truth - 1.0).abs())
}

/// Plots response times by the number of the IO, up to [`SHOWN`].
fn figure(title: &str, series: Vec<Series>) -> Figure {
    let shown = |series: Series| Series {
        points: series.points.into_iter().take_while(|[nth, _]| *nth <= SHOWN as f64).collect(),
        ..series
    };
    by_number(title, series.into_iter().map(shown).collect())
}

/// Plots response times by the number of the IO.
pub(super) fn by_number(title: &str, series: Vec<Series>) -> Figure {
    Figure {
        title: title.into(),
        x: Axis::linear("IO"),
        y: Axis::log("response time (ms)"),
        series,
    }
}
