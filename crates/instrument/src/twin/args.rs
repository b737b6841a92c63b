//! The options of `flashscope twin`, as they are documented.

use std::path::PathBuf;

use clap::Subcommand;
use flashscope_block::Bytes;
use flashscope_measure::WarmUp;

use crate::predict::WorkloadArgs;
use crate::{JobsArgs, MemoryArgs, names};

/// Make a simulated drive that behaves as one that was measured, and ask it what the drive has not been asked.
#[derive(clap::Args)]
pub struct TwinArgs {
    /// Which of them.
    #[command(subcommand)]
    pub command: TwinCommand,
}

/// What is done with a twin.
#[derive(Subcommand)]
#[allow(
    missing_docs,
    reason = "what is said of a variant would be its help, and its options say it"
)]
pub enum TwinCommand {
    Fit(FitArgs),
    Check(CheckArgs),
    Predict(PredictArgs),
}

/// Fit a simulated drive to results of `bench` and `probe`, or to a fill sweep.
///
/// The same runs are simulated on drives with other structures and times, until what they answer is distributed as it
/// was measured. Of each time there is an interval, and what could not be told apart is said (docs/twin.md). A fill
/// sweep is a CSV with the columns `fill` and `write_amplification` or `mb_per_s`, of uniform writes at each fill.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  flashscope twin fit RESULT.flashscope PROBE.flashscope -o drive.toml
  flashscope twin fit sweep.csv -o drive.toml
  flashscope simulate --drive sim:./drive.toml --workload 'zipf?exponent=0.9'")]
pub struct FitArgs {
    /// Results of `flashscope bench` or `flashscope probe`, and tables of fill sweeps (.csv)
    #[arg(required = true, value_name = "RESULT")]
    pub results: Vec<PathBuf>,

    /// Where the profile goes; all about it goes beside it, to NAME.twin.json (schema: docs/schemas/twin.schema.json)
    #[arg(short, long, default_value = "drive.toml", value_name = "FILE")]
    pub output: PathBuf,

    /// How often intervals are to hold the truth
    #[arg(long, default_value = "90%", value_name = "SHARE", value_parser = names::share)]
    pub confidence: f64,

    /// Look for the structure of the drive by as many of the runs as read and write so much in all, its state
    /// included; its times are fitted to all of them. More finds it more often, and takes longer
    #[arg(long, default_value = "8GiB", value_name = "SIZE")]
    pub sample: Bytes,

    /// Seed of everything random
    #[arg(long, default_value = "0", value_parser = names::seed, allow_negative_numbers = true)]
    pub seed: u64,

    /// How much at once.
    #[command(flatten)]
    pub jobs: JobsArgs,

    /// How much memory.
    #[command(flatten)]
    pub memory: MemoryArgs,

    /// Print NAME.twin.json
    #[arg(long)]
    pub json: bool,
}

/// Compare a twin with results that it was not fitted to.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  flashscope twin check drive.toml HELD-OUT.flashscope
  flashscope twin check drive.toml held-out-levels.csv")]
pub struct CheckArgs {
    /// The profile that `flashscope twin fit` has written
    #[arg(value_name = "TWIN")]
    pub twin: PathBuf,

    /// Results of `flashscope bench`, and tables of fill sweeps (.csv)
    #[arg(required = true, value_name = "RESULT")]
    pub results: Vec<PathBuf>,

    /// How much at once.
    #[command(flatten)]
    pub jobs: JobsArgs,

    /// How much memory.
    #[command(flatten)]
    pub memory: MemoryArgs,

    /// Print the outcome as JSON (schema: docs/schemas/twin-check.schema.json)
    #[arg(long)]
    pub json: bool,
}

/// Predict what a workload comes to on a drive, by its twin.
///
/// Simulated on the twin, and on drives that may as well have been measured: from these are the intervals.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  flashscope twin predict drive.toml --trace 'hm_0.csv.gz?remap=fold'
  flashscope twin predict drive.toml --workload 'zipf?exponent=0.9' --ios 100000")]
pub struct PredictArgs {
    /// The profile that `flashscope twin fit` has written
    #[arg(value_name = "TWIN")]
    pub twin: PathBuf,

    /// What is run.
    #[command(flatten)]
    pub workload: WorkloadArgs,

    /// Measure so many IOs [default: 1000000, or all of a workload that ends]
    #[arg(long, value_name = "COUNT", value_parser = clap::value_parser!(u64).range(1..=names::MOST_IOS))]
    pub ios: Option<u64>,

    /// Run the workload before it is measured, as `flashscope simulate --warmup` does
    #[arg(long, value_name = "LENGTH")]
    pub warmup: Option<WarmUp>,

    /// IOs in flight at once, unless the workload says
    #[arg(long, value_name = "COUNT", value_parser = clap::value_parser!(u32).range(1..))]
    pub queue_depth: Option<u32>,

    /// Simulate so many drives beside the twin; without any, intervals are the errors of its fit alone
    #[arg(long, default_value_t = 20, value_name = "COUNT")]
    pub draws: usize,

    /// Seed of everything random, unless the workload has its own
    #[arg(long, default_value_t = 1, allow_negative_numbers = true, value_parser = names::seed)]
    pub seed: u64,

    /// How much at once.
    #[command(flatten)]
    pub jobs: JobsArgs,

    /// How much memory.
    #[command(flatten)]
    pub memory: MemoryArgs,

    /// Print the outcome as JSON (schema: docs/schemas/twin-prediction.schema.json)
    #[arg(long)]
    pub json: bool,
}
