//! Results of older versions, as they were written.

use std::fs;
use std::path::Path;

use flashscope_analysis::facts::{Interest, Judgement};
use flashscope_analysis::{Facts, analyse};
use flashscope_result::ResultFolder;

// Do facts of the first version load, without the grid and the hints that it did not know, and is a
// result of that version judged when it is analysed anew?
#[test]
fn facts_of_version_1() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/results/v1.flashscope");
    let facts: Facts = serde_json::from_slice(&fs::read(path.join("facts.json")).unwrap()).unwrap();
    assert_eq!((facts.schema_version, facts.grid.len(), facts.hints.len()), (1, 0, 0));
    assert!(!facts.runs.is_empty());

    let (folder, manifest) = ResultFolder::open(&path).unwrap();
    let facts = analyse(&folder, &manifest).unwrap();
    assert_eq!((facts.grid.len(), facts.hints.len()), (34, 7));
    let performed: Vec<_> =
        facts.grid.iter().filter(|v| v.interest != Interest::NotPerformed).collect();
    assert!(!performed.is_empty());
    for verdict in performed {
        let of = |name: &str| manifest.micro_benchmarks.iter().any(|found| found.name == name);
        assert!(of(&verdict.micro_benchmark), "{verdict:?}");
    }
    assert!(facts.hints.iter().any(|hint| hint.judgement == Judgement::NotMeasured));
}
