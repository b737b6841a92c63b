//! The commands of the guide, docs/guide, and of the how-to pages with output.

use std::path::Path;

// `TRYCMD=overwrite cargo test --package flashscope --test guide` updates the output. Replace
// variable parts, such as durations, by `[..]`.
#[test]
fn commands_of_the_guide_print_its_output() {
    let docs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs");
    let place = tempfile::tempdir().unwrap();
    let space = "agrawal-table6.toml";
    std::fs::copy(docs.join("examples").join(space), place.path().join(space)).unwrap();
    for entry in std::fs::read_dir(docs.join("../testdata/fio")).unwrap() {
        let path = entry.unwrap().path();
        std::fs::copy(&path, place.path().join(path.file_name().unwrap())).unwrap();
    }
    std::env::set_current_dir(&place).unwrap();
    // Progress depends on how fast the machine is.
    trycmd::TestCases::new()
        .env("FLASHSCOPE_QUIET", "true")
        .case(docs.join("guide/*.md"))
        .case(docs.join("compare.md"))
        .case(docs.join("import.md"))
        .case(docs.join("placement.md"));
}
