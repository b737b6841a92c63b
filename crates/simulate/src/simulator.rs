use std::cell::RefCell;
use std::sync::atomic::AtomicBool;

use flashscope_block::{Device, Io, Nanos, Op, ZoneLimits};
use flashscope_document::LatencyHeatMap;
use flashscope_measure::{IoCallback, Load, Outcome, Phase, RunEnd, Session, Step, Unit};
use flashscope_sim::budget::Budget;
use flashscope_sim::observe::{self, Findings, ObserverSchedule, Watch};
use flashscope_sim::{Drive, SimDevice};
use flashscope_stats::HeatMap;
use flashscope_trace::Passes;
use flashscope_workload::state::{Fill, InitialContents};
use flashscope_workload::steady_fill::SpareSpace;
use flashscope_workload::synthetic::{Ios, Target};

use super::document::{document, failure};
use super::load::load;
use super::reading::{GAUGE, Reading};
use super::survey::survey;
use super::tenants::{self, Tenants};
use super::{Error, Hooks, Simulation, SimulationRequest, Work, request};

/// Maximum number of time steps of the latency heat map.
const HEAT_MAP_STRETCHES: usize = 256;

/// A simulation that is ready to run: the request is valid.
pub struct Simulator {
    name: String,
    drive: Drive,
    workload: Workload,
    load: Load,
    fill: Fill,
    watch: Watch,
    pictures: bool,
}

/// The IOs of a simulation.
enum Workload {
    /// The IOs of one workload.
    One(Ios),
    /// The IOs of the workloads of several tenants.
    Tenants(Tenants),
}

/// The result of a simulation.
#[derive(Debug, Clone, PartialEq)]
pub struct SimulationResult {
    /// The document; its wall time is left at 0.
    pub simulation: Simulation,
    /// A note for the user on the reason of a failed IO: the drive is worn out, or has zones.
    pub reason: Option<String>,
}

impl Simulator {
    /// Opens the drive of a request within this memory budget. Reads a trace once to its end, and
    /// reports the progress to `hooks`; setting `stop` ends the reading.
    ///
    /// # Errors
    /// If the request is invalid.
    pub fn open(
        request: &SimulationRequest,
        memory: &Budget,
        stop: &AtomicBool,
        hooks: &mut dyn Hooks,
    ) -> Result<Simulator, Error> {
        Simulator::on(request::drive(&request.drive, memory)?, &request.work, stop, hooks)
    }

    /// Prepares a simulation on `drive`, which must be empty, as [`Drive::new`] creates it.
    ///
    /// # Errors
    /// The same as for [`Simulator::open`].
    pub fn on(
        mut drive: Drive,
        work: &Work,
        stop: &AtomicBool,
        hooks: &mut dyn Hooks,
    ) -> Result<Simulator, Error> {
        if !work.tenants.is_empty() {
            return Simulator::with_tenants(drive, work, None, stop, hooks);
        }
        let info = drive.info();
        let target = Target {
            capacity: info.capacity,
            logical_block: info.logical_block,
            filled: work.fill != Fill::None,
            seed: work.seed,
        };
        let device_depth = info.queue_depth;
        let workload = flashscope_trace::open_workload(&work.workload, &target)?;
        let survey = match &workload.ios {
            Ios::Trace(playback) => Some(survey(playback, stop, hooks)?),
            _ => None,
        };
        let contents = initial_contents(&drive, work.fill)?;
        let load = load(work, contents, &workload, survey.as_ref(), device_depth)?;
        let watch = watch(work, &mut drive)?;
        let (name, fill, pictures) = (work.workload.clone(), work.fill, work.pictures);
        let workload = Workload::One(workload.ios);
        Ok(Simulator { name, drive, workload, load, fill, watch, pictures })
    }

    /// Does the same as [`Simulator::on`] for the tenants of `work`. If `only` is given, only this
    /// tenant runs.
    pub(crate) fn with_tenants(
        mut drive: Drive,
        work: &Work,
        only: Option<usize>,
        stop: &AtomicBool,
        hooks: &mut dyn Hooks,
    ) -> Result<Simulator, Error> {
        let tenants = Tenants::open(work, &drive, only, stop, hooks)?;
        let load = tenants.load(work, initial_contents(&drive, work.fill)?)?;
        let watch = watch(work, &mut drive)?;
        let names: Vec<String> = work.tenants.iter().map(ToString::to_string).collect();
        let (name, workload) = (names.join(" "), Workload::Tenants(tenants));
        let (fill, pictures) = (work.fill, work.pictures);
        Ok(Simulator { name, drive, workload, load, fill, watch, pictures })
    }

