//! Measures a part of a benchmark's plan.

use std::ops::RangeInclusive;
use std::sync::atomic::AtomicBool;

use clap::Parser;
use flashscope_document::manifest::MicroBenchmark;

use super::{BenchArgs, BenchResult, bench_drive};
use crate::{Failure, Progress, usage};

/// Runs of a plan: those of an experiment with certain values of the parameter.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Part {
    /// The micro-benchmark, such as `locality`.
    pub micro_benchmark: &'static str,
    /// The experiment, such as `RW`; `None` for all experiments of the micro-benchmark.
    pub experiment: Option<&'static str>,
    /// The values of the parameter.
    pub values: RangeInclusive<i64>,
}

impl Part {
    /// Returns all runs of a micro-benchmark.
    #[must_use]
    pub const fn all(micro_benchmark: &'static str) -> Part {
        Part { micro_benchmark, experiment: None, values: i64::MIN..=i64::MAX }
    }

    /// Returns all runs of an experiment.
    #[must_use]
    pub const fn of(micro_benchmark: &'static str, experiment: &'static str) -> Part {
        let experiment = Some(experiment);
        Part { micro_benchmark, experiment, values: i64::MIN..=i64::MAX }
    }

    /// Restricts the part to runs with these values.
    #[must_use]
    pub const fn at(self, values: RangeInclusive<i64>) -> Part {
        Part { values, ..self }
    }

    fn has(&self, micro_benchmark: &str, experiment: &str, value: i64) -> bool {
        self.micro_benchmark == micro_benchmark
            && self.experiment.is_none_or(|name| name == experiment)
            && self.values.contains(&value)
    }
}

/// The command line of `flashscope bench`.
#[derive(Parser)]
#[command(no_binary_name = true)]
struct Words {
    #[command(flatten)]
    args: BenchArgs,
}

/// Measures like `flashscope bench` with the arguments `words`, but executes only the runs of the
/// plan that belong to one of `parts`. A plan whose parameters come from the preparation needs the
/// runs of `preparation`.
///
/// # Errors
/// If the arguments or the request are invalid, or records cannot be written.
pub fn bench_part(
    words: &[String],
    parts: &[Part],
    stop: &AtomicBool,
    sink: &mut dyn Progress,
) -> Result<BenchResult, Failure> {
    let Words { args } = Words::try_parse_from(words).map_err(usage)?;
    bench_drive(&args, |plan| selected(plan, parts), (stop, sink))
}

/// Returns the runs of a plan that belong to one of `parts`.
fn selected(mut plan: Vec<MicroBenchmark>, parts: &[Part]) -> Vec<MicroBenchmark> {
    for benchmark in &mut plan {
        for experiment in &mut benchmark.experiments {
            let is_part =
                |value| parts.iter().any(|part| part.has(&benchmark.name, &experiment.name, value));
            experiment.runs.retain(|run| is_part(run.value));
        }
        benchmark.experiments.retain(|experiment| !experiment.runs.is_empty());
    }
    plan.retain(|benchmark| !benchmark.experiments.is_empty());
    plan
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_runs_of_the_parts_are_measured() {
        let folder = tempfile::tempdir().unwrap();
        let output = folder.path().join("part.flashscope").display().to_string();
        let words = ["sim:demo?flash.blocks_per_plane=64", "--io-count", "16", "--repeats", "2"];
        let words: Vec<String> =
            words.into_iter().chain(["--output", &output]).map(String::from).collect();
        let parts = [Part::of("order", "SW").at(-1..=0), Part::all("pause").at(0..=100_000)];
        let stop = AtomicBool::new(false);
        let Ok(result) = bench_part(&words, &parts, &stop, &mut ()) else { panic!() };
        let benchmarks = &result.manifest.micro_benchmarks;
        let runs = benchmarks.iter().flat_map(|benchmark| {
            let of = |experiment: &flashscope_document::manifest::Experiment| {
                experiment.runs.iter().map(|run| run.value).collect::<Vec<_>>()
            };
            benchmark.experiments.iter().map(move |e| (e.name.clone(), of(e)))
        });
        let order = ("SW".to_string(), vec![-1, -1, 0, 0]);
        let pause = ["SR", "RR", "SW", "RW"].map(|name| (name.to_string(), vec![100_000; 2]));
        assert!(runs.eq([order].into_iter().chain(pause)));
        assert!(bench_part(&["sim:demo".into(), "--no".into()], &parts, &stop, &mut ()).is_err());
    }
}
