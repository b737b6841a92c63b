//! The options of `flashscope simulate`.

use std::path::PathBuf;

use flashscope_block::Nanos;
use flashscope_simulate::Tenant;

use crate::names::{self, Weights};
use crate::options::{
    JsonArgs, ListArgs, MemoryArgs, OutputFolderArgs, SimulatedDriveArgs, WorkArgs, folder_default,
    json_schema,
};

/// Run a workload on a simulated drive, and report its response times and its flash operations.
///
/// The drive is filled, warmed up until its write amplification is steady, and then measured.
/// Everything happens in virtual time: simulating hours of a drive takes seconds.
#[derive(clap::Args)]
#[command(
    mut_arg("output", folder_default("none, nothing is written")),
    mut_arg("json", json_schema("simulation")),
    mut_arg("list", |arg| arg.help("List the available drives and workloads, with their fields, then exit"))
)]
#[command(after_help = "Examples:
  flashscope simulate
  flashscope simulate --drive 'demo?over_provisioning=0.28' --workload 'hotcold?hot_space=0.05'
  flashscope simulate --workload 'zipf?exponent=0.9&reads=0.3' --queue-depth 8 --ios 200000
  flashscope simulate --workload 'uniform?rate=1000&arrivals=poisson' --duration 60s --json
  flashscope simulate --workload uflip:granularity/RW --fill random
  flashscope simulate --trace 'hm_0.csv.gz?remap=compact&speed=10' --warmup steady
  flashscope simulate --tenant 'db=zipf?reads=0.9' --tenant log=sequential --ios 200000
  flashscope simulate --tenant db:high=uniform --tenant log:low=hotcold --weights 4,2,1 --ios 50000
  flashscope simulate --output demo-sim.flashscope
  flashscope simulate --observe utilization,free_blocks --json
  flashscope simulate --trace-events events.json --trace-from 1s --trace-for 10ms
  flashscope simulate --list")]
pub struct SimulateArgs {
    /// The drive.
    #[command(flatten)]
    pub drive: SimulatedDriveArgs,

    /// The work on the drive.
    #[command(flatten)]
    pub work: WorkArgs,

    /// The tenants.
    #[command(flatten)]
    pub tenants: TenantArgs,

    /// The memory limit.
    #[command(flatten)]
    pub memory: MemoryArgs,

    /// The observers and the event trace.
    #[command(flatten)]
    pub observation: ObservationArgs,

    /// The folder for `simulation.json`, with the output of all observers and the distribution of
    /// latencies over time.
    #[command(flatten)]
    pub output: OutputFolderArgs,

    /// The form of the output.
    #[command(flatten)]
    pub json: JsonArgs,

    /// The choice to list drives and workloads.
    #[command(flatten)]
    pub list: ListArgs,
}

/// Several workloads on one drive at once.
#[derive(clap::Args)]
#[command(next_help_heading = "Tenants")]
pub struct TenantArgs {
    /// Run several workloads at once: NAME=WORKLOAD or NAME:CLASS=WORKLOAD, once for each tenant
    ///
    /// Each tenant has a namespace, an equal part of the drive, and a submission queue. `--ios`
    /// counts the IOs of all tenants. The result has the latencies and the throughput of each
    /// tenant, and its slowdown by the other tenants. CLASS is urgent, high, medium (the default)
    /// or low, and takes effect only with --weights.
    #[arg(long = "tenant", id = "tenant", value_name = "NAME=WORKLOAD", conflicts_with_all = ["workload", "trace"])]
    pub tenants: Vec<Tenant>,

    /// Commands that the classes high, medium and low may send in a round [default: round robin
    /// without classes]
    ///
    /// An urgent queue always comes first. Classes matter only if commands wait in the queues: if
    /// the tenants have more commands in flight than the drive accepts (`interface.queue_depth` in
    /// the profile).
    #[arg(long, value_name = "HIGH,MEDIUM,LOW", requires = "tenant", value_parser = names::weights)]
    pub weights: Option<Weights>,

    /// Maximum number of commands that the drive fetches from a queue in each turn
    #[arg(long, value_name = "COUNT", requires = "tenant", default_value = "1",
          value_parser = clap::value_parser!(u32).range(1..))]
    pub burst: u32,

    /// Do not run each tenant alone as well: saves time, but there are no slowdowns and no fairness
    #[arg(long, requires = "tenant")]
    pub no_alone: bool,
}

/// The parts of a simulation that are recorded in detail.
#[derive(clap::Args)]
#[command(next_help_heading = "Observation")]
pub struct ObservationArgs {
    /// Observe the drive during the measurement: names of observers, separated by commas
    ///
    /// The observers are utilization, free_blocks, cleaning, amplification, wear_map and
    /// activities. `--list` describes their output, which is part of the JSON document. Not
    /// available for arrays of drives. `--output` includes all observers.
    #[arg(long, value_name = "NAMES", value_delimiter = ',', requires = "json")]
    pub observe: Vec<String>,

    /// Write every flash command and every request to this file, in the format that
    /// ui.perfetto.dev and chrome://tracing open
    #[arg(long, value_name = "FILE")]
    pub trace_events: Option<PathBuf>,

    /// Start the trace this long after the start of the measurement, in simulated time [default: at
    /// once]
    #[arg(long, value_name = "TIME", value_parser = names::duration, requires = "trace_events")]
    pub trace_from: Option<Nanos>,

    /// Length of the trace, in simulated time [default: 100ms]
    #[arg(long, value_name = "TIME", value_parser = names::duration, requires = "trace_events")]
    pub trace_for: Option<Nanos>,
}