    /// Returns the drive, for inspection.
    ///
    /// # Errors
    /// [`Error::Array`] for more than one drive.
    pub fn only(&mut self) -> Result<&mut SimDevice, Error> {
        only(&mut self.drive)
    }

    /// Fills the drive, warms it up and measures. Setting `stop` ends it early; the measurements up
    /// to then are kept.
    ///
    /// # Errors
    /// If nothing was measured, or a trace cannot be read again.
    pub fn run(self, stop: &AtomicBool, hooks: &mut dyn Hooks) -> Result<SimulationResult, Error> {
        let Simulator { name, mut drive, workload, load, fill, watch, pictures } = self;
        let glances = drive.only().map(|device| ObserverSchedule::new(device.observer_switch()));
        let heat_map = pictures.then(|| HeatMap::new(3, HEAT_MAP_STRETCHES));
        let counts = pictures || hooks.receives_each();
        let callbacks = RefCell::new(Callbacks { hooks, glances, heat_map });
        let begin = &mut |phase, now| callbacks.borrow_mut().begin(phase, now);
        let progress =
            &mut |phase, done, total| callbacks.borrow_mut().progress(phase, done, total);
        let mut each =
            |io: &Io, at: Nanos, latency: Nanos| callbacks.borrow_mut().each(io, at, latency);
        let each = counts.then_some(&mut each as &mut IoCallback<'_>);
        let (mut drive, outcome, tenants) = match workload {
            Workload::One(ios) => {
                let device = &mut drive;
                let session = Session { device, load, gauge: GAUGE, stop, begin, progress };
                let outcome = play(session, ios, each)?;
                (drive, outcome, None)
            }
            Workload::Tenants(mut tenants) => {
                let mut host = tenants.host(drive);
                let (device, gauge) = (&mut host, tenants::GAUGE);
                let session = Session { device, load, gauge, stop, begin, progress };
                let outcome = tenants.play(session, each)?;
                (host.into_device(), outcome, Some(tenants))
            }
        };
        let latency_heat_map = callbacks.into_inner().heat_map.as_ref().map(LatencyHeatMap::of);
        let reason = end_of_life(&drive).or_else(|| rules_of_zones(&mut drive));
        let Some(measured) = &outcome.measured else {
            return Err(nothing_measured(&outcome, reason));
        };
        let observations = Findings {
            erases: observe::erases(drive.members()),
            observed: watch.report(measured.began + measured.took),
        };
        let document = document(&drive, &load, &outcome, measured, observations);
        let tenants = tenants.map(|tenants| tenants.results(measured.took)).unwrap_or_default();
        let simulation = Simulation { workload: name, fill, latency_heat_map, tenants, ..document };
        Ok(SimulationResult { simulation, reason })
    }
}

/// Returns the initial contents of an empty drive for a fill.
///
/// # Errors
/// [`Error::NoSteadyFill`] for a steady fill if the FTL does not map pages.
pub fn initial_contents(drive: &Drive, fill: Fill) -> Result<InitialContents, Error> {
    Ok(match fill {
        Fill::None => InitialContents::None,
        Fill::Sequential => InitialContents::Sequential,
        Fill::Random => InitialContents::Random,
        Fill::Steady => {
            let member = drive.members().first().ok_or(Error::NoSteadyFill)?;
            let share = member.spare_share().ok_or(Error::NoSteadyFill)?;
            InitialContents::Steady(SpareSpace { page: member.page_size(), share })
        }
    })
}

/// Fans simulation events out to hooks, observers and the heat map.
struct Callbacks<'a> {
    hooks: &'a mut dyn Hooks,
    glances: Option<ObserverSchedule>,
    heat_map: Option<HeatMap>,
}

