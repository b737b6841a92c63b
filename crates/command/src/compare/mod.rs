//! `flashscope compare`: compares results of any kinds with the first.

mod args;
mod opened;

use anyhow::anyhow;
pub use args::CompareArgs;
use flashscope_analysis::compare::{Contestant, compare as compare_results, is_compared};
use flashscope_document::comparison::{Comparison, MOST_COMPARED, RegressionCheck};
use flashscope_measure::Progress;
use opened::OpenedInput;

use crate::{Failure, usage};

/// Compares results with the first.
///
/// # Errors
/// If a result cannot be read or compared. [`outcome`] reports regressions.
pub fn compare(args: &CompareArgs, progress: &mut dyn Progress) -> Result<Comparison, Failure> {
    let mut opened: Vec<OpenedInput> = Vec::new();
    for path in &args.results {
        opened.extend(OpenedInput::open(path, progress)?);
    }
    if !(2..=MOST_COMPARED).contains(&opened.len()) {
        return Err(usage(anyhow!(
            "compare takes two to {MOST_COMPARED} results, and here are {}: a what-if counts as its baseline and each of its \
             variants",
            opened.len()
        )));
    }
    let names = unique_names(opened.iter().map(OpenedInput::name));
    let mut contestants = Vec::new();
    for (one, name) in opened.iter().zip(&names) {
        contestants.push(Contestant::new(name, one.subject())?);
    }
    let comparison = compare_results(&contestants, args.fail_on_regression);
    let apart = (1..contestants.len()).find(|result| !is_compared(&comparison, *result));
    match apart {
        Some(result) => Err(nothing_shared(&names, &contestants, result)),
        None => Ok(comparison),
    }
}

/// Returns the outcome of a comparison: an error if it found a regression.
///
/// # Errors
/// [`Failure::Finding`].
pub fn outcome(comparison: &Comparison) -> Result<(), Failure> {
    let Some(RegressionCheck { limit, found, .. }) = &comparison.regressions else { return Ok(()) };
    match found.len() {
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
