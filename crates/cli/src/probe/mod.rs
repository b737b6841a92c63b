//! `flashscope probe`.

mod args;
mod text;

use std::cell::RefCell;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

use anyhow::{Context, anyhow};
use flashscope_block::{Bytes, Device, Nanos, Record, nearest};
use flashscope_measure::{fresh_seed, timestamp};
use flashscope_probe::{
    Budget, DEEPEST, Diary, Event, Investigation, Keeper, LONGEST, Lab, PARAMETERS, Parameter,
    ProbeReport, ProbeStatus, RunInProgress, RunSummary, investigate, profile, stated,
};
use flashscope_result::{PROBE_VERSION, ProbeFolder, Recorder};

pub use args::ProbeArgs;
pub use text::text;

use crate::bench::default_output;
use crate::drives::{self, Purpose};
use crate::progress::LateBar;
use crate::{Failure, stop, usage};

/// How often a drive is written at most unless something else is asked for.
const DRIVE_WRITES: u64 = 10;

pub fn probe(args: &ProbeArgs) -> Result<(), Failure> {
    if args.list {
        return Ok(write!(std::io::stdout().lock(), "{}", text::list())?);
    }
    let name = match (&args.drive, &args.file) {
        (Some(drive), _) => drive.clone(),
        (None, Some(file)) => format!("file:{file}"),
        (None, None) => return Err(usage(anyhow!("name a drive"))),
    };
    let wanted = parameters(&args.only)?;
    if args.budget_bytes == Some(Bytes(0)) {
        return Err(usage(anyhow!("--budget-bytes: to write nothing, say --read-only")));
    }
    let output = args.output.clone().unwrap_or_else(|| default_output(&name));
    refuse_existing(&output, args.profile.as_deref())?;
    let stop = stop::flag()?;
    let new_file = drives::file_to_create(&name);
    let purpose = Purpose {
        write: !args.read_only,
        confirmation: args.destroy_data_on.clone(),
        queue_depth: DEEPEST,
        max_io: LONGEST,
        seed: fresh_seed(),
    };
    let mut device = drives::open(&name, &purpose)?;
    let folder = ProbeFolder::create(&output).map_err(usage);
    if let (Err(_), Some(path)) = (&folder, new_file) {
        // What is refused leaves nothing behind.
        std::fs::remove_file(&path)
            .with_context(|| format!("cannot remove {} again", path.display()))?;
    }
    let mut folder = folder?;
    let report = probed(args, device.as_mut(), wanted, &folder, stop)?;
    folder.write(&report)?;
    save_profile(args, &report)?;
    print(args, &report, folder.path())?;
    match report.status {
        ProbeStatus::Complete => Ok(()),
        ProbeStatus::Interrupted => {
            Err(Failure::Failed(anyhow!("interrupted: what is shown was found before")))
        }
    }
}

/// The parameters of these names.
fn parameters(names: &[String]) -> Result<Vec<Parameter>, Failure> {
    let known = || PARAMETERS.iter().map(|spec| spec.name);
    let named = |name: &String| {
        Parameter::named(name).ok_or_else(|| {
            let meant = nearest(name, known());
            let meant = meant.map(|name| format!(", did you mean `{name}`?")).unwrap_or_default();
            let list: Vec<&str> = known().collect();
            usage(anyhow!("`{name}` is no parameter{meant}\nthere are: {}", list.join(", ")))
        })
    };
    names.iter().map(named).collect()
}

/// Nothing is written over, and that is said before the drive is touched.
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

/// What is kept, and shown, while a drive is probed.
struct Journal {
    diary: Diary,
    recorder: Recorder,
    /// Why records could not be written.
    failed: Option<flashscope_result::Error>,
    bar: LateBar,
    /// The probe that runs.
    probe: &'static str,
}

/// IOs between two looks at the progress of a run.
const SHOWN_EVERY: u64 = 64;

impl Journal {
    fn new(folder: &ProbeFolder) -> Journal {
        let (diary, recorder, bar) = (Diary::default(), folder.recorder(), LateBar::new());
        Journal { diary, recorder, failed: None, bar, probe: "" }
    }

    fn tell(&mut self, event: &Event<'_>) {
        self.diary.tell(event);
        if let Event::Begins { probe, .. } = event {
            self.probe = probe.name;
        }
    }

