//! Checks that the documentation names a test for each promise.
//!
//! A page in [`PAGES`] may promise something only next to the name of the test that fails if the
//! promise is broken. A *promise* is a paragraph, list item or table row with one of the words in
//! [`ABSOLUTE`]. A *proof* is a name in backticks: a test function, or the path of a test file or
//! test script.

use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;

use anyhow::{Context, Result, bail};

use crate::sources;

/// The pages that promise safety.
const PAGES: [&str; 3] = ["docs/threat-model.md", "docs/trust.md", "docs/serving.md"];

/// Words that make a sentence a promise.
const ABSOLUTE: [&str; 20] = [
    "always",
    "any",
    "anything",
    "bounded",
    "cannot",
    "every",
    "everything",
    "guarantees",
    "must",
    "neither",
    "never",
    "no",
    "nobody",
    "none",
    "nothing",
    "only",
    "refused",
    "refuses",
    "survives",
    "whatever",
];

/// The beginning of a section or paragraph that limits a promise.
const DISCLAIMER: &str = "not promised";

/// Checks every promise.
///
/// # Errors
/// The page, the line and the text of each promise that names no test, or a test that does not
/// exist.
pub(crate) fn check() -> Result<()> {
    let tests = Tests::find()?;
    let mut complaints = Vec::new();
    for page in PAGES {
        let text = fs::read_to_string(page).with_context(|| page.to_owned())?;
        complaints.extend(
            complaints_about(&text, &tests).into_iter().map(|what| format!("{page}:{what}")),
        );
    }
    if complaints.is_empty() {
        return Ok(());
    }
    bail!(
        "{}\nName the test that fails if the promise is broken, or withdraw the promise",
        complaints.join("\n")
    );
}

/// The names of all tests.
struct Tests {
    functions: BTreeSet<String>,
    /// The root of the repository, to which paths are relative.
    root: PathBuf,
}

impl Tests {
    fn find() -> Result<Tests> {
        let mut functions = BTreeSet::new();
        for path in sources(&["*.rs", "*.py"])? {
            let text = fs::read_to_string(&path).with_context(|| path.clone())?;
            functions.extend(test_functions(&text).map(str::to_owned));
        }
        Ok(Tests { functions, root: PathBuf::new() })
    }

    fn has(&self, name: &str) -> bool {
        self.functions.contains(name) && name.contains('_')
            || holds_tests(name) && self.root.join(name).exists()
    }
}

/// Returns the names of the tests in a source: Rust functions under a `test` attribute, properties,
/// and Python's `test_` functions.
fn test_functions(text: &str) -> impl Iterator<Item = &str> {
    let mut is_attributed = false;
    let mut is_property = false;
    text.lines().filter_map(move |line| {
        let line = line.trim();
        is_property |= line.starts_with("proptest! {");
        if line.starts_with("#[") {
            is_attributed |= line.contains("test]") || line.contains("test(");
            return None;
        }
        let function =
            ["async fn ", "fn ", "def "].iter().find_map(|start| line.strip_prefix(start))?;
        let (name, _) = function.split_once('(')?;
        let is_test =
            is_attributed || is_property && !line.contains("->") || name.starts_with("test_");
        is_attributed = false;
        is_test.then_some(name)
    })
}

fn holds_tests(path: &str) -> bool {
    path.starts_with("scripts/test-")
        || path.starts_with("web/test")
        || path.contains("/tests/")
        || path == "scripts/soak"
        || path == "scripts/fuzz"
        || path.starts_with("fuzz/src")
}

/// Returns each promise without a proof, as `LINE: TEXT`.
fn complaints_about(page: &str, tests: &Tests) -> Vec<String> {
    let mut complaints = Vec::new();
    let (mut is_disclaimer, mut is_generated) = (false, false);
    for (line, block) in blocks(page) {
        // Generated text is compared with its source by another check.
        is_generated = (is_generated || block.starts_with("<!-- Written by"))
            && !block.starts_with("<!-- The end");
        if is_generated {
            continue;
        }
        if let Some(heading) = block.strip_prefix('#') {
            is_disclaimer = opens_disclaimer(heading);
            continue;
        }
        let names: Vec<&str> = block.split('`').skip(1).step_by(2).collect();
        let missing = names.iter().find(|name| looks_like_a_test(name) && !tests.has(name));
        let is_proven = names.iter().any(|name| tests.has(name));
        if let Some(missing) = missing {
            complaints.push(format!("{line}: there is no test `{missing}`"));
        } else if !(is_proven || is_disclaimer || opens_disclaimer(&block)) && is_promise(&block) {
            complaints.push(format!("{line}: a promise without a test: {}", shortened(&block)));
        }
    }
    complaints
}