impl Callbacks<'_> {
    fn begin(&mut self, phase: Phase, now: Nanos) {
        self.hooks.begin(phase, now);
        if phase == Phase::Measure {
            self.glances.iter().for_each(|glances| glances.measure(now));
        }
    }

    fn progress(&mut self, phase: Phase, done: u64, total: u64) {
        if let (Some(glances), Phase::Fill | Phase::WarmUp) = (&self.glances, phase) {
            glances.prepare(done, total);
        }
        let (name, unit) = match phase {
            Phase::Fill => ("filling the drive", Unit::Bytes),
            Phase::WarmUp => ("warming up", Unit::Share),
            Phase::Measure => ("measuring", Unit::Share),
        };
        self.hooks.show(&Step::of(name, done, Some(total), unit));
    }

    fn each(&mut self, io: &Io, at: Nanos, latency: Nanos) {
        if let Some(map) = &mut self.heat_map {
            map.push(heat_map_kind(io.op), at.0, latency.0);
        }
        self.hooks.each(io, at, latency);
    }
}

/// Returns the row of an operation in the latency heat map, see [`LatencyHeatMap::of`].
const fn heat_map_kind(op: Op) -> usize {
    match op {
        Op::Read => 0,
        Op::Write => 1,
        Op::Trim | Op::Flush => 2,
    }
}

fn play(
    session: Session<'_, Drive, Reading>,
    ios: Ios,
    each: Option<&mut IoCallback<'_>>,
) -> Result<Outcome<Reading>, Error> {
    Ok(match ios {
        Ios::Endless(generator) => session.run_with_callback([vec![*generator]], each),
        Ios::Application(application) => session.run_with_callback([vec![*application]], each),
        Ios::Runs(runs) => {
            let streams: Result<Vec<_>, _> = runs.iter().map(flashscope_trace::streams).collect();
            session.run_with_callback(streams?, each)
        }
        Ios::Trace(playback) => {
            let mut passes = Passes::of(playback);
            let outcome = session.run_with_callback(&mut passes, each);
            passes.finish()?;
            outcome
        }
    })
}

/// Enables the observers that the request names.
fn watch(work: &Work, drive: &mut Drive) -> Result<Watch, Error> {
    let mut watch = Watch::default();
    if work.pictures
        && let Some(device) = drive.only()
    {
        watch.add_all(device);
    }
    for name in &work.observe {
        if !watch.add(name, only(drive)?) {
            return Err(Error::NoObserver { name: name.clone() });
        }
    }
    Ok(watch)
}

fn only(drive: &mut Drive) -> Result<&mut SimDevice, Error> {
    let drives = drive.members().len();
    drive.only().ok_or(Error::Array { drives })
}

/// Returns a note for the user if the drive is worn out.
fn end_of_life(device: &Drive) -> Option<String> {
    device.members().iter().map(SimDevice::health).find_map(|health| {
        let at = health.end_of_life?;
        Some(format!(
            ", because the drive is at the end of its life: after {at} of simulated time, too few good blocks \
             were left ({} have expired, {} have failed)",
            health.expired_blocks, health.failed_blocks
        ))
    })
}

/// Returns a note for the user if the drive has zones, whose rules a failed IO probably broke.
fn rules_of_zones(device: &mut Drive) -> Option<String> {
    let ZoneLimits { zones, size, capacity, active, .. } = device.zones()?.limits();
    let counts = device.members().first()?.zone_counts()?;
    if counts.read_only + counts.offline > 0 {
        return Some(format!(
            ", because blocks of the flash have failed: of {zones} zones, {} are read-only and {} are offline",
            counts.read_only, counts.offline
        ));
    }
    let spacing = match capacity < size {
        true => format!("&spacing={}", size.0),
        false => String::new(),
    };
    Some(format!(
        ", probably because the drive has zones ({zones} of {capacity}, {active} of them active at a time): writes to a zone follow \
         each other from its start, and trims cover whole zones; \
         `--workload log-structured?segment={}{spacing}` follows these rules",
        capacity.0
    ))
}

fn nothing_measured(outcome: &Outcome<Reading>, reason: Option<String>) -> Error {
    match outcome.ended {
        RunEnd::Interrupted => Error::Interrupted,
        RunEnd::Failed { first, .. } => Error::Failed { failure: failure(first), reason },
        RunEnd::Complete => Error::NothingLeft { ios: outcome.warm_up.ios },
    }
}
