//! The linter of prose (docs/style.md): comments, messages and type names of the code, and the
//! sentences of pages.

mod literals;
mod page;

use std::fs;

use anyhow::{Context, Result, bail};

use crate::sources;

/// The pages that the check reads.
const PAGES: [&str; 6] =
    ["docs/*.md", "README.md", "ARCHITECTURE.md", "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md"];

/// Words that begin a headless clause, which hides the subject of the sentence.
const OPENINGS: [&str; 8] = ["What", "Who", "Whose", "Whom", "Whether", "Those", "Where", "None"];

/// Terms that the field does not use, each with its replacement.
const GLOSSARY: [(&str, &str); 14] = [
    ("dear", "slow or expensive"),
    ("dearer", "slower or more expensive"),
    ("dearest", "slowest or most expensive"),
    ("onlooker", "progress sink"),
    ("of strangers", "untrusted"),
    ("of theirs", "their"),
    ("as it were", "nothing"),
    ("is told", "the active voice"),
    ("are told", "the active voice"),
    ("is seen", "the active voice"),
    ("are seen", "the active voice"),
    ("is asked", "the active voice"),
    ("are asked", "the active voice"),
    ("comes to nothing", "has no effect"),
];

/// Participles that do not end in "ed".
const IRREGULAR: [&str; 28] = [
    "Begun",
    "Bound",
    "Built",
    "Chosen",
    "Done",
    "Drawn",
    "Found",
    "Given",
    "Gone",
    "Heard",
    "Held",
    "Kept",
    "Known",
    "Left",
    "Lost",
    "Made",
    "Meant",
    "Put",
    "Said",
    "Seen",
    "Sent",
    "Shown",
    "Spent",
    "Taken",
    "Told",
    "Worn",
    "Written",
    "Understood",
];

/// The maximum width of a comment line: `max_width` of rustfmt, which does not wrap comments.
const MAX_WIDTH: usize = 100;

/// A violation of a rule.
pub(crate) struct Finding {
    /// The line, from 1.
    pub line: usize,
    /// The broken rule.
    pub rule: Rule,
    /// The explanation for the author.
    pub message: String,
}

/// A rule for prose.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Rule {
    /// A comment or a sentence begins with a headless clause.
    Opening,
    /// A text uses a term that the glossary replaces.
    Glossary,
    /// A participle alone names a type.
    TypeName,
    /// A sentence uses *say*, *tell*, *see* or *ask* in the passive voice.
    Passive,
    /// A sentence is too long.
    Length,
    /// A comment line is too wide.
    Width,
}

/// Checks every Rust file and the [`PAGES`].
///
/// # Errors
/// Each file and line that breaks a rule, or a file that cannot be read.
pub(crate) fn check() -> Result<()> {
    let mut complaints = Vec::new();
    let mut check = |file: &str, findings: fn(&str) -> Vec<Finding>| -> Result<()> {
        let text = fs::read_to_string(file).with_context(|| file.to_owned())?;
        let of_file = findings(&text).into_iter();
        complaints.extend(of_file.map(|it| format!("{file}:{}: {}", it.line, it.message)));
        Ok(())
    };
    for file in sources(&["*.rs"])? {
        check(&file, findings)?;
        if !file.contains("/tests/") && !file.ends_with("tests.rs") {
            check(&file, message_findings)?;
        }
    }
    for file in sources(&PAGES)? {
        check(&file, page::findings)?;
    }
    if complaints.is_empty() {
        return Ok(());
    }
    bail!("prose (the rules are in docs/style.md):\n{}", complaints.join("\n"))
}

/// Returns the text of a comment without its slashes, or `None` if the line is no comment or is
/// empty.
pub(crate) fn comment(line: &str) -> Option<&str> {
    let line = line.trim_start();
    let text = ["///", "//!", "//"].iter().find_map(|slashes| line.strip_prefix(slashes));
    text.map(str::trim).filter(|text| !text.is_empty())
}

/// Returns true if a comment line exceeds [`MAX_WIDTH`]. Lines with an address pass, because an
/// address cannot be wrapped.
fn is_too_wide(line: &str) -> bool {
    line.chars().count() > MAX_WIDTH && !line.contains("://")
}

