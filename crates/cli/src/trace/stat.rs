//! The command `flashscope trace stat`.

#![cfg_attr(
    lint_writes,
    expect(clippy::disallowed_methods, reason = "the page of a trace: check_output")
)]

use std::path::PathBuf;

use anyhow::anyhow;
use flashscope_block::Bytes;
use flashscope_command::options::{JsonArgs, json_schema};
use flashscope_command::trace::each_batch;
use flashscope_drive::guard::check_output;
use flashscope_report::{Trace, TraceStatus, trace, trace_html};
use flashscope_result::write_output;
use flashscope_trace::Reader;
use flashscope_trace::statistics::Characteristics;

use super::input::{self, Fields};
use crate::progress::LateBar;
use crate::{Failure, interrupted, print, usage};

/// Summarize a trace in one pass: sizes, footprint, locality, bursts, and problems in the data.
///
/// The memory used does not grow with the trace. Numbers from a sample of the pages have an
/// interval.
#[derive(clap::Args)]
#[command(mut_arg("json", json_schema("trace")))]
#[command(after_help = "Examples:
  flashscope trace stat hm_0.csv.gz
  flashscope trace stat hm_0.csv.gz --html hm_0.html
  flashscope trace stat web.csv database.csv --merge start --volumes web_1,web_2 --json
  flashscope trace stat financial.spc --realign --from 10min --until 20min")]
pub(super) struct StatArgs {
    /// The trace: a file, or `-` for standard input; several are merged by time
    #[arg(required = true, value_name = "FILE")]
    files: Vec<String>,

    /// The form of the output.
    #[command(flatten)]
    json: JsonArgs,

    /// Also write the summary to this file, with charts, as one HTML page
    #[arg(long, value_name = "PAGE")]
    html: Option<PathBuf>,

    /// Size of the erase block that divides writes into head, middle and tail fragments
    #[arg(long, value_name = "SIZE", default_value = "128KiB")]
    erase_block: Bytes,

    #[command(flatten)]
    fields: Fields,
}

pub(super) fn stat(args: &StatArgs) -> Result<(), Failure> {
    let block = Characteristics::with_block(args.erase_block);
    let mut characteristics = block.map_err(|rule| usage(anyhow!("--erase-block: {rule}")))?;
    let mut reader = input::open(&args.files, &args.fields)?;
    let complete = LateBar::new().watch(|stop, bar| {
        each_batch(&mut reader, "reading", (stop, bar), |batch| characteristics.push(batch))
    })?;
    let status = if complete { TraceStatus::Complete } else { TraceStatus::Interrupted };
    let notes = reader.notes();
    input::show_notes(&notes);
    let summary = Trace {
        inputs: args.files.clone(),
        formats: reader.formats().iter().map(|format| (*format).into()).collect(),
        status,
        bad_lines_skipped: reader.skipped().count,
        notes,
        facts: characteristics.finish(reader.volumes()),
    };
    print(args, &summary)?;
    match status {
        TraceStatus::Complete => Ok(()),
        TraceStatus::Interrupted => {
            Err(interrupted("the summary covers the requests read before the interruption"))
        }
    }
}

fn print(args: &StatArgs, summary: &Trace) -> anyhow::Result<()> {
    if let Some(path) = &args.html {
        let page = trace_html(summary)?;
        check_output(path)?;
        write_output(path, &page)?;
    }
    print::document(args.json, summary, || trace(summary))
}
