//! From the records of a result to facts with intervals. Nothing here knows a drive: what is
//! said rests on the records alone.

mod characteristics;
pub mod compare;
mod costs;
mod deviation;
pub mod facts;
pub mod grid;
pub mod hints;
mod means;
mod repeats;
mod rounds;
mod runs;
#[cfg(test)]
mod scripted;
pub mod trace;
pub mod view;
mod words;

pub use costs::costs;
pub use facts::Facts;
use flashscope_block::DeviceKind;
use flashscope_result::{Error, Manifest, ResultFolder};
use means::Means;
pub use trace::TraceFacts;
pub use view::Outline;

/// The harness may take this share of what is measured.
const HARNESS_SHARE: f64 = 0.05;

/// Everything that the records of a result say.
pub fn analyse(folder: &ResultFolder, manifest: &Manifest) -> Result<Facts, Error> {
    let mut found = Vec::new();
    for run in manifest.runs().filter(|run| run.progress.ios() > 0) {
        found.extend(runs::find(run, &folder.records(run)?)?);
    }
    let repeats = repeats::repeat_facts(manifest, &found);
    let mut runs: Vec<_> = found.into_iter().map(|found| found.facts).collect();
    let conditions = manifest.runs().filter_map(|run| Some((run.id, run.conditions.as_ref()?)));
    for (id, conditions) in conditions {
        let facts = runs.iter_mut().find(|facts| facts.run == id);
        facts.into_iter().for_each(|facts| facts.disturbed_by.clone_from(&conditions.disturbed_by));
    }
    if manifest.device.kind != DeviceKind::Sim {
        let cost = manifest.calibration.harness_cost_ns;
        let share = |facts: &facts::RunFacts| Some(cost? / facts.latency_ns.mean.value);
        for facts in &mut runs {
            facts.harness_share = share(facts).filter(|share| *share > HARNESS_SHARE);
        }
    }
    let means = Means::of(manifest, &runs, &repeats);
    let characteristics = means.characteristics();
    let rounds = rounds::rounds_facts(manifest, &runs);
    let schema_version = facts::SCHEMA_VERSION;
    let grid = grid::grid(manifest, &means);
    let hints = hints::hints(manifest, &means);
    Ok(Facts { schema_version, characteristics, runs, repeats, rounds, grid, hints })
}
