//! Tables for the terminal.

use std::fmt;

/// The alignment of a column's cells.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Align {
    /// To the left, for text.
    Left,
    /// To the right, for numbers.
    Right,
}

/// A table whose columns are as wide as their widest cells and two spaces apart, or one if dense.
///
/// Its text has a line for each row, without spaces at its end.
#[derive(Debug, Clone)]
pub struct Table {
    columns: &'static [Align],
    rows: Vec<Vec<String>>,
    gap: &'static str,
}

impl Table {
    /// Creates a table without rows. The last of `columns` also holds for all columns after it.
    #[must_use]
    pub fn new(columns: &'static [Align]) -> Table {
        Table { columns, rows: vec![], gap: "  " }
    }

    /// Puts the columns one space apart, for a table with many columns.
    #[must_use]
    pub fn dense(self) -> Table {
        Table { gap: " ", ..self }
    }

    /// Creates a table whose first column is text. All others hold numbers.
    #[must_use]
    pub fn of_numbers() -> Table {
        Table::new(&[Align::Left, Align::Right])
    }

    /// Adds a row below the others. The first row is usually the header.
    pub fn row<S: Into<String>>(&mut self, cells: impl IntoIterator<Item = S>) {
        self.rows.push(cells.into_iter().map(Into::into).collect());
    }

    /// Adds a row of a name and its cells.
    pub(crate) fn named_row<S: Into<String>>(
        &mut self,
        name: impl Into<String>,
        cells: impl IntoIterator<Item = S>,
    ) {
        let cells = cells.into_iter().map(Into::into);
        self.rows.push(std::iter::once(name.into()).chain(cells).collect());
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    fn width(&self, column: usize) -> usize {
        let cells = self.rows.iter().filter_map(|row| row.get(column));
        cells.map(|cell| cell.chars().count()).max().unwrap_or(0)
    }
}

impl fmt::Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let columns = self.rows.iter().map(Vec::len).max().unwrap_or(0);
        let widths: Vec<usize> = (0..columns).map(|column| self.width(column)).collect();
        let align = |column: usize| self.columns.get(column).or(self.columns.last());
        for row in &self.rows {
            let cells = row.iter().zip(&widths).enumerate().map(|(column, (cell, &width))| {
                match align(column) {
                    Some(Align::Right) => format!("{cell:>width$}"),
                    Some(Align::Left) | None => format!("{cell:<width$}"),
                }
            });
            writeln!(f, "{}", cells.collect::<Vec<_>>().join(self.gap).trim_end())?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_as_wide_as_their_widest_cells_and_lines_have_no_trailing_spaces() {
        let mut table = Table::of_numbers();
        table.row(["", "IOs", "µs"]);
        table.row(["äää", "1,024"]);
        assert_eq!(table.to_string(), "       IOs  µs\näää  1,024\n");
        let mut table = Table::new(&[Align::Left]);
        table.row(["a", "bb", ""]);
        table.row(["äää", "b", "c"]);
        assert_eq!(table.to_string(), "a    bb\näää  b   c\n");
        assert_eq!(table.dense().to_string(), "a   bb\näää b  c\n");
    }

    #[test]
    fn a_table_without_rows_is_empty() {
        assert_eq!(Table::of_numbers().to_string(), "");
    }
}
