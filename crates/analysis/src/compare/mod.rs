//! Compares results of any kinds with the first, the baseline.
//!
//! Results are compared by workload: each contributes the quantities of the workloads that it ran.
//! The intervals of these ratios hold at once with 95 % probability (Bonferroni). At most one
//! comparison in twenty therefore has a false verdict, however many workloads it has. The value by
//! value comparison of measurements (`tables.rs`) does not widen its intervals.

mod conclusions;
mod conditions;
mod name;
mod numbers;
mod ranking;
mod regressions;
mod spread;
mod tables;
mod verdict;

use flashscope_document::comparison::{
    COMPARISON_VERSION, ComparedKind, ComparedQuantity, ComparedResult, ComparedWorkload,
    Comparison, ComparisonVerdict,
};
use flashscope_document::facts::Facts;
use flashscope_document::prediction::PredictionReport;
use flashscope_document::twin::TwinPrediction;
use flashscope_document::what_if::{Quantity, Variant};
use flashscope_document::{Manifest, Simulation};
pub(crate) use numbers::{DepthNumbers, by_depth};
use numbers::{Number, WorkloadNumbers};
use serde_json::Value;

/// A result to compare, with its numbers.
#[derive(Debug, Clone)]
pub struct Contestant<'a> {
    name: &'a str,
    subject: Subject<'a>,
    numbers: Vec<WorkloadNumbers>,
}

impl<'a> Contestant<'a> {
    /// Takes the numbers of a result. `name` is unique in the comparison.
    #[must_use]
    pub fn new(name: &'a str, subject: Subject<'a>) -> Contestant<'a> {
        Contestant { name, subject, numbers: subject.numbers() }
    }

    /// Returns the names of the workloads that the result ran.
    #[must_use]
    pub fn workloads(&self) -> Vec<String> {
        self.numbers.iter().map(|workload| workload.name.text()).collect()
    }
}

