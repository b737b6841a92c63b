//! `flashscope trace convert`.

use std::sync::atomic::Ordering;

use anyhow::anyhow;
use flashscope_block::{Bytes, nearest};
use flashscope_command::trace::{failure, show};
use flashscope_report::Conversion;
use flashscope_trace::writer::{self, Kind, WRITERS};
use flashscope_trace::{Reader, Request};

use super::input::{self, Fields};
use crate::progress::LateBar;
use crate::{Failure, interrupted, print, stop, usage};

/// Write a trace in another format, all of it or what is selected.
///
/// The format that is read is found by content, and gzip, zstd, bzip2 and xz are undone. Memory
/// does not grow with the trace.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  flashscope trace convert hm_0.csv.gz --output hm_0.parquet
  flashscope trace convert financial.spc --output replay.iolog --speed 2 --from 10min --until 20min
  flashscope trace convert web.csv database.csv --output both.parquet --merge start
  blkparse -i sdb -o - | flashscope trace convert - --output sdb.csv.zst")]
pub struct ConvertArgs {
    /// The trace: a file, or `-` for standard input; several are merged by time
    #[arg(required = true, value_name = "FILE")]
    files: Vec<String>,

    /// Write it here; `-` is standard output, and names in .gz and .zst are compressed
    #[arg(long, short, value_name = "FILE")]
    output: String,

    /// The format to write: parquet, fio, msr or mqsim [default: by the name of the output]
    #[arg(long, value_name = "FORMAT")]
    output_format: Option<String>,

    /// Print what was written as JSON (schema: docs/schemas/conversion.schema.json)
    #[arg(long)]
    json: bool,

    #[command(flatten)]
    fields: Fields,
}

pub fn convert(args: &ConvertArgs) -> Result<(), Failure> {
    let kind = writer_for(&args.output, args.output_format.as_deref())?;
    let mut trace = input::open(&args.files, &args.fields)?;
    let output = input::output(&args.output)?;
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
        output: args.output.clone(),
        output_format: kind.name.into(),
        requests_read: requests,
        requests_written: requests - lost.requests,
        bytes_read: bytes,
        bad_lines_skipped: trace.skipped().count,
        notes,
    };
    print(args, &conversion)?;
    if stop.load(Ordering::Relaxed) {
        return Err(interrupted("what was read before is written"));
    }
    Ok(())
}

fn print(args: &ConvertArgs, conversion: &Conversion) -> anyhow::Result<()> {
    input::show_notes(&conversion.notes);
    match args.output.as_str() {
        "-" => Ok(()),
        _ => print::document(args.json, conversion, || flashscope_report::conversion(conversion)),
    }
}

/// The writer of that name, or of files with such a name.
pub fn writer_for(output: &str, name: Option<&str>) -> Result<&'static Kind, Failure> {
    let names = || WRITERS.iter().map(|kind| kind.name);
    let list = || names().collect::<Vec<_>>().join(", ");
    match name {
        Some(name) => writer::find(name).ok_or_else(|| {
            let meant = nearest(name, names());
            let meant = meant.map(|name| format!(" (did you mean `{name}`?)")).unwrap_or_default();
            usage(anyhow!("--output-format: `{name}` cannot be written{meant}; there are: {}", list()))
        }),
        None => writer::for_file(output).ok_or_else(|| {
            usage(anyhow!(
                "the name `{output}` does not say which format to write: use --output-format, with one of {}",
                list()
            ))
        }),
    }
}
