use flashscope_block::{Bytes, Op};
use flashscope_document::manifest::State;

use super::numbers::WorkloadNumbers;
use super::{Contestant, Subject};
use crate::words::list;

/// The largest ratio of target spaces that count as equal.
const SAME_SPACE: f64 = 1.1;

/// Returns the conditions that differ from those of the baseline and may explain differences, as
/// sentences.
pub(super) fn differing(results: &[Contestant<'_>]) -> Vec<String> {
    let mut all = Vec::new();
    let states = results.iter().filter_map(|one| Some((one.name, start(&one.subject)?)));
    let states: Vec<(&str, String)> = states.collect();
    if states.iter().any(|(_, state)| state != &states[0].1) {
        let words: Vec<String> =
            states.iter().map(|(name, state)| format!("{name} began {state}")).collect();
        all.push(format!("The drives began in different states: {}.", list(&words)));
    }
    let Some((first, others)) = results.split_first() else { return all };
    for other in others {
        let differs = first.numbers.iter().find_map(|workload| {
            let same = other.numbers.iter().find(|other| other.name == workload.name)?;
            let (a, b) = (workload.space?, same.space?);
            (space_ratio(a, b) > SAME_SPACE).then_some((a, b))
        });
        if let Some((a, b)) = differs {
            all.push(format!(
                "Random IOs covered {a} in {} and {b} in {}: garbage collection costs more in a larger share of a drive.",
                first.name, other.name
            ));
        }
        let differs = first.numbers.iter().find_map(|workload| {
            let same = other.numbers.iter().find(|other| other.name == workload.name)?;
            let windows = workload.window.zip(same.window)?;
            (!same_phase(workload, same)).then(|| (workload.name.text(), windows))
        });
        if let Some((name, (a, b))) = differs {
            all.push(format!(
                "Runs of {name} counted the IOs from {} to {} in {} and from {} to {} in {}: numbers of other phases have \
                 no verdict. Set `--io-ignore` and `--io-count` for both.",
                a.ignored,
                a.end(),
                first.name,
                b.ignored,
                b.end(),
                other.name
            ));
        }
    }
    all
}

/// Returns true unless the runs of two workloads are known to have measured other phases.
pub(super) fn same_phase(one: &WorkloadNumbers, other: &WorkloadNumbers) -> bool {
    let writes = one.name.operation() != Some(Op::Read);
    one.window.zip(other.window).is_none_or(|(a, b)| a.agrees_with(b, writes))
}

#[allow(clippy::cast_precision_loss, reason = "a ratio needs few digits")]
fn space_ratio(a: Bytes, b: Bytes) -> f64 {
    a.max(b).0 as f64 / a.min(b).0.max(1) as f64
}

/// Returns the state of a drive before the first IO, in words; `None` if the result does not state
/// it.
fn start(subject: &Subject<'_>) -> Option<String> {
    use flashscope_workload::state::Fill;
    let state = match subject {
        Subject::Measurement { manifest, .. } => match manifest.options.state {
            State::Keep => "in its existing state",
            State::Purged => "trimmed",
            State::Formatted => "formatted",
            State::Sanitized => "sanitized",
            State::Sequential => "filled sequentially",
            State::Random => "filled in random order",
            State::Steady => "filled to the steady state of random writes",
        },
        Subject::Simulation(simulation) => match simulation.fill {
            Fill::None => "empty",
            Fill::Sequential => "filled sequentially",
            Fill::Random => "filled in random order",
            Fill::Steady => "filled to the steady state of random writes",
        },
        Subject::WhatIf { .. } | Subject::Prediction(_) | Subject::TwinPrediction(_) => {
            return None;
        }
    };
    Some(state.into())
}
