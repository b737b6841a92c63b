//! The command `flashscope trace convert`.

use std::sync::atomic::Ordering;

use flashscope_block::Bytes;
use flashscope_command::options::{JsonArgs, json_schema};
use flashscope_command::trace::{failure, show};
use flashscope_report::Conversion;
use flashscope_trace::{Reader, Request};

use super::input::{self, Fields};
use super::output::OutputArgs;
use crate::progress::LateBar;
use crate::{Failure, interrupted, print, stop};

/// Write a trace, or a selection of its requests, in another format.
///
/// The content determines the format of the input; gzip, zstd, bzip2 and xz are decompressed. The
/// memory used does not grow with the trace.
#[derive(clap::Args)]
#[command(mut_arg("json", json_schema("conversion")))]
#[command(after_help = "Examples:
  flashscope trace convert hm_0.csv.gz --output hm_0.parquet
  flashscope trace convert financial.spc --output replay.iolog --speed 2 --from 10min --until 20min
  flashscope trace convert web.csv database.csv --output both.parquet --merge start
  blkparse -i sdb -o - | flashscope trace convert - --output sdb.csv.zst")]
pub(super) struct ConvertArgs {
    /// The trace: a file, or `-` for standard input; several are merged by time
    #[arg(required = true, value_name = "FILE")]
    files: Vec<String>,

    /// The output.
    #[command(flatten)]
    output: OutputArgs,

    /// The form of the output.
    #[command(flatten)]
    json: JsonArgs,

    #[command(flatten)]
    fields: Fields,
}

pub(super) fn convert(args: &ConvertArgs) -> Result<(), Failure> {
    let kind = args.output.writer()?;
    let mut trace = input::open(&args.files, &args.fields)?;
    let output = args.output.open()?;
    let mut writer = (kind.open)(output)?;
    let stop = stop::flag()?;
    let mut bar = LateBar::new();
    let mut batch: Vec<Request> = Vec::new();
    let (mut requests, mut bytes) = (0, Bytes(0));
    loop {
        trace.read(&mut batch).map_err(failure)?;
        if batch.is_empty() || stop.load(Ordering::Relaxed) {
            break;
        }
        writer.write(&batch, trace.volumes())?;
        requests += batch.len() as u64;
        bytes += batch.iter().fold(Bytes(0), |sum, request| sum + request.len);
        show(&mut bar, "converting", trace.progress());
    }
    bar.finish();
    let lost = writer.lost();
    writer.finish(trace.volumes())?;
    let notes = trace.notes().into_iter().chain(lost.notes()).collect();
    let conversion = Conversion {
        inputs: args.files.clone(),
        formats: trace.formats().iter().map(|format| (*format).into()).collect(),
        output: args.output.name.clone(),
        output_format: kind.name.into(),
        requests_read: requests,
        requests_written: requests - lost.requests,
        bytes_read: bytes,
        bad_lines_skipped: trace.skipped().count,
        notes,
    };
    print(args, &conversion)?;
    if stop.load(Ordering::Relaxed) {
        return Err(interrupted("the output has the requests read before the interruption"));
    }
    Ok(())
}

fn print(args: &ConvertArgs, conversion: &Conversion) -> anyhow::Result<()> {
    input::show_notes(&conversion.notes);
    match args.output.is_standard_output() {
        true => Ok(()),
        false => {
            print::document(args.json, conversion, || flashscope_report::conversion(conversion))
        }
    }
}
