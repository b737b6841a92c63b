//! The reference pages of the documentation, generated from doc comments and registries.

pub mod columns;
pub mod drives;
pub mod papers;
pub mod probe;
pub mod profiles;
pub mod unsafe_code;
pub mod workloads;

use std::fmt::Write;

use anyhow::Result;

/// A name, its description and its source.
type Variant = (&'static str, &'static str, &'static str);

fn variants(page: &mut String, title: &str, kinds: impl Iterator<Item = Variant>) -> Result<()> {
    write!(page, "\n## {title}\n\n| name | description | source |\n|---|---|---|\n")?;
    for (name, summary, source) in kinds {
        writeln!(page, "| `{name}` | {summary} | {source} |")?;
    }
    Ok(())
}
