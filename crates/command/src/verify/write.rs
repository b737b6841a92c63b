//! Writes to the drive, and records the writes in the journal.

use std::io;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use anyhow::anyhow;
use flashscope_block::{Bytes, Device, DeviceInfo, Nanos, WriteData};
use flashscope_document::verification::{VerificationWorkload, WritingEnd};
use flashscope_drive::{Access, Clock, OpenOptions, RealDevice, open_with_data};
use flashscope_measure::{fresh_seed, timestamp, wall_clock_ns};
use flashscope_verify::journal::{Background, Encoder, Log, Opening};
use flashscope_verify::{Limits, Moment, Plan, Stamper, Writer, WritingResult};
use flashscope_workload::state::LARGEST_FILL_IO;

use super::args::VerifyArgs;
use super::journal_file::{JournalFile, check_is_new, check_medium};
use super::{VerifiedWritesArgs, atomicity};
use crate::{Failure, Progress, Step, Unit, build, drives, interrupted, usage};

/// The default target space.
const TARGET: Bytes = Bytes::GIB;

/// The number of acknowledged writes between reports of progress.
const SHOWN_EVERY: u64 = 64;

/// Writes until a limit.
///
/// # Errors
/// If anything but a limit ends the writing. The message states how to judge the drive.
pub(super) fn write(
    args: &VerifyArgs,
    options: OpenOptions,
    stop: &AtomicBool,
    sink: &mut dyn Progress,
) -> Result<(), Failure> {
    check_is_new(&args.journal)?;
    let new_file = drives::file_to_create(&args.drive);
    let (options, run) = (writing(args, options), fresh_seed());
    let stamper = Arc::new(Stamper::new(run, args.writes.queue_depth));
    let data = Arc::clone(&stamper) as Arc<dyn WriteData>;
    let device = open_with_data(&options, data).map_err(usage)?;
    let prepared = Session::new(args, &options, (device, stamper, run), sink);
    let session = drives::keep_if_prepared(new_file, prepared)?;
    let written = session.write(&args.writes, stop, sink);
    let written = written.map_err(|error| {
        let journal = args.journal.display();
        // The error becomes text, not a cause: the program ignores a broken pipe among the causes,
        // which its output may have.
        Failure::Failed(anyhow!("cannot write the journal {journal}: {error}"))
    })?;
    ended(args, written)
}

/// Returns the options with which the drive is opened for writing, under all guards.
fn writing(args: &VerifyArgs, options: OpenOptions) -> OpenOptions {
    let writes = &args.writes;
    OpenOptions {
        access: Access::Write { confirmation: args.consent.destroy_data_on.clone() },
        ignore_open_by_others: args.consent.ignore_open_by_others,
        queue_depth: writes.queue_depth,
        max_io: writes.io_size.max(LARGEST_FILL_IO),
        ..options
    }
}

/// Returns an error unless a limit ended the writing.
fn ended(args: &VerifyArgs, written: WritingResult) -> Result<(), Failure> {
    let (drive, journal) = (&args.drive, args.journal.display());
    let judge = format!("flashscope verify '{drive}' --journal '{journal}' --resume");
    match written.end {
        WritingEnd::Complete => Ok(()),
        WritingEnd::Interrupted => Err(interrupted(format_args!(
            "the journal lists the acknowledged writes; judge the drive with `{judge}`, with or without a power cut"
        ))),
        WritingEnd::DriveFailed | WritingEnd::Cut => {
            let error = written.error.map_or_else(String::new, |errno| format!(" with {errno}"));
            Err(Failure::Failed(anyhow!(
                "`{drive}` stopped working{error} after {} acknowledged writes, as in a power cut: once it works again, \
                 judge it with `{judge}`",
                written.acknowledged
            )))
        }
    }
}

/// An open drive and its journal.
struct Session {
    plan: Plan,
    device: RealDevice,
    stamper: Arc<Stamper>,
    encoder: Encoder,
    log: Background,
}

impl Session {
    /// Begins the journal of the verification `run` of an open drive.
    fn new(
        args: &VerifyArgs,
        options: &OpenOptions,
        (device, stamper, run): (RealDevice, Arc<Stamper>, u64),
        sink: &mut dyn Progress,
    ) -> Result<Session, Failure> {
        let note = check_medium(options.location.path(), &args.journal)?;
        note.into_iter().for_each(|note| sink.note(&note));
        let workload = workload(&args.writes, device.info(), run)?;
        let opening = Opening {
            tool: build::tool(),
            device: device.info().clone(),
            workload,
            atomicity: atomicity(args.atomic_write, options, device.info()),
            began: timestamp(),
        };
        let plan = Plan::new(workload).map_err(usage)?;
        let (encoder, begin) = Encoder::new(&opening);
        let mut log = Background::start(JournalFile::create(&args.journal)?)?;
        log.append(begin)?;
        Ok(Session { plan, device, stamper, encoder, log })
    }

    /// Writes until a limit, a power cut or an interruption.
    fn write(
        mut self,
        writes: &VerifiedWritesArgs,
        stop: &AtomicBool,
        sink: &mut dyn Progress,
    ) -> io::Result<WritingResult> {
        let clock = Clock::new();
        let moment = || Moment { wall_ns: wall_clock_ns(), steady_ns: clock.now().0 };
        let limits = Limits { writes: writes.count, duration: writes.duration };
        let (fills, began) = (self.plan.fills(), clock.now());
        let mut show = |acknowledged: u64| {
            if acknowledged.is_multiple_of(SHOWN_EVERY) {
                let elapsed = clock.now().since(began);
                sink.show(&step(acknowledged, fills, elapsed, limits));
            }
        };
        let drive = (&mut self.device as &mut dyn Device, &*self.stamper);
        let writer = Writer::new(&self.plan, drive, (self.encoder, &mut self.log), &moment);
        let written = writer.run(limits, stop, &mut show)?;
        self.log.finish()?;
        Ok(written)
    }
}

/// Returns the progress after `acknowledged` writes, of which the first `fills` fill the target
/// space.
fn step(acknowledged: u64, fills: u64, elapsed: Nanos, limits: Limits) -> Step<'static> {
    let writing = "writing until the power is cut";
    match (acknowledged.checked_sub(fills), limits.duration) {
        (None, _) => Step::of("filling the target space", acknowledged, Some(fills), Unit::Count),
        (Some(_), Some(limit)) => Step::of(writing, elapsed.0, Some(limit.0), Unit::Share),
        (Some(done), None) => Step::of(writing, done, Some(limits.writes), Unit::Count),
    }
}

/// Returns the writes for a drive.
fn workload(
    writes: &VerifiedWritesArgs,
    info: &DeviceInfo,
    run: u64,
) -> Result<VerificationWorkload, Failure> {
    let VerifiedWritesArgs { target_offset, io_size, queue_depth, flush_every, .. } = *writes;
    let room = Bytes(info.capacity.0.saturating_sub(target_offset.0));
    let by_default = room.min(TARGET).round_down(info.logical_block);
    let target_size = writes.target_size.unwrap_or(by_default);
    if target_size > room {
        return Err(usage(anyhow!(
            "--target-size {target_size} at --target-offset {target_offset} is past the end of `{}`, {}",
            info.name,
            info.capacity
        )));
    }
    Ok(VerificationWorkload {
        run,
        seed: writes.seed.value,
        target_offset,
        target_size,
        block: info.logical_block,
        io_size,
        fill_io: LARGEST_FILL_IO,
        queue_depth,
        flush_every,
    })
}