/// The content of a result.
#[derive(Debug, Clone, Copy)]
pub enum Subject<'a> {
    /// A benchmark.
    Measurement {
        /// The manifest: the plan, with the progress of each run.
        manifest: &'a Manifest,
        /// The facts of the analysis.
        facts: &'a Facts,
    },
    /// A simulated workload.
    Simulation(&'a Simulation<Value>),
    /// The baseline or a variant of a what-if.
    WhatIf {
        /// The variant.
        variant: &'a Variant,
        /// The number of simulations of the variant.
        repeats: u32,
    },
    /// A prediction of a closed-form model.
    Prediction(&'a PredictionReport),
    /// A prediction of a twin.
    TwinPrediction(&'a TwinPrediction),
}

impl Subject<'_> {
    /// Returns the numbers by workload.
    fn numbers(&self) -> Vec<WorkloadNumbers> {
        match *self {
            Subject::Measurement { manifest, facts } => {
                spread::numbers(numbers::measured(manifest, facts))
            }
            Subject::Simulation(simulation) => numbers::simulated(simulation),
            Subject::WhatIf { variant, repeats } => numbers::what_if(variant, repeats),
            Subject::Prediction(report) => numbers::predicted(report),
            Subject::TwinPrediction(prediction) => numbers::of_twin(prediction),
        }
    }
}

/// Compares results with the first. `limit` is the largest tolerated loss, as a share; `None` does
/// not look for regressions.
#[must_use]
pub fn compare(results: &[Contestant<'_>], limit: Option<f64>) -> Comparison {
    let workloads = workloads(results);
    let described: Vec<ComparedResult> = results.iter().map(described).collect();
    let measured: Option<Vec<(&Manifest, &Facts)>> = results.iter().map(measurement).collect();
    let measured = measured.unwrap_or_default();
    Comparison {
        schema_version: COMPARISON_VERSION,
        conclusions: conclusions::conclusions(&described, &workloads),
        ranking: ranking::ranking(results.len(), &workloads),
        differing_conditions: conditions::differing(results),
        regressions: limit.map(|limit| regressions::check(&workloads, limit)),
        characteristics: tables::characteristics(&measured),
        experiments: tables::experiments(&measured),
        results: described,
        workloads,
    }
}

/// Returns true if a result has a number that the baseline has, too.
#[must_use]
pub fn is_compared(comparison: &Comparison, result: usize) -> bool {
    let quantities = comparison.workloads.iter().flat_map(|one| &one.quantities);
    let mut quantities = quantities.map(|one| &one.results);
    let values = comparison.experiments.iter().flat_map(|one| &one.values);
    let mut values = values.map(|one| &one.results);
    quantities.any(|all| all[result].ratio.is_some())
        || values.any(|all| all[result].ratio.is_some())
}

fn measurement<'a>(one: &Contestant<'a>) -> Option<(&'a Manifest, &'a Facts)> {
    match one.subject {
        Subject::Measurement { manifest, facts, .. } => Some((manifest, facts)),
        _ => None,
    }
}

fn described(one: &Contestant<'_>) -> ComparedResult {
    let (kind, drive) = match one.subject {
        Subject::Measurement { manifest, .. } => (ComparedKind::Measurement, &manifest.device.name),
        Subject::Simulation(simulation) => (ComparedKind::Simulation, &simulation.drive.name),
        Subject::WhatIf { variant, .. } => (ComparedKind::WhatIf, &variant.drive),
        Subject::Prediction(prediction) => (ComparedKind::Prediction, &prediction.drive),
        Subject::TwinPrediction(prediction) => (ComparedKind::TwinPrediction, &prediction.drive),
    };
    ComparedResult { name: one.name.into(), kind, drive: drive.clone() }
}

/// Returns the workloads and quantities that at least two results have, in the order of the
/// results.
fn workloads(all: &[Contestant<'_>]) -> Vec<ComparedWorkload> {
    let mut shared: Vec<(String, Quantity, Vec<Option<Number>>)> = Vec::new();
    for workload in all.iter().flat_map(|one| &one.numbers) {
        let name = workload.name.text();
        for (quantity, _) in &workload.numbers {
            let is_known =
                |(known, of, _): &(String, Quantity, _)| known == &name && of == quantity;
            if shared.iter().any(is_known) {
                continue;
            }
            let of = |result: &Contestant<'_>| {
                let same = result.numbers.iter().find(|other| other.name == workload.name)?;
                let (_, number) = same.numbers.iter().find(|(of, _)| of == quantity)?;
                // Numbers of different phases have no verdict.
                let is_comparable = conditions::same_phase(workload, same);
                Some(if is_comparable { *number } else { Number::alone(number.value.value) })
            };
            let results: Vec<Option<Number>> = all.iter().map(of).collect();
            if results.iter().flatten().count() > 1 {
                shared.push((name.clone(), *quantity, results));
            }
        }
    }
    let comparisons = shared.iter().map(|(_, _, results)| verdict::comparisons(results)).sum();
    let mut compared_workloads: Vec<ComparedWorkload> = Vec::new();
    for (name, quantity, results) in shared {
        let results = verdict::beside_baseline(&results, quantity, comparisons);
        let compared = ComparedQuantity { quantity, results };
        match compared_workloads.iter_mut().find(|workload| workload.name == name) {
            Some(workload) => workload.quantities.push(compared),
            None => compared_workloads.push(ComparedWorkload { name, quantities: vec![compared] }),
        }
    }
    for workload in &mut compared_workloads {
        workload.quantities.sort_by_key(|one| one.quantity);
    }
    compared_workloads
}

/// Returns the ratio of a result to the baseline for a quantity of a workload, and its verdict;
/// `None` if either is missing.
fn verdict_of(
    workload: &ComparedWorkload,
    quantity: Quantity,
    result: usize,
) -> Option<(flashscope_stats::Estimate, ComparisonVerdict)> {
    let compared = workload.quantities.iter().find(|one| one.quantity == quantity)?;
    let number = &compared.results[result];
    number.ratio.zip(number.verdict)
}

#[cfg(test)]
mod tests;
