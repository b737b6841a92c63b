use flashscope_block::Bytes;
use flashscope_document::Manifest;
use flashscope_stats::Estimate;

use flashscope_document::facts::{self, RepeatFacts, RunFacts};

/// The mean response time at a value of a parameter.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Mean {
    /// The value.
    pub value: i64,
    /// The mean in ns.
    pub ns: Estimate,
    /// The runs that contribute to the mean.
    pub runs: Vec<u32>,
}

/// The mean response times of an experiment, by rising value of its parameter.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Series {
    pub benchmark: String,
    pub experiment: String,
    pub means: Vec<Mean>,
}

/// The mean response times of a result, from which the characteristics, the grid and the hints
/// follow.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Means {
    pub series: Vec<Series>,
    pub io_size: Bytes,
}

impl Means {
    pub(crate) fn of(manifest: &Manifest, runs: &[RunFacts], repeats: &[RepeatFacts]) -> Means {
        let mut series = Vec::new();
        for benchmark in &manifest.micro_benchmarks {
            for experiment in &benchmark.experiments {
                let measured = |id: &u32| runs.iter().any(|facts| facts.run == *id);
                let ids = experiment.runs.chunk_by(|a, b| a.value == b.value);
                let ids = ids.map(|again| again.iter().map(|run| run.id).filter(measured));
                let means = facts::means(experiment, runs, repeats).into_iter().zip(ids);
                let mean = |((value, ns), runs): ((_, Option<Estimate>), _)| {
                    Some(Mean { value, ns: ns?, runs: Iterator::collect(runs) })
                };
                series.push(Series {
                    benchmark: benchmark.name.clone(),
                    experiment: experiment.name.clone(),
                    means: means.filter_map(mean).collect(),
                });
            }
        }
        Means { series, io_size: manifest.options.setup.io_size }
    }

    /// Returns the means of an experiment; empty if it was not measured.
    pub(crate) fn experiment(&self, benchmark: &str, experiment: &str) -> &[Mean] {
        let named = |s: &&Series| s.benchmark == benchmark && s.experiment == experiment;
        self.series.iter().find(named).map_or(&[], |series| &series.means)
    }

    pub(crate) fn at(&self, benchmark: &str, experiment: &str, value: i64) -> Option<&Mean> {
        self.experiment(benchmark, experiment).iter().find(|mean| mean.value == value)
    }

    /// Returns the mean of a baseline pattern at the IO size of the result. Uses the long
    /// preparation run if there is one, or else a run of a micro-benchmark with the same pattern.
    pub(crate) fn basic(&self, baseline: &str) -> Option<&Mean> {
        let io_size = i64::try_from(self.io_size.0).ok()?;
        self.experiment("preparation", baseline)
            .first()
            .or_else(|| self.at("granularity", baseline, io_size))
            .or_else(|| self.at("alignment", baseline, 0))
            .or_else(|| self.at("parallelism", baseline, 1))
    }
}
