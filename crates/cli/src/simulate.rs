//! `flashscope simulate`.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::Write;
use std::path::Path;

use anyhow::{Context, anyhow};
use flashscope_block::{Bytes, Device, Errno, Nanos, Op};
use flashscope_drive::Clock;
use flashscope_measure::{
    Each, Ended, Gauge, Length, Load, Measured, Outcome, Phase, STEADY, Session, WarmUp,
};
use flashscope_report::{Cleaning, LatencyHeatMap, LatencyNs, SimulationStatus, SimulationWarmUp};
use flashscope_result::{SIMULATION_VERSION, SimulationFolder};
use flashscope_sim::nand::ByCause;
use flashscope_sim::observe::{self, Events, Findings, Observed, Observer, Watch, Window};
use flashscope_sim::{Counters, Drive, SimDevice, profile};
use flashscope_stats::HeatMap;
use flashscope_workload::Field;
use flashscope_workload::pattern::Reference;
use flashscope_workload::synthetic::{self, Ios, Target, Workload};
use flashscope_workload::trace::Survey;

use crate::args::{FillState, SimulateArgs};
use crate::glances::Glances;
use crate::progress::{LateBar, phase_name};
use crate::trace::{self, Passes};
use crate::{Failure, drives, stop, usage};

type Simulation = flashscope_report::Simulation<Findings>;

/// How many IOs of a workload without an end are measured unless something else is asked for.
const DEFAULT_IOS: u64 = 1_000_000;

/// How long an event trace is unless something else is asked for.
const DEFAULT_TRACE: Nanos = Nanos::millis(100);

/// How many stretches of time the heat map of latencies has at most.
const HEAT_MAP_STRETCHES: usize = 256;

pub fn simulate(args: &SimulateArgs) -> Result<(), Failure> {
    if args.list {
        return Ok(write!(std::io::stdout().lock(), "{}", list())?);
    }
    let clock = Clock::new();
    let begun = clock.now();
    let mut device = open(&args.drive)?;
    let info = device.info();
    let target = Target {
        capacity: info.capacity,
        logical_block: info.logical_block,
        filled: args.fill != FillState::None,
        seed: args.seed,
    };
    let device_depth = info.queue_depth;
    let workload = synthetic::open(&args.workload.spec(), &target).map_err(usage)?;
    let stop = stop::flag()?;
    let mut bar = LateBar::new();
    let survey = match &workload.ios {
        Ios::Trace(playback) => Some(trace::survey(playback, stop, &mut bar)?),
        _ => None,
    };
    let load = load(args, &workload, survey.as_ref(), device_depth)?;
    let eyes = Eyes::open(args, &mut device)?;
    let glances = device.only().map(|device| Glances::new(device.attention()));
    let folder = args.output.as_deref().map(|path| SimulationFolder::create(path).map_err(usage));
    let mut folder = folder.transpose()?;
    let mut heat_map = folder.is_some().then(|| HeatMap::new(3, HEAT_MAP_STRETCHES));
    let mut each = heat_map.as_mut().map(|map| {
        |op: Op, at: Nanos, latency: Nanos| map.push(heat_map_kind(op), at.0, latency.0)
    });
    let each = each.as_mut().map(|each| each as &mut Each<'_>);
    let session = Session {
        device: &mut device,
        load,
        gauge: GAUGE,
        stop,
        begin: &mut |now| {
            glances.iter().for_each(Glances::measure);
            eyes.begin(now);
        },
        progress: &mut |phase, done, total| {
            if let (Some(glances), Phase::Fill | Phase::WarmUp) = (&glances, phase) {
                glances.prepare(done, total);
            }
            bar.show(phase_name(phase), done, Some(total));
        },
    };
    let outcome = match workload.ios {
        Ios::Endless(generator) => session.run_and_tell([vec![*generator]], each),
        Ios::Application(application) => session.run_and_tell([vec![*application]], each),
        Ios::Runs(runs) => {
            let streams: Result<Vec<_>, _> = runs.iter().map(Reference::streams).collect();
            session.run_and_tell(streams?, each)
        }
        Ios::Trace(playback) => {
            let mut passes = Passes::of(playback);
            let outcome = session.run_and_tell(&mut passes, each);
            passes.finish()?;
            outcome
        }
    };
    bar.finish();
    eyes.close(args)?;
    let Some(measured) = &outcome.measured else {
        return Err(Failure::Failed(nothing_measured(&outcome, &end_of_life(&device))));
    };
    let observations = Findings {
        erases: observe::erases(device.members()),
        observed: eyes.watch.report(measured.began + measured.took),
    };
    let wall_ns = clock.now() - begun;
    let found = found(args, &device, &load, &outcome, measured, observations);
    let latency_heat_map = heat_map.as_ref().map(LatencyHeatMap::of);
    let simulation = Simulation { wall_ns, latency_heat_map, ..found };
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
            end_of_life(&device)
        ))),
    }
}

