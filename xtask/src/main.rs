//! The project's own checks, run as `cargo xtask`.

mod claims;
mod dependencies;
mod reference;
mod schemas;
mod writes;

use std::process::Command;

use anyhow::{Context, Result, bail};

const USAGE: &str = "usage: cargo xtask check | schemas

  check    formatting, clippy, dependency rules, promises of the docs, licenses, and generated files
  schemas  write docs/schemas/*.json and the reference pages of docs/ from what they describe";

#[allow(clippy::disallowed_methods, reason = "the arguments of this program are its interface")]
fn main() -> Result<()> {
    match std::env::args().nth(1).as_deref() {
        Some("check") => check(),
        Some("schemas") => schemas::write(),
        _ => bail!("{USAGE}"),
    }
}

fn check() -> Result<()> {
    dependencies::check()?;
    claims::check()?;
    schemas::check()?;
    cargo(&["fmt", "--all", "--check"], "run `cargo fmt`")?;
    let clippy = "clippy --quiet --workspace --all-targets -- --deny warnings";
    cargo(&clippy.split(' ').collect::<Vec<_>>(), "mend what clippy found")?;
    writes::check()?;
    let deny = "deny --log-level error check bans licenses sources";
    cargo(&deny.split(' ').collect::<Vec<_>>(), "see deny.toml; `make tools` installs cargo-deny")
}

fn cargo(args: &[&str], what_to_do: &str) -> Result<()> {
    let status = Command::new("cargo").args(args).status().context("cannot run cargo")?;
    if !status.success() {
        bail!("`cargo {}` failed: {what_to_do}", args.join(" "));
    }
    Ok(())
}

/// The files of the project that match `patterns`, as git lists them.
fn sources(patterns: &[&str]) -> Result<Vec<String>> {
    let listed = Command::new("git").args(["ls-files", "--"]).args(patterns).output();
    let listed = String::from_utf8(listed.context("cannot run git")?.stdout)?;
    Ok(listed.lines().map(str::to_owned).collect())
}
