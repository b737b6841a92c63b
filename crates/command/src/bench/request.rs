//! Derives the options and the plan of a benchmark from a request.

use std::sync::atomic::AtomicBool;

use anyhow::anyhow;
use flashscope_block::{Device, DeviceInfo, DeviceKind, Nanos};
use flashscope_document::manifest::{MicroBenchmark, Options, State};
use flashscope_document::methodology::{Budget, Methodology, Precision};
use flashscope_document::plan::{Costs, Estimate};
use flashscope_measure::grid;
use flashscope_measure::pts::{Choice, Test, estimate_rounds};
use flashscope_measure::{
    BudgetedPlan, LEAST_RUN_PAUSE, Sample, check_state, fitting, measure_costs, plan, trace_plan,
};
use flashscope_workload::state::LARGEST_FILL_IO;
use flashscope_workload::uflip::{self, PREPARATION, PerBaseline, Setup, needs};

use super::args::BenchOptions;
use crate::drives::{self, Purpose};
use crate::trace::{BenchTrace, LONGEST_IO};
use crate::{Failure, ProgressSink, names, usage};

/// A request for a benchmark, checked as far as possible without the drive.
pub struct BenchRequest<'a> {
    asked: &'a BenchOptions,
    benchmarks: Vec<&'static uflip::MicroBenchmark>,
    trace: Option<BenchTrace>,
    test: Option<&'static Test>,
    grid: Option<grid::Choice>,
    pub purpose: Purpose,
}

