//! The command `flashscope trace record`.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use flashscope_block::{Bytes, Nanos};
use flashscope_command::options::{JsonArgs, json_schema};
use flashscope_command::{Progress, Step, Unit};
use flashscope_drive::record::{RecordError, Recording, Report, Scope, is_on_device};
use flashscope_trace::writer::{Kind, Output};
use flashscope_trace::{Options, Reader, Request, Source, format};

use super::input;
use super::output::OutputArgs;
use crate::progress::LateBar;
use crate::{Failure, names, print, stop, usage};

/// The format of the kernel's events.
const RAW: &str = "blktrace";

/// Record the requests to a drive while they happen.
///
/// The kernel's tracer of block devices reports each request, the time at which the drive received
/// it, and the time of its completion. Recording needs root and a kernel with this tracer. All
/// programs share the tracer; flashscope restores its settings at the end. Ctrl-C ends the
/// recording and saves it.
#[derive(clap::Args)]
#[command(
    mut_arg("output_format", |arg| arg.help(
        "The format to write: parquet, fio, msr, mqsim, or blktrace for all events of the kernel, unchanged \
         [default: by the name of the output]"
    )),
    mut_arg("json", json_schema("recording"))
)]
#[command(after_help = "Examples:
  flashscope trace record /dev/nvme0n1 --output database.parquet
  flashscope trace record /dev/sdb --output boot.csv.gz --duration 60s
  flashscope trace record /dev/sdb1 --output everything.blktrace.zst")]
pub(super) struct RecordArgs {
    /// The block device: a drive or a partition; addresses in the trace count from the start of the
    /// drive
    #[arg(value_name = "DEVICE")]
    device: PathBuf,

    /// The output.
    #[command(flatten)]
    output: OutputArgs,

    /// Duration of the recording [default: until Ctrl-C]
    #[arg(long, value_name = "TIME", value_parser = names::duration)]
    duration: Option<Nanos>,

    /// The form of the output.
    #[command(flatten)]
    json: JsonArgs,
}

/// The form in which the kernel's events are written.
enum Target {
    /// All events, unchanged.
    Events,
    /// Requests, in the format of a writer.
    Requests(&'static Kind),
}

pub(super) fn record(args: &RecordArgs) -> Result<(), Failure> {
    let target = target(&args.output)?;
    let output = args.output.open()?;
    let recording = start(args, &target)?;
    let report = recording.report();
    let mut notes = Vec::new();
    if is_on_device(Path::new(&args.output.name), &args.device) {
        notes.push(
            "the output is on the recorded drive, so the recording includes its own writes; name a \
             file on another drive"
                .into(),
        );
    }
    let (requests, bytes, more) = match target {
        Target::Events => write_raw(recording, output, &report)?,
        Target::Requests(kind) => write(args, recording, kind, output)?,
    };
    notes.extend(more);
    if report.lost() > 0 {
        notes.push("the kernel lost events, so some requests or latencies are missing".into());
    }
    notes.extend(report.not_restored().iter().map(|what| format!("could not restore {what}")));
    print(
        args,
        &flashscope_report::Recording {
            device: args.device.display().to_string(),
            output: args.output.name.clone(),
            output_format: match target {
                Target::Events => RAW.into(),
                Target::Requests(kind) => kind.name.into(),
            },
            requests,
            bytes,
            events_lost: report.lost(),
            notes,
        },
    )
}

/// Returns the form that the options choose.
fn target(args: &OutputArgs) -> Result<Target, Failure> {
    let output = args.name.as_str();
    let plain = output.strip_suffix(".zst").or_else(|| output.strip_suffix(".gz"));
    let is_raw = match args.format.as_deref() {
        Some(format) => format == RAW,
        None => Path::new(plain.unwrap_or(output)).extension().is_some_and(|end| end == RAW),
    };
    if is_raw {
        return Ok(Target::Events);
    }
    args.writer().map(Target::Requests)
}

/// Starts the recording, and reports its progress.
fn start(args: &RecordArgs, target: &Target) -> Result<Recording, Failure> {
    let stop = stop::clean_end_flag()?;
    let scope = match target {
        Target::Events => Scope::Everything,
        Target::Requests(_) => Scope::Requests,
    };
    let mut bar = RecordingBar(LateBar::new());
    let watch = move |report: &Report| {
        let step = Step {
            phase: "recording, until Ctrl-C: requests",
            now: "",
            done: report.requests(),
            total: None,
            unit: Unit::Count,
        };
        Progress::show(&mut bar.0, &step);
        stop.load(Ordering::Relaxed)
    };
    let duration = args.duration.map(|duration| Duration::from_nanos(duration.0));
    Recording::start(&args.device, scope, duration, watch).map_err(|error| match error {
        RecordError::NoDevice(_) | RecordError::NotADevice(_) => usage(error),
        failed => Failure::from(failed),
    })
}

/// A progress bar that disappears when the recording ends.
struct RecordingBar(LateBar);

impl Drop for RecordingBar {
    fn drop(&mut self) {
        self.0.finish();
    }
}

/// The numbers of requests and bytes, and notes for the user.
type WrittenRequests = (u64, Bytes, Vec<String>);

/// Writes the events unchanged.
fn write_raw(
    mut recording: Recording,
    mut output: Output,
    report: &Arc<Report>,
) -> Result<WrittenRequests, Failure> {
    std::io::copy(&mut recording, &mut output)?;
    drop(recording);
    output.finish()?;
    Ok((report.requests(), report.bytes(), Vec::new()))
}

/// Writes the requests that the events describe.
fn write(
    args: &RecordArgs,
    recording: Recording,
    kind: &Kind,
    output: Output,
) -> Result<WrittenRequests, Failure> {
    let mut writer = (kind.open)(output)?;
    let source = Source::of(&args.device.display().to_string(), recording, None)?;
    let blktrace = format::find(RAW).expect("the format is registered");
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
    // Dropping the reader removes the progress bar before anything is printed.
    drop(reader);
    writer.finish(&volumes)?;
    Ok((requests, bytes, notes))
}

fn print(args: &RecordArgs, recording: &flashscope_report::Recording) -> Result<(), Failure> {
    input::show_notes(&recording.notes);
    if !args.output.is_standard_output() {
        print::document(args.json, recording, || flashscope_report::recording(recording))?;
    }
    Ok(())
}
