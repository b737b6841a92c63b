//! `flashscope simulate`: simulates a workload on a drive.

#![cfg_attr(
    lint_writes,
    expect(clippy::disallowed_methods, reason = "a trace of events: check_output")
)]

mod args;
mod speed;

use std::fs::{self, File};
use std::path::Path;
use std::sync::atomic::AtomicBool;

use anyhow::{Context, anyhow};
use flashscope_analysis::conclusions::Conclude;
use flashscope_block::{Io, Nanos};
use flashscope_document::SimulationStatus;
use flashscope_document::conclusion::EvidenceUnit;
use flashscope_drive::guard::create_output;
use flashscope_drive::{Clock, OpenError};
use flashscope_measure::Phase;
use flashscope_result::SimulationFolder;
use flashscope_sim::host::Arbitration;
use flashscope_sim::observe::{Events, ObserverHandle, Window};
use flashscope_simulate::{
    Error, Hooks, Simulation, SimulationRequest, SimulationResult, Simulator, Work, run_alone,
};

pub use self::args::{ObservationArgs, SimulateArgs, TenantArgs};
use self::speed::PhaseTimes;
use crate::{Failure, PartialResult, Progress, Step, interrupted, not_made, usage};

/// The default length of an event trace.
const DEFAULT_TRACE: Nanos = Nanos::millis(100);

/// A callback for each measured IO, with its completion time from the start of the measurement, and
/// its latency.
pub type Each<'a> = dyn FnMut(&Io, Nanos, Nanos) + Send + 'a;

/// The result of a simulation, complete or not.
pub struct SimulationOutcome {
    /// The document.
    pub simulation: Simulation,
    /// A note for the user on the reason of a failed IO: the drive is worn out, or has zones.
    pub reason: Option<String>,
    /// The result of writing the requested folder; `Ok` if none was requested.
    pub written: Result<(), flashscope_result::Error>,
}

/// Simulates a workload.
///
/// Setting `stop` ends the simulation; the result keeps the measurements so far.
///
/// # Errors
/// If the request is invalid, or nothing was measured. [`SimulationOutcome::outcome`] reports an
/// incomplete simulation or a failure to write the folder.
pub fn simulate(
    args: &SimulateArgs,
    stop: &AtomicBool,
    sink: &mut dyn Progress,
    each: Option<&mut Each<'_>>,
) -> Result<SimulationOutcome, Failure> {
    let clock = Clock::new();
    let begun = clock.now();
    let times = PhaseTimes::new(&clock);
    let mut hooks =
        SimulationHooks { sink, each, events: None, times, latency: MeanSoFar::default() };
    let mut simulator = Simulator::open(&request(args), &args.memory.budget(), stop, &mut hooks)
        .map_err(failure)?;
    hooks.events = events(args, &mut simulator)?;
    let folder =
        args.output.folder.as_deref().map(|path| SimulationFolder::create(path).map_err(not_made));
    let mut folder = folder.transpose()?;
    let simulated = simulator.run(stop, &mut hooks).map_err(failure);
    hooks.times.mark();
    hooks.close(args)?;
    let SimulationResult { mut simulation, reason } = simulated?;
    let request = request(args);
    if request.work.alone && simulation.status == SimulationStatus::Complete {
        let mut alone = Alone(&mut *hooks.sink);
        let memory = args.memory.budget();
        run_alone(&request, &memory, stop, &mut alone, &mut simulation).map_err(failure)?;
    }
    let speed = hooks.times.speed(&simulation);
    let simulation = Simulation { wall_ns: clock.now() - begun, speed, ..simulation };
    let simulation = simulation.with_conclusions();
    let written = folder.as_mut().map_or(Ok(()), |folder| folder.write(&simulation));
    Ok(SimulationOutcome { simulation, reason, written })
}

impl SimulationOutcome {
    /// Checks that the simulation is complete and saved.
    ///
    /// # Errors
    /// If the simulation was interrupted, the drive failed, or the folder could not be written.
    pub fn outcome(self) -> Result<(), Failure> {
        self.written?;
        match self.simulation.status {
            SimulationStatus::Complete => Ok(()),
            SimulationStatus::Interrupted => {
                Err(interrupted("the results shown were measured before the interruption"))
            }
            SimulationStatus::Failed => Err(Failure::Failed(anyhow!(
                "{}{}: the results shown were measured before the failure",
                self.simulation.error.unwrap_or_default(),
                self.reason.unwrap_or_default()
            ))),
        }
    }
}

