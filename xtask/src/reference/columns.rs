//! The table of the columns of records in the README.

use std::fmt::Write;
use std::fs;

use anyhow::{Context, Result};
use flashscope_block::column::COLUMNS;

pub const PATH: &str = "README.md";

const BEGIN: &str =
    "<!-- The columns: written by `cargo xtask schemas` from crates/block/src/column.rs. -->\n";
const END: &str = "<!-- The end of the columns. -->\n";

/// Returns the README with the current table.
pub fn page() -> Result<String> {
    let readme = fs::read_to_string(PATH).context(PATH)?;
    let (before, rest) = readme.split_once(BEGIN).context("README.md has no table of columns")?;
    let (_, after) =
        rest.split_once(END).context("the table of columns in README.md has no end")?;
    let mut table = String::from("\n| column | |\n|---|---|\n");
    for column in COLUMNS {
        writeln!(table, "| `{}` | {} |", column.name, column.summary)?;
    }
    table.push_str("| `run` | The run, as numbered in the manifest. |\n\n");
    Ok([before, BEGIN, &table, END, after].concat())
}
