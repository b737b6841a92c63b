//! Some of what was measured, for a search that tries many drives: those that hold much take long to be simulated.

use std::collections::BTreeSet;

use flashscope_block::Bytes;
use flashscope_result::manifest::{Experiment, Progress, Run, State};

use super::Measured;

/// Of the values of a parameter, every so many are looked at at the least.
const WIDEST_STEP: usize = 4;

impl Measured {
    /// As many of the runs as read and write `most` bytes or less, with the state before them: if not all do, repeats
    /// are left out first, then values of parameters between others. No run is run then but those.
    #[must_use]
    pub fn sampled(&self, most: Bytes) -> Measured {
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
        Measured { name: self.name.clone(), manifest, runs }
    }

    /// What a simulation of the smallest sample reads and writes.
    #[must_use]
    pub fn least_work(&self) -> Bytes {
        self.work(&self.thinned(WIDEST_STEP))
    }

    /// The first repeats of every so many values.
    fn thinned(&self, step: usize) -> BTreeSet<u32> {
        self.kept(|run, nth| run.repeat == 1 && nth.is_multiple_of(step))
    }

    /// The runs that were measured and that `keep` wants, of which it is told their place among the values of
    /// their experiment.
    fn kept(&self, keep: impl Fn(&Run, usize) -> bool) -> BTreeSet<u32> {
        let measured: BTreeSet<u32> = self.runs.iter().map(|run| run.id).collect();
        let experiments = self.manifest.micro_benchmarks.iter().flat_map(|one| &one.experiments);
        let of = |experiment: &Experiment| {
            let mut values: Vec<i64> = experiment.runs.iter().map(|run| run.value).collect();
            values.dedup();
            let nth = |run: &Run| values.iter().position(|value| *value == run.value).unwrap_or(0);
            let wanted = experiment.runs.iter().filter(|run| measured.contains(&run.id));
            wanted.filter(|run| keep(run, nth(run))).map(|run| run.id).collect::<Vec<_>>()
        };
        experiments.flat_map(of).collect()
    }

    /// Bytes that these runs read and write, with those that bring the drive into its state.
    fn work(&self, kept: &BTreeSet<u32>) -> Bytes {
        let resets = self.manifest.runs().filter(|run| run.reset && kept.contains(&run.id)).count();
        let fill = match self.manifest.options.state {
            State::Sequential | State::Random => self.manifest.options.setup.target_size.0,
            State::Keep | State::Purged | State::Formatted | State::Sanitized => 0,
        };
        let state = fill.saturating_mul(1 + resets as u64);
        let runs = self.runs.iter().filter(|run| kept.contains(&run.id));
        Bytes(runs.fold(state, |work, run| work.saturating_add(run.bytes.0)))
    }
}
