//! Formats the part of the summary about the reliability of the numbers.

use std::fmt::Write;

use flashscope_analysis::AGREEMENT;
use flashscope_document::facts::{BaselineCheck, Facts};
use flashscope_document::manifest::{Manifest, Run};
use flashscope_document::methodology::{Obstacle, PreparationQuantity, Unknown};

/// The maximum number of runs to list by number; further runs are only counted.
const NAMED_RUNS: usize = 8;

/// Writes the quantities that the preparation could not determine, the reason for withheld
/// verdicts, the runs in space that other runs had written, and whether the baselines agree.
pub(crate) fn reliability(out: &mut String, manifest: &Manifest, facts: &Facts) {
    let mut all = String::new();
    for unknown in &manifest.findings.unknown {
        line!(all, "not known: {}", unknown_text(unknown));
    }
    if let Some(reason) = &facts.verdicts_withheld {
        line!(all, "no verdicts: {reason}");
    }
    shared(&mut all, manifest);
    if let Some(found) = &facts.baselines {
        baselines(&mut all, found);
    }
    if !all.is_empty() {
        let _ = write!(out, "\n{all}");
    }
}

fn unknown_text(unknown: &Unknown) -> String {
    let quantity = match unknown.quantity {
        PreparationQuantity::Phases => format!("the phases of {}", unknown.experiment),
        PreparationQuantity::Interference => "how long writes linger".into(),
    };
    let because = match unknown.because {
        Obstacle::Time => "ended at its time limit",
        Obstacle::Bytes => "ended at its write limit",
        Obstacle::Space => "reached the end of its target space",
        Obstacle::Budget => "was skipped to keep within the budget",
        Obstacle::Noise => "ended before reads were as fast as before the writes",
        Obstacle::Failure => "failed",
    };
    let (run, assumed) = (unknown.run, &unknown.assumed);
    format!("{quantity}, because run {run} {because}; assumed: {assumed}")
}

fn shared(out: &mut String, manifest: &Manifest) {
    let shares = |run: &&Run| !run.shares_space_with.is_empty();
    let runs: Vec<String> = manifest.runs().filter(shares).map(|run| run.id.to_string()).collect();
    if runs.is_empty() {
        return;
    }
    line!(
        out,
        "{} measured space that other runs had written to: no other space was left, and --state \
         keep does not enforce the state again",
        named(&runs)
    );
}

/// Lists runs by number, such as `runs 1, 2 and 7 more`.
pub(crate) fn named(runs: &[String]) -> String {
    let first = runs[..runs.len().min(NAMED_RUNS)].join(", ");
    let noun = if runs.len() == 1 { "run" } else { "runs" };
    match runs.len().saturating_sub(NAMED_RUNS) {
        0 => format!("{noun} {first}"),
        more => format!("{noun} {first} and {more} more"),
    }
}

fn baselines(out: &mut String, found: &BaselineCheck) {
    let largest = 100.0 * found.largest_difference;
    let limit = 100.0 * AGREEMENT;
    match found.agree {
        true if found.largest_difference <= AGREEMENT => {
            line!(out, "baselines agree within {limit:.0} %");
        }
        true => line!(
            out,
            "baselines agree within their intervals (the largest difference is {largest:.1} %)"
        ),
        false => {
            line!(out, "warning: baselines disagree, up to {largest:.0} %");
            for difference in &found.differences {
                line!(out, "  {}: {}", difference.baseline, difference.finding);
            }
        }
    }
}
