use flashscope_stats::Estimate;
use flashscope_workload::uflip::Baseline;

use super::{HintResult, Question, Rule, baselines, judge, ratio, sentences};
use crate::deviation::{AS_EXPECTED, Answer, Deviation, deviations, is_over, largest, size};
use crate::means::{Mean, Means};
use crate::words::baseline_words;
use flashscope_document::facts::Judgement;

/// Hint: concurrent or delayed IOs gain nothing.
pub(super) const RULE: Rule = Rule {
    title: "Neither concurrent nor delayed IOs improve the performance",
    statement: "no degree of concurrency completes more than 1.25 times as many IOs a second, \
                and no pause reduces the time of an IO with its pause to less than 1/1.25 of an \
                IO without one, for each baseline; it holds in part if only one of the two was \
                measured and agrees",
    judge: concurrency,
};

fn concurrency(means: &Means) -> HintResult {
    let concurrent: Vec<Question> =
        baselines().filter_map(|(baseline, _)| concurrent(means, baseline)).collect();
    let delayed: Vec<Question> =
        baselines().filter_map(|(baseline, _)| delayed(means, baseline)).collect();
    let missing = match (concurrent.is_empty(), delayed.is_empty()) {
        (true, true) => {
            return HintResult::nothing("concurrent (parallelism) or delayed (pause) IOs");
        }
        (true, false) => " Concurrent IOs were not measured.",
        (false, true) => " Delayed IOs were not measured.",
        (false, false) => "",
    };
    let answers = concurrent.iter().chain(&delayed).map(|question| question.answer);
    let judgement = match judge(answers) {
        Judgement::Holds if !missing.is_empty() => Judgement::HoldsInPart,
        judgement => judgement,
    };
    let mut finding = sentences(
        &concurrent,
        [
            (Answer::Yes, "gain nothing by concurrency"),
            (Answer::No, "gain by concurrency"),
            (Answer::Unsure, "are inconclusive on concurrency"),
        ],
    );
    let of_delays = sentences(
        &delayed,
        [
            (Answer::Yes, "take as long in all with pauses"),
            (Answer::No, "take less time in all with pauses"),
            (Answer::Unsure, "are inconclusive on pauses"),
        ],
    );
    if !finding.is_empty() && !of_delays.is_empty() {
        finding.push(' ');
    }
    finding += &of_delays;
    finding += missing;
    let evidence = concurrent.into_iter().chain(delayed).map(|question| question.evidence);
    HintResult { judgement, finding, evidence: evidence.collect() }
}

/// Returns the best gain by concurrency.
fn concurrent(means: &Means, baseline: Baseline) -> Option<Question> {
    let series = means.experiment("parallelism", baseline.name());
    let alone =
        series.iter().find(|mean| mean.value == 1).or_else(|| means.basic(baseline.name()))?;
    let several: Vec<Mean> = series.iter().filter(|mean| mean.value > 1).cloned().collect();
    let expected = |mean: &Mean| Some(Estimate::weighted_sum(&[(size(mean), alone.ns)]));
    let gains: Vec<_> = deviations(&several, expected).iter().map(Deviation::inverse).collect();
    let best = largest(gains)?;
    let words = baseline_words(baseline);
    let what = format!("{words} a second, {} at once, relative to one at a time", best.value);
    let runs = best.runs.iter().chain(&alone.runs).copied().collect();
    Some(Question {
        of: words.into(),
        answer: is_over(&best.ratio, AS_EXPECTED).not(),
        evidence: ratio(what, best.ratio, ("parallelism", baseline.name()), runs),
    })
}

/// Returns the best gain by a pause, counting the pause itself.
fn delayed(means: &Means, baseline: Baseline) -> Option<Question> {
    let series = means.experiment("pause", baseline.name());
    let without = means.basic(baseline.name())?;
    let with_pause = |mean: &Mean| Mean { ns: shifted(mean.ns, size(mean)), ..mean.clone() };
    let with_pauses: Vec<Mean> = series.iter().map(with_pause).collect();
    let gains: Vec<_> =
        deviations(&with_pauses, |_| Some(without.ns)).iter().map(Deviation::inverse).collect();
    let best = largest(gains)?;
    let words = baseline_words(baseline);
    let pause = crate::words::duration(best.value as f64);
    let what = format!("{words} a second with pauses of {pause}, relative to those without");
    let runs = best.runs.iter().chain(&without.runs).copied().collect();
    Some(Question {
        of: words.into(),
        answer: is_over(&best.ratio, AS_EXPECTED).not(),
        evidence: ratio(what, best.ratio, ("pause", baseline.name()), runs),
    })
}

fn shifted(estimate: Estimate, by: f64) -> Estimate {
    let shift = |x: f64| x + by;
    Estimate {
        value: shift(estimate.value),
        low: estimate.low.map(shift),
        high: estimate.high.map(shift),
    }
}
