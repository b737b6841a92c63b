//! From the records of a result to facts with intervals. Nothing here knows a drive: what is
//! said rests on the records alone.

mod characteristics;
pub mod facts;
mod outline;
mod runs;
pub mod trace;

pub use facts::Facts;
use flashscope_result::{Error, Manifest, ResultFolder};
pub use outline::{Outline, outlines};
pub use trace::TraceFacts;

/// Everything that the records of a result say.
pub fn analyse(folder: &ResultFolder, manifest: &Manifest) -> Result<Facts, Error> {
    let mut runs = Vec::new();
    for run in manifest.runs().filter(|run| run.progress.ios() > 0) {
        let rows = folder.records(run)?;
        let disturbed_by = run.conditions.iter().flat_map(|c| c.disturbed_by.clone()).collect();
        let facts = runs::run_facts(run.id, &run.reference, &rows)?;
        runs.extend(facts.map(|facts| facts::RunFacts { disturbed_by, ..facts }));
    }
    let characteristics = characteristics::characteristics(manifest, &runs);
    Ok(Facts { schema_version: facts::SCHEMA_VERSION, characteristics, runs })
}
