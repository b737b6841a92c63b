//! Tests the build that the program and its results name.

use std::process::Command;

use crate::{QUICK, Scratch};

/// Returns the commit of the sources; `None` for an archive of the sources.
fn commit() -> Option<String> {
    let folder = env!("CARGO_MANIFEST_DIR");
    let output = Command::new("git").args(["-C", folder, "rev-parse", "HEAD"]).output().ok()?;
    output.status.success().then(|| String::from_utf8(output.stdout).unwrap().trim().to_owned())
}

#[test]
fn a_result_names_the_commit_of_its_program() {
    let Some(commit) = commit() else {
        println!("skipped: the sources are not a git repository");
        return;
    };
    let place = Scratch::in_memory();
    place.run(&[&["bench", "null:", "--only", "order", "--output", "r"], &QUICK[..]].concat()).ok();
    assert_eq!(place.result("r").manifest.tool.commit.as_deref(), Some(commit.as_str()));
    let version = place.run(&["--version"]).ok().stdout;
    assert!(version.contains(&format!(" ({} 20", &commit[..12])), "{version}");
}
