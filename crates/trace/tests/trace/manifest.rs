//! The manifest of the real traces.
//!
//! The traces are in `$FLASHSCOPE_DATA/traces`, or in `shared/data/traces` next to the checkout.
//! Without them, tests are skipped with a message.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// A line of the manifest, by column name.
pub(crate) type Entry = BTreeMap<String, String>;

/// Returns the folder and its manifest. Without them, returns `None` with a message, or fails if
/// `FLASHSCOPE_DATA` is set.
pub(crate) fn manifest() -> Option<(PathBuf, Vec<Entry>)> {
    #[allow(clippy::disallowed_methods)] // tests read the folder of their data from the environment
    let told = std::env::var_os("FLASHSCOPE_DATA").map(PathBuf::from);
    let beside = || Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data");
    let folder = told.clone().unwrap_or_else(beside).join("traces");
    match std::fs::read_to_string(folder.join("MANIFEST.csv")) {
        Ok(text) => Some((folder, entries(&text))),
        Err(error) => {
            assert!(told.is_none(), "FLASHSCOPE_DATA: {}: {error}", folder.display());
            #[allow(clippy::print_stderr)] // reports that the test did not run
            {
                eprintln!("skipped: {}: {error}; set FLASHSCOPE_DATA", folder.display());
            }
            None
        }
    }
}

fn entries(text: &str) -> Vec<Entry> {
    let mut rows = text.lines().map(fields);
    let names = rows.next().expect("a manifest has a header");
    rows.map(|row| names.iter().cloned().zip(row).collect()).collect()
}

/// Returns the fields of a line of CSV, without quotes.
fn fields(line: &str) -> Vec<String> {
    let (mut fields, mut quoted) = (vec![String::new()], false);
    for character in line.chars() {
        match character {
            '"' => quoted = !quoted,
            ',' if !quoted => fields.push(String::new()),
            other => fields.last_mut().expect("there is one at least").push(other),
        }
    }
    fields
}
