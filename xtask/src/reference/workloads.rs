//! `docs/workloads.md`: the formats and fields of traces, and every workload.

use std::fmt::Write;

use anyhow::Result;
use flashscope_trace::format::FORMATS;
use flashscope_trace::writer::WRITERS;
use flashscope_workload::{Field, playback, synthetic};

use super::variants;

pub(crate) const PATH: &str = "docs/workloads.md";

const INTRODUCTION: &str = "\
# Workloads and traces

<!-- Written by `cargo xtask schemas` from crates/workload and crates/trace. -->

A workload is a name with fields after `?`, as in `zipf?exponent=0.9&reads=0.3`. A trace is a file
with fields, as in `docs/examples/web.csv.gz?speed=10&remap=compact`:

    flashscope simulate --workload 'zipf?exponent=0.9&reads=0.3'
    flashscope simulate --trace 'docs/examples/web.csv.gz?speed=10&remap=compact'
    flashscope bench /dev/nvme1n1 --destroy-data-on SERIAL --trace 'docs/examples/web.csv.gz?pace=asap'

For `flashscope trace` the fields of a trace are options: `--speed 10`. An unknown field is an error, and so is
an impossible value; the error names the rule.
";

/// Returns the page.
pub(crate) fn page() -> Result<String> {
    let mut page = INTRODUCTION.to_string();
    let read = FORMATS.iter().map(|format| (format.name, format.summary, format.source));
    variants(&mut page, "Input formats (recognized by content, or by `format`)", read)?;
    page.push_str(
        "\nEach format may be plain or compressed (gzip, zstd, bzip2, xz), from a file or from standard input.\n",
    );
    page.push_str("\n## Output formats\n\n| name | description | files |\n|---|---|---|\n");
    for kind in WRITERS {
        let (name, summary, files) = (kind.name, kind.summary, kind.extensions.join(", "));
        writeln!(page, "| `{name}` | {summary} | {files} |")?;
    }
    page.push_str(
        "
## Fields of a trace
",
    );
    fields(&mut page, playback::FIELDS)?;
    page.push_str("\n## Workloads\n");
    for kind in synthetic::KINDS {
        let argument = kind.argument.map(|argument| format!(":{argument}")).unwrap_or_default();
        write!(page, "\n### `{}{argument}`\n\n{}\n", kind.name, sentence(kind.summary))?;
        if let Some(leaves_out) = kind.leaves_out {
            page.push_str(&simplifications(leaves_out));
        }
        write!(page, "\nSource: {}\n", sentence(kind.source))?;
        if !kind.fields.is_empty() {
            fields(&mut page, kind.fields)?;
        }
        // The fields of traces are in their own table.
        let shared = kind.common.iter().map(|field| format!("`{}`", field.name));
        let shared: Vec<_> = shared.collect();
        if !shared.is_empty() {
            write!(page, "\nFields in other tables: {}.\n", shared.join(", "))?;
        }
    }
    page.push_str("\n## Common fields of workloads\n");
    fields(&mut page, synthetic::COMMON)?;
    Ok(page)
}

/// Returns the parts of an application that its workload leaves out, as a list if a semicolon
/// separates them.
fn simplifications(leaves_out: &str) -> String {
    let parts: Vec<&str> = leaves_out.split("; ").collect();
    if let [part] = parts[..] {
        return format!("\nLeft out: {part}.\n");
    }
    let items = parts.iter().map(|part| format!("- {}\n", part.trim_start_matches("and ")));
    format!("\nLeft out:\n\n{}", items.collect::<String>())
}

fn fields(page: &mut String, fields: &[Field]) -> Result<()> {
    page.push_str("\n| field | description | default |\n|---|---|---|\n");
    for field in fields {
        let default = field.default.map(|value| format!("`{value}`")).unwrap_or_default();
        let summary = field.summary.replace('|', "\\|");
        writeln!(page, "| `{}` | {summary} | {default} |", field.name)?;
    }
    Ok(())
}

/// Returns `text` with a full stop and an initial capital, unless it begins with a name such as
/// uFLIP.
fn sentence(text: &str) -> String {
    let (first, rest) = text.split_at(1);
    let name = rest.starts_with(|second: char| second.is_uppercase());
    let first = if name { first.to_string() } else { first.to_uppercase() };
    format!("{first}{rest}.")
}
