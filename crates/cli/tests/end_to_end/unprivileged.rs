//! Tests that access to the drive is the only privilege needed.

use std::os::unix::fs::{PermissionsExt, chown};
use std::process::Command;

use super::*;
use crate::bench::Loop;

/// The user id of `nobody`.
const NO_OWNER: u32 = 65534;

#[test]
fn own_block_device_needs_no_root() {
    let (disk, place) = (Scratch::on_disk(), Scratch::in_memory());
    let Some(block) = Loop::new(&disk) else { return };
    // Other users may not be able to enter the build folder.
    let program = place.at("flashscope");
    fs::copy(env!("CARGO_BIN_EXE_flashscope"), &program).unwrap();
    chown(place.path(), Some(NO_OWNER), Some(NO_OWNER)).unwrap();
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
    let bench = |engine: &str, output: &str| {
        let drive = format!("{}?engine={engine}", block.device);
        let mut command = Command::new("setpriv");
        command.args(["--reuid=65534", "--regid=65534", "--clear-groups", "--no-new-privs"]);
        command.args(["--bounding-set=-all", "--inh-caps=-all"]).arg(&program);
        command.args(["bench", &drive, "--destroy-data-on", &block.device, "--output", output]);
        command.args(["--only", "granularity", "--state", "purged"]).args(QUICK);
        Outcome::of(command.current_dir(place.path()))
    };
    chown(&block.device, Some(0), Some(0)).unwrap();
    let refused = bench("psync", "other");
    assert_eq!(refused.status, 2, "{}", refused.stderr);
    assert!(refused.stderr.contains("Permission denied"), "{}", refused.stderr);
    chown(&block.device, Some(NO_OWNER), Some(NO_OWNER)).unwrap();
    let outcomes = ["psync", "io_uring", "libaio"].map(|engine| (engine, bench(engine, engine)));
    chown(&block.device, Some(0), Some(0)).unwrap();
    for (engine, outcome) in outcomes {
        assert_eq!(outcome.status, 0, "{engine}: {}", outcome.stderr);
        let (_, manifest) = ResultFolder::open(&place.at(engine)).unwrap();
        assert!(manifest.runs().all(|run| !matches!(run.progress, Progress::Failed { .. })));
    }
}