fn request(args: &SimulateArgs) -> SimulationRequest {
    let (observe, pictures) = (args.observation.observe.clone(), args.output.folder.is_some());
    let TenantArgs { tenants, weights, burst, no_alone } = &args.tenants;
    let arbitration = Arbitration { burst: *burst, weights: weights.map(|weights| weights.0) };
    let (tenants, alone) = (tenants.clone(), !no_alone);
    let work = Work { tenants, arbitration, alone, observe, pictures, ..args.work.work() };
    SimulationRequest { drive: args.drive.name().into(), work }
}

/// Classifies an error as a usage error, an interruption or a failure.
#[must_use]
pub fn failure(error: Error) -> Failure {
    match error {
        Error::Interrupted => Failure::Interrupted(error.into()),
        error if error.is_input() => usage(error),
        error => Failure::Failed(error.into()),
    }
}

/// The hooks of a simulation, which report its progress and write the event trace.
struct SimulationHooks<'a, 'b> {
    sink: &'a mut dyn Progress,
    each: Option<&'a mut Each<'b>>,
    events: Option<ObserverHandle<Events<File>>>,
    times: PhaseTimes,
    latency: MeanSoFar,
}

/// The mean latency of the IOs since the last partial result.
#[derive(Default)]
struct MeanSoFar {
    /// The total number of measured IOs.
    ios: u64,
    /// The number of IOs since the last partial result.
    since: u64,
    /// The sum of the latencies since the last partial result.
    sum: Nanos,
}

impl MeanSoFar {
    fn push(&mut self, latency: Nanos) {
        (self.ios, self.since) = (self.ios + 1, self.since + 1);
        self.sum = Nanos(self.sum.0.saturating_add(latency.0));
    }

    /// Reports the mean and resets it.
    #[allow(clippy::cast_precision_loss, reason = "exact up to 2^53")]
    fn report(&mut self, sink: &mut dyn Progress) {
        if self.since == 0 {
            return;
        }
        sink.found(&PartialResult {
            chart: "Mean latency",
            x_axis: "IOs measured",
            series: "mean latency",
            x: self.ios as f64,
            what: "",
            value: self.sum.0 as f64 / self.since as f64,
            unit: EvidenceUnit::Nanoseconds,
        });
        (self.since, self.sum) = (0, Nanos(0));
    }
}

impl Progress for SimulationHooks<'_, '_> {
    fn show(&mut self, step: &Step<'_>) {
        self.latency.report(self.sink);
        self.sink.show(step);
    }

    fn note(&mut self, text: &str) {
        self.sink.note(text);
    }
}

impl Hooks for SimulationHooks<'_, '_> {
    fn receives_each(&self) -> bool {
        self.each.is_some() || self.sink.shows_results()
    }

    fn each(&mut self, io: &Io, at: Nanos, latency: Nanos) {
        if self.sink.shows_results() {
            self.latency.push(latency);
        }
        if let Some(each) = &mut self.each {
            each(io, at, latency);
        }
    }

    fn begin(&mut self, _phase: Phase, _now: Nanos) {
        self.times.mark();
    }
}

/// The hooks of tenants that run alone, which report progress.
struct Alone<'a>(&'a mut dyn Progress);

impl Progress for Alone<'_> {
    fn show(&mut self, step: &Step<'_>) {
        self.0.show(step);
    }

    fn note(&mut self, text: &str) {
        self.0.note(text);
    }
}

impl Hooks for Alone<'_> {}

impl SimulationHooks<'_, '_> {
    fn close(&self, args: &SimulateArgs) -> anyhow::Result<()> {
        let (Some(events), Some(path)) = (&self.events, &args.observation.trace_events) else {
            return Ok(());
        };
        events.lock().finish().with_context(|| format!("--trace-events: {}", path.display()))
    }
}

/// Creates the event trace, if one was requested.
fn events(
    args: &SimulateArgs,
    simulator: &mut Simulator,
) -> Result<Option<ObserverHandle<Events<File>>>, Failure> {
    let ObservationArgs { trace_events, trace_from, trace_for, .. } = &args.observation;
    let Some(path) = trace_events else { return Ok(None) };
    let device = simulator.only().map_err(failure)?;
    let window = Window {
        after: trace_from.unwrap_or_default(),
        length: trace_for.unwrap_or(DEFAULT_TRACE),
    };
    let events = Events::waiting(device, create(path)?, window);
    Ok(Some(device.observe(events)))
}

/// Creates the file of an event trace. Replaces an existing file only if it is not in use.
fn create(path: &Path) -> Result<File, Failure> {
    if fs::metadata(path).is_ok_and(|metadata| !metadata.is_file()) {
        return Err(usage(anyhow!("--trace-events: {} is not a file", path.display())));
    }
    create_output(path).map_err(|error| match error {
        OpenError::System { .. } => Failure::from(anyhow!("--trace-events: {error}")),
        _ => usage(anyhow!("--trace-events: {error}")),
    })
}
