use flashscope_document::Manifest;
use flashscope_document::manifest::{Experiment, MicroBenchmark, Run};
use flashscope_stats::{RunMean, repeats};

use crate::runs::RunStatistics;
use flashscope_document::facts::RepeatFacts;

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