impl BenchRequest<'_> {
    /// Checks a request. `confirmation` is what the user typed to allow writing; `seed` is that of the data written.
    pub fn new(
        asked: &BenchOptions,
        confirmation: Option<String>,
        seed: u64,
    ) -> Result<BenchRequest<'_>, Failure> {
        let benchmarks = names::micro_benchmarks(&asked.only).map_err(usage)?;
        let trace = asked.trace.as_deref().map(BenchTrace::parse).transpose()?;
        let test = asked.test.as_deref().map(names::test).transpose().map_err(usage)?;
        if let Some(test) = test.filter(|_| asked.read_only) {
            let name = test.name;
            return Err(usage(anyhow!("{name} writes to the drive, and --read-only forbids it")));
        }
        let grid = asked.grid.then(|| grid::Choice {
            page: asked.grid_page,
            lengths: asked.grid_lengths.clone(),
            free_spaces: asked.grid_spaces.clone(),
            physical_capacity: asked.capacity_inside,
        });
        let purpose = Purpose::default();
        let mut wanted = BenchRequest { asked, benchmarks, trace, test, grid, purpose };
        let prepared = wanted.benchmarks.iter().any(|benchmark| benchmark.name == PREPARATION.name);
        if !prepared && wanted.methodology().finds() {
            wanted.benchmarks.insert(0, PREPARATION);
        }
        let needs = needs(&wanted.benchmarks, asked.io_size);
        let (queue_depth, max_io) = match (&wanted.trace, test, &wanted.grid) {
            (Some(trace), ..) => (trace.queue_depth, LONGEST_IO),
            (_, Some(test), _) => (test.deepest(asked.queue_depth), test.largest_io()),
            (.., Some(grid)) => (1, grid.largest_io()),
            (None, None, None) => (needs.streams.into(), needs.io),
        };
        let (write, max_io) = (!asked.read_only, max_io.max(LARGEST_FILL_IO));
        wanted.purpose = Purpose {
            write,
            confirmation,
            scratch: false,
            ignore_open_by_others: false,
            queue_depth,
            max_io,
            seed,
        };
        Ok(wanted)
    }

    /// Creates the options and the plan for a drive, within the budget if there is one.
    pub fn plan(
        &self,
        device: &mut dyn Device,
        stop: &AtomicBool,
        sink: &mut dyn ProgressSink,
    ) -> Result<BudgetedPlan, Failure> {
        if self.methodology().budget != Budget::default() {
            return self.estimated(device, None, stop, sink);
        }
        let mut options = self.options(device)?;
        let micro_benchmarks = self.runs(&mut options, device.info(), stop, sink)?;
        let (estimate, left_out) = (Estimate::default(), vec![]);
        Ok(BudgetedPlan { options, micro_benchmarks, estimate, left_out })
    }

    /// Creates the plan with an estimate of its time and bytes. The cost of IOs is `costs` or, without, measured by some
    /// reads.
    pub fn estimated(
        &self,
        device: &mut dyn Device,
        costs: Option<Costs>,
        stop: &AtomicBool,
        sink: &mut dyn ProgressSink,
    ) -> Result<BudgetedPlan, Failure> {
        let mut options = self.options(device)?;
        let costs = match costs {
            Some(costs) => costs,
            None => self.costs(device, &options, stop)?,
        };
        if self.trace.is_some() || self.test.is_some() {
            let micro_benchmarks = self.runs(&mut options, device.info(), stop, sink)?;
            let estimate = estimate_rounds(&micro_benchmarks, &options, &costs);
            return Ok(BudgetedPlan { options, micro_benchmarks, estimate, left_out: vec![] });
        }
        if let (Some(choice), Some(rule)) = (&self.grid, &options.grid) {
            return choice.fitting(&options, rule, device.info(), &costs).map_err(usage);
        }
        fitting(&self.benchmarks, &options, device.info(), self.asked.read_only, &costs)
            .map_err(usage)
    }

    /// Measures the cost of IOs on a drive, as far as possible without changing it.
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
        sink: &mut dyn ProgressSink,
    ) -> Result<Vec<MicroBenchmark>, Failure> {
        let read_only = self.asked.read_only;
        if let Some(test) = self.test {
            let BenchOptions { round, queue_depth, most_rounds, .. } = *self.asked;
            let choice = Choice { round, queue_depth, most_rounds };
            let (rule, runs) = test.plan(&options.setup, choice, info).map_err(usage)?;
            options.rounds = Some(rule);
            return Ok(runs);
        }
        if let (Some(choice), Some(rule)) = (&self.grid, &options.grid) {
            return choice.plan(rule, options, info).map_err(usage);
        }
        Ok(match &self.trace {
            Some(trace) => trace_plan(trace.reference(info, read_only, stop, sink)?),
            None => plan(&self.benchmarks, options, info, read_only),
        })
    }

    fn options(&self, device: &dyn Device) -> Result<Options, Failure> {
        let asked = self.asked;
        let target_size =
            drives::check_target(device, asked.io_size, asked.target_offset, asked.target_size);
        let setup = Setup {
            io_size: asked.io_size,
            target_offset: asked.target_offset,
            target_size: target_size.map_err(usage)?,
            io_count: asked.io_count.unwrap_or(PerBaseline::same(asked.most_ios)),
            io_ignore: asked.io_ignore.unwrap_or(PerBaseline::same(0)),
            preparation_io_count: asked.preparation_io_count,
            burst_pause: asked.burst_pause,
            seed: asked.seed,
        };
        let state = match (asked.state.map(State::from), asked.read_only) {
            (None | Some(State::Keep), true) | (Some(State::Keep), false) => State::Keep,
            (Some(state), false) => state,
            (None, false) if self.test.is_some() => State::Purged,
            (None, false) if self.grid.is_some() => State::Sequential,
            (None, false) => State::Random,
            (Some(_), true) => {
                return Err(usage(anyhow!(
                    "--state writes to the drive, and --read-only forbids it"
                )));
            }
        };
        if self.grid.is_some() && !matches!(state, State::Sequential | State::Keep) {
            return Err(usage(anyhow!(
                "--grid: all of the drive must hold data, in order, else the free space of a part of it \
                 is unknown: choose --state sequential, or keep if the drive is in that state"
            )));
        }
        let grid = self.grid.as_ref().map(|choice| choice.rule(device)).transpose();
        let grid = grid.map_err(usage)?;
        // Runs of a test or a grid follow each other without a pause, so that the drive does not recover.
        let follow = self.test.is_some() || grid.is_some();
        let least = if follow { Nanos(0) } else { LEAST_RUN_PAUSE };
        let run_pause_ns = asked.run_pause.unwrap_or(least);
        let (on_error, methodology) = (asked.on_error.into(), self.methodology());
        let rounds = None;
        let options = Options { setup, state, run_pause_ns, on_error, methodology, rounds, grid };
        check_state(device, &options).map_err(usage)?;
        Ok(options)
    }

    fn methodology(&self) -> Methodology {
        let asked = self.asked;
        if self.trace.is_some() || self.test.is_some() {
            return Methodology::default();
        }
        let budget = Budget { time_ns: asked.budget_time, bytes: asked.budget_bytes };
        let given = Methodology { repeats: asked.repeats, budget, ..Methodology::default() };
        if asked.io_count.is_some() {
            return given;
        }
        let precision = Some(Precision {
            quantile: asked.statistic.quantile(),
            relative: asked.precision,
            confidence: asked.confidence,
            ..Precision::default()
        });
        if self.grid.is_some() {
            return Methodology { repeats: 1, precision, ..given };
        }
        Methodology {
            precision,
            finds_io_ignore: asked.io_ignore.is_none(),
            finds_run_pause: asked.run_pause.is_none(),
            most_run_time_ns: Some(asked.most_time),
            most_run_bytes: asked.most_bytes,
            ..given
        }
    }
}
