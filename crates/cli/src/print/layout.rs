//! Lays text out for a terminal: columns and wrapped lines.

/// Aligns the cells of rows in columns, a space apart. Returns a line for each row.
#[cfg(any(test, feature = "attach", target_os = "linux"))]
pub(crate) fn aligned<const N: usize>(rows: &[[String; N]]) -> Vec<String> {
    let widths: [usize; N] = std::array::from_fn(|column| {
        rows.iter().map(|row| row[column].chars().count()).max().unwrap_or(0)
    });
    let line = |row: &[String; N]| {
        let cells = row.iter().zip(&widths).map(|(cell, &width)| format!("{cell:<width$}"));
        cells.collect::<Vec<_>>().join(" ").trim_end().to_owned()
    };
    rows.iter().map(line).collect()
}

/// Wraps a text between words to lines of at most `width` columns. The first line starts with `indent`, further ones with
/// `hanging`. A longer word stays whole, on a line of its own.
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
    fn cells_align_and_lines_have_no_trailing_spaces() {
        let rows = [["a", "bb", ""], ["äää", "b", "c"]].map(|row| row.map(str::to_owned));
        assert_eq!(aligned(&rows), ["a   bb", "äää b  c"]);
    }

    #[test]
    fn lines_fill_the_width_and_long_words_stay_whole() {
        let (half, rest) = ("x".repeat(5), "y".repeat(4));
        let text = format!("{half} {rest} z");
        assert_eq!(wrapped(&text, "", "", 10), format!("{half} {rest}\nz\n"));
        let long = "z".repeat(11);
        assert_eq!(wrapped(&format!("a {long} b"), " ", "  ", 10), format!(" a\n  {long}\n  b\n"));
    }
}
