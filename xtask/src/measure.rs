//! The measures of the code's shape and language: `cargo xtask measure`.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

use crate::prose::{self, Rule};
use crate::{Source, public, uses};

/// The maximum number of lines of a function that fits a screen.
const SCREEN: usize = 60;

/// The measures of a crate, or of all crates.
#[derive(Default)]
struct Measures {
    lines: usize,
    comments: usize,
    openings: usize,
    glossary: usize,
    participles: usize,
    public: usize,
    unused: usize,
    functions: Vec<usize>,
}

/// Prints the measures of the checkout in `root`, crate by crate.
///
/// # Errors
/// Fails if a file cannot be read, or `root` is not a git checkout.
#[allow(clippy::print_stdout, reason = "the table is the output of this command")]
pub(crate) fn print(root: &Path) -> Result<()> {
    let sources = read(root)?;
    let crates = by_crate(&sources);
    let words = words_by_part(&crates);
    println!(
        "{:<24} {:>7} {:>8} {:>8} {:>8} {:>11} {:>6} {:>6} {:>8} {:>6}",
        "crate",
        "lines",
        "comments",
        "openings",
        "glossary",
        "participles",
        "median",
        ">60",
        "public",
        "unused"
    );
    let (mut all, mut unused) = (Measures::default(), Vec::new());
    for (name, files) in &crates {
        let mut of_crate = Measures::default();
        files.iter().for_each(|file| of_crate.add(file));
        let library: Vec<&Source> =
            files.iter().copied().filter(|file| public::is_library(&file.path)).collect();
        let outside = |word: &str| {
            words.iter().any(|(part, words)| *part != (name, true) && words.contains(word))
        };
        let items = public::items(&library, outside);
        of_crate.public = items.len();
        let not_used = items.into_iter().filter(|item| !item.is_used);
        unused.extend(not_used.map(|item| format!("{}: {}", item.path, item.name)));
        of_crate.unused = unused.len() - all.unused;
        of_crate.print(name);
        all.join(of_crate);
    }
    all.print("all");
    #[allow(clippy::cast_precision_loss, reason = "counts of lines are far below 2^53")]
    let share = 100.0 * all.openings as f64 / all.comments.max(1) as f64;
    println!("\ncomment lines with a headless opening: {share:.1} %");
    let cycles: Vec<Vec<String>> = crates.values().flat_map(|files| uses::cycles(files)).collect();
    println!("public items without a use outside their library: {}", unused.len());
    unused.iter().for_each(|item| println!("  {item}"));
    println!("cycles between files of a crate, without uses of parent modules: {}", cycles.len());
    for cycle in cycles {
        println!("  {}", cycle.join(", "));
    }
    Ok(())
}

fn read(root: &Path) -> Result<Vec<Source>> {
    let folder = root.to_str().context("the path is not UTF-8")?;
    let listed = crate::output("git", &["-C", folder, "ls-files", "--", "*.rs"])?;
    let read = |path: &str| {
        let text = fs::read_to_string(root.join(path)).with_context(|| path.to_owned())?;
        Ok(Source { path: path.to_owned(), text })
    };
    listed.lines().map(read).collect()
}

/// Groups files by crate: the folder above `src`, `tests` or `build.rs`.
fn by_crate(sources: &[Source]) -> BTreeMap<String, Vec<&Source>> {
    let mut crates: BTreeMap<String, Vec<&Source>> = BTreeMap::new();
    for source in sources {
        let parts = Path::new(&source.path).components().map(|part| part.as_os_str());
        let above: PathBuf = parts
            .take_while(|part| !["src", "tests", "build.rs"].iter().any(|end| part == end))
            .collect();
        let name = if above.extension().is_some() { PathBuf::from(".") } else { above };
        crates.entry(name.display().to_string()).or_default().push(source);
    }
    crates
}

/// The name of a crate, and true for its library or false for its other code.
type Part<'a> = (&'a str, bool);

/// Returns the words in the code of each part.
fn words_by_part<'a>(
    crates: &'a BTreeMap<String, Vec<&'a Source>>,
) -> BTreeMap<Part<'a>, BTreeSet<&'a str>> {
    let mut parts: BTreeMap<Part<'a>, BTreeSet<&'a str>> = BTreeMap::new();
    for (name, files) in crates {
        for file in files {
            let part = parts.entry((name, public::is_library(&file.path))).or_default();
            part.extend(public::code_lines(&file.text).flat_map(public::words));
        }
    }
    parts
}

impl Measures {
    fn add(&mut self, file: &Source) {
        self.lines += file.text.lines().count();
        self.comments += file.text.lines().filter(|line| prose::comment(line).is_some()).count();
        for finding in prose::findings(&file.text) {
            match finding.rule {
                Rule::Opening => self.openings += 1,
                Rule::Glossary => self.glossary += 1,
                Rule::TypeName => self.participles += 1,
                Rule::Passive | Rule::Length | Rule::Width => {}
            }
        }
        self.functions.extend(function_lengths(&file.text));
    }

    fn join(&mut self, other: Measures) {
        self.lines += other.lines;
        self.comments += other.comments;
        self.openings += other.openings;
        self.glossary += other.glossary;
        self.participles += other.participles;
        self.public += other.public;
        self.unused += other.unused;
        self.functions.extend(other.functions);
    }

    #[allow(clippy::print_stdout, reason = "the table is the output of this command")]
    fn print(&self, name: &str) {
        let mut lengths = self.functions.clone();
        lengths.sort_unstable();
        let median = lengths.get(lengths.len() / 2).copied().unwrap_or_default();
        let long = lengths.iter().filter(|lines| **lines > SCREEN).count();
        println!(
            "{name:<24} {:>7} {:>8} {:>8} {:>8} {:>11} {median:>6} {long:>6} {:>8} {:>6}",
            self.lines,
            self.comments,
            self.openings,
            self.glossary,
            self.participles,
            self.public,
            self.unused
        );
    }
}

/// Returns the number of lines of each function. In code laid out by rustfmt, a function ends at
/// the first closing brace with its own indentation, and a declaration without a body at a
/// semicolon before that.
fn function_lengths(text: &str) -> Vec<usize> {
    let lines: Vec<&str> = text.lines().collect();
    let length = |(first, line): (usize, &&str)| {
        let body = line.trim_start();
        let indent = line.len() - body.len();
        let is_function = body.split(['(', '<']).next()?.split(' ').any(|word| word == "fn");
        if !is_function || body.starts_with("//") || !body.contains("fn ") {
            return None;
        }
        if body.ends_with('}') || body.ends_with(';') {
            return Some(1);
        }
        let open = lines[first..].iter().position(|line| line.ends_with(['{', ';']))?;
        if lines[first + open].ends_with(';') {
            return Some(open + 1);
        }
        let closes = |line: &&str| line.trim_start() == "}" && line.len() == indent + 1;
        lines[first..].iter().position(closes).map(|last| last + 1)
    };
    lines.iter().enumerate().filter_map(length).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_function_ends_at_the_brace_below_its_beginning() {
        let text = "impl A {\n    fn a() {\n        if b {\n        }\n    }\n\n    pub fn c(self) -> u8 { 1 }\n\n    \
                    fn d(\n        e: u8,\n    ) -> u8;\n\n    fn f()\n    where\n        Self: Sized;\n}\n";
        assert_eq!(function_lengths(text), [4, 1, 3, 3]);
    }
}
