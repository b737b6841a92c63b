//! Tells the program which commit it was built from.

#![cfg_attr(
    lint_writes,
    expect(
        clippy::disallowed_methods,
        reason = "starts git while the program is built: it only asks"
    )
)]

use std::process::Command;

fn main() {
    println!("cargo::rerun-if-changed=../../.git/HEAD");
    println!("cargo::rerun-if-changed=../../.git/logs/HEAD");
    let output = Command::new("git").args(["rev-parse", "--short=12", "HEAD"]).output();
    // Built from an archive, there is no commit to tell.
    if let Some(output) = output.ok().filter(|output| output.status.success()) {
        println!("cargo::rustc-env=FLASHSCOPE_COMMIT={}", String::from_utf8_lossy(&output.stdout));
    }
}
