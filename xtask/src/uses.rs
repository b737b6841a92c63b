//! Finds the dependencies between the files of a crate, and their cycles.

use std::collections::{BTreeMap, BTreeSet};

use crate::Source;

type Edges = BTreeMap<String, BTreeSet<String>>;

/// Returns the groups of files that depend on each other in a cycle, by module path. Dependencies
/// on a parent module do not count, because a parent holds what its children share.
pub(crate) fn cycles(files: &[&Source]) -> Vec<Vec<String>> {
    let modules: BTreeMap<String, &Source> =
        files.iter().filter_map(|file| Some((module(&file.path)?, *file))).collect();
    let edges: Edges = modules
        .iter()
        .map(|(name, file)| (name.clone(), edges(name, &file.text, &modules)))
        .collect();
    let reach: Edges = edges.keys().map(|name| (name.clone(), reachable(name, &edges))).collect();
    let mut known = BTreeSet::new();
    let mut cycles = Vec::new();
    for name in edges.keys() {
        let circle = reach[name].iter().filter(|other| reach[*other].contains(name)).cloned();
        let circle: Vec<String> = circle.collect();
        if circle.len() > 1 && known.insert(circle.clone()) {
            cycles.push(circle);
        }
    }
    cycles
}

/// Returns the module path of a file within its crate, such as `ftl::layout`, or `None` for tests
/// and the root.
fn module(path: &str) -> Option<String> {
    let (_, below) = path.split_once("/src/").or_else(|| path.split_once("src/"))?;
    let below = below.strip_suffix(".rs")?;
    let below = below.strip_suffix("/mod").unwrap_or(below);
    (!["lib", "main", "tests"].contains(&below) && !below.ends_with("/tests"))
        .then(|| below.replace('/', "::"))
}

fn edges(name: &str, text: &str, modules: &BTreeMap<String, &Source>) -> BTreeSet<String> {
    let code: String = text
        .lines()
        .take_while(|line| *line != "mod tests {")
        .filter(|line| !line.trim_start().starts_with("//"))
        .collect();
    let mut used = BTreeSet::new();
    for (start, prefix) in [
        ("crate::", Some("")),
        ("super::", name.rsplit_once("::").map(|(parent, _)| parent).or(Some(""))),
    ] {
        let Some(prefix) = prefix else { continue };
        for (at, _) in code.match_indices(start) {
            if code[..at].ends_with("super::")
                || code[..at].ends_with(|letter: char| letter.is_alphanumeric() || letter == '_')
            {
                continue;
            }
            for path in paths(&code[at + start.len()..]) {
                let full = if prefix.is_empty() { path } else { format!("{prefix}::{path}") };
                used.extend(owner(&full, modules));
            }
        }
    }
    used.retain(|other| other != name && !name.starts_with(&format!("{other}::")));
    used
}

/// Returns the paths at the beginning of `code`: a single path, or each path of a group in braces,
/// without groups inside it.
fn paths(code: &str) -> Vec<String> {
    let identifier = |letter: char| letter.is_alphanumeric() || letter == '_' || letter == ':';
    let Some(group) = code.strip_prefix('{') else {
        return vec![
            code.split(|letter| !identifier(letter)).next().unwrap_or_default().to_owned(),
        ];
    };
    let mut depth = 0;
    let mut names = vec![String::new()];
    for letter in group.chars() {
        match letter {
            '{' => depth += 1,
            '}' if depth == 0 => break,
            '}' => depth -= 1,
            ',' if depth == 0 => names.push(String::new()),
            _ if depth == 0 && identifier(letter) => {
                names.last_mut().expect("one is there").push(letter)
            }
            _ => {}
        }
    }
    names
}

/// Returns the module that contains `path`: its longest prefix that is a module.
fn owner(path: &str, modules: &BTreeMap<String, &Source>) -> Option<String> {
    let mut path = path.trim_end_matches(':');
    loop {
        if modules.contains_key(path) {
            return Some(path.to_owned());
        }
        path = path.rsplit_once("::")?.0;
    }
}

fn reachable(from: &str, edges: &Edges) -> BTreeSet<String> {
    let mut reached = BTreeSet::new();
    let mut open: Vec<&String> = edges[from].iter().collect();
    while let Some(next) = open.pop() {
        if reached.insert(next.clone()) {
            open.extend(&edges[next]);
        }
    }
    reached
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(path: &str, text: &str) -> Source {
        Source { path: path.into(), text: text.into() }
    }

    #[test]
    fn two_files_that_use_each_other_are_a_cycle() {
        let a = file("crates/x/src/a.rs", "use crate::{b::B, c};");
        let b = file("crates/x/src/b.rs", "fn b() { crate::a::call() }");
        let c = file("crates/x/src/c.rs", "");
        assert_eq!(cycles(&[&a, &b, &c]), [["a", "b"]]);
    }

    #[test]
    fn a_child_may_depend_on_its_parent() {
        let parent = file("crates/x/src/a/mod.rs", "use crate::a::child::B;");
        let child = file("crates/x/src/a/child.rs", "use super::A;\nuse crate::a::C;");
        assert!(cycles(&[&parent, &child]).is_empty());
    }
}
