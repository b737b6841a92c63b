//! Derives the options and the plan of a benchmark from a request.

use std::sync::atomic::AtomicBool;

use anyhow::anyhow;
use flashscope_block::{Bytes, Device, DeviceInfo, DeviceKind, Nanos};
use flashscope_document::manifest::{MicroBenchmark, Options, State};
use flashscope_document::methodology::{Budget, Methodology, Precision};
use flashscope_document::plan::{Costs, Estimate};
use flashscope_measure::grid;
use flashscope_measure::pts::{self, Test, estimate_rounds};
use flashscope_measure::{
    BudgetedPlan, MIN_RUN_PAUSE, Sample, check_state, fitting, jobs_plan, measure_costs, plan,
    trace_plan,
};
use flashscope_workload::state::LARGEST_FILL_IO;
use flashscope_workload::uflip::{self, PREPARATION, PerBaseline, Setup, needs};

use super::options::{BenchOptions, TestArgs};
use super::steady::spare_space;
use crate::drives::{self, Purpose};
use crate::fio::JobFile;
use crate::trace::{BenchTrace, LONGEST_IO};
use crate::{Failure, Progress, names, usage};

/// A request for a benchmark, checked as far as possible without the drive.
pub(super) struct BenchRequest<'a> {
    args: &'a BenchOptions,
    mode: Mode,
    pub purpose: Purpose,
}

/// The kind of measurement.
enum Mode {
    /// Micro-benchmarks of uFLIP.
    MicroBenchmarks(Vec<&'static uflip::MicroBenchmark>),
    /// A SNIA test.
    Test(&'static Test),
    /// A trace.
    Trace(BenchTrace),
    /// Jobs of fio.
    Jobs(JobFile),
    /// A grid of uniform writes.
    Grid(grid::GridOptions),
}

impl Mode {
    /// Returns the mode that the options choose. `clap` refuses options of several modes.
    fn new(args: &BenchOptions) -> Result<Mode, Failure> {
        if let Some(trace) = args.experiments.trace.as_deref() {
            return Ok(Mode::Trace(BenchTrace::parse(trace)?));
        }
        if let Some(path) = &args.experiments.fio_job {
            return Ok(Mode::Jobs(JobFile::read(path).map_err(usage)?));
        }
        if let Some(name) = args.test.test.as_deref() {
            return Ok(Mode::Test(names::test(name).map_err(usage)?));
        }
        if args.grid.grid {
            return Ok(Mode::Grid(grid::GridOptions {
                page: args.grid.grid_page,
                lengths: args.grid.grid_lengths.clone(),
                free_spaces: args.grid.grid_spaces.clone(),
                physical_capacity: args.state.capacity_inside,
            }));
        }
        let benchmarks = names::micro_benchmarks(&args.experiments.only).map_err(usage)?;
        Ok(Mode::MicroBenchmarks(benchmarks))
    }

    /// Returns the maximum number of IOs in flight, and the size of the largest IO.
    fn needs(&self, args: &BenchOptions) -> (u32, Bytes) {
        match self {
            Mode::Trace(trace) => (trace.queue_depth, LONGEST_IO),
            Mode::Test(test) => (test.deepest(args.test.queue_depth), test.largest_io()),
            Mode::Jobs(jobs) => (jobs.in_flight(), jobs.largest_io()),
            Mode::Grid(grid) => (1, grid.largest_io()),
            Mode::MicroBenchmarks(benchmarks) => {
                let needs = needs(benchmarks, args.runs.io_size);
                (needs.streams.into(), needs.io)
            }
        }
    }

    /// Returns true if runs or the state may write to the drive, unless the user forbids it.
    fn writes(&self, args: &BenchOptions) -> bool {
        let Mode::Jobs(jobs) = self else { return true };
        jobs.writer().is_some()
            || args.state.state.is_some_and(|state| State::from(state) != State::Keep)
    }

    /// Returns true if runs follow each other without a pause in which the drive could recover.
    fn has_no_pauses(&self) -> bool {
        matches!(self, Mode::Test(_) | Mode::Grid(_) | Mode::Jobs(_))
    }

    /// Returns the default state of the drive.
    fn default_state(&self) -> State {
        match self {
            Mode::Test(_) => State::Purged,
            Mode::Grid(_) => State::Sequential,
            Mode::Jobs(_) => State::Keep,
            Mode::MicroBenchmarks(_) | Mode::Trace(_) => State::Random,
        }
    }
}

impl BenchRequest<'_> {
    /// Checks a request. `confirmation` is the text that the user typed to allow writing; `seed`
    /// determines the data written.
    pub(super) fn new(
        args: &BenchOptions,
        confirmation: Option<String>,
        seed: u64,
    ) -> Result<BenchRequest<'_>, Failure> {
        let read_only = args.read_only.is_set;
        let mut mode = Mode::new(args)?;
        if let (Mode::Test(test), true) = (&mode, read_only) {
            let name = test.name;
            return Err(usage(anyhow!("{name} writes to the drive, and --read-only forbids it")));
        }
        if let (Mode::Jobs(jobs), true) = (&mode, read_only)
            && let Some(writer) = jobs.writer()
        {
            return Err(usage(anyhow!(
                "job `{writer}` writes to the drive, and --read-only forbids it"
            )));
        }
        let finds = methodology(args, &mode).finds();
        if let Mode::MicroBenchmarks(benchmarks) = &mut mode {
            let prepares = benchmarks.iter().any(|benchmark| benchmark.name == PREPARATION.name);
            if !prepares && finds {
                benchmarks.insert(0, PREPARATION);
            }
        }
        let (queue_depth, max_io) = mode.needs(args);
        let purpose = Purpose {
            write: !read_only && mode.writes(args),
            confirmation,
            queue_depth,
            max_io: max_io.max(LARGEST_FILL_IO),
            seed,
            ..Purpose::default()
        };
        Ok(BenchRequest { args, mode, purpose })
    }

