//! The options of `flashscope simulate`.

use std::path::PathBuf;

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use flashscope_block::Nanos;
use flashscope_measure::WarmUp;
use flashscope_simulate::Work;
use flashscope_workload::state::Fill;

use crate::predict::WorkloadArgs;
use crate::{MemoryArgs, names};

/// Run a workload on a simulated drive, and report its response times and its flash operations.
///
/// The drive is filled, warmed up until its write amplification is steady, and then measured. All of it happens in
/// virtual time: hours of a drive take seconds.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  flashscope simulate
  flashscope simulate --drive 'demo?over_provisioning=0.28' --workload 'hotcold?hot_space=0.05'
  flashscope simulate --workload 'zipf?exponent=0.9&reads=0.3' --queue-depth 8 --ios 200000
  flashscope simulate --workload 'uniform?rate=1000&arrivals=poisson' --duration 60s --json
  flashscope simulate --workload uflip:granularity/RW --fill random
  flashscope simulate --trace 'hm_0.csv.gz?remap=compact&speed=10' --warmup steady
  flashscope simulate --output demo-sim.flashscope
  flashscope simulate --observe utilization,free_blocks --json
  flashscope simulate --trace-events events.json --trace-from 1s --trace-for 10ms
  flashscope simulate --list")]
pub struct SimulateArgs {
    /// The simulated drive: a profile or a TOML file, with any field of it after `?`
    #[arg(long, default_value = "sim:demo", value_name = "DRIVE")]
    pub drive: String,

    /// The work on the drive.
    #[command(flatten)]
    pub work: WorkArgs,

    /// The memory limit.
    #[command(flatten)]
    pub memory: MemoryArgs,

    /// Observe the drive during the measurement: names of observers, separated by commas
    ///
    /// There are: utilization, free_blocks, cleaning, amplification, wear_map, activities. `--list` describes their output, which is a part
    /// of what `--json` prints.
    #[arg(long, value_name = "NAMES", value_delimiter = ',', requires = "json")]
    pub observe: Vec<String>,

    /// Write the results to this folder, as `simulation.json`, with the output of all observers and the distribution of
    /// latencies over time, for the web pages of a simulation
    ///
    /// The folder must not exist yet. Observers are not available for arrays of drives.
    #[arg(long, short, value_name = "FOLDER")]
    pub output: Option<PathBuf>,

    /// Write every flash command and every request to this file, in the format that
    /// ui.perfetto.dev and chrome://tracing open
    #[arg(long, value_name = "FILE")]
    pub trace_events: Option<PathBuf>,

    /// Start the trace this long after the start of the measurement, in simulated time [default: at once]
    #[arg(long, value_name = "TIME", value_parser = names::duration, requires = "trace_events")]
    pub trace_from: Option<Nanos>,

    /// Length of the trace, in simulated time [default: 100ms]
    #[arg(long, value_name = "TIME", value_parser = names::duration, requires = "trace_events")]
    pub trace_for: Option<Nanos>,

    /// Print the outcome as JSON (schema: docs/schemas/simulation.schema.json)
    #[arg(long)]
    pub json: bool,

    /// List the available drives and workloads, with their fields
    #[arg(long)]
    pub list: bool,
}

/// Options of the work on a simulated drive.
#[derive(clap::Args)]
pub struct WorkArgs {
    /// The workload.
    #[command(flatten)]
    pub workload: WorkloadArgs,

    /// IOs to measure [default: 1000000, or all of a workload that ends]
    #[arg(long, value_name = "COUNT", conflicts_with = "duration",
          value_parser = clap::value_parser!(u64).range(1..=names::MOST_IOS))]
    pub ios: Option<u64>,

    /// Time to measure, in simulated time
    #[arg(long, value_name = "TIME", value_parser = names::duration)]
    pub duration: Option<Nanos>,

    /// Contents of the drive at the start
    #[arg(long, value_parser = fill_parser(), default_value = "sequential", value_name = "STATE")]
    pub fill: Fill,

    /// Run the workload before it is measured: `steady`, `none`, a number of IOs, or a number of
    /// times the capacity, as in `10x` [default: steady, or none for a workload that ends]
    ///
    /// `steady` lasts until write amplification is steady: over 5 windows, each of as many bytes as the drive has, it stays
    /// within 2 % of its mean and the line fitted to it changes by at most 1 %. After 50 windows the warm-up ends all the
    /// same, with a note. A trace is repeated for it, with its passes as windows.
    #[arg(long, value_name = "LENGTH")]
    pub warmup: Option<WarmUp>,

    /// IOs in flight at once, unless the workload sets it [default: 1, or in an open loop all that the drive takes]
    #[arg(long, value_name = "COUNT", value_parser = clap::value_parser!(u32).range(1..))]
    pub queue_depth: Option<u32>,

    /// Seed of all random choices, unless the workload has its own; the same seed gives the same IOs
    #[arg(long, default_value_t = 1, allow_negative_numbers = true, value_parser = names::seed)]
    pub seed: u64,
}

impl WorkArgs {
    /// Returns the work, without any observers.
    #[must_use]
    pub fn work(&self) -> Work {
        Work {
            workload: self.workload.spec().into_owned(),
            fill: self.fill,
            warm_up: self.warmup,
            ios: self.ios,
            duration: self.duration,
            queue_depth: self.queue_depth,
            seed: self.seed,
            ..Work::default()
        }
    }
}

/// Parses what a simulated drive holds at the start.
pub fn fill_parser() -> impl TypedValueParser<Value = Fill> {
    let values = Fill::ALL.map(|fill| PossibleValue::new(fill.name()).help(fill.summary()));
    PossibleValuesParser::new(values).try_map(|name| {
        Fill::ALL.into_iter().find(|fill| fill.name() == name).ok_or("no such state")
    })
}
