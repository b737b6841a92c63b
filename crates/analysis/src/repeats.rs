use flashscope_result::Manifest;
use flashscope_result::manifest::{Experiment, MicroBenchmark, Run};
use flashscope_stats::{Estimate, RunMean, repeats};

use crate::facts::{Facts, RepeatFacts, RunFacts};
use crate::runs::RunStatistics;

impl Facts {
    /// Returns the mean response time for each value of an experiment of the result, in ns; `None` for values that were not
    /// measured. Repeated runs of a value count once, with their combined mean.
    pub fn means(&self, experiment: &Experiment) -> Vec<(i64, Option<Estimate>)> {
        means(experiment, &self.runs, &self.repeats)
    }
}

/// Returns the mean response time for each value of an experiment, in ns; `None` for values that were not measured. Repeated runs
/// of a value count once, with their combined mean.
pub(crate) fn means(
    experiment: &Experiment,
    runs: &[RunFacts],
    repeats: &[RepeatFacts],
) -> Vec<(i64, Option<Estimate>)> {
    let mean_of = |again: &[Run]| {
        let has = |id: u32| again.iter().any(|run| run.id == id);
        let together = repeats.iter().find(|facts| facts.runs.iter().any(|&id| has(id)));
        let one = || runs.iter().find(|facts| has(facts.run)).map(|facts| facts.latency_ns.mean);
        (again[0].value, together.map(|facts| facts.mean_ns).or_else(one))
    };
    experiment.runs.chunk_by(|a, b| a.value == b.value).map(mean_of).collect()
}

/// Combines the runs of each value that was run several times.
pub(crate) fn repeat_facts(manifest: &Manifest, runs: &[RunStatistics]) -> Vec<RepeatFacts> {
    let mut all = Vec::new();
    for benchmark in &manifest.micro_benchmarks {
        for experiment in &benchmark.experiments {
            let values = experiment.runs.chunk_by(|a, b| a.value == b.value);
            all.extend(values.filter_map(|again| of_value(benchmark, experiment, again, runs)));
        }
    }
    all
}

fn of_value(
    benchmark: &MicroBenchmark,
    experiment: &Experiment,
    again: &[Run],
    runs: &[RunStatistics],
) -> Option<RepeatFacts> {
    let of_run = |id: u32| runs.iter().find(|found| found.facts.run == id);
    let found: Vec<&RunStatistics> = again.iter().filter_map(|run| of_run(run.id)).collect();
    let means: Vec<RunMean> = found
        .iter()
        .filter_map(|found| {
            let (mean, error) = (found.facts.latency_ns.mean.value, found.standard_error?);
            // If all IOs of a run took the same time, the clock limits the precision.
            Some(RunMean { mean, standard_error: error.max(CLOCK_NS) })
        })
        .collect();
    let together = repeats(&means).filter(|_| means.len() == found.len())?;
    Some(RepeatFacts {
        micro_benchmark: benchmark.name.clone(),
        experiment: experiment.name.clone(),
        value: again[0].value,
        runs: found.iter().map(|found| found.facts.run).collect(),
        mean_ns: together.mean,
        within_runs_ns: together.within_variance.sqrt(),
        between_runs_ns: together.between_variance.sqrt(),
        differ_confidence: together.confidence,
    })
}

/// The best precision of a mean, in ns.
const CLOCK_NS: f64 = 1.0;
