use flashscope_workload::uflip;

use super::{HintResult, Question, Rule, judge, ratio, sentences};
use crate::deviation::{AS_EXPECTED, Answer, deviations, is_over, largest};
use crate::grid::expected_of_mix;
use crate::means::Means;

/// Hint: a few patterns may be combined.
pub(super) const RULE: Rule = Rule {
    title: "Combining a limited number of patterns is acceptable",
    statement: "no ratio of any mix costs more than 1.25 times the mean of its two baselines, \
                each weighted by its share of the IOs",
    judge: mixes,
};

fn mixes(means: &Means) -> HintResult {
    let mut questions = Vec::new();
    for series in means.series.iter().filter(|series| is_mix(&series.benchmark)) {
        let mix = &series.experiment;
        let baselines = mix
            .split_once('/')
            .and_then(|(first, second)| Some((means.basic(first)?, means.basic(second)?)));
        let Some((first, second)) = baselines else { continue };
        let expected = |mean: &_| Some(expected_of_mix(mean, first.ns, second.ns));
        let Some(highest_cost) = largest(deviations(&series.means, expected)) else { continue };
        let what = format!(
            "{} {} for one {}, relative to what the two cost apart",
            highest_cost.value,
            mix.split('/').next().unwrap_or_default(),
            mix.split('/').nth(1).unwrap_or_default()
        );
        let runs =
            highest_cost.runs.iter().chain(&first.runs).chain(&second.runs).copied().collect();
        questions.push(Question {
            of: mix.clone(),
            answer: is_over(&highest_cost.ratio, AS_EXPECTED).not(),
            evidence: ratio(what, highest_cost.ratio, (&series.benchmark, mix), runs),
        });
    }
    if questions.is_empty() {
        return HintResult::nothing("mixes (mix) and the baselines that they consist of");
    }
    let judgement = judge(questions.iter().map(|question| question.answer));
    let finding = sentences(
        &questions,
        [
            (Answer::Yes, "cost no more than their parts"),
            (Answer::No, "cost more than their parts: they disturb each other"),
            (Answer::Unsure, "are inconclusive"),
        ],
    );
    let evidence = questions.into_iter().map(|question| question.evidence).collect();
    HintResult { judgement, finding, evidence }
}

fn is_mix(benchmark: &str) -> bool {
    uflip::find(benchmark).is_some_and(|found| found.parameter == "Ratio")
}
