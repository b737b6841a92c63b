//! The section of `docs/probe-accuracy.md` about held-out drives.

use crate::drives::strata::STRATA;
use crate::format::{mark, percent, whole_percent};
use crate::held_out::{
    DISTURBANCES, HeldOutTrial, MIN_ANSWERS, Score, by_disturbance, by_stratum, overall,
};
use crate::score::Judgement;
use crate::sweep::wrong;
use crate::targets::{CONFIDENT, HELD_OUT_CALIBRATION_ERROR};

/// The number of wrong findings listed, by decreasing probability.
const WORST: usize = 20;

/// Returns the section.
pub(crate) fn section(trials: &[HeldOutTrial]) -> String {
    let all = overall(trials);
    let [limit, by_part] = HELD_OUT_CALIBRATION_ERROR;
    [
        introduction(trials.len() / STRATA.len(), &all, limit),
        format!("{}{}", heading("stratum"), rows(&by_stratum(trials), by_part)),
        String::from("The same findings by noise:"),
        format!("{}{}", heading("noise"), rows(&by_disturbance(trials), by_part)),
        strata(),
        worst(trials),
    ]
    .join("\n\n")
}

fn introduction(each: usize, all: &Score, limit: f64) -> String {
    let [low, high] = all.confident_interval();
    format!(
        "## Drives of other kinds

Expect these figures on a drive that was not used in development. The probes were corrected after tests on other drives
of these strata, but no probe was developed on the drives here. Each stratum has ranges or options that the drives of
development lack ({each} drives of each, from other seeds). The drives of a stratum cycle through these kinds of noise:
{}. Pauses of the host are as under *Noise* above.

A stratum fails if the 95 % interval of its share of right findings, among those with a stated probability of 0.9 or
more, lies below {}. Strata with fewer than {MIN_ANSWERS} findings are pooled. Findings about one drive depend on each
other. The true intervals are therefore wider. The worst stratum comes first.

**Of all {} findings, {} state 0.9 or more, and {} of these are right ({} to {}). The expected calibration error is
{} (limit {limit}). The probe abstains on {} of the features that the drives have.**",
        DISTURBANCES.iter().map(|noise| noise.name).collect::<Vec<_>>().join("; "),
        whole_percent(CONFIDENT),
        all.tally.right + all.tally.wrong,
        all.confident,
        percent(all.confident_share()),
        percent(low),
        percent(high),
        mark(format!("{:.3}", all.calibration_error), all.calibration_error > limit),
        percent(all.tally.abstention()),
    )
}

fn heading(of: &str) -> String {
    format!(
        "| {of} | drives | right | wrong | abstained | stated 0.9 or more | of these right | 95 % interval | calibration \
         error ({} or less) |\n{}|\n",
        HELD_OUT_CALIBRATION_ERROR[1],
        "|---".repeat(9)
    )
}

fn rows(scores: &[Score], limit: f64) -> String {
    let row = |score: &Score| {
        let [low, high] = score.confident_interval();
        format!(
            "| {} | {} | {} | {} | {} | {} | {} | {} to {} | {} |",
            score.name,
            score.drives,
            score.tally.right,
            score.tally.wrong,
            percent(score.tally.abstention()),
            score.confident,
            mark(percent(score.confident_share()), score.fails()),
            percent(low),
            percent(high),
            mark(format!("{:.3}", score.calibration_error), score.calibration_error > limit),
        )
    };
    scores.iter().map(row).collect::<Vec<_>>().join("\n")
}

fn strata() -> String {
    let row = |stratum: &crate::drives::strata::Stratum| {
        format!("| {} | {} |", stratum.name, stratum.differs)
    };
    let rows: Vec<String> = STRATA.iter().map(row).collect();
    format!(
        "The strata differ from the drives of development as follows:\n\n| stratum | drives |\n|---|---|\n{}",
        rows.join("\n")
    )
}

fn worst(trials: &[HeldOutTrial]) -> String {
    let wrong = wrong(trials.iter().map(|trial| (trial, &trial.trial)));
    let rows = wrong.iter().take(WORST).map(|(trial, judged)| {
        let Judgement { truth, answer, probability, because, .. } = judged;
        let (name, because) = (judged.parameter.name(), because.replace('|', "\\|"));
        let (seed, stratum) = (trial.trial.seed, trial.stratum.name);
        format!(
            "| {seed} | {stratum} | `{name}` | {truth} | {answer} | {probability:.2} | {because} |"
        )
    });
    format!(
        "{} of the {} wrong findings, by stated probability:\n\n\
         | drive | stratum | parameter | true value | finding | probability | evidence |\n{}|\n{}",
        wrong.len().min(WORST),
        wrong.len(),
        "|---".repeat(7),
        rows.collect::<Vec<_>>().join("\n")
    )
}
