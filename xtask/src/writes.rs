//! Generates the table of all modules that write files, which is part of the threat model, and runs
//! the lint that finds undeclared writes.

use std::fmt::Write;
use std::fs;
use std::process::Command;

use anyhow::{Context, Result, bail};

use crate::reference::with_table;

/// The page that contains the table.
pub(crate) const PATH: &str = "docs/threat-model.md";

/// The line before the table.
const BEGIN: &str = "<!-- Written by `cargo xtask schemas` from the modules. -->\n";

/// The line after the table.
const END: &str = "<!-- The end of what is written. -->\n";

/// The attribute by which a module declares that it writes. Clippy fails for a write without a
/// declaration, and for a declaration without a write.
const ATTRIBUTE: &str = "cfg_attr(lint_writes,expect(clippy::disallowed_methods,reason=\"";

/// The arguments of clippy. Tests may write.
const ARGUMENTS: [&str; 11] = [
    "--lib",
    "--bins",
    "--",
    "--cfg",
    "lint_writes",
    "--allow",
    "clippy::all",
    "--deny",
    "clippy::disallowed_methods",
    "--deny",
    "unfulfilled_lint_expectations",
];

/// The folder with the clippy settings that list the writing functions.
const SETTINGS: &str = "xtask/writes";

/// Packages that are development tools.
const TOOLS: [&str; 7] = [
    "flashscope-fuzz",
    "xtask",
    "flashscope-benches",
    "flashscope-agreement-bench",
    "flashscope-models-bench",
    "flashscope-probe-bench",
    "flashscope-twin-bench",
];

/// Returns the page with the current table.
pub(crate) fn page() -> Result<String> {
    let page = fs::read_to_string(PATH).context(PATH)?;
    let mut files = Vec::new();
    let listed =
        Command::new("git").args(["ls-files", "--", "crates/*.rs", "python/*.rs"]).output();
    let listed = String::from_utf8(listed.context("cannot run git")?.stdout)?;
    for path in listed.lines().map(str::to_owned) {
        let text = fs::read_to_string(&path).with_context(|| path.clone())?;
        files.push((path, text));
    }
    with_table(&page, (BEGIN, END), &table(&files)?).context(PATH)
}

/// Returns the table of the modules that declare writes.
fn table(files: &[(String, String)]) -> Result<String> {
    let mut table = String::from("| module | writes | guard |\n|---|---|---|\n");
    for (path, text) in files {
        let Some(reason) = reason(text) else { continue };
        let Some((what, guard)) = reason.split_once(": ") else {
            bail!(
                "{path}: the reason must name the written files, a colon, and the guard, not `{reason}`"
            );
        };
        writeln!(table, "| `{path}` | {what} | {guard} |")?;
    }
    Ok(table)
}

/// Returns the reason in the attribute of a module, whatever the layout of the code.
fn reason(text: &str) -> Option<String> {
    let start =
        text.find("cfg_attr(\n    lint_writes").or_else(|| text.find("cfg_attr(lint_writes"))?;
    let attribute = &text[start..];
    let quote = attribute.find('"')?;
    let dense: String = attribute[..=quote].split_whitespace().collect();
    if dense != ATTRIBUTE {
        return None;
    }
    let reason = &attribute[quote + 1..];
    let reason = reason[..reason.find("\"")?].replace("\\\n", "");
    Some(reason.split_whitespace().collect::<Vec<_>>().join(" "))
}

/// Fails if a module of the program writes without declaring it, or declares a write that it does
/// not do.
pub(crate) fn check() -> Result<()> {
    let mut cargo = Command::new("cargo");
    cargo.args(["clippy", "--quiet", "--workspace"]);
    cargo.args(TOOLS.iter().flat_map(|tool| ["--exclude", tool])).args(ARGUMENTS);
    let settings = std::path::absolute(SETTINGS)?;
    if !cargo.env("CLIPPY_CONF_DIR", settings).status().context("cannot run cargo")?.success() {
        bail!(
            "a module writes without declaring it: let it pass a guard, and name the guard as crates/drive/src/guard/open.rs does; \
                        then run `cargo xtask schemas`"
        );
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    fn of(text: &str) -> Result<String> {
        table(&[("crates/x/src/lib.rs".into(), text.into())])
    }

    #[test]
    fn each_module_is_listed_with_what_it_writes_and_its_guard() {
        let attribute = "#![cfg_attr(\n    lint_writes,\n    expect(\n        clippy::disallowed_methods,\n        \
                         reason = \"a page: only where \\\n                  nobody uses it\"\n    )\n)]\n";
        let table = of(attribute).unwrap();
        assert!(
            table.ends_with("| `crates/x/src/lib.rs` | a page | only where nobody uses it |\n")
        );
        assert!(!of("fn main() {}").unwrap().contains("crates/x"));
        let without = of(&attribute.replace("a page: ", "a page, ")).unwrap_err().to_string();
        assert!(without.contains("and the guard"), "{without}");
    }

    // The lint finds the write even if the module calls the function by another name. A declaration
    // without a write fails as well.
    #[test]
    fn an_undeclared_write_fails_the_check() {
        let expect =
            "#![cfg_attr(lint_writes, expect(clippy::disallowed_methods, reason = \"a: b\"))]\n";
        let body = "use std::fs::write as save;\npub fn f() { let _ = save(\"x\", \"\"); }\n";
        let option =
            "pub fn f() -> bool { std::fs::File::options()\n.write\n(true).open(\"x\").is_ok() }\n";
        let reads = "pub fn f() { let _ = std::fs::read(\"x\"); }\n";
        for (text, passes) in [
            (body.to_string(), false),
            (option.to_string(), false),
            (format!("{expect}{body}"), true),
            (format!("{expect}{reads}"), false),
            (reads.to_string(), true),
        ] {
            let folder = tempfile::tempdir().unwrap();
            let at = |name: &str| folder.path().join(name);
            fs::create_dir(at("src")).unwrap();
            fs::write(
                at("Cargo.toml"),
                "[package]\nname = \"place\"\nedition = \"2024\"\n[workspace]\n",
            )
            .unwrap();
            fs::write(at("src/lib.rs"), &text).unwrap();
            let settings = Path::new(env!("CARGO_MANIFEST_DIR")).join("writes");
            let mut cargo = Command::new("cargo");
            cargo.args(["clippy", "--quiet", "--offline"]).current_dir(folder.path());
            cargo.args(ARGUMENTS).env("CLIPPY_CONF_DIR", settings);
            assert_eq!(cargo.output().unwrap().status.success(), passes, "{text}");
        }
    }
}