/// The kind of the values of an operation in the heat map of latencies: see [`LatencyHeatMap::of`].
const fn heat_map_kind(op: Op) -> usize {
    match op {
        Op::Read => 0,
        Op::Write => 1,
        Op::Trim | Op::Flush => 2,
    }
}

/// Those who look into the drive.
struct Eyes {
    watch: Watch,
    events: Option<Observed<Events<File>>>,
}

impl Eyes {
    fn open(args: &SimulateArgs, drive: &mut Drive) -> Result<Eyes, Failure> {
        let mut eyes = Eyes { watch: Watch::default(), events: None };
        if args.output.is_some()
            && let Some(device) = drive.only()
        {
            eyes.watch.add_all(device);
        }
        if args.observe.is_empty() && args.trace_events.is_none() {
            return Ok(eyes);
        }
        let drives = drive.members().len();
        let device = drive.only().ok_or_else(|| {
            usage(anyhow!(
                "--observe and --trace-events look into one drive, and this is an array of \
                 {drives}: leave them out, or set raid.drives=1"
            ))
        })?;
        for name in &args.observe {
            if !eyes.watch.add(name, device) {
                return Err(usage(anyhow!(
                    "--observe: there is no `{name}` to observe with: see `flashscope simulate \
                     --list`"
                )));
            }
        }
        if let Some(path) = &args.trace_events {
            let window = Window {
                after: args.trace_from.unwrap_or_default(),
                length: args.trace_for.unwrap_or(DEFAULT_TRACE),
            };
            let events = Events::waiting(device, create(path)?, window);
            eyes.events = Some(device.observe(events));
        }
        Ok(eyes)
    }

    /// The measurement begins.
    fn begin(&self, now: Nanos) {
        self.watch.restart(now);
        if let Some(events) = &self.events {
            events.lock().restart(now);
        }
    }

    fn close(&self, args: &SimulateArgs) -> anyhow::Result<()> {
        let (Some(events), Some(path)) = (&self.events, &args.trace_events) else { return Ok(()) };
        events.lock().finish().with_context(|| format!("--trace-events: {}", path.display()))
    }
}

/// A file for a trace. Only what is a file is written over.
fn create(path: &Path) -> Result<File, Failure> {
    if fs::metadata(path).is_ok_and(|found| !found.is_file()) {
        return Err(usage(anyhow!("--trace-events: {} is no file", path.display())));
    }
    let created = File::create(path);
    Ok(created.with_context(|| format!("--trace-events: {}", path.display()))?)
}

/// Write amplification is what has to become steady.
const GAUGE: Gauge<Drive, Counters> =
    Gauge { read: Drive::counters, metric: |from, to| to.since(from).write_amplification() };

/// Opens a simulated drive by the name of its profile, with or without `sim:`.
fn open(name: &str) -> Result<Drive, Failure> {
    flashscope_sim::open(drives::simulated(name)?).map_err(usage)
}

/// What is done with the workload.
fn load(
    args: &SimulateArgs,
    workload: &Workload,
    survey: Option<&Survey>,
    device_depth: u32,
) -> Result<Load, Failure> {
    let endless = matches!(workload.ios, Ios::Endless(_) | Ios::Application(_));
    let asked = workload.queue_depth.or(args.queue_depth);
    let queue_depth = asked.unwrap_or(if workload.open_loop { device_depth } else { 1 });
    if matches!(workload.ios, Ios::Runs(_)) && args.queue_depth.is_some_and(|depth| depth != 1) {
        return Err(usage(anyhow!(
            "--queue-depth: each process of a uFLIP pattern has one IO in flight; \
             `uflip:parallelism` has more processes"
        )));
    }
    let streams = match &workload.ios {
        Ios::Endless(_) | Ios::Application(_) | Ios::Trace(_) => 1,
        Ios::Runs(runs) => runs.iter().map(Reference::streams_count).max().unwrap_or(1).into(),
    };
    if queue_depth.saturating_mul(streams) > device_depth {
        return Err(usage(anyhow!(
            "{} IOs in flight are more than the drive takes, {device_depth}; a larger \
             `interface.queue_depth` of the profile lets it take more",
            queue_depth.saturating_mul(streams)
        )));
    }
    let default_warm_up = if endless { WarmUp::Steady } else { WarmUp::None };
    let warm_up = match (args.warmup.unwrap_or(default_warm_up), survey) {
        (WarmUp::Steady, Some(survey)) => WarmUp::Passes { ios: survey.ios },
        (other, _) => other,
    };
    let length = match (args.ios, args.duration, survey) {
        (Some(ios), ..) => Length::Ios(ios),
        (None, Some(time), _) => Length::Time(time),
        (None, None, Some(survey)) => Length::Ios(survey.ios),
        (None, None, None) if endless => Length::Ios(DEFAULT_IOS),
        (None, None, None) => Length::Whole,
    };
    Ok(Load {
        fill: args.fill.into(),
        warm_up,
        length,
        queue_depth,
        open_loop: workload.open_loop,
        seed: workload.seed,
    })
}

