//! The options of `flashscope sweep`.

use std::path::PathBuf;

use clap::ValueEnum;

use crate::options::{
    JobsArgs, JsonArgs, MemoryArgs, OutputFolderArgs, folder_default, json_schema,
};

/// Explore a design space: simulate all or some of its points, and compare them.
///
/// The space is a TOML file: factors, which are fields of the drive's profile or of the workload,
/// with their values. The results are the Pareto front of the objectives, the effect of each factor
/// on them, and a table of all points. See docs/sweep.md.
#[derive(clap::Args)]
#[command(
    mut_arg("output", folder_default("the file name of SPACE with `.flashscope` instead of `.toml`")),
    mut_arg("output", |arg| arg.conflicts_with("resume")),
    mut_arg("json", json_schema("sweep"))
)]
#[command(after_help = "A space:
  drive = \"sim:demo\"
  workload = \"uniform\"
  ios = 100000
  repeats = 3
  objectives = [\"minimize write_amplification\", \"minimize latency_ns.p99\"]

  [factors]
  over_provisioning = [0.07, 0.15, 0.28]
  cleaning.policy = [\"greedy\", \"fifo\"]
  workload.reads = { from = 0.0, to = 0.75, step = 0.25 }

Examples:
  flashscope sweep space.toml
  flashscope sweep space.toml --output sizes.flashscope --jobs 8 --json
  flashscope sweep --resume sizes.flashscope
  flashscope sweep space.toml --engine ray")]
pub struct SweepArgs {
    /// The design space: a TOML file
    #[arg(value_name = "SPACE", required_unless_present = "resume")]
    pub space: Option<PathBuf>,

    /// Resume a sweep that was interrupted; rows that exist are not simulated again
    #[arg(long, value_name = "FOLDER", conflicts_with = "space")]
    pub resume: Option<PathBuf>,

    /// The engine: this machine, or a Ray cluster through the Python packages of flashscope and Ray
    ///
    /// With Ray, the sweep uses the cluster at RAY_ADDRESS. Without that variable it uses a cluster
    /// that runs on this machine, or else starts its own.
    #[arg(long, value_enum, default_value = "local", value_name = "ENGINE")]
    pub engine: Engine,

    /// The number of simulations at once.
    #[command(flatten)]
    pub jobs: JobsArgs,

    /// The memory limit.
    #[command(flatten)]
    pub memory: MemoryArgs,

    /// The folder of a new sweep.
    #[command(flatten)]
    pub output: OutputFolderArgs,

    /// The form of the output.
    #[command(flatten)]
    pub json: JsonArgs,
}

/// The engines that can simulate the points of a sweep.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Engine {
    /// The cores of this machine
    Local,
    /// A Ray cluster
    Ray,
}
