//! Finds dependencies that a crate declares and never names in its code.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use serde_json::Value;

use crate::{output, sources};

/// Dependencies without a use in the code, as package, dependency and reason.
const EXCEPTIONS: [(&str, &str, &str); 1] =
    [("flashscope-fit", "argmin-math", "enables the vectors that argmin optimizes")];

/// A package of the workspace.
struct Package {
    name: String,
    folder: PathBuf,
    dependencies: Vec<String>,
}

/// Checks every package.
///
/// # Errors
/// Lists the unused dependencies, and the exceptions that are not needed.
pub(crate) fn check() -> Result<()> {
    let root = std::env::current_dir()?;
    let packages = packages()?;
    let mut complaints = Vec::new();
    let mut excused = BTreeSet::new();
    for package in &packages {
        let words = words_of(package, &packages, &root)?;
        for dependency in &package.dependencies {
            if words.contains(&dependency.replace('-', "_")) {
                continue;
            }
            match EXCEPTIONS.iter().find(|(name, of, _)| *name == package.name && of == dependency)
            {
                Some(exception) => drop(excused.insert(*exception)),
                None => complaints.push(format!("  {} does not use {dependency}", package.name)),
            }
        }
    }
    let needless = EXCEPTIONS.iter().filter(|exception| !excused.contains(*exception));
    complaints
        .extend(needless.map(|(name, of, _)| format!("  {name} uses {of}: no exception needed")));
    if complaints.is_empty() {
        return Ok(());
    }
    bail!("unused dependencies (see xtask/src/unused.rs):\n{}", complaints.join("\n"))
}

/// Returns the packages of the workspace with the names that their dependencies have in code.
fn packages() -> Result<Vec<Package>> {
    let metadata: Value =
        serde_json::from_str(&output("cargo", &["metadata", "--no-deps", "--format-version=1"])?)?;
    let packages = metadata["packages"].as_array().context("metadata without packages")?;
    packages.iter().map(package).collect()
}

fn package(json: &Value) -> Result<Package> {
    let text = |value: &Value| value.as_str().map(str::to_owned);
    let dependencies = json["dependencies"].as_array().context("a package without dependencies")?;
    let name_in_code =
        |dependency: &Value| text(&dependency["rename"]).or(text(&dependency["name"]));
    let manifest = text(&json["manifest_path"]).context("a package without a manifest")?;
    let folder = Path::new(&manifest).parent().context("a manifest without a folder")?;
    Ok(Package {
        name: text(&json["name"]).context("a package without a name")?,
        folder: folder.into(),
        dependencies: dependencies.iter().filter_map(name_in_code).collect(),
    })
}

/// Returns the words in the code of a package, without comments.
fn words_of(package: &Package, packages: &[Package], root: &Path) -> Result<BTreeSet<String>> {
    let owner = |path: &Path| {
        let owners = packages.iter().filter(|one| root.join(path).starts_with(&one.folder));
        owners.max_by_key(|one| one.folder.as_os_str().len()).map(|one| &one.name)
    };
    let mut words = BTreeSet::new();
    for path in sources(&["*.rs"])? {
        if owner(Path::new(&path)) == Some(&package.name) {
            let text = fs::read_to_string(&path).with_context(|| path.clone())?;
            words.extend(code_words(&text).map(str::to_owned));
        }
    }
    Ok(words)
}

fn code_words(text: &str) -> impl Iterator<Item = &str> {
    let code = text.lines().filter(|line| !line.trim_start().starts_with("//"));
    code.flat_map(|line| line.split(|letter: char| !letter.is_alphanumeric() && letter != '_'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_in_a_comment_is_not_a_use() {
        let words: Vec<&str> = code_words("// Uses regex.\nuse serde_json::Value;").collect();
        assert!(words.contains(&"serde_json") && !words.contains(&"regex"));
    }
}
