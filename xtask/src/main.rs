//! The project's own checks, run as `cargo xtask`.

mod claims;
mod dependencies;
mod flash_cases;
mod licenses;
mod measure;
mod prose;
mod public;
mod reference;
mod schemas;
mod unused;
mod uses;
mod writes;

use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};

/// A Rust file of the checkout.
struct Source {
    /// The path from the root of the checkout.
    path: String,
    /// The content.
    text: String,
}

const USAGE: &str = "usage: cargo xtask check | flash-cases CASES.json OUT.csv | measure [CHECKOUT] | schemas

  check    formatting, clippy, dependency rules, unused dependencies, crates that compile to WebAssembly, promises of the docs, prose, licences, and generated files
  flash-cases
           run cases of flash commands on the scheduler of the simulator, and write a table of figures
  measure  the shape and the language of the code, crate by crate, here or in another checkout
  schemas  write docs/schemas/*.json and the reference pages of docs/ from the code that they describe";

#[allow(clippy::disallowed_methods, reason = "the arguments of this program are its interface")]
fn main() -> Result<()> {
    match std::env::args().nth(1).as_deref() {
        Some("check") => check(),
        Some("measure") => {
            measure::print(Path::new(&std::env::args().nth(2).unwrap_or_else(|| ".".into())))
        }
        Some("schemas") => schemas::write(),
        Some("flash-cases") => match (std::env::args().nth(2), std::env::args().nth(3)) {
            (Some(cases), Some(table)) => flash_cases::run(cases.as_ref(), table.as_ref()),
            _ => bail!("{USAGE}"),
        },
        _ => bail!("{USAGE}"),
    }
}

fn check() -> Result<()> {
    dependencies::check()?;
    unused::check()?;
    claims::check()?;
    prose::check()?;
    schemas::check()?;
    cargo(&["fmt", "--all", "--check"], "run `cargo fmt`")?;
    // The second run of clippy has the features of `make demo`.
    for part in ["--workspace --all-targets", "--package flashscope --no-default-features"] {
        let clippy = format!("clippy --quiet {part} -- --deny warnings");
        cargo(&clippy.split(' ').collect::<Vec<_>>(), "fix the findings of clippy")?;
    }
    dependencies::check_pure()?;
    writes::check()?;
    licenses::check()
}

fn cargo(args: &[&str], what_to_do: &str) -> Result<()> {
    let status = Command::new("cargo").args(args).status().context("cannot run cargo")?;
    if !status.success() {
        bail!("`cargo {}` failed: {what_to_do}", args.join(" "));
    }
    Ok(())
}

/// Runs a program that must succeed, and returns its output.
fn output(program: &str, args: &[&str]) -> Result<String> {
    let output = Command::new(program).args(args).stderr(Stdio::inherit()).output();
    let output = output.with_context(|| format!("cannot run {program}"))?;
    if !output.status.success() {
        bail!("`{program} {}` failed", args.join(" "));
    }
    Ok(String::from_utf8(output.stdout)?)
}

/// Returns the files that match `patterns`, as git lists them.
fn sources(patterns: &[&str]) -> Result<Vec<String>> {
    let listed = output("git", &[&["ls-files", "--"], patterns].concat())?;
    Ok(listed.lines().map(str::to_owned).collect())
}
