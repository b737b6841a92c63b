//! The string literals of a Rust file: help, errors and other text for the user.

/// A string literal.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Literal {
    /// The line on which it begins, from 1.
    pub line: usize,
    /// Its text, on one line; escapes other than line breaks stay unchanged.
    pub text: String,
}

/// Returns the string literals outside of comments and of the tests at the end of the file.
pub(super) fn literals(source: &str) -> Vec<Literal> {
    let code = source.split("\n#[cfg(test)]\nmod tests {").next().unwrap_or_default();
    let mut literals = Vec::new();
    let mut rest = code;
    while let Some(start) = rest.find(['"', '/', '\'', 'r']) {
        let at = &rest[start..];
        let is_part_of_word = rest[..start].ends_with(|letter: char| letter.is_alphanumeric());
        let end = if at.starts_with("//") {
            at.find('\n').unwrap_or(at.len())
        } else if at.starts_with("r#\"") && !is_part_of_word {
            at.find("\"#").map_or(at.len(), |end| end + 2)
        } else if at.starts_with('\'') {
            length_of_char(at)
        } else if let Some(body) = at.strip_prefix('"') {
            let length = length_of_string(body);
            let line = 1 + code[..code.len() - at.len()].matches('\n').count();
            literals.push(Literal { line, text: on_one_line(&body[..length]) });
            1 + length + usize::from(length < body.len())
        } else {
            at.chars().next().map_or(0, char::len_utf8)
        };
        rest = &at[end..];
    }
    literals
}

/// Returns the length of a character literal, or 1 for a lifetime.
fn length_of_char(text: &str) -> usize {
    let letters: Vec<char> = text.chars().take(4).collect();
    match letters[..] {
        ['\'', '\\', _, '\''] => 4,
        ['\'', letter, '\'', ..] => 2 + letter.len_utf8(),
        _ => 1,
    }
}

/// Returns the number of bytes before the quote that ends a string.
fn length_of_string(body: &str) -> usize {
    let mut is_escaped = false;
    let end = body.bytes().position(|byte| {
        let ends = byte == b'"' && !is_escaped;
        is_escaped = byte == b'\\' && !is_escaped;
        ends
    });
    end.unwrap_or(body.len())
}

/// Joins the lines of a literal.
fn on_one_line(text: &str) -> String {
    let text = text.replace("\\\n", " ").replace("\\n", " ");
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(source: &str) -> Vec<String> {
        literals(source).into_iter().map(|literal| literal.text).collect()
    }

    #[test]
    fn literals_are_found_with_their_line() {
        let source = "let a = 'x';\nlet b = \"one \\\n    two\"; // \"three\"\nlet c: &'a str = \"a \\\"four\\\"\";";
        let found = literals(source);
        assert_eq!(found[0], Literal { line: 2, text: "one two".into() });
        assert_eq!(found[1], Literal { line: 4, text: "a \\\"four\\\"".into() });
        assert_eq!(found.len(), 2);
    }

    #[test]
    fn quotes_in_characters_and_raw_strings_begin_no_literal() {
        assert_eq!(texts("let a = ['\"', '\\'']; let b = r#\"a \"b\" c\"#; f(\"d\")"), ["d"]);
    }

    #[test]
    fn tests_at_the_end_of_a_file_are_left_out() {
        assert_eq!(texts("f(\"a\");\n\n#[cfg(test)]\nmod tests {\n    f(\"b\");\n}\n"), ["a"]);
    }
}
