//! What a command found, on standard output.

use std::io::Write;
use std::path::Path;

use serde::Serialize;

/// Prints what was found: as JSON, for programs, or as a text.
pub fn document(
    json: bool,
    found: &impl Serialize,
    text: impl FnOnce() -> String,
) -> anyhow::Result<()> {
    let mut out = std::io::stdout().lock();
    if json {
        serde_json::to_writer_pretty(&mut out, found)?;
        writeln!(out)?;
    } else {
        write!(out, "{}", text())?;
    }
    Ok(())
}

/// Where a result is, and how it is seen.
pub fn result(path: &Path) -> String {
    let path = path.display();
    format!("\nresult: {path}\nsee it: flashscope report {path}\n")
}
