//! The table of the columns of records in the README.

use std::fmt::Write;
use std::fs;

use anyhow::{Context, Result};
use flashscope_block::column::COLUMNS;

use super::with_table;

pub(crate) const PATH: &str = "README.md";

const BEGIN: &str =
    "<!-- The columns: written by `cargo xtask schemas` from crates/block/src/column.rs. -->\n";
const END: &str = "<!-- The end of the columns. -->\n";

/// Returns the README with the current table.
pub(crate) fn page() -> Result<String> {
    let readme = fs::read_to_string(PATH).context(PATH)?;
    let mut table = String::from("| column | |\n|---|---|\n");
    for column in COLUMNS {
        writeln!(table, "| `{}` | {} |", column.name, column.summary)?;
    }
    table.push_str("| `run` | The run, as numbered in the manifest. |\n");
    with_table(&readme, (BEGIN, END), &table).context(PATH)
}
