//! Every place that writes, as the modules say that do: a part of the threat model, and the lint that finds those that say nothing.

use std::fmt::Write;
use std::fs;
use std::process::Command;

use anyhow::{Context, Result, bail};

/// The page of which the table is a part.
pub const PATH: &str = "docs/threat-model.md";

/// Stands before the table.
const BEGIN: &str = "<!-- Written by `cargo xtask schemas` from the modules. -->\n";

/// Stands behind the table.
const END: &str = "<!-- The end of what is written. -->\n";

/// How a module says that it writes. Clippy fails where one does so without, and where one no longer does.
const ATTRIBUTE: &str = "cfg_attr(lint_writes,expect(clippy::disallowed_methods,reason=\"";

/// What clippy is told. Tests may write.
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

/// Where it finds what writes.
const SETTINGS: &str = "xtask/writes";

/// Packages that are tools for those who work on the program.
const TOOLS: [&str; 6] = [
    "flashscope-fuzz",
    "xtask",
    "flashscope-benches",
    "flashscope-models-bench",
    "flashscope-probe-bench",
    "flashscope-twin-bench",
];

/// The page with its table as the modules have it.
pub fn page() -> Result<String> {
    let page = fs::read_to_string(PATH).context(PATH)?;
    let parts = page
        .split_once(BEGIN)
        .and_then(|(before, rest)| rest.split_once(END).map(|(_, after)| (before, after)));
    let Some((before, after)) = parts else {
        bail!(
            "{PATH} has no place for the table of what writes: `{}` to `{}`",
            BEGIN.trim(),
            END.trim()
        )
    };
    let mut files = Vec::new();
    let listed =
        Command::new("git").args(["ls-files", "--", "crates/*.rs", "python/*.rs"]).output();
    let listed = String::from_utf8(listed.context("cannot run git")?.stdout)?;
    for path in listed.lines().map(str::to_owned) {
        let text = fs::read_to_string(&path).with_context(|| path.clone())?;
        files.push((path, text));
    }
    Ok(format!("{before}{BEGIN}\n{}\n{END}{after}", table(&files)?))
}

/// The table of the modules that say that they write.
fn table(files: &[(String, String)]) -> Result<String> {
    let mut table = String::from("| module | writes | guard |\n|---|---|---|\n");
    for (path, text) in files {
        let Some(reason) = reason(text) else { continue };
        let Some((what, guard)) = reason.split_once(": ") else {
            bail!("{path}: say what it writes, a colon, and which guard it passes, not `{reason}`");
        };
        writeln!(table, "| `{path}` | {what} | {guard} |")?;
    }
    Ok(table)
}

/// The reason of the attribute, however it is laid out.
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

/// Fails where a module of the program writes and does not say so, or says so and does not.
pub fn check() -> Result<()> {
    let mut cargo = Command::new("cargo");
    cargo.args(["clippy", "--quiet", "--workspace"]);
    cargo.args(TOOLS.iter().flat_map(|tool| ["--exclude", tool])).args(ARGUMENTS);
    let settings = std::path::absolute(SETTINGS)?;
    if !cargo.env("CLIPPY_CONF_DIR", settings).status().context("cannot run cargo")?.success() {
        bail!(
            "a module writes without saying so: let it pass a guard, and say which, as crates/drive/src/guard/open.rs does; \
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
        assert!(without.contains("which guard it passes"), "{without}");
    }

    // Does the lint find a new place that writes, however it is called, and one that is listed and no longer writes?
    #[test]
    fn a_new_place_that_writes_fails_the_check() {
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
