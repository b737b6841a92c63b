//! Derives facts with intervals from the records of a result. This crate never accesses a drive:
//! its conclusions follow from the manifest and the records alone.

mod baselines;
mod characteristics;
pub mod compare;
pub mod conclusions;
mod costs;
mod depths;
mod deviation;
pub mod endurance;
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

pub use baselines::AGREEMENT;
pub use costs::costs;
use flashscope_block::{DeviceKind, Record};
use flashscope_document::Manifest;
use flashscope_document::facts::{self, Facts};
use flashscope_result::{Error, ResultFolder};
use means::Means;
pub use view::Outline;
pub use write_grid::write_grid;

/// The share of the measured time above which the cost of the harness is reported.
const HARNESS_SHARE: f64 = 0.05;

/// Derives the facts from the records of a result.
pub fn analyse(folder: &ResultFolder, manifest: &Manifest) -> Result<Facts, Error> {
    analyse_with_progress(folder, manifest, |_, _| {})
}

/// Does the same as [`analyse`]; `progress` receives the number of IOs read and the total.
pub fn analyse_with_progress(
    folder: &ResultFolder,
    manifest: &Manifest,
    mut progress: impl FnMut(u64, u64),
) -> Result<Facts, Error> {
    let recorded = || manifest.runs().filter(|run| run.progress.ios() > 0);
    let total = recorded().map(|run| run.progress.ios()).fold(0, u64::saturating_add);
    let (mut found, mut done) = (Vec::new(), 0_u64);
    for run in recorded() {
        let records = |each: &mut dyn FnMut(&Record)| folder.records(run)?.for_each(each);
        found.extend(runs::find(run, baselines::head(manifest, run), records)?);
        done = done.saturating_add(run.progress.ios());
        progress(done, total);
    }
    Ok(conclude(manifest, found))
}

/// Combines the statistics of the runs into facts.
fn conclude(manifest: &Manifest, found: Vec<runs::RunStatistics>) -> Facts {
    let repeats = repeats::repeat_facts(manifest, &found);
    let heads: Vec<_> =
        found.iter().filter_map(|found| Some((found.facts.run, found.head?))).collect();
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
    let verdicts_withheld = mostly_disturbed(&runs);
    let (grid, hints) = match verdicts_withheld {
        None => (grid::grid(manifest, &means), hints::hints(manifest, &means)),
        Some(_) => (vec![], vec![]),
    };
    let baselines = baselines::baseline_check(manifest, &means.with_heads(&heads), &runs, &repeats);
    let facts = Facts {
        schema_version,
        conclusions: vec![],
        depths: vec![],
        characteristics,
        runs,
        repeats,
        rounds,
        grid,
        hints,
        baselines,
        verdicts_withheld,
    };
    let facts = Facts { depths: depths::tables(manifest, &facts), ..facts };
    Facts { conclusions: conclusions::conclusions(manifest, &means, &facts), ..facts }
}

/// Returns the reason to withhold verdicts, if other processes disturbed most runs.
fn mostly_disturbed(runs: &[facts::RunFacts]) -> Option<String> {
    let disturbed = runs.iter().filter(|facts| !facts.disturbed_by.is_empty()).count();
    (2 * disturbed > runs.len()).then(|| {
        let all = runs.len();
        format!("other processes disturbed {disturbed} of {all} runs: the numbers are reported without conclusions")
    })
}
