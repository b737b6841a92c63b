//! `flashscope simulate`: a workload on a simulated drive.

#![cfg_attr(
    lint_writes,
    expect(clippy::disallowed_methods, reason = "a trace of events: check_output")
)]

mod args;

use std::fs::{self, File};
use std::path::Path;
use std::sync::atomic::AtomicBool;

use anyhow::{Context, anyhow};
use flashscope_block::{Io, Nanos};
use flashscope_drive::guard::create_output;
use flashscope_drive::{Clock, OpenError};
use flashscope_measure::Phase;
use flashscope_result::{SimulationFolder, SimulationStatus};
use flashscope_sim::observe::{Events, Observed, Observer, Window};
use flashscope_twin::simulate::{Asked, Error, Hooks, Simulated, Simulation, Simulator, Work};
use flashscope_workload::trace::Progress;

pub use self::args::{FillState, SimulateArgs, WorkArgs};
use crate::{Failure, Onlooker, Step, Unit, interrupted, not_made, trace, usage};

/// How long an event trace is unless something else is asked for.
const DEFAULT_TRACE: Nanos = Nanos::millis(100);

/// Is told each IO that is measured: what it did where, when it was answered, from the begin of the measurement, and its
/// latency.
pub type Each<'a> = dyn FnMut(&Io, Nanos, Nanos) + 'a;

/// A workload that was simulated, as far as it was.
pub struct Done {
    /// What came of it.
    pub simulation: Simulation,
    /// What to say of a drive that is worn out.
    pub end_of_life: Option<String>,
    /// Whether it was written to the folder that was asked for.
    pub written: Result<(), flashscope_result::Error>,
}

/// Simulates a workload.
///
/// Once `stop` is set it ends with what was measured until then.
///
/// # Errors
/// Where what is asked for cannot be simulated, and where nothing was measured. That not all was, or that it could not
/// be written, is said by [`Done::outcome`].
pub fn simulate(
    args: &SimulateArgs,
    stop: &AtomicBool,
    onlooker: &mut dyn Onlooker,
    each: Option<&mut Each<'_>>,
) -> Result<Done, Failure> {
    args.memory.apply();
    let clock = Clock::new();
    let begun = clock.now();
    let mut shown = Shown { onlooker, each, events: None };
    let mut simulator = Simulator::open(&asked(args), stop, &mut shown).map_err(failure)?;
    shown.events = events(args, &mut simulator)?;
    let folder =
        args.output.as_deref().map(|path| SimulationFolder::create(path).map_err(not_made));
    let mut folder = folder.transpose()?;
    let simulated = simulator.run(stop, &mut shown).map_err(failure);
    shown.close(args)?;
    let Simulated { simulation: found, end_of_life } = simulated?;
    let simulation = Simulation { wall_ns: clock.now() - begun, ..found };
    let written = folder.as_mut().map_or(Ok(()), |folder| folder.write(&simulation));
    Ok(Done { simulation, end_of_life, written })
}

impl Done {
    /// Whether all that was asked for was done.
    ///
    /// # Errors
    /// Where it could not be written, was interrupted, or the drive failed.
    pub fn outcome(self) -> Result<(), Failure> {
        self.written?;
        match self.simulation.status {
            SimulationStatus::Complete => Ok(()),
            SimulationStatus::Interrupted => Err(interrupted("what is shown was measured before")),
            SimulationStatus::Failed => Err(Failure::Failed(anyhow!(
                "{}{}: what is shown was measured before",
                self.simulation.error.unwrap_or_default(),
                self.end_of_life.unwrap_or_default()
            ))),
        }
    }
}

fn asked(args: &SimulateArgs) -> Asked {
    let work =
        Work { observe: args.observe.clone(), pictures: args.output.is_some(), ..args.work.work() };
    Asked { drive: args.drive.clone(), work }
}

/// Whether an error is about what was asked for, or about what happened on the way.
#[must_use]
pub fn failure(error: Error) -> Failure {
    match error {
        Error::Interrupted => Failure::Interrupted(error.into()),
        error if error.is_input() => usage(error),
        error => Failure::Failed(error.into()),
    }
}

/// What the user sees of a simulation that goes on, and the event trace.
struct Shown<'a, 'b> {
    onlooker: &'a mut dyn Onlooker,
    each: Option<&'a mut Each<'b>>,
    events: Option<Observed<Events<File>>>,
}

impl Hooks for Shown<'_, '_> {
    fn reading(&mut self, progress: &Progress) {
        trace::show(self.onlooker, "reading the trace", progress);
    }

    fn notes(&mut self, notes: &[String]) {
        notes.iter().for_each(|note| self.onlooker.note(note));
    }

    fn progress(&mut self, phase: Phase, done: u64, total: u64) {
        let (phase, unit) = match phase {
            Phase::Fill => ("filling the drive", Unit::Bytes),
            Phase::WarmUp => ("warming up", Unit::Share),
            Phase::Measure => ("measuring", Unit::Share),
        };
        self.onlooker.show(&Step { phase, now: "", done, total: Some(total), unit });
    }

    fn wants_each(&self) -> bool {
        self.each.is_some()
    }

    fn each(&mut self, io: &Io, at: Nanos, latency: Nanos) {
        if let Some(each) = &mut self.each {
            each(io, at, latency);
        }
    }

    fn begin(&mut self, now: Nanos) {
        if let Some(events) = &self.events {
            events.lock().restart(now);
        }
    }
}

impl Shown<'_, '_> {
    fn close(&self, args: &SimulateArgs) -> anyhow::Result<()> {
        let (Some(events), Some(path)) = (&self.events, &args.trace_events) else { return Ok(()) };
        events.lock().finish().with_context(|| format!("--trace-events: {}", path.display()))
    }
}

/// The event trace, if there is to be one.
fn events(
    args: &SimulateArgs,
    simulator: &mut Simulator,
) -> Result<Option<Observed<Events<File>>>, Failure> {
    let Some(path) = &args.trace_events else { return Ok(None) };
    let device = simulator.only().map_err(failure)?;
    let window = Window {
        after: args.trace_from.unwrap_or_default(),
        length: args.trace_for.unwrap_or(DEFAULT_TRACE),
    };
    let events = Events::waiting(device, create(path)?, window);
    Ok(Some(device.observe(events)))
}

/// A file for a trace. Only a file that nobody uses is replaced.
fn create(path: &Path) -> Result<File, Failure> {
    if fs::metadata(path).is_ok_and(|found| !found.is_file()) {
        return Err(usage(anyhow!("--trace-events: {} is no file", path.display())));
    }
    create_output(path).map_err(|error| match error {
        OpenError::System { .. } => Failure::from(anyhow!("--trace-events: {error}")),
        _ => usage(anyhow!("--trace-events: {error}")),
    })
}
