//! Checks the licences and the sources of all linked crates against `deny.toml`.
//!
//! `cargo deny` (`make audit`) makes these and other checks from the same file, but first compiles
//! for ten minutes.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;

use anyhow::{Context, Result, bail};
use serde::Deserialize;
use spdx::{Expression, LicenseReq, Licensee};

/// The part of `deny.toml` that concerns licences.
#[derive(Deserialize)]
struct Rules {
    licenses: Licenses,
}

#[derive(Deserialize)]
struct Licenses {
    allow: Vec<String>,
    exceptions: Vec<Exception>,
}

#[derive(Deserialize)]
struct Exception {
    #[serde(rename = "crate")]
    package: String,
    allow: Vec<String>,
}

/// A crate as `cargo tree` lists it.
struct Package<'a> {
    /// The name and version, and the source unless the source is crates.io.
    named: &'a str,
    /// The licence; empty if the crate states none.
    license: &'a str,
}

impl<'a> Package<'a> {
    /// Parses a line of `NAME vVERSION (SOURCE)`, a tab, and the licence.
    fn parse(line: &'a str) -> Option<Package<'a>> {
        let (named, license) = line.trim_end_matches(" (*)").split_once('\t')?;
        Some(Package { named: named.trim_end_matches(" (proc-macro)"), license })
    }

    fn name(&self) -> &'a str {
        self.named.split(' ').next().unwrap_or_default()
    }

    /// Returns the source, or `None` for crates.io.
    fn source(&self) -> Option<&'a str> {
        self.named.split_once('(').map(|(_, source)| source.trim_end_matches(')'))
    }
}

/// Checks every crate.
///
/// # Errors
/// Lists the crates from other sources, and those with a licence that is not allowed.
pub(crate) fn check() -> Result<()> {
    let rules = fs::read_to_string("deny.toml").context("deny.toml")?;
    let rules = AllowedLicenses::new(
        &toml_edit::de::from_str::<Rules>(&rules).context("deny.toml")?.licenses,
    )?;
    let tree = "tree --workspace --all-features --locked --prefix none --edges normal,build --format {p}\t{l}";
    let listed = crate::output("cargo", &tree.split(' ').collect::<Vec<_>>())?;
    let packages = listed.lines().filter_map(Package::parse);
    let complaints: BTreeSet<String> = packages.filter_map(|one| rules.complaint(&one)).collect();
    if !complaints.is_empty() {
        let complaints: Vec<_> = complaints.into_iter().collect();
        bail!("{}\nUse another crate, or allow it in deny.toml", complaints.join("\n"));
    }
    Ok(())
}

/// The licences allowed for all crates, and for crates by name.
struct AllowedLicenses {
    all: Vec<Licensee>,
    by_package: BTreeMap<String, Vec<Licensee>>,
}

impl AllowedLicenses {
    fn new(licenses: &Licenses) -> Result<AllowedLicenses> {
        let exceptions = licenses.exceptions.iter();
        let by_package = exceptions.map(|one| Ok((one.package.clone(), licensees(&one.allow)?)));
        Ok(AllowedLicenses {
            all: licensees(&licenses.allow)?,
            by_package: by_package.collect::<Result<_>>()?,
        })
    }

    /// Returns the reason why `package` may not be used, if there is one.
    fn complaint(&self, package: &Package) -> Option<String> {
        let Package { named, license } = package;
        // A path as source is a crate of this workspace.
        if package.source().is_some_and(|source| !source.starts_with('/')) {
            return Some(format!("{named} does not come from crates.io"));
        }
        let allowed = |required: &LicenseReq| {
            let special = self.by_package.get(package.name()).into_iter().flatten();
            self.all.iter().chain(special).any(|licensee| licensee.satisfies(required))
        };
        // Old crates write `MIT/Apache-2.0`.
        let expression = Expression::parse_mode(license, spdx::ParseMode::LAX);
        match expression {
            Ok(expression) if expression.evaluate(allowed) => None,
            _ => Some(format!("{named} has the licence `{license}`")),
        }
    }
}

fn licensees(names: &[String]) -> Result<Vec<Licensee>> {
    names.iter().map(|name| Licensee::parse(name).with_context(|| name.clone())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn complaint(line: &str) -> Option<String> {
        let exceptions = vec![Exception { package: "special".into(), allow: vec!["ISC".into()] }];
        let licenses = Licenses { allow: vec!["MIT".into(), "Zlib".into()], exceptions };
        AllowedLicenses::new(&licenses).unwrap().complaint(&Package::parse(line).unwrap())
    }

    #[test]
    fn a_licence_that_is_not_allowed_is_refused() {
        for allowed in ["MIT OR GPL-3.0-only", "GPL-3.0/MIT"] {
            assert_eq!(complaint(&format!("other v1.0.0\t{allowed}")), None);
        }
        for refused in ["MIT AND GPL-3.0-only", "ISC", "of its own", ""] {
            assert!(complaint(&format!("other v1.0.0 (proc-macro)\t{refused} (*)")).is_some());
        }
        assert_eq!(complaint("special v1.0.0\tISC"), None);
    }

    #[test]
    fn a_crate_from_another_source_is_refused() {
        let refused = complaint("other v1.0.0 (https://example.org/a?rev=1#2)\tMIT").unwrap();
        assert!(refused.ends_with("does not come from crates.io"), "{refused}");
        assert_eq!(complaint("ours v1.0.0 (/home/ours)\tMIT"), None);
    }
}