/// Returns the name of the type that a line declares.
fn declared_type(line: &str) -> Option<&str> {
    let line = line.trim_start();
    let line = match line.strip_prefix("pub") {
        Some(rest) => rest
            .strip_prefix("(crate)")
            .or(rest.strip_prefix("(super)"))
            .unwrap_or(rest)
            .trim_start(),
        None => line,
    };
    let rest =
        ["struct ", "enum ", "trait ", "type "].iter().find_map(|word| line.strip_prefix(word))?;
    rest.split(|letter: char| !letter.is_alphanumeric()).next().filter(|name| !name.is_empty())
}

/// Returns true if `name` is a single word and a participle, such as `Asked` or `Found`.
fn is_participle(name: &str) -> bool {
    let one_word = name.chars().skip(1).all(char::is_lowercase);
    one_word
        && (IRREGULAR.contains(&name)
            || name.len() > 4 && name.ends_with("ed") && !name.ends_with("eed"))
}

/// Returns the violations of rules in a Rust file.
pub(crate) fn findings(text: &str) -> Vec<Finding> {
    let mut found = Vec::new();
    for (line, content) in (1..).zip(text.lines()) {
        let mut add = |rule, message| found.push(Finding { line, rule, message });
        if let Some(comment) = comment(content) {
            if is_too_wide(content) {
                add(Rule::Width, format!("a comment of more than {MAX_WIDTH} columns: wrap it"));
            }
            let first =
                comment.split(|letter: char| !letter.is_alphabetic()).next().unwrap_or_default();
            // Questions pass: a heading may be the question that its section answers, and a comment
            // the question of its test.
            if OPENINGS.contains(&first) && !comment.contains('?') {
                add(
                    Rule::Opening,
                    format!("begins with `{first}`: begin with what the thing is or does"),
                );
            }
            found.extend(glossary_findings(line, comment));
        } else if let Some(name) = declared_type(content).filter(|name| is_participle(name)) {
            add(Rule::TypeName, format!("`{name}` is a participle: name the type with a noun"));
        }
    }
    found
}

/// Returns the rules that the messages of a Rust file break. A string literal of at least four
/// words is a message. The limit on the length of sentences does not apply to messages.
fn message_findings(text: &str) -> Vec<Finding> {
    let messages =
        literals::literals(text).into_iter().filter(|literal| literal.text.split(' ').count() > 3);
    messages.flat_map(|message| page::message_findings(message.line, &message.text)).collect()
}

/// Returns the terms in `text` that the glossary replaces.
fn glossary_findings(line: usize, text: &str) -> Vec<Finding> {
    let words: Vec<String> = text
        .split(|letter: char| !letter.is_alphanumeric())
        .filter(|word| !word.is_empty())
        .map(str::to_lowercase)
        .collect();
    let text = format!(" {} ", words.join(" "));
    let terms = GLOSSARY.iter().filter(|(term, _)| text.contains(&format!(" {term} ")));
    terms
        .map(|(term, instead)| {
            let message = format!("`{term}`: write {instead}");
            Finding { line, rule: Rule::Glossary, message }
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rules(text: &str) -> Vec<Rule> {
        findings(text).into_iter().map(|finding| finding.rule).collect()
    }

    #[test]
    fn each_rule_finds_its_example() {
        assert_eq!(rules("/// What a run is given."), [Rule::Opening]);
        assert_eq!(rules("    // Reads are dear here."), [Rule::Glossary]);
        assert_eq!(rules("pub(crate) struct Found {"), [Rule::TypeName]);
        assert_eq!(rules("enum Asked<'a> {"), [Rule::TypeName]);
    }

    #[test]
    fn comments_beyond_the_width_of_code_are_reported() {
        let comment = |width: usize| format!("    /// {}", "a".repeat(width - 8));
        assert!(rules(&comment(MAX_WIDTH)).is_empty());
        assert_eq!(rules(&comment(MAX_WIDTH + 1)), [Rule::Width]);
        assert!(rules(&format!("// https://example.org/{}", "a".repeat(MAX_WIDTH))).is_empty());
        assert!(rules(&format!("let a = \"{}\";", "a".repeat(MAX_WIDTH))).is_empty());
        let limit = format!("max_width = {MAX_WIDTH}\n");
        assert!(include_str!("../../rustfmt.toml").contains(&limit));
    }

    #[test]
    fn plain_prose_and_nouns_pass() {
        let text = "/// The options of a run.\npub struct RunOptions;\nstruct Seed;\nlet what = \"What?\";";
        assert!(rules(text).is_empty());
        assert!(rules("// Where is the clock read?").is_empty());
        assert!(rules("struct AttachedDrive;").is_empty());
    }
}
