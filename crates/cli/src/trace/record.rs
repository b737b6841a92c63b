//! `flashscope trace record`.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use flashscope_block::{Bytes, Nanos};
use flashscope_command::{ProgressSink, Step, Unit};
use flashscope_drive::record::{RecordError, Recording, Report, Scope, is_on_device};
use flashscope_trace::writer::{Kind, Output};
use flashscope_trace::{Options, Reader, Request, Source, format};

use super::{convert, input};
use crate::progress::LateBar;
use crate::{Failure, names, print, stop, usage};

/// The format of the kernel's own events.
const RAW: &str = "blktrace";

/// Record what a drive is asked for, as it happens.
///
/// The kernel's tracer of block devices tells each request, when it was issued to the drive, and
/// when it was answered. It needs a system administrator and a kernel that can do so; there is one
/// such tracer for the whole system, which is left as it was found. Ctrl-C ends the recording, and
/// keeps it.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  flashscope trace record /dev/nvme0n1 --output database.parquet
  flashscope trace record /dev/sdb --output boot.csv.gz --duration 60s
  flashscope trace record /dev/sdb1 --output everything.blktrace.zst")]
pub struct RecordArgs {
    /// The block device: a drive, or a partition of one, whose addresses are those of the drive
    #[arg(value_name = "DEVICE")]
    device: PathBuf,

    /// Write it here; names in .gz and .zst are compressed
    #[arg(long, short, value_name = "FILE")]
    output: String,

    /// The format to write: parquet, fio, msr, mqsim, or blktrace for all events of the kernel as
    /// they are [default: by the name of the output]
    #[arg(long, value_name = "FORMAT")]
    output_format: Option<String>,

    /// Record for so long [default: until Ctrl-C]
    #[arg(long, value_name = "TIME", value_parser = names::duration)]
    duration: Option<Nanos>,

    /// Print what was recorded as JSON (schema: docs/schemas/recording.schema.json)
    #[arg(long)]
    json: bool,
}

/// What the events of the kernel are written as.
enum Target {
    Raw,
    Written(&'static Kind),
}

pub fn record(args: &RecordArgs) -> Result<(), Failure> {
    let target = target(&args.output, args.output_format.as_deref())?;
    let output = input::output(&args.output)?;
    let recording = start(args, &target)?;
    let report = recording.report();
    let mut notes = Vec::new();
    if is_on_device(Path::new(&args.output), &args.device) {
        notes.push("the output is on the recorded drive: its own writes are recorded, too".into());
    }
    let (requests, bytes, more) = match target {
        Target::Raw => write_raw(recording, output, &report)?,
        Target::Written(kind) => write(args, recording, kind, output)?,
    };
    notes.extend(more);
    if report.lost() > 0 {
        notes
            .push("the kernel lost events, so that requests or their latencies are missing".into());
    }
    notes.extend(report.not_restored().iter().map(|what| format!("could not put back {what}")));
    print(
        args,
        &flashscope_report::Recording {
            device: args.device.display().to_string(),
            output: args.output.clone(),
            output_format: match target {
                Target::Raw => RAW.into(),
                Target::Written(kind) => kind.name.into(),
            },
            requests,
            bytes,
            events_lost: report.lost(),
            notes,
        },
    )
}

fn target(output: &str, format: Option<&str>) -> Result<Target, Failure> {
    let plain = output.strip_suffix(".zst").or_else(|| output.strip_suffix(".gz"));
    let raw = match format {
        Some(format) => format == RAW,
        None => Path::new(plain.unwrap_or(output)).extension().is_some_and(|end| end == RAW),
    };
    if raw {
        return Ok(Target::Raw);
    }
    convert::writer_for(output, format).map(Target::Written)
}

/// Begins to record, with progress on the way.
fn start(args: &RecordArgs, target: &Target) -> Result<Recording, Failure> {
    let stop = stop::patient_flag()?;
    let scope = match target {
        Target::Raw => Scope::Everything,
        Target::Written(_) => Scope::Requests,
    };
    let mut progress = Progress(LateBar::new());
    let watch = move |report: &Report| {
        let step = Step {
            phase: "recording, until Ctrl-C: requests",
            now: "",
            done: report.requests(),
            total: None,
            unit: Unit::Count,
        };
        ProgressSink::show(&mut progress.0, &step);
        stop.load(Ordering::Relaxed)
    };
    let duration = args.duration.map(|duration| Duration::from_nanos(duration.0));
    Recording::start(&args.device, scope, duration, watch).map_err(|error| match error {
        RecordError::NoDevice(_) | RecordError::NotADevice(_) => usage(error),
        failed => Failure::from(failed),
    })
}

/// Progress that ends with the recording.
struct Progress(LateBar);

impl Drop for Progress {
    fn drop(&mut self) {
        self.0.finish();
    }
}

/// How many requests for how many bytes, and what a user should know.
type Written = (u64, Bytes, Vec<String>);

/// Writes the events as they are.
fn write_raw(
    mut recording: Recording,
    mut output: Output,
    report: &Arc<Report>,
) -> Result<Written, Failure> {
    std::io::copy(&mut recording, &mut output)?;
    drop(recording);
    output.finish()?;
    Ok((report.requests(), report.bytes(), Vec::new()))
}

/// Writes the requests that the events tell.
fn write(
    args: &RecordArgs,
    recording: Recording,
    kind: &Kind,
    output: Output,
) -> Result<Written, Failure> {
    let mut writer = (kind.open)(output)?;
    let source = Source::of(&args.device.display().to_string(), recording, None)?;
    let blktrace = format::find(RAW).expect("it is registered");
    let mut reader = format::open_as(blktrace, source, Options::default())?;
    let (mut requests, mut bytes) = (0, Bytes(0));
    let mut batch: Vec<Request> = Vec::new();
    loop {
        reader.read(&mut batch)?;
        if batch.is_empty() {
            break;
        }
        writer.write(&batch, reader.volumes())?;
        requests += batch.len() as u64;
        bytes += batch.iter().fold(Bytes(0), |sum, request| sum + request.len);
    }
    let volumes = reader.volumes().clone();
    let notes = reader.notes().into_iter().chain(writer.lost().notes()).collect();
    // Progress is taken away before anything is printed.
    drop(reader);
    writer.finish(&volumes)?;
    Ok((requests, bytes, notes))
}

fn print(args: &RecordArgs, recording: &flashscope_report::Recording) -> Result<(), Failure> {
    input::show_notes(&recording.notes);
    match args.output.as_str() {
        "-" => Ok(()),
        _ => Ok(print::document(args.json, recording, || flashscope_report::recording(recording))?),
    }
}
