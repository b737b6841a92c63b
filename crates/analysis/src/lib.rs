//! Derives facts with intervals from the records of a result. This crate knows no drive: it draws conclusions from the records
//! alone.

mod characteristics;
pub mod compare;
mod costs;
mod deviation;
pub mod grid;
pub mod hints;
mod means;
mod repeats;
mod rounds;
mod runs;
#[cfg(test)]
mod scripted;
pub mod view;
mod words;
mod write_grid;

use std::convert::Infallible;

pub use costs::costs;
use flashscope_block::{DeviceKind, Record};
use flashscope_document::Manifest;
use flashscope_document::facts::{self, Facts};
use flashscope_document::manifest::Run;
use flashscope_result::{Error, ResultFolder};
use means::Means;
pub use view::Outline;
pub use write_grid::write_grid;

/// The share of the measured time above which the cost of the harness is reported.
const HARNESS_SHARE: f64 = 0.05;

/// Derives the facts from the records of a result.
pub fn analyse(folder: &ResultFolder, manifest: &Manifest) -> Result<Facts, Error> {
    analyse_telling(folder, manifest, |_, _| {})
}

/// Does the same as [`analyse`]; `progress` receives the number of IOs read and the total.
pub fn analyse_telling(
    folder: &ResultFolder,
    manifest: &Manifest,
    mut progress: impl FnMut(u64, u64),
) -> Result<Facts, Error> {
    let recorded = || manifest.runs().filter(|run| run.progress.ios() > 0);
    let total = recorded().map(|run| run.progress.ios()).fold(0, u64::saturating_add);
    let (mut found, mut done) = (Vec::new(), 0_u64);
    for run in recorded() {
        found.extend(runs::find(run, |each| folder.records(run)?.for_each(each))?);
        done = done.saturating_add(run.progress.ios());
        progress(done, total);
    }
    Ok(conclude(manifest, found))
}

/// Does the same as [`analyse`] for records that are not in a folder: `records` returns those of a run, in order.
pub fn analyse_records<'r>(manifest: &Manifest, records: impl Fn(&Run) -> &'r [Record]) -> Facts {
    let find = |run: &Run| {
        let Ok(found) = runs::find(run, |each| {
            records(run).iter().for_each(each);
            Ok::<(), Infallible>(())
        });
        found
    };
    let recorded = manifest.runs().filter(|run| run.progress.ios() > 0);
    conclude(manifest, recorded.filter_map(find).collect())
}

/// Combines the statistics of the runs into facts.
fn conclude(manifest: &Manifest, found: Vec<runs::RunStatistics>) -> Facts {
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
    Facts { schema_version, characteristics, runs, repeats, rounds, grid, hints }
}
