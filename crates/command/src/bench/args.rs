//! The options of `flashscope bench` and `flashscope plan`.

use std::path::PathBuf;

use flashscope_block::Bytes;

use super::options::{BenchOptions, GROUPS};
use crate::options::{
    ConsentArgs, JsonArgs, MemoryArgs, OutputFolderArgs, folder_default, json_schema,
};

/// Measure a drive with the nine micro-benchmarks of uFLIP, a test of SNIA's, a trace, or a grid of
/// uniform writes.
///
/// The drive is first brought into a well-defined state by writing all of it (see --state). A
/// preparation then finds how the drive starts, oscillates and recovers from writes, and from this
/// follow the pauses between runs and the IOs of each run that count. Every micro-benchmark (or the trace)
/// is run, each run until its mean reaches the required --precision. Every single IO is
/// kept in a result folder that `flashscope report` turns into a page, and DuckDB, Polars, pandas or
/// Spark can read. `flashscope plan` shows beforehand what will run.
#[derive(clap::Args)]
#[command(
    mut_arg("output", folder_default("named after the drive and the time")),
    mut_arg("json", json_schema("summary"))
)]
#[command(after_help = "Examples:
  flashscope bench sim:demo
  flashscope bench 'file:scratch.img?size=1GiB' --only granularity,locality
  flashscope bench /dev/nvme1n1 --read-only
  flashscope bench /dev/nvme1n1 --destroy-data-on S4EWNX0R123456
  flashscope bench 'sim:agrawal-2008?over_provisioning=0.28' --state sequential
  flashscope bench 'file:scratch.img?size=1GiB' --precision 1% --statistic p99 --budget-time 2h
  flashscope bench 'file:scratch.img?size=4GiB' --trace 'hm_0.csv.gz?remap=compact&speed=10'
  flashscope bench 'file:scratch.img?size=1GiB' --test pts-iops
  flashscope bench sim:demo --test pts-write-saturation --round 1s
  flashscope bench sim:flashsim-2009 --grid
  flashscope bench --plan PLAN.json --destroy-data-on scratch.img
  flashscope bench --resume RESULT.flashscope --destroy-data-on scratch.img")]
pub struct BenchArgs {
    /// The drive to measure: /dev/NAME, file:PATH, sim:PROFILE or null:
    ///
    /// A file takes `?size=1GiB` (it is created), `?engine=io_uring|libaio|psync` and
    /// `?direct=false`; a device takes `?engine=…`, which may be `io_uring_polled` or, for NVMe
    /// commands past the block layer, `io_uring_cmd` (see docs/drives.md). A simulated drive takes any field of its
    /// profile, as in `sim:demo?over_provisioning=0.28`.
    #[arg(required_unless_present_any = ["resume", "plan"])]
    pub drive: Option<String>,

    /// Resume this result, which was stopped or cut off, at the run where it stopped
    ///
    /// The drive and the options are those of the result; a drive that is written has to be confirmed again. The state of
    /// the drive is enforced again first, as far as it was not complete. A simulated drive, which has lost its contents,
    /// repeats the completed runs, so that the result is the same as without the stop.
    #[arg(long, value_name = "RESULT", conflicts_with_all = ["drive", "plan", "output"], conflicts_with_all = GROUPS)]
    pub resume: Option<PathBuf>,

    /// Run this plan, as `flashscope plan` saved it
    #[arg(long, value_name = "FILE", conflicts_with = "drive", conflicts_with_all = GROUPS)]
    pub plan: Option<PathBuf>,

    /// The options of the measurement.
    #[command(flatten)]
    pub options: BenchOptions,

    /// The memory limit.
    #[command(flatten)]
    pub memory: MemoryArgs,

    /// Keep the file that was created as a drive; without this it is removed once the plan is complete
    ///
    /// A file that flashscope created is overwritten without being confirmed, for as long as no other program changes it.
    #[arg(long, help_heading = "Consent to writing")]
    pub keep: bool,

    /// The owner's consent to writing.
    #[command(flatten)]
    pub consent: ConsentArgs,

    /// The folder of the result.
    #[command(flatten)]
    pub output: OutputFolderArgs,

    /// The form of the output.
    #[command(flatten)]
    pub json: JsonArgs,
}

/// Show what a benchmark would run, how long it takes and how much it writes; write nothing.
///
/// The drive is opened for reading alone. The cost of an IO is measured for reads; for writes it is
/// assumed, unless --like names an earlier result.
#[derive(clap::Args)]
#[command(mut_arg("json", json_schema("plan")))]
#[command(after_help = "Examples:
  flashscope plan sim:demo
  flashscope plan /dev/nvme1n1 --budget-time 2h --endurance 600TB
  flashscope plan /dev/nvme1n1 --budget-bytes 2TB --output PLAN.json
  flashscope plan /dev/nvme1n1 --like last-month.flashscope
  flashscope plan sim:demo --test pts-latency")]
pub struct PlanArgs {
    /// The drive to plan for: /dev/NAME, file:PATH, sim:PROFILE or null:
    pub drive: String,

    /// The options of the measurement.
    #[command(flatten)]
    pub options: BenchOptions,

    /// The memory limit.
    #[command(flatten)]
    pub memory: MemoryArgs,

    /// Save the plan here, for `flashscope bench --plan`
    #[arg(long, short, value_name = "FILE", help_heading = "Output")]
    pub output: Option<PathBuf>,

    /// Take the cost of an IO from this result of the drive, or of one like it
    #[arg(long, value_name = "RESULT", help_heading = "Limits")]
    pub like: Option<PathBuf>,

    /// The rated endurance of the drive (TBW), to show what share of it the plan takes
    #[arg(long, value_name = "SIZE", help_heading = "Limits")]
    pub endurance: Option<Bytes>,

    /// The form of the output.
    #[command(flatten)]
    pub json: JsonArgs,
}
