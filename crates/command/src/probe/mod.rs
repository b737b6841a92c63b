//! `flashscope probe`: infers a drive's internals from its timing.

#![cfg_attr(
    lint_writes,
    expect(clippy::disallowed_methods, reason = "a profile: nothing may have its name")
)]

mod args;
mod journal;

use std::cell::RefCell;
use std::path::Path;
use std::sync::atomic::AtomicBool;

use anyhow::{Context, anyhow};
use flashscope_analysis::conclusions::Conclude;
use flashscope_block::{Bytes, Device, Nanos, suggestion};
use flashscope_document::probe::PROBE_VERSION;
use flashscope_document::probe::{PARAMETERS, Parameter, ProbeReport, ProbeStatus};
use flashscope_measure::{fresh_seed, timestamp};
use flashscope_probe::{
    Budget, DEEPEST, Event, Investigation, Lab, MAX_REQUEST, investigate, profile, stated,
};
use flashscope_result::{ProbeFolder, write_text};

pub use args::ProbeArgs;
use journal::{Journal, SharedJournal};

use crate::bench::{LOOK, default_output};
use crate::drives::{self, Purpose};
use crate::{Failure, Progress, interrupted, not_made, usage};

/// The default limit on bytes written, in drive capacities.
const DRIVE_WRITES: u64 = 10;

/// The result of a probe, complete or not.
pub struct ProbeResult {
    /// The result folder.
    pub folder: ProbeFolder,
    /// The findings; [`outcome`] reports whether the probe is complete.
    pub report: ProbeReport,
}

/// Probes a drive.
///
/// Setting `stop` ends the probe in an orderly way, with the findings so far.
///
/// # Errors
/// If the request is invalid, or records cannot be written.
pub fn probe(
    args: &ProbeArgs,
    stop: &AtomicBool,
    sink: &mut dyn Progress,
) -> Result<ProbeResult, Failure> {
    let name = match (&args.drive, &args.file) {
        (Some(drive), _) => drive.clone(),
        (None, Some(file)) => format!("file:{file}"),
        (None, None) => return Err(usage(anyhow!("name a drive"))),
    };
    let parameters = parameters(&args.only)?;
    if args.budget.budget_bytes == Some(Bytes(0)) {
        return Err(usage(anyhow!("--budget-bytes 0: use --read-only to write nothing")));
    }
    let output = args.output.folder.clone().unwrap_or_else(|| default_output(&name));
    refuse_existing(&output, args.profile.as_deref())?;
    let new_file = drives::file_to_create(&name);
    let purpose = Purpose {
        write: !args.read_only.is_set,
        confirmation: args.consent.destroy_data_on.clone(),
        scratch: false,
        ignore_open_by_others: args.consent.ignore_open_by_others,
        queue_depth: DEEPEST,
        max_io: MAX_REQUEST,
        memory: args.memory.budget(),
        seed: fresh_seed(),
    };
    let mut device = drives::open(&name, &purpose)?;
    let folder = ProbeFolder::create(&output).map_err(not_made);
    let mut folder = drives::keep_if_prepared(new_file, folder)?;
    let report = run(args, device.as_mut(), parameters, &folder, (stop, sink))?;
    folder.write(&report)?;
    save_profile(args, &report, sink)?;
    Ok(ProbeResult { folder, report })
}

/// Checks that the probe is complete.
///
/// # Errors
/// If the probe was interrupted, or IOs failed.
pub fn outcome(report: &ProbeReport) -> Result<(), Failure> {
    let errors = report.errors.as_ref().map(ToString::to_string);
    let message = match (report.status, errors) {
        (ProbeStatus::Complete, None) => return Ok(()),
        (ProbeStatus::Complete, Some(errors)) => {
            format!("{errors}: the steps with failed IOs give no findings. {LOOK}")
        }
        (ProbeStatus::Interrupted, _) => {
            return Err(interrupted("the findings shown were made before the interruption"));
        }
        (ProbeStatus::Failed, errors) => format!(
            "the drive was removed or stopped responding, {}: the findings shown were made before the failure. {LOOK}",
            errors.unwrap_or_default()
        ),
    };
    Err(Failure::Failed(anyhow!(message)))
}

/// Returns the parameters of these names.
fn parameters(names: &[String]) -> Result<Vec<Parameter>, Failure> {
    let known = || PARAMETERS.iter().map(|spec| spec.name);
    let named = |name: &String| {
        Parameter::named(name).ok_or_else(|| {
            let near = suggestion(name, known());
            let list: Vec<&str> = known().collect();
            usage(anyhow!("`{name}` is not a parameter{near}\nchoose one of: {}", list.join(", ")))
        })
    };
    names.iter().map(named).collect()
}

/// Fails if an output file exists already. The check comes before the drive is touched.
fn refuse_existing(output: &Path, profile: Option<&Path>) -> Result<(), Failure> {
    if output.exists() {
        return Err(usage(flashscope_result::Error::Exists(output.into())));
    }
    match profile.filter(|path| path.exists()) {
        Some(path) => Err(usage(anyhow!(
            "--profile: {} exists already: choose another name, or remove it",
            path.display()
        ))),
        None => Ok(()),
    }
}

/// Investigates a drive.
fn run(
    args: &ProbeArgs,
    device: &mut dyn Device,
    parameters: Vec<Parameter>,
    folder: &ProbeFolder,
    (stop, sink): (&AtomicBool, &mut dyn Progress),
) -> Result<ProbeReport, Failure> {
    let (drive, began) = (device.info().clone(), timestamp());
    let by_default = Bytes(drive.capacity.0.saturating_mul(DRIVE_WRITES));
    let bytes = if args.read_only.is_set {
        Bytes(0)
    } else {
        args.budget.budget_bytes.unwrap_or(by_default)
    };
    let budget = Budget { bytes, time: args.budget.budget_time.unwrap_or(Nanos::MAX) };
    let journal = SharedJournal(RefCell::new(Journal::new(folder, sink)));
    let mut keeper = &journal;
    let mut lab = Lab::new(device, budget, args.seed.value, stop, &mut keeper);
    let mut tell = |event: &Event<'_>| journal.0.borrow_mut().tell(event);
    let mut how = Investigation { parameters: &parameters, observer: &mut tell };
    let (knowledge, halt) = investigate(&mut lab, &mut how);
    let (used, errors) = (lab.used(), lab.errors().cloned());
    let Journal { diary, recorder, failed, .. } = journal.0.into_inner();
    drop(recorder);
    if let Some(failed) = failed {
        return Err(failed.into());
    }
    let (findings, signals) = stated(&knowledge);
    let report = ProbeReport {
        schema_version: PROBE_VERSION,
        conclusions: Vec::new(),
        flashscope: env!("CARGO_PKG_VERSION").into(),
        began,
        seed: args.seed.value,
        wanted: parameters,
        status: flashscope_probe::status_of(halt),
        errors,
        budget: budget.into(),
        used: used.into(),
        findings,
        signals,
        steps: diary.steps(),
        profile: profile(&knowledge, &drive),
        drive,
    };
    Ok(report.with_conclusions())
}

fn save_profile(
    args: &ProbeArgs,
    report: &ProbeReport,
    sink: &mut dyn Progress,
) -> Result<(), Failure> {
    match (&args.profile, &report.profile) {
        (Some(path), Some(toml)) => {
            Ok(write_text(path, toml).with_context(|| format!("--profile: {}", path.display()))?)
        }
        (Some(path), None) => {
            let path = path.display();
            sink.note(&format!("--profile: {path} is not written: no flash was found"));
            Ok(())
        }
        (None, _) => Ok(()),
    }
}
