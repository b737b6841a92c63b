//! Judges the drive by its blocks and the journal.

use std::sync::atomic::AtomicBool;

use anyhow::anyhow;
use flashscope_block::{Bytes, DeviceInfo};
use flashscope_document::verification::{
    Atomicity, AtomicitySource, ClockJump, JournalTotals, VERIFICATION_VERSION, Verification,
};
use flashscope_drive::{Contents, OpenOptions};
use flashscope_measure::{timestamp, timestamp_of, wall_clock_ns};
use flashscope_verify::journal::Journal;
use flashscope_verify::{
    History, Jump, Plan, ReadBack, ReadBackError, judge as judge_contents, jump_at_resume, jumps,
    read_back,
};

use super::args::VerifyArgs;
use super::journal_file;
use crate::bench::check_drive;
use crate::{Failure, Progress, Step, Unit, build, interrupted, usage};

/// Judges the drive.
///
/// # Errors
/// If the journal cannot be read or does not belong to the drive, if the drive fails, or if `stop`
/// is set.
pub(super) fn judge(
    args: &VerifyArgs,
    options: OpenOptions,
    stop: &AtomicBool,
    sink: &mut dyn Progress,
) -> Result<Verification, Failure> {
    let (contents, info) = Contents::open(&options).map_err(usage)?;
    let journal = journal_file::read(&args.journal)?;
    check_same_drive(&journal, &info)?;
    let plan = Plan::new(journal.opening.workload)
        .map_err(|error| usage(anyhow!("{}: {error}", args.journal.display())))?;
    let history = History::new(&plan, journal.events()).map_err(usage)?;
    let back = read(&plan, &contents, stop, sink)?;
    check_is_ours(args, &back)?;
    if back.own == 0 {
        sink.note(
            "no block carries the stamp of this verification: the drive lost everything, was erased since, or is not the drive of the journal",
        );
    }
    let atomicity = match args.atomic_write {
        Some(unit) => Atomicity { unit, boundary: None, source: AtomicitySource::Option },
        None => journal.opening.atomicity,
    };
    let judgement = judge_contents(&plan, &history, atomicity, &back);
    Ok(Verification {
        schema_version: VERIFICATION_VERSION,
        tool: build::tool(),
        began: journal.opening.began.clone(),
        judged: timestamp(),
        workload: journal.opening.workload,
        atomicity,
        ending: history.end(),
        journal: JournalTotals { damaged_tail_bytes: journal.damaged_tail, ..*history.totals() },
        clock_jumps: clock_jumps(&journal),
        verdict: judgement.verdict(),
        bytes: judgement.bytes,
        unflushed: judgement.unflushed,
        torn_writes: judgement.torn_writes,
        torn_beyond_unit_writes: judgement.torn_beyond_unit_writes,
        findings: judgement.findings,
        more_findings: judgement.more_findings,
        device: journal.opening.device,
    })
}

/// Fails if the drive is not the drive of the journal. The name and the engine may differ.
fn check_same_drive(journal: &Journal, info: &DeviceInfo) -> Result<(), Failure> {
    let then = DeviceInfo { engine: None, ..journal.opening.device.clone() };
    check_drive(&then, info, "that the journal describes")?;
    let workload = &journal.opening.workload;
    let end = workload.target_offset.0.checked_add(workload.target_size.0);
    if workload.block != info.logical_block || end.is_none_or(|end| end > info.capacity.0) {
        return Err(usage(anyhow!("the writes of the journal do not fit on `{}`", info.name)));
    }
    Ok(())
}

/// Fails if the drive holds blocks of another verification and none of this one. A drive that holds
/// neither may have lost everything.
fn check_is_ours(args: &VerifyArgs, back: &ReadBack) -> Result<(), Failure> {
    if back.own > 0 || back.others == 0 {
        return Ok(());
    }
    Err(usage(anyhow!(
        "`{}` holds blocks of another verification: the journal {} is of another drive, or the drive was verified again since; \
         name the journal of the latest verification",
        args.drive,
        args.journal.display()
    )))
}

fn read(
    plan: &Plan,
    contents: &Contents,
    stop: &AtomicBool,
    sink: &mut dyn Progress,
) -> Result<ReadBack, Failure> {
    let total = plan.workload().target_size.0;
    let mut show = |done| sink.show(&Step::of("reading the drive", done, Some(total), Unit::Bytes));
    let mut read = |offset: Bytes, buffer: &mut [u8]| contents.read(offset, buffer);
    read_back(plan, &mut read, stop, &mut show).map_err(|error| match error {
        ReadBackError::Stopped => interrupted(
            "the drive and the journal are unchanged; judge the drive again with --resume",
        ),
        ReadBackError::Gone(errno) => {
            Failure::Failed(anyhow!("the drive was removed or stopped responding: {errno}"))
        }
    })
}

/// Returns the jumps of the clock from the start of the writing to the present.
fn clock_jumps(journal: &Journal) -> Vec<ClockJump> {
    let at_resume = journal.moments.last().and_then(|last| jump_at_resume(*last, wall_clock_ns()));
    let describe = |jump: Jump| ClockJump {
        at: timestamp_of(jump.at_ns.div_euclid(1_000_000_000)),
        by_ns: jump.by_ns,
    };
    jumps(&journal.moments).into_iter().chain(at_resume).map(describe).collect()
}