    /// Records what there is to record, unless an earlier record could not be.
    fn record(&mut self, with: impl FnOnce(&mut Recorder) -> Result<(), flashscope_result::Error>) {
        if self.failed.is_none() {
            self.failed = with(&mut self.recorder).err();
        }
    }
}

/// A journal that hears of IOs from the lab and of findings from the investigation.
struct Shared(RefCell<Journal>);

impl Keeper for &Shared {
    fn io(&mut self, run: &RunInProgress<'_>, record: &Record) {
        let journal = &mut *self.0.borrow_mut();
        journal.record(|recorder| {
            if run.ios == 1 {
                recorder.begin(run.number)?;
            }
            recorder.push(record)
        });
        if run.ios.is_multiple_of(SHOWN_EVERY) {
            let what = format!("{}: {}", journal.probe, run.purpose);
            match run.of {
                Some(_) => journal.bar.show(&what, run.ios, run.of),
                None => journal.bar.show_count(&what, run.ios),
            }
        }
    }

    fn end(&mut self, run: RunSummary) {
        let journal = &mut *self.0.borrow_mut();
        journal.diary.keep(run);
        journal.record(|recorder| recorder.end().map(|_| ()));
    }
}

/// Investigates a drive.
fn probed(
    args: &ProbeArgs,
    device: &mut dyn Device,
    wanted: Vec<Parameter>,
    folder: &ProbeFolder,
    stop: &AtomicBool,
) -> Result<ProbeReport, Failure> {
    let (drive, began) = (device.info().clone(), timestamp());
    let by_default = Bytes(drive.capacity.0.saturating_mul(DRIVE_WRITES));
    let bytes = if args.read_only { Bytes(0) } else { args.budget_bytes.unwrap_or(by_default) };
    let budget = Budget { bytes, time: args.budget_time.unwrap_or(Nanos::MAX) };
    let journal = Shared(RefCell::new(Journal::new(folder)));
    let mut keeper = &journal;
    let mut lab = Lab::new(device, budget, args.seed, stop, &mut keeper);
    let mut tell = |event: &Event<'_>| journal.0.borrow_mut().tell(event);
    let mut how = Investigation { wanted: &wanted, tell: &mut tell };
    let (knowledge, halt) = investigate(&mut lab, &mut how);
    let used = lab.used();
    let Journal { diary, recorder, failed, bar, .. } = journal.0.into_inner();
    bar.finish();
    drop(recorder);
    if let Some(failed) = failed {
        return Err(failed.into());
    }
    let (findings, signals) = stated(&knowledge);
    Ok(ProbeReport {
        schema_version: PROBE_VERSION,
        flashscope: env!("CARGO_PKG_VERSION").into(),
        began,
        seed: args.seed,
        wanted,
        status: ProbeStatus::of(halt),
        budget: budget.into(),
        used: used.into(),
        findings,
        signals,
        steps: diary.steps(),
        profile: profile(&knowledge, &drive),
        drive,
    })
}

fn save_profile(args: &ProbeArgs, report: &ProbeReport) -> Result<(), Failure> {
    match (&args.profile, &report.profile) {
        (Some(path), Some(toml)) => {
            Ok(std::fs::write(path, toml)
                .with_context(|| format!("--profile: {}", path.display()))?)
        }
        (Some(path), None) => {
            eprintln!("note: --profile: {} is not written: no flash was found", path.display());
            Ok(())
        }
        (None, _) => Ok(()),
    }
}

fn print(args: &ProbeArgs, report: &ProbeReport, folder: &Path) -> Result<(), Failure> {
    let mut out = std::io::stdout().lock();
    if args.json {
        serde_json::to_writer_pretty(&mut out, report)?;
        writeln!(out)?;
        return Ok(());
    }
    write!(out, "{}", text(report))?;
    let path = folder.display();
    writeln!(out, "\nresult: {path}\nsee it: flashscope report {path}")?;
    let profile: Option<&PathBuf> = args.profile.as_ref().filter(|_| report.profile.is_some());
    if let Some(profile) = profile {
        let path = profile.display();
        writeln!(out, "profile: {path}\nrun it: flashscope simulate --drive sim:./{path}")?;
    }
    Ok(())
}
