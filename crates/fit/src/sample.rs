//! Reduces measurements to a sample, for a search that simulates many drives. Simulating all runs
//! of a large drive takes long.

use std::collections::BTreeSet;

use flashscope_block::Bytes;
use flashscope_document::manifest::{Experiment, Progress, Run};
use flashscope_measure::StateSize;

use super::MeasuredResult;

/// Maximum step between the values of a parameter in a sample: one of every four values.
const WIDEST_STEP: usize = 4;

impl MeasuredResult {
    /// Returns a sample of the runs that reads and writes at most `most` bytes, preparation
    /// included. The sample omits repeats first, then intermediate values of each parameter. A
    /// simulation of the sample runs no other runs. If no sample is small enough, returns the
    /// smallest.
    #[must_use]
    pub fn sampled(&self, most: Bytes) -> MeasuredResult {
        if self.work(&self.kept(|_, _| true)) <= most {
            return self.clone();
        }
        let fits = |step: &usize| self.work(&self.thinned(*step)) <= most;
        let kept = self.thinned((1..WIDEST_STEP).find(fits).unwrap_or(WIDEST_STEP));
        let mut manifest = self.manifest.clone();
        for run in manifest.runs_mut().filter(|run| !kept.contains(&run.id)) {
            run.progress = Progress::Pending;
        }
        let runs = self.runs.iter().filter(|run| kept.contains(&run.id)).cloned().collect();
        MeasuredResult { name: self.name.clone(), manifest, runs }
    }

    /// Returns the bytes that a simulation of the smallest sample reads and writes.
    #[must_use]
    pub fn min_work(&self) -> Bytes {
        self.work(&self.thinned(WIDEST_STEP))
    }

    /// Selects the first repeat of every `step`-th value.
    fn thinned(&self, step: usize) -> BTreeSet<u32> {
        self.kept(|run, nth| run.repeat == 1 && nth.is_multiple_of(step))
    }

    /// Selects the measured runs for which `keep` returns true. `keep` gets a run and the index of
    /// its value within the experiment.
    fn kept(&self, keep: impl Fn(&Run, usize) -> bool) -> BTreeSet<u32> {
        let measured: BTreeSet<u32> = self.runs.iter().map(|run| run.id).collect();
        let experiments = self.manifest.micro_benchmarks.iter().flat_map(|one| &one.experiments);
        let of = |experiment: &Experiment| {
            let mut values: Vec<i64> = experiment.runs.iter().map(|run| run.value).collect();
            values.dedup();
            let nth = |run: &Run| values.iter().position(|value| *value == run.value).unwrap_or(0);
            let selected = experiment.runs.iter().filter(|run| measured.contains(&run.id));
            selected.filter(|run| keep(run, nth(run))).map(|run| run.id).collect::<Vec<_>>()
        };
        experiments.flat_map(of).collect()
    }

    /// Returns the bytes that the selected runs read and write, and the bytes that the preparation
    /// writes to bring the drive into its initial state.
    fn work(&self, kept: &BTreeSet<u32>) -> Bytes {
        let resets = self.manifest.runs().filter(|run| run.reset && kept.contains(&run.id)).count();
        let fill = StateSize::of(&self.manifest.options).written;
        let state = fill.0.saturating_mul(1 + resets as u64);
        let runs = self.runs.iter().filter(|run| kept.contains(&run.id));
        Bytes(runs.fold(state, |work, run| work.saturating_add(run.bytes.0)))
    }
}
