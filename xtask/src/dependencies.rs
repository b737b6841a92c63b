//! The allowed dependencies between crates: the architecture as data (see ARCHITECTURE.md).

use std::collections::{BTreeMap, BTreeSet};
use std::process::Command;

use anyhow::{Context, Result, bail};
use serde_json::Value;

/// Each crate with the workspace crates that it may use. A crate without a rule fails the check.
const RULES: [(&str, &[&str]); 35] = [
    ("block", &[]),
    ("stats", &[]),
    ("model", &[]),
    ("workload", &["block"]),
    ("drive", &["block"]),
    ("sim", &["block"]),
    ("document", &["block", "stats", "workload"]),
    // Its tests cut the power of simulated drives.
    ("verify", &["block", "document", "sim"]),
    ("result", &["block", "document", "stats", "workload"]),
    ("trace", &["block", "document", "result", "stats", "workload"]),
    ("trace-page", &["document", "trace"]),
    ("status", &[]),
    ("attach", &["block", "document", "drive", "status"]),
    ("measure", &["block", "document", "result", "stats", "trace", "workload"]),
    ("query", &["block"]),
    ("analysis", &["block", "document", "query", "result", "stats", "workload"]),
    ("probe", &["block", "document", "measure", "workload"]),
    ("probe-bench", &["block", "document", "probe", "sim"]),
    ("simulate", &["block", "document", "measure", "result", "sim", "stats", "trace", "workload"]),
    // Its tests compare it with `simulate`.
    ("playground", &["block", "measure", "model", "sim", "simulate", "stats", "workload"]),
    ("predict", &["block", "document", "measure", "model", "sim", "workload"]),
    (
        "fit",
        &[
            "block", "document", "measure", "model", "result", "sim", "simulate", "stats",
            "workload",
        ],
    ),
    (
        "twin-bench",
        &[
            "block",
            "document",
            "fit",
            "measure",
            "probe",
            "probe-bench",
            "result",
            "sim",
            "simulate",
            "workload",
        ],
    ),
    ("models-bench", &["block", "document", "model", "predict", "sim", "trace", "workload"]),
    ("report", &["analysis", "block", "document", "query", "result", "stats", "workload"]),
    ("serve", &["analysis", "block", "document", "query", "report", "result", "stats", "workload"]),
    (
        "registry",
        &[
            "analysis", "block", "document", "probe", "report", "result", "serve", "sim", "stats",
            "workload",
        ],
    ),
    (
        "command",
        &[
            "analysis", "block", "document", "drive", "fit", "measure", "model", "predict",
            "probe", "query", "result", "sim", "simulate", "trace", "verify", "workload",
        ],
    ),
    (
        "python",
        &[
            "analysis", "block", "command", "document", "drive", "fit", "measure", "model",
            "predict", "probe", "result", "sim", "simulate", "stats", "trace", "workload",
        ],
    ),
    (
        "papers",
        &[
            "analysis", "block", "command", "document", "fit", "measure", "model", "predict",
            "probe", "result", "sim", "simulate", "stats", "trace", "workload",
        ],
    ),
    (
        "agreement-bench",
        &[
            "analysis", "block", "command", "document", "measure", "result", "sim", "stats",
            "workload",
        ],
    ),
    ("cli", EVERYTHING),
    ("benches", EVERYTHING),
    ("fuzz", EVERYTHING),
    (
        "xtask",
        &[
            "analysis", "attach", "block", "command", "document", "drive", "papers", "probe",
            "report", "result", "sim", "simulate", "trace", "workload",
        ],
    ),
];

const EVERYTHING: &[&str] = &[
    "analysis", "attach", "block", "command", "document", "drive", "fit", "measure", "model",
    "papers", "predict", "probe", "query", "registry", "report", "result", "serve", "sim",
    "simulate", "stats", "status", "trace", "verify", "workload",
];

/// The crates that compile to WebAssembly: they have no files, no threads and no clock.
const PURE: [&str; 9] =
    ["block", "stats", "model", "workload", "document", "sim", "playground", "query", "trace-page"];

/// Compiles the pure crates for WebAssembly.
pub(crate) fn check_pure() -> Result<()> {
    let mut arguments = vec!["check".into(), "--quiet".into()];
    arguments.push("--target=wasm32-unknown-unknown".into());
    arguments.extend(PURE.map(|name| format!("--package=flashscope-{name}")));
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    super::cargo(&arguments, "keep files, threads and clocks out of these crates")
}

/// Fails if a crate uses another that the rules do not allow, including dependencies of tests and
/// benchmarks.
pub(crate) fn check() -> Result<()> {
    let used = dependencies()?;
    let broken = violations(&used);
    if !broken.is_empty() {
        bail!("the rules of xtask/src/dependencies.rs are broken:\n{}", broken.join("\n"));
    }
    Ok(())
}

/// Returns the name of a package without the common prefix.
fn short(package: &str) -> &str {
    match package {
        "flashscope" => "cli",
        other => other.strip_prefix("flashscope-").unwrap_or(other),
    }
}

type Dependencies = BTreeMap<String, BTreeSet<String>>;

fn dependencies() -> Result<Dependencies> {
    let arguments = ["metadata", "--no-deps", "--format-version=1"];
    let output = Command::new("cargo").args(arguments).output().context("cannot run cargo")?;
    let metadata: Value = serde_json::from_slice(&output.stdout)?;
    let packages = metadata["packages"].as_array().context("metadata without packages")?;
    let name = |value: &Value| short(value["name"].as_str().unwrap_or_default()).to_string();
    let ours = |dependency: &&Value| dependency["path"].is_string();
    let uses = |package: &Value| {
        let dependencies = package["dependencies"].as_array();
        dependencies.into_iter().flatten().filter(ours).map(name).collect()
    };
    Ok(packages.iter().map(|package| (name(package), uses(package))).collect())
}

fn violations(used: &Dependencies) -> Vec<String> {
    let mut broken = Vec::new();
    for (name, uses) in used {
        let Some((_, allowed)) = RULES.iter().find(|(rule, _)| rule == name) else {
            broken.push(format!("  {name} has no rule"));
            continue;
        };
        let wrong = uses.iter().filter(|used| !allowed.contains(&used.as_str()));
        broken.extend(wrong.map(|wrong| format!("  {name} must not use {wrong}")));
    }
    broken
}

#[cfg(test)]
mod tests {
    use super::*;

    fn used(name: &str, uses: &[&str]) -> Dependencies {
        [(name.to_string(), uses.iter().map(|s| (*s).to_string()).collect())].into()
    }

    #[test]
    fn forbidden_dependencies_and_missing_rules_are_reported() {
        assert_eq!(
            violations(&used("analysis", &["sim", "stats"])),
            ["  analysis must not use sim"]
        );
        assert_eq!(violations(&used("novel", &[])), ["  novel has no rule"]);
        assert!(violations(&used("sim", &["block"])).is_empty());
    }

    #[test]
    fn rules_are_complete_and_acyclic() {
        for (i, (name, allowed)) in RULES.iter().enumerate() {
            for used in *allowed {
                let at = RULES.iter().position(|(rule, _)| rule == used);
                assert!(at.is_some_and(|at| at < i), "{name} uses {used}");
            }
        }
    }
}