/// What to say of a drive that is worn out; nothing of one that is not.
fn end_of_life(device: &Drive) -> String {
    let worn = device.members().iter().map(SimDevice::health).find_map(|health| {
        let at = health.end_of_life?;
        Some(format!(
            ", because the drive is at the end of its life: at {at} of its time too few good blocks \
             were left ({} have expired, {} have failed)",
            health.expired_blocks, health.failed_blocks
        ))
    });
    worn.unwrap_or_default()
}

/// What went wrong where.
fn failure(errno: Errno, offset: Bytes) -> String {
    let why = match errno {
        Errno::EOPNOTSUPP => ", a trim, which the FTL of this drive does not know,",
        _ => "",
    };
    format!("{errno} at offset {} B{why}", offset.0)
}

fn nothing_measured(outcome: &Outcome<Counters>, end_of_life: &str) -> anyhow::Error {
    match outcome.ended {
        Ended::Interrupted => anyhow!("interrupted before anything was measured"),
        Ended::Failed { errno, offset, .. } => {
            let failure = failure(errno, offset);
            anyhow!("{failure} before anything was measured{end_of_life}")
        }
        Ended::Complete => anyhow!(
            "the workload ended in its warm-up, after {} IOs: nothing is left to be measured",
            outcome.warm_up.ios
        ),
    }
}

/// What the measurement came to, but for how long it took.
fn found(
    args: &SimulateArgs,
    device: &Drive,
    load: &Load,
    outcome: &Outcome<Counters>,
    measured: &Measured<Counters>,
    observations: Findings,
) -> Simulation {
    let counted = measured.after.since(&measured.before);
    let latencies = &measured.latencies;
    let ios = latencies.all().count();
    let bytes = |op: Op| measured.bytes[usize::from(op.code())];
    let of = |op| latencies.of(op).and_then(LatencyNs::of);
    #[allow(clippy::cast_precision_loss)]
    let rate = ios as f64 / measured.took.as_secs_f64();
    let (status, error) = match outcome.ended {
        Ended::Complete => (SimulationStatus::Complete, None),
        Ended::Interrupted => (SimulationStatus::Interrupted, None),
        Ended::Failed { errno, offset, .. } => {
            (SimulationStatus::Failed, Some(failure(errno, offset)))
        }
    };
    let data_pages = device.members()[0].nand().geometry().data_pages();
    Simulation {
        schema_version: SIMULATION_VERSION,
        drive: device.info().clone(),
        workload: args.workload.spec().into_owned(),
        seed: load.seed,
        queue_depth: load.queue_depth,
        open_loop: load.open_loop,
        fill: args.fill.into(),
        warm_up: warm_up(outcome),
        status,
        error,
        ios,
        ios_per_second: Some(rate).filter(|rate| rate.is_finite()),
        bytes_read: bytes(Op::Read),
        bytes_written: bytes(Op::Write),
        bytes_trimmed: bytes(Op::Trim),
        host_pages_read: counted.host_pages_read,
        host_pages_written: counted.host_pages_written,
        host_pages_trimmed: counted.host_pages_trimmed,
        flash_reads: by_cause(&counted.flash.reads),
        flash_programs: by_cause(&counted.flash.programs),
        erases: by_cause(&counted.flash.erases),
        events: named(counted.flash.events.entries()),
        write_amplification: counted.write_amplification(),
        equivalent_throughput: counted.equivalent_throughput(data_pages),
        cleaning: cleaning(&counted, data_pages),
        latency_ns: LatencyNs::of(latencies.all()),
        read_latency_ns: of(Op::Read),
        write_latency_ns: of(Op::Write),
        trim_latency_ns: of(Op::Trim),
        latency_heat_map: None,
        observations,
        simulated_ns: measured.took,
        wall_ns: Nanos(0),
    }
}

fn warm_up(outcome: &Outcome<Counters>) -> SimulationWarmUp {
    let done = &outcome.warm_up;
    SimulationWarmUp {
        ios: done.ios,
        bytes: done.bytes,
        window_write_amplification: done.windows.clone(),
        steady: done.steady,
        criterion: done.steady.map(|_| STEADY.to_string()),
    }
}

fn by_cause(commands: &ByCause) -> BTreeMap<String, u64> {
    named(commands.entries())
}

fn named<const N: usize>(counts: [(&str, u64); N]) -> BTreeMap<String, u64> {
    counts.into_iter().map(|(name, count)| (name.into(), count)).collect()
}

fn cleaning(counted: &Counters, data_pages: u32) -> Cleaning {
    Cleaning {
        count: counted.cleanings(),
        pages_moved: counted.pages_moved(),
        efficiency: counted.cleaning_efficiency(data_pages),
    }
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
