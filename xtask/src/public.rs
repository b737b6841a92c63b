//! Finds public items of libraries that no other code uses.
//!
//! Code outside a library is other crates, and the tests, benchmarks and programs of its own crate.
//! An item without a use there may still have to be public, because the compiler requires it: the
//! declaration of an item in use names it, or a type alias, a bound or a macro does.

use std::collections::BTreeSet;

use crate::Source;

/// A public item.
pub(crate) struct Item<'a> {
    /// The name.
    pub name: &'a str,
    /// The path of its file.
    pub path: &'a str,
    /// True if code outside the library uses it, or the compiler requires it to be public.
    pub is_used: bool,
    /// The other words of its declaration.
    interface: BTreeSet<&'a str>,
}

/// Returns the public items of a library. `outside` returns true for words that occur in the code
/// outside the library.
pub(crate) fn items<'a>(library: &[&'a Source], outside: impl Fn(&str) -> bool) -> Vec<Item<'a>> {
    let (mut items, mut used) = (Vec::new(), BTreeSet::new());
    for source in library {
        let code: Vec<&str> = without_tests(&source.text).collect();
        items.extend(public_items(&code).map(|(name, interface)| Item {
            name,
            path: &source.path,
            is_used: false,
            interface,
        }));
        used.extend(forced(&code));
    }
    used.extend(items.iter().map(|item| item.name).filter(|name| outside(name)));
    loop {
        let in_use = items.iter().filter(|item| used.contains(item.name));
        let named: BTreeSet<&str> = in_use.flat_map(|item| &item.interface).copied().collect();
        let before = used.len();
        used.extend(items.iter().map(|item| item.name).filter(|name| named.contains(name)));
        if used.len() == before {
            break;
        }
    }
    items.iter_mut().for_each(|item| item.is_used = used.contains(item.name));
    items
}

/// Returns true if a file belongs to the library of its crate.
pub(crate) fn is_library(path: &str) -> bool {
    let is_program = path.ends_with("src/main.rs") || path.contains("/src/bin/");
    (path.contains("/src/") || path.starts_with("src/")) && !is_program
}

/// Returns the lines of code of a file, without comments.
pub(crate) fn code_lines(text: &str) -> impl Iterator<Item = &str> {
    text.lines().filter(|line| !line.trim_start().starts_with("//"))
}

/// Returns the words of a text.
pub(crate) fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|letter: char| !letter.is_alphanumeric() && letter != '_')
        .filter(|word| !word.is_empty())
}

/// Returns the lines of code before the tests at the end of a file.
fn without_tests(text: &str) -> impl Iterator<Item = &str> {
    code_lines(text.split("\n#[cfg(test)]\nmod tests {").next().unwrap_or_default())
}

/// Returns each public item with the other words of its declaration.
fn public_items<'a>(code: &[&'a str]) -> impl Iterator<Item = (&'a str, BTreeSet<&'a str>)> {
    code.iter().enumerate().filter_map(|(first, line)| {
        let (kind, name) = declared(line)?;
        let declaration = &code[first..=first + end_of_declaration(&code[first..], kind)];
        // A type with private fields keeps their types private.
        let is_visible =
            |line: &&&str| kind != "struct" || !line.contains(": ") || line.contains("pub ");
        let words = declaration.iter().filter(is_visible).flat_map(|line| words(line));
        Some((name, words.filter(|word| *word != name).collect()))
    })
}

/// Returns the kind and the name of the public item that a line declares.
fn declared(line: &str) -> Option<(&'static str, &str)> {
    const KINDS: [&str; 7] = ["fn", "struct", "enum", "trait", "type", "const", "static"];
    let mut rest = line.trim_start().strip_prefix("pub ")?;
    for qualifier in ["const ", "async ", "unsafe "] {
        let after = rest.strip_prefix(qualifier);
        rest = after.filter(|after| after.contains("fn ")).unwrap_or(rest);
    }
    let (first, rest) = rest.split_once(' ')?;
    let kind = KINDS.into_iter().find(|kind| *kind == first)?;
    words(rest).next().map(|name| (kind, name))
}

