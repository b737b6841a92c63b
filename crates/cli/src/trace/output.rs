//! The trace that a command writes.

use anyhow::anyhow;
use flashscope_block::suggestion;
use flashscope_command::trace::failure;
use flashscope_trace::writer::{self, Kind, Output, WRITERS};

use crate::{Failure, print, usage};

/// The name of standard output.
const STANDARD_OUTPUT: &str = "-";

/// The file to write a trace to, and its format.
#[derive(Debug, Clone, clap::Args)]
#[command(next_help_heading = "Output")]
pub(super) struct OutputArgs {
    /// Write the trace here; `-` is standard output, and names that end in .gz or .zst compress it
    #[arg(long = "output", id = "output", short = 'o', value_name = "FILE")]
    pub name: String,

    /// The format to write: parquet, fio, msr or mqsim [default: by the name of the output]
    #[arg(long = "output-format", id = "output_format", value_name = "FORMAT")]
    pub format: Option<String>,
}

impl OutputArgs {
    /// Returns true if the command writes the trace to standard output. Nothing else may then be
    /// printed there.
    pub(crate) fn is_standard_output(&self) -> bool {
        self.name == STANDARD_OUTPUT
    }

    /// Opens the output.
    pub(super) fn open(&self) -> Result<Output, Failure> {
        match self.is_standard_output() {
            true => Ok(Output::stream("standard output", print::data())),
            false => Output::create(&self.name).map_err(failure),
        }
    }

    /// Returns the writer of the chosen format or, without a choice, of the format that the name of
    /// the output implies.
    pub(super) fn writer(&self) -> Result<&'static Kind, Failure> {
        let names = || WRITERS.iter().map(|kind| kind.name);
        let list = || names().collect::<Vec<_>>().join(", ");
        match &self.format {
            Some(name) => writer::find(name).ok_or_else(|| {
                let near = suggestion(name, names());
                usage(anyhow!("--output-format: `{name}` cannot be written{near}; choose one of {}", list()))
            }),
            None => writer::for_file(&self.name).ok_or_else(|| {
                usage(anyhow!(
                    "the name `{}` does not determine the format: add --output-format, with one of {}",
                    self.name,
                    list()
                ))
            }),
        }
    }
}
