//! `flashscope simulate`.

use std::fs::{self, File};
use std::io::Write;
use std::path::Path;

use anyhow::{Context, anyhow};
use flashscope_block::Nanos;
use flashscope_drive::Clock;
use flashscope_measure::Phase;
use flashscope_result::{SimulationFolder, SimulationStatus};
use flashscope_sim::observe::{self, Events, Observed, Observer, Window};
use flashscope_sim::profile;
use flashscope_twin::simulate::{Asked, Error, Hooks, Simulated, Simulation, Simulator, Work};
use flashscope_workload::Field;
use flashscope_workload::synthetic;
use flashscope_workload::trace::Progress;

use crate::args::SimulateArgs;
use crate::progress::{LateBar, phase_name};
use crate::{Failure, stop, trace, usage};

/// How long an event trace is unless something else is asked for.
const DEFAULT_TRACE: Nanos = Nanos::millis(100);

pub fn simulate(args: &SimulateArgs) -> Result<(), Failure> {
    if args.list {
        return Ok(write!(std::io::stdout().lock(), "{}", list())?);
    }
    let clock = Clock::new();
    let begun = clock.now();
    let stop = stop::flag()?;
    let mut shown = Shown { bar: LateBar::new(), events: None };
    let mut simulator = Simulator::open(&asked(args), stop, &mut shown).map_err(failure)?;
    shown.events = events(args, &mut simulator)?;
    let folder = args.output.as_deref().map(|path| SimulationFolder::create(path).map_err(usage));
    let mut folder = folder.transpose()?;
    let simulated = simulator.run(stop, &mut shown).map_err(failure);
    shown.bar.finish();
    shown.close(args)?;
    let Simulated { simulation: found, end_of_life } = simulated?;
    let simulation = Simulation { wall_ns: clock.now() - begun, ..found };
    let written = folder.as_mut().map_or(Ok(()), |folder| folder.write(&simulation));
    print(args, &simulation)?;
    written?;
    match simulation.status {
        SimulationStatus::Complete => Ok(()),
        SimulationStatus::Interrupted => {
            Err(Failure::Failed(anyhow!("interrupted: what is shown was measured before")))
        }
        SimulationStatus::Failed => Err(Failure::Failed(anyhow!(
            "{}{}: what is shown was measured before",
            simulation.error.unwrap_or_default(),
            end_of_life.unwrap_or_default()
        ))),
    }
}

fn asked(args: &SimulateArgs) -> Asked {
    let work = Work {
        workload: args.workload.spec().into_owned(),
        fill: args.fill.into(),
        warm_up: args.warmup,
        ios: args.ios,
        duration: args.duration,
        queue_depth: args.queue_depth,
        seed: args.seed,
        observe: args.observe.clone(),
        pictures: args.output.is_some(),
    };
    Asked { drive: args.drive.clone(), work }
}

/// Whether an error is about what was asked for, or about what happened on the way.
pub fn failure(error: Error) -> Failure {
    match error.is_input() {
        true => usage(error),
        false => Failure::Failed(error.into()),
    }
}

/// What the user sees of a simulation that goes on, and the event trace.
struct Shown {
    bar: LateBar,
    events: Option<Observed<Events<File>>>,
}

impl Hooks for Shown {
    fn reading(&mut self, progress: &Progress) {
        trace::show(&mut self.bar, "reading the trace", progress);
    }

    fn notes(&mut self, notes: &[String]) {
        trace::show_notes(notes);
    }

    fn progress(&mut self, phase: Phase, done: u64, total: u64) {
        self.bar.show(phase_name(phase), done, Some(total));
    }

    fn begin(&mut self, now: Nanos) {
        if let Some(events) = &self.events {
            events.lock().restart(now);
        }
    }
}

impl Shown {
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

/// A file for a trace. Only what is a file is written over.
fn create(path: &Path) -> Result<File, Failure> {
    if fs::metadata(path).is_ok_and(|found| !found.is_file()) {
        return Err(usage(anyhow!("--trace-events: {} is no file", path.display())));
    }
    let created = File::create(path);
    Ok(created.with_context(|| format!("--trace-events: {}", path.display()))?)
}

fn print(args: &SimulateArgs, simulation: &Simulation) -> anyhow::Result<()> {
    let mut out = std::io::stdout().lock();
    if args.json {
        serde_json::to_writer_pretty(&mut out, simulation)?;
        writeln!(out)?;
    } else {
        write!(out, "{}", flashscope_report::simulation(simulation))?;
        if let Some(path) = &args.output {
            let path = path.display();
            writeln!(out, "\nresult: {path}\nsee it: flashscope report {path}")?;
        }
    }
    Ok(())
}

/// The simulated drives and the workloads that there are, with their fields.
fn list() -> String {
    let mut text = String::from("drives (--drive), with any field of a profile after `?`:\n");
    for kind in profile::KINDS {
        text += &format!("  {:<14} {}\n", kind.name, kind.summary);
    }
    text += "\nworkloads (--workload), with any of their fields after `?`:\n";
    for kind in synthetic::KINDS {
        let argument = kind.argument.map(|argument| format!(":{argument}")).unwrap_or_default();
        text += &format!("  {}{argument}\n      {}\n", kind.name, kind.summary);
        if let Some(leaves_out) = kind.leaves_out {
            text += &format!("      leaves out: {leaves_out}\n");
        }
        for field in kind.fields {
            text += &described(field);
        }
        let shared: Vec<_> = kind.common.iter().map(|field| field.name).collect();
        text += &format!("      and {}: see below\n", shared.join(", "));
    }
    text += "\nobservers (--observe, and events by --trace-events):\n";
    for kind in observe::KINDS {
        text += &format!("  {}\n      {}: {}\n", kind.name, kind.summary, kind.yields);
    }
    text += "\nfields that workloads share:\n";
    let mut shared: Vec<&Field> = Vec::new();
    for field in synthetic::KINDS.iter().flat_map(|kind| kind.common) {
        if !shared.iter().any(|known| known.name == field.name) {
            shared.push(field);
            text += &described(field);
        }
    }
    text
}

fn described(field: &Field) -> String {
    let default = field.default.map(|value| format!(" [default: {value}]")).unwrap_or_default();
    format!("      {:<12} {}{default}\n", field.name, field.summary)
}
