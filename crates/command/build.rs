//! Sets `FLASHSCOPE_COMMIT` and `FLASHSCOPE_VERSION` for this crate, from the commit that it is
//! built from.

#![cfg_attr(
    lint_writes,
    expect(clippy::disallowed_methods, reason = "starts git at build time: git only reads")
)]

use std::path::Path;
use std::process::Command;

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    for name in ["HEAD", "logs/HEAD"] {
        // Cargo would rerun this script each time for a file that does not exist.
        if let Some(path) =
            git(&["rev-parse", "--git-path", name]).filter(|path| Path::new(path).exists())
        {
            println!("cargo::rerun-if-changed={path}");
        }
    }
    let version = env!("CARGO_PKG_VERSION");
    // An archive of the sources has no commit.
    match git(&["log", "-1", "--format=%H %cs"]).as_deref().and_then(|line| line.split_once(' ')) {
        Some((commit, date)) => {
            let short = &commit[..12];
            println!("cargo::rustc-env=FLASHSCOPE_COMMIT={commit}");
            println!("cargo::rustc-env=FLASHSCOPE_VERSION={version} ({short} {date})");
        }
        None => println!("cargo::rustc-env=FLASHSCOPE_VERSION={version}"),
    }
}

fn git(arguments: &[&str]) -> Option<String> {
    let output = Command::new("git").args(arguments).output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    output.status.success().then(|| text.trim().to_owned())
}
