//! Decides from the results when a test in rounds ends.

use flashscope_block::{Completion, Nanos};
use flashscope_document::Manifest;
use flashscope_document::manifest::{Progress, Run};
use flashscope_document::rounds::{Rounds, Totals};
use flashscope_stats::Steadiness;

/// Accumulates the totals of a run.
#[derive(Debug, Default)]
pub(crate) struct Meter {
    totals: Totals,
    first: Option<Nanos>,
}

impl Meter {
    /// Adds a completed IO.
    pub(crate) fn take(&mut self, completion: &Completion) {
        if completion.result.is_err() {
            return;
        }
        let first = *self.first.get_or_insert(completion.submitted);
        let totals = &mut self.totals;
        totals.ios += 1;
        totals.bytes += completion.io.len;
        totals.latency_ns += completion.latency();
        totals.duration_ns = totals.duration_ns.max(completion.completed.since(first));
    }

    /// Returns the totals.
    pub(crate) fn totals(self, run: u32) -> Totals {
        Totals { run, ..self.totals }
    }
}

/// Adds the totals of a run to the manifest if the rule of the test tracks it.
pub(crate) fn keep(manifest: &mut Manifest, totals: Totals) {
    let id = totals.run;
    let tracked = manifest.rounds().is_some_and(|(rule, test)| {
        let of_run = test.experiments.iter().find(|e| e.runs.iter().any(|run| run.id == id));
        of_run.is_some_and(|experiment| rule.tracked.contains(&experiment.name))
    });
    let is_new = manifest.findings.rounds.iter().all(|known| known.run != id);
    if tracked && is_new {
        manifest.findings.rounds.push(totals);
    }
}

/// Returns true if a test has started. The drive is then in the state that the rounds have left,
/// and the initial state must not be enforced again.
pub(crate) fn begun(manifest: &Manifest) -> bool {
    let over = |run: &Run| matches!(run.progress, Progress::Done { .. } | Progress::Failed { .. });
    manifest.options.rounds.is_some() && manifest.runs().any(over)
}

/// Returns the reason why run `id` and all later runs of its test are unnecessary, or `None` if
/// they are needed.
///
/// Uses only the rounds before the run, so that a resumed test ends where it would have ended.
pub(crate) fn over(manifest: &Manifest, id: u32) -> Option<String> {
    let (rule, test) = manifest.rounds()?;
    let run = test.experiments.iter().flat_map(|e| &e.runs).find(|run| run.id == id)?;
    let before = u32::try_from(run.value - 1).ok()?;
    if rule.until_steady && is_steady(manifest, rule, before) {
        let since = run.value - i64::from(rule.window);
        return Some(format!("steady since round {since}"));
    }
    let most = rule.most_bytes?;
    let written = manifest.written_before(run.value);
    (written >= most)
        .then(|| format!("{written} were written up to the end of round {}", run.value - 1))
}

/// Returns true if all tracked experiments were steady after `round` rounds.
fn is_steady(manifest: &Manifest, rule: &Rounds, round: u32) -> bool {
    let holds = |experiment: &String| {
        let window = rule.window_of(&manifest.tracked_values(experiment), round);
        let found = window.and_then(|values| Steadiness::of(&values));
        found.is_some_and(|found| found.is_within(rule.range, rule.slope))
    };
    !rule.tracked.is_empty() && rule.tracked.iter().all(holds)
}

/// Skips every pending or interrupted run of the test.
pub(crate) fn end(manifest: &mut Manifest, reason: &str) {
    let Some(name) = manifest.options.rounds.as_ref().map(|rule| rule.test.clone()) else { return };
    let tests = manifest.micro_benchmarks.iter_mut().filter(|test| test.name == name);
    let left =
        |run: &&mut Run| matches!(run.progress, Progress::Pending | Progress::Interrupted { .. });
    for run in tests.flat_map(|t| &mut t.experiments).flat_map(|e| &mut e.runs).filter(left) {
        run.progress = Progress::Skipped { reason: reason.into() };
    }
}
