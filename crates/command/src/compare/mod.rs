//! `flashscope compare`: compares results of any kinds with the first.

mod args;
mod opened;

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::anyhow;
pub use args::CompareArgs;
use flashscope_analysis::compare::{Contestant, compare as compare_results, is_compared};
use flashscope_document::comparison::{Comparison, MAX_RESULTS, RegressionCheck};
use flashscope_measure::Progress;
use opened::OpenedInput;

use crate::{Failure, interrupted, usage};

/// A result to compare.
#[derive(Debug, Clone, Copy)]
pub enum ComparisonInput<'a> {
    /// A result folder, or a file with the JSON of a command.
    Path(&'a Path),
    /// The JSON of a command.
    Document {
        /// The name in the comparison and in errors.
        name: &'a str,
        /// The JSON.
        json: &'a str,
    },
}

/// Compares results with the first.
///
/// # Errors
/// If a result cannot be read or compared, or `stop` was set first. [`outcome`] reports
/// regressions.
pub fn compare(
    args: &CompareArgs,
    stop: &Arc<AtomicBool>,
    progress: &mut dyn Progress,
) -> Result<Comparison, Failure> {
    let inputs: Vec<_> = args.results.iter().map(|path| ComparisonInput::Path(path)).collect();
    compare_inputs(&inputs, args.fail_on_regression, (stop, progress))
}

/// Compares results as [`compare`] does, including results that are not in files. `limit` is the
/// largest tolerated loss, as a share.
///
/// # Errors
/// The errors of [`compare`].
pub fn compare_inputs(
    inputs: &[ComparisonInput<'_>],
    limit: Option<f64>,
    (stop, progress): (&Arc<AtomicBool>, &mut dyn Progress),
) -> Result<Comparison, Failure> {
    let mut opened: Vec<OpenedInput> = Vec::new();
    for input in inputs {
        opened.extend(OpenedInput::open(input, stop, progress)?);
    }
    if !(2..=MAX_RESULTS).contains(&opened.len()) {
        return Err(usage(anyhow!(
            "compare takes two to {MAX_RESULTS} results, not {}: a what-if counts as its baseline and each of its \
             variants",
            opened.len()
        )));
    }
    let names = unique_names(opened.iter().map(OpenedInput::name));
    if stop.load(Ordering::Relaxed) {
        return Err(interrupted("nothing was compared"));
    }
    let contestants = opened.iter().zip(&names);
    let contestants: Vec<Contestant> =
        contestants.map(|(one, name)| Contestant::new(name, one.subject())).collect();
    let comparison = compare_results(&contestants, limit);
    let apart = (1..contestants.len()).find(|result| !is_compared(&comparison, *result));
    match apart {
        Some(result) => Err(nothing_shared(&names, &contestants, result)),
        None => Ok(comparison),
    }
}

/// Returns the outcome of a comparison.
///
/// # Errors
/// [`Failure::Finding`] for a regression, and a usage error if there is a limit but no number that
/// could exceed it.
pub fn outcome(comparison: &Comparison) -> Result<(), Failure> {
    let Some(RegressionCheck { limit, found, .. }) = &comparison.regressions else { return Ok(()) };
    let numbers = comparison.workloads.iter().flat_map(|workload| &workload.quantities);
    let mut numbers = numbers.flat_map(|compared| &compared.results);
    match found.len() {
        0 if numbers.all(|number| number.verdict.is_none()) => Err(usage(anyhow!(
            "no number has an interval, so no regression can be found: benchmarks need `--repeats 3`"
        ))),
        0 => Ok(()),
        count => Err(Failure::Finding(anyhow!(
            "{count} regression{} beyond {} %",
            if count == 1 { "" } else { "s" },
            100.0 * limit
        ))),
    }
}

fn nothing_shared(names: &[String], contestants: &[Contestant], result: usize) -> Failure {
    let workloads = |nth: usize| {
        let mut all = contestants[nth].workloads();
        all.dedup();
        let shown: Vec<&str> = all.iter().take(4).map(String::as_str).collect();
        match all.len() {
            0 => "has no workload that can be compared".into(),
            1..=4 => format!("has {}", shown.join(", ")),
            more => format!("has {} and {} more", shown.join(", "), more - 4),
        }
    };
    let (baseline, other) = (&names[0], &names[result]);
    usage(anyhow!(
        "{other} cannot be compared with {baseline}, because they share no workload and quantity: {baseline} {}; {other} {}. \
         Run the same workload at the same queue depth on both",
        workloads(0),
        workloads(result)
    ))
}

/// Makes names unique: a name that occurred before gets a number.
pub fn unique_names<'a>(names: impl Iterator<Item = &'a str>) -> Vec<String> {
    let mut unique = Vec::new();
    for name in names {
        let numbered = (2..).map(|n| format!("{name}-{n}"));
        let free =
            std::iter::once(name.to_string()).chain(numbered).find(|id| !unique.contains(id));
        unique.extend(free);
    }
    unique
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_with_equal_names_get_unique_names() {
        let names = unique_names(["a", "b", "a", "a-2", "a"].into_iter());
        assert_eq!(names, ["a", "b", "a-2", "a-2-2", "a-3"]);
    }
}
