//! `docs/workloads.md`: every format of traces, what can be made of a trace, and every workload.

use std::fmt::Write;

use anyhow::Result;
use flashscope_trace::format::FORMATS;
use flashscope_trace::writer::WRITERS;
use flashscope_workload::{Field, playback, synthetic};

use super::variants;

pub const PATH: &str = "docs/workloads.md";

const INTRODUCTION: &str = "\
# Workloads and traces

<!-- Written by `cargo xtask schemas` from crates/workload. -->

A workload is a name with fields after `?`, as in `zipf?exponent=0.9&reads=0.3`; a trace is a file
with fields likewise, as in `docs/examples/web.csv.gz?speed=10&remap=compact`:

    flashscope simulate --workload 'zipf?exponent=0.9&reads=0.3'
    flashscope simulate --trace 'docs/examples/web.csv.gz?speed=10&remap=compact'
    flashscope bench /dev/nvme1n1 --destroy-data-on SERIAL --trace 'docs/examples/web.csv.gz?pace=asap'

On the command line of `flashscope trace` the fields of a trace are options: `--speed 10`.
An unknown field is an error, and so is a value that cannot be: the message names the rule.
";

/// The page.
pub fn page() -> Result<String> {
    let mut page = INTRODUCTION.to_string();
    let read = FORMATS.iter().map(|format| (format.name, format.summary, format.source));
    variants(&mut page, "Formats that are read (found by content, or by `format`)", read)?;
    page.push_str(
        "\nEach plain or compressed (gzip, zstd, bzip2, xz), from a file or from standard input.\n",
    );
    page.push_str(
        "\n## Formats that are written\n\n| name | what it is | files |\n|---|---|---|\n",
    );
    for kind in WRITERS {
        let (name, summary, files) = (kind.name, kind.summary, kind.extensions.join(", "));
        writeln!(page, "| `{name}` | {summary} | {files} |")?;
    }
    page.push_str("\n## How a trace is read, and what is made of it\n");
    fields(&mut page, playback::FIELDS)?;
    page.push_str("\n## Workloads\n");
    for kind in synthetic::KINDS {
        let argument = kind.argument.map(|argument| format!(":{argument}")).unwrap_or_default();
        write!(page, "\n### `{}{argument}`\n\n{}\n", kind.name, sentence(kind.summary))?;
        if let Some(leaves_out) = kind.leaves_out {
            write!(page, "\nLeft out: {leaves_out}.\n")?;
        }
        write!(page, "\nSource: {}\n", sentence(kind.source))?;
        if !kind.fields.is_empty() {
            fields(&mut page, kind.fields)?;
        }
        // Those of traces are above.
        let shared = kind.common.iter().map(|field| format!("`{}`", field.name));
        let shared: Vec<_> = shared.collect();
        if !shared.is_empty() {
            write!(page, "\nAlso: {}.\n", shared.join(", "))?;
        }
    }
    page.push_str("\n## Fields that workloads share\n");
    fields(&mut page, synthetic::COMMON)?;
    Ok(page)
}

fn fields(page: &mut String, fields: &[Field]) -> Result<()> {
    page.push_str("\n| field | what it is | default |\n|---|---|---|\n");
    for field in fields {
        let default = field.default.map(|value| format!("`{value}`")).unwrap_or_default();
        let summary = field.summary.replace('|', "\\|");
        writeln!(page, "| `{}` | {summary} | {default} |", field.name)?;
    }
    Ok(())
}

/// With a capital, but for a name such as uFLIP, and a full stop.
fn sentence(text: &str) -> String {
    let (first, rest) = text.split_at(1);
    let name = rest.starts_with(|second: char| second.is_uppercase());
    let first = if name { first.to_string() } else { first.to_uppercase() };
    format!("{first}{rest}.")
}