    /// Returns the drive that the jobs of fio name.
    ///
    /// # Errors
    /// If the request has no jobs, or the jobs do not name one drive.
    pub(super) fn drive_of_jobs(&self) -> Result<String, Failure> {
        match &self.mode {
            Mode::Jobs(jobs) => jobs.drive().map_err(usage),
            _ => Err(usage(anyhow!("name a drive, a --plan, or a result to --resume"))),
        }
    }

    /// Creates the options and the plan for a drive, within the budget if there is one.
    pub(super) fn plan(
        &self,
        device: &mut dyn Device,
        stop: &AtomicBool,
        sink: &mut dyn Progress,
    ) -> Result<BudgetedPlan, Failure> {
        if methodology(self.args, &self.mode).budget != Budget::default() {
            return self.estimated(device, None, stop, sink);
        }
        let mut options = self.options(device)?;
        let micro_benchmarks = self.runs(&mut options, device.info(), stop, sink)?;
        let (estimate, left_out) = (Estimate::default(), vec![]);
        Ok(BudgetedPlan { options, micro_benchmarks, estimate, left_out })
    }

    /// Creates the plan with an estimate of its time and bytes. Takes the cost of IOs from `costs`;
    /// without it, measures the cost with a few IOs.
    pub(super) fn estimated(
        &self,
        device: &mut dyn Device,
        costs: Option<Costs>,
        stop: &AtomicBool,
        sink: &mut dyn Progress,
    ) -> Result<BudgetedPlan, Failure> {
        let mut options = self.options(device)?;
        let costs = match costs {
            Some(costs) => costs,
            None => self.costs(device, &options, stop)?,
        };
        match (&self.mode, &options.grid) {
            (Mode::MicroBenchmarks(benchmarks), _) => {
                let read_only = self.args.read_only.is_set;
                fitting(benchmarks, &options, device.info(), read_only, &costs).map_err(usage)
            }
            (Mode::Grid(choice), Some(rule)) => {
                choice.fitting(&options, rule, device.info(), &costs).map_err(usage)
            }
            _ => {
                let micro_benchmarks = self.runs(&mut options, device.info(), stop, sink)?;
                let estimate = estimate_rounds(&micro_benchmarks, &options, &costs);
                Ok(BudgetedPlan { options, micro_benchmarks, estimate, left_out: vec![] })
            }
        }
    }

    /// Measures the cost of IOs on a drive. Writes to a real drive only if the state then
    /// overwrites all of it.
    fn costs(
        &self,
        device: &mut dyn Device,
        options: &Options,
        stop: &AtomicBool,
    ) -> Result<Costs, Failure> {
        if matches!(device.info().kind, DeviceKind::Sim | DeviceKind::Null) {
            // Uses a second instance, so that the drive to be measured stays unchanged.
            let mut another = drives::open(&device.info().name, &self.purpose)?;
            return Ok(measure_costs(another.as_mut(), options, Sample::InState, stop)?);
        }
        let overwritten = self.purpose.write && options.state != State::Keep;
        let sample = if overwritten { Sample::Writes } else { Sample::Reads };
        Ok(measure_costs(device, options, sample, stop)?)
    }

