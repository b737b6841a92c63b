//! The reference pages of the documentation, generated from doc comments and registries.

pub(crate) mod columns;
pub(crate) mod drives;
pub(crate) mod fio_jobs;
pub(crate) mod papers;
pub(crate) mod probe;
pub(crate) mod profiles;
pub(crate) mod unsafe_code;
pub(crate) mod workloads;

use std::fmt::Write;

use anyhow::{Result, bail};

/// Replaces the table between two lines of a hand-written page.
pub(crate) fn with_table(page: &str, (begin, end): (&str, &str), table: &str) -> Result<String> {
    let parts = page
        .split_once(begin)
        .and_then(|(before, rest)| rest.split_once(end).map(|(_, after)| (before, after)));
    match parts {
        Some((before, after)) => Ok(format!("{before}{begin}\n{table}\n{end}{after}")),
        None => bail!(
            "the page lacks the lines around its table: `{}` and `{}`",
            begin.trim(),
            end.trim()
        ),
    }
}

/// A name, its description and its source.
type Variant = (&'static str, &'static str, &'static str);

fn variants(page: &mut String, title: &str, kinds: impl Iterator<Item = Variant>) -> Result<()> {
    write!(page, "\n## {title}\n\n| name | description | source |\n|---|---|---|\n")?;
    for (name, summary, source) in kinds {
        writeln!(page, "| `{name}` | {summary} | {source} |")?;
    }
    Ok(())
}
