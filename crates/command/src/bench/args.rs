//! The options of `flashscope bench` and `flashscope plan`.

use std::path::PathBuf;

use flashscope_block::Bytes;

use super::options::{BenchOptions, GROUPS};
use crate::options::{
    ConsentArgs, JsonArgs, MemoryArgs, OutputFolderArgs, folder_default, json_schema,
};

/// Measure a drive with the nine micro-benchmarks of uFLIP, a SNIA test, a trace, fio's jobs, or a
/// grid of uniform writes.
///
/// The drive is first brought into a well-defined state by writing all of it (see --state). A
/// preparation then measures how response times start up, oscillate and recover after writes. It
/// determines the pauses between runs, and how many IOs at the start of a run the statistics
/// ignore. Each run of a micro-benchmark continues until its mean reaches the required --precision.
/// The result folder holds every IO. `flashscope report` turns the folder into a page, and DuckDB,
/// Polars, pandas or Spark can read it. `flashscope plan` shows beforehand what will run.
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
  flashscope bench --fio-job four.fio --destroy-data-on scratch.img
  flashscope bench sim:demo --fio-job four.fio --state sequential
  flashscope bench --plan PLAN.json --destroy-data-on scratch.img
  flashscope bench --resume RESULT.flashscope --destroy-data-on scratch.img")]
pub struct BenchArgs {
    /// The drive to measure: /dev/NAME, file:PATH, sim:PROFILE or null:
    ///
    /// A file takes `?size=1GiB` (it is created), `?engine=io_uring|libaio|psync` and
    /// `?direct=false`; a device takes `?engine=…`, which may be `io_uring_polled` or, for NVMe
    /// commands past the block layer, `io_uring_cmd` (see docs/drives.md). A simulated drive takes
    /// any field of its profile, as in `sim:demo?over_provisioning=0.28`.
    #[arg(required_unless_present_any = ["resume", "plan", "fio_job"])]
    pub drive: Option<String>,

    /// Resume this interrupted result at the run where it stopped
    ///
    /// The result names the drive and the options. If runs write to the drive, confirm it again
    /// with --destroy-data-on. If flashscope had not finished bringing the drive into its state, it
    /// does so first. A simulated drive has lost its contents, and therefore repeats the completed
    /// runs; the result is the same as without the interruption.
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

    /// Keep the file that flashscope created as a drive; by default it is removed once the plan is
    /// complete
    ///
    /// Without asking for confirmation, flashscope overwrites a file that it created,
    /// unless another program has changed
    /// the file.
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
/// The drive is opened for reading only. For a real drive, the estimate measures the cost of reads,
/// and assumes the cost of writes unless
/// --like names an earlier result.
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

    /// Take the cost of an IO from this earlier result, of the same or a similar drive
    #[arg(long, value_name = "RESULT", help_heading = "Limits")]
    pub like: Option<PathBuf>,

    /// The rated endurance of the drive (TBW), to show how much of the endurance the plan uses
    #[arg(long, value_name = "SIZE", help_heading = "Limits")]
    pub endurance: Option<Bytes>,

    /// The form of the output.
    #[command(flatten)]
    pub json: JsonArgs,
}
