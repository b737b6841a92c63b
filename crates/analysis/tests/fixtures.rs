//! Results that older versions wrote.

use std::fs;
use std::path::Path;

use flashscope_analysis::analyse;
use flashscope_document::facts::Facts;
use flashscope_document::facts::{Interest, Judgement};
use flashscope_result::ResultFolder;

// Facts of version 1 have neither grid nor hints; a new analysis adds both.
#[test]
fn facts_of_version_1_load_and_a_new_analysis_judges_them() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/results/v1.flashscope");
    let facts: Facts = serde_json::from_slice(&fs::read(path.join("facts.json")).unwrap()).unwrap();
    assert_eq!((facts.schema_version, facts.grid.len(), facts.hints.len()), (1, 0, 0));
    assert!(!facts.runs.is_empty());

    let (folder, manifest) = ResultFolder::open(&path).unwrap();
    let facts = analyse(&folder, &manifest).unwrap();
    assert_eq!((facts.grid.len(), facts.hints.len()), (34, 7));
    // The result has runs with pauses, and no run without a pause for comparison.
    let verdicts = facts.grid.iter().filter(|verdict| verdict.micro_benchmark == "pause");
    let reasons: Vec<_> = verdicts.map(|verdict| (verdict.interest, &*verdict.reason)).collect();
    let missing = |name| format!("It is compared with {name}, which was not run.");
    let expected = ["SR", "RR", "SW", "RW"].map(missing);
    assert_eq!(reasons, expected.each_ref().map(|why| (Interest::NotPerformed, why.as_str())));
    assert!(facts.hints.iter().any(|hint| hint.judgement == Judgement::NotMeasured));
}
