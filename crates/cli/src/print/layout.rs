//! Wraps text for a terminal.

/// Wraps a text between words to lines of at most `width` columns. The first line starts with
/// `indent`, further lines with `hanging`. A word that is too long is not split, and has its own
/// line.
pub(crate) fn wrapped(text: &str, indent: &str, hanging: &str, width: usize) -> String {
    let mut lines = String::new();
    let (mut line, mut is_empty) = (indent.to_owned(), true);
    for word in text.split_whitespace() {
        if !is_empty && line.chars().count() + 1 + word.chars().count() > width {
            lines += &line;
            lines.push('\n');
            (line, is_empty) = (hanging.to_owned(), true);
        }
        if !is_empty {
            line.push(' ');
        }
        line += word;
        is_empty = false;
    }
    lines + &line + "\n"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_fill_the_width_and_long_words_stay_whole() {
        let (half, rest) = ("x".repeat(5), "y".repeat(4));
        let text = format!("{half} {rest} z");
        assert_eq!(wrapped(&text, "", "", 10), format!("{half} {rest}\nz\n"));
        let long = "z".repeat(11);
        assert_eq!(wrapped(&format!("a {long} b"), " ", "  ", 10), format!(" a\n  {long}\n  b\n"));
    }
}