/// Returns true for a name in the style of tests, with at least three words, or a path of tests.
fn looks_like_a_test(name: &str) -> bool {
    let is_function = name.split('_').count() >= 3
        && name
            .bytes()
            .all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_');
    is_function || name.starts_with("scripts/test-") || name.contains("/tests/")
}

fn opens_disclaimer(text: &str) -> bool {
    text.trim_start_matches(['#', '*', '-', ' ']).to_lowercase().starts_with(DISCLAIMER)
}

fn is_promise(block: &str) -> bool {
    let prose: String = block.split('`').step_by(2).collect();
    let words = prose.split(|letter: char| !letter.is_alphanumeric()).map(str::to_lowercase);
    words.into_iter().any(|word| ABSOLUTE.contains(&word.as_str()))
}

fn shortened(block: &str) -> String {
    let mut text: String = block.chars().take(100).collect();
    if text.len() < block.len() {
        text.push('…');
    }
    text
}

/// Returns headings, paragraphs, list items and table rows without code, each with the number of
/// its first line.
fn blocks(page: &str) -> Vec<(usize, String)> {
    let mut blocks: Vec<(usize, String)> = Vec::new();
    let mut is_open = false;
    let mut lines = page.lines().zip(1..).peekable();
    while let Some((line, number)) = lines.next() {
        let starts_anew =
            ["#", "|", "- ", "<!--"].iter().any(|start| line.trim_start().starts_with(start));
        let is_header =
            line.starts_with('|') && lines.peek().is_some_and(|(next, _)| next.starts_with("|--"));
        if line.trim().is_empty()
            || is_header
            || line.starts_with("|--")
            || line.starts_with("    ") && !is_open
        {
            is_open = false;
        } else if starts_anew || !is_open {
            blocks.push((number, line.trim().to_owned()));
            is_open = !line.starts_with('#') && !line.starts_with('|');
        } else if let Some((_, block)) = blocks.last_mut() {
            block.push(' ');
            block.push_str(line.trim());
        }
    }
    blocks
}

#[cfg(test)]
mod tests {
    use super::*;

    fn complaints(page: &str) -> Vec<String> {
        let functions = ["a_locked_file_is_refused"].map(str::to_owned).into();
        let root = PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/.."));
        complaints_about(page, &Tests { functions, root })
    }

    #[test]
    fn a_promise_without_a_test_is_reported_with_its_line() {
        let page = "# Guards\n\nA file.\n\n- Nothing is written\n  twice.\n";
        assert_eq!(complaints(page), ["5: a promise without a test: - Nothing is written twice."]);
    }

    #[test]
    fn a_promise_with_a_test_that_does_not_exist_is_reported() {
        let page = "Nothing is lost (`nothing_is_lost`).";
        assert_eq!(complaints(page), ["1: there is no test `nothing_is_lost`"]);
    }

    #[test]
    fn proven_promises_plain_statements_and_disclaimers_pass() {
        let page = "Nothing is lost: `a_locked_file_is_refused`.\n\n\
                    It reads `--never`.\n\n    never in code\n\n\
                    | every | test |\n|---|---|\n| never | `scripts/test-guards` |\n\n\
                    <!-- Written by a command. -->\n\n| x | never |\n\n<!-- The end. -->\n\n\
                    **Not promised.** Nothing else.\n\n## Not promised\n\nNothing holds for ever.\n";
        assert_eq!(complaints(page), [""; 0]);
    }

    #[test]
    fn tests_are_distinguished_from_other_functions() {
        let rust = "fn helper() {}\n#[test]\n#[cfg(unix)]\nfn claim() {}\nfn after() {}\n\
                    #[tokio::test(flavor = \"x\")]\nasync fn waits() {}\nproptest! {\nfn property(x in 0..1) {}\n";
        let names: Vec<&str> = test_functions(rust).collect();
        assert_eq!(names, ["claim", "waits", "property"]);
        assert_eq!(
            test_functions("def test_it(a):\ndef other(a):").collect::<Vec<_>>(),
            ["test_it"]
        );
    }
}
