//! The command `flashscope trace formats`.

use std::io::Write;

use flashscope_trace::format::FORMATS;
use flashscope_trace::writer::WRITERS;

use crate::{Failure, print};

/// List the formats of traces that flashscope reads and writes.
#[derive(clap::Args)]
#[command(after_help = "Example:
  flashscope trace formats")]
pub(super) struct FormatsArgs {}

pub(super) fn formats(_: &FormatsArgs) -> Result<(), Failure> {
    let mut text = String::from("read (--format, or by content):\n");
    for format in FORMATS {
        text += &format!("  {:<13} {}\n{:16}{}\n", format.name, format.summary, "", format.source);
    }
    text += "\nwritten (--output-format, or by the name of the output):\n";
    for kind in WRITERS {
        let names = kind.extensions.join(", ");
        text += &format!("  {:<13} {}\n{:16}files: {names}\n", kind.name, kind.summary, "");
    }
    Ok(write!(print::text_lines(), "{text}")?)
}