    /// Creates the runs. For a test, also sets its rule in the options.
    fn runs(
        &self,
        options: &mut Options,
        info: &DeviceInfo,
        stop: &AtomicBool,
        sink: &mut dyn Progress,
    ) -> Result<Vec<MicroBenchmark>, Failure> {
        let read_only = self.args.read_only.is_set;
        match (&self.mode, &options.grid) {
            (Mode::Test(test), _) => {
                let TestArgs { round, queue_depth, max_rounds, .. } = self.args.test;
                let choice = pts::Choice { round, queue_depth, max_rounds };
                let (rule, runs) = test.plan(&options.setup, choice, info).map_err(usage)?;
                options.rounds = Some(rule);
                Ok(runs)
            }
            (Mode::Grid(choice), Some(rule)) => choice.plan(rule, options, info).map_err(usage),
            (Mode::Grid(_), None) => unreachable!("the options of a grid have its rule"),
            (Mode::Trace(trace), _) => {
                Ok(trace_plan(trace.reference(info, read_only, stop, sink)?))
            }
            (Mode::Jobs(jobs), _) => {
                jobs.tell(info, options.state, sink);
                let groups = jobs.runs(info.capacity, options.setup.seed).map_err(usage)?;
                Ok(jobs_plan(groups, info))
            }
            (Mode::MicroBenchmarks(benchmarks), _) => {
                Ok(plan(benchmarks, options, info, read_only))
            }
        }
    }

    fn options(&self, device: &dyn Device) -> Result<Options, Failure> {
        let (args, runs) = (self.args, &self.args.runs);
        let target_size =
            drives::check_target(device, runs.io_size, runs.target_offset, runs.target_size);
        let setup = Setup {
            io_size: runs.io_size,
            target_offset: runs.target_offset,
            target_size: target_size.map_err(usage)?,
            io_count: runs.io_count.unwrap_or(PerBaseline::same(args.length.max_ios)),
            io_ignore: runs.io_ignore.unwrap_or(PerBaseline::same(0)),
            preparation_io_count: runs.preparation_io_count,
            burst_pause: runs.burst_pause,
            seed: runs.seed.value,
        };
        let grid = match &self.mode {
            Mode::Grid(choice) => Some(choice.rule(device).map_err(usage)?),
            _ => None,
        };
        let least = if self.mode.has_no_pauses() { Nanos(0) } else { MIN_RUN_PAUSE };
        let state = self.state()?;
        let inside = args.state.capacity_inside;
        let spare = match state {
            State::Steady => Some(spare_space(device, inside, &setup).map_err(usage)?),
            _ => None,
        };
        let options = Options {
            setup,
            state,
            run_pause_ns: runs.run_pause.unwrap_or(least),
            on_error: args.errors.on_error.into(),
            methodology: methodology(args, &self.mode),
            rounds: None,
            grid,
            spare,
        };
        check_state(device, &options).map_err(usage)?;
        Ok(options)
    }

    /// Returns the state to bring the drive into.
    fn state(&self) -> Result<State, Failure> {
        let state = match (self.args.state.state.map(State::from), self.args.read_only.is_set) {
            (None | Some(State::Keep), true) => State::Keep,
            (Some(_), true) => {
                return Err(usage(anyhow!(
                    "--state writes to the drive, and --read-only forbids it"
                )));
            }
            (state, false) => state.unwrap_or_else(|| self.mode.default_state()),
        };
        let holds_data_in_order = matches!(state, State::Sequential | State::Keep);
        let is_grid = matches!(self.mode, Mode::Grid(_));
        if self.args.state.capacity_inside.is_some() && !is_grid && state != State::Steady {
            return Err(usage(anyhow!("--capacity-inside: only --grid and --state steady use it")));
        }
        if is_grid && !holds_data_in_order {
            return Err(usage(anyhow!(
                "--grid: the free space of the drive's parts is only known if the whole drive was written in sequence: \
                 choose --state sequential, or --state keep if the drive is in that state"
            )));
        }
        Ok(state)
    }
}

/// Returns the methodology of a measurement: which parameters it determines by measurement, and
/// when a run ends.
fn methodology(args: &BenchOptions, mode: &Mode) -> Methodology {
    if matches!(mode, Mode::Trace(_) | Mode::Test(_) | Mode::Jobs(_)) {
        return Methodology::default();
    }
    let budget = Budget { time_ns: args.budget.budget_time, bytes: args.budget.budget_bytes };
    let given = Methodology { repeats: args.length.repeats, budget, ..Methodology::default() };
    if args.runs.io_count.is_some() {
        return given;
    }
    let precision = Some(Precision {
        quantile: args.length.statistic.quantile(),
        relative: args.precision.precision,
        confidence: args.precision.confidence,
        ..Precision::default()
    });
    if matches!(mode, Mode::Grid(_)) {
        return Methodology { repeats: 1, precision, ..given };
    }
    Methodology {
        precision,
        finds_io_ignore: args.runs.io_ignore.is_none(),
        finds_run_pause: args.runs.run_pause.is_none(),
        most_run_time_ns: Some(args.length.max_time),
        most_run_bytes: args.length.max_bytes,
        ..given
    }
}