/// Returns the position of the last line of a declaration. The body of a function does not count.
fn end_of_declaration(code: &[&str], kind: &str) -> usize {
    let indent = |line: &str| line.len() - line.trim_start().len();
    let is_end = |line: &&str| {
        let closes = line.ends_with([';', '}']) || kind == "fn" && line.ends_with('{');
        closes && indent(line) == indent(code[0])
    };
    code.iter().position(is_end).unwrap_or(code.len() - 1)
}

/// Returns words that have to be public whatever uses them: those in type aliases, in bounds of
/// implementations, in calls of macros at the level of the module, and after `$crate`.
fn forced<'a>(code: &[&'a str]) -> BTreeSet<&'a str> {
    let mut forced = BTreeSet::new();
    let mut is_in_macro = false;
    for line in code {
        let text = line.trim_start();
        let is_alias = text.starts_with("type ") || text.contains(") type ");
        if is_in_macro || is_alias {
            forced.extend(words(text.split_once('=').map_or(text, |(_, value)| value)));
        }
        if let Some(bounds) = text.strip_prefix("impl<").and_then(|rest| rest.split_once("> ")) {
            forced.extend(words(bounds.0));
        }
        if let Some((_, path)) = text.split_once("$crate::") {
            forced.extend(words(path));
        }
        let is_at_module_level = text.len() == line.len() && !text.is_empty();
        let is_call = ["! {", "!(", "!["].iter().any(|end| line.ends_with(end));
        is_in_macro = match is_at_module_level {
            true => is_call,
            false => is_in_macro,
        };
    }
    forced
}

#[cfg(test)]
mod tests {
    use super::*;

    fn unused(library: &str, outside: &[&str]) -> Vec<String> {
        let source = Source { path: "crates/x/src/a.rs".into(), text: library.into() };
        let items = items(&[&source], |word| outside.contains(&word));
        let unused = items.iter().filter(|item| !item.is_used);
        unused.map(|item| item.name.to_owned()).collect()
    }

    #[test]
    fn an_item_without_a_use_outside_is_unused() {
        assert_eq!(
            unused("pub fn a() {\n}\npub(crate) fn b() {}\npub const C: u8 = 1;", &["a"]),
            ["C"]
        );
        assert!(
            unused("pub use a;\n\n#[cfg(test)]\nmod tests {\n    pub fn a() {}\n}", &[]).is_empty()
        );
    }

    #[test]
    fn a_type_in_the_declaration_of_an_item_in_use_is_used() {
        let code = "pub fn a(\n    b: B,\n) -> C {\n    d()\n}\npub struct B {\n    pub e: E,\n    f: F,\n}\n\
                    pub enum C {}\npub fn d() {}\npub struct E;\npub struct F;";
        assert_eq!(unused(code, &["a"]), ["d", "F"]);
        assert_eq!(unused(code, &[]), ["a", "B", "C", "d", "E", "F"]);
    }

    #[test]
    fn aliases_bounds_and_macros_make_an_item_public() {
        assert!(unused("    type Err = A;\npub struct A;", &[]).is_empty());
        assert!(unused("impl<T: A> B<T> {}\npub trait A {}", &[]).is_empty());
        assert!(unused("registry! {\n    a::A,\n}\npub struct A;", &[]).is_empty());
        assert!(unused("registry![\n    a::A,\n];\npub struct A;", &[]).is_empty());
        assert!(unused("    $crate::A::new()\npub struct A;", &[]).is_empty());
        assert_eq!(unused("registry! {\n    a::A,\n}\npub struct B;\nlet b = B;", &[]), ["B"]);
    }

    #[test]
    fn tests_and_programs_of_a_crate_are_outside_of_its_library() {
        assert!(is_library("crates/x/src/a.rs") && is_library("crates/x/src/lib.rs"));
        assert!(!is_library("crates/x/src/main.rs") && !is_library("crates/x/src/bin/y.rs"));
        assert!(!is_library("crates/x/tests/y.rs") && !is_library("crates/x/benches/y.rs"));
    }
}
