//! The options of `flashscope twin`.

use std::path::PathBuf;

use clap::Subcommand;
use flashscope_block::Bytes;

use crate::options::{
    JobsArgs, JsonArgs, LoadArgs, MemoryArgs, OutputFolderArgs, PredictionConfidenceArgs, SeedArgs,
    folder_default, json_schema,
};

/// Fit a simulated drive to a measured one, and predict workloads that the drive never ran.
#[derive(clap::Args)]
pub struct TwinArgs {
    /// The command.
    #[command(subcommand)]
    pub command: TwinCommand,
}

/// The commands on twins.
#[derive(Subcommand)]
#[allow(missing_docs, reason = "a comment on a variant would replace the help text of its options")]
pub enum TwinCommand {
    Fit(FitArgs),
    Check(CheckArgs),
    Predict(PredictArgs),
}

/// Fit a simulated drive to results of `bench` and `probe`, or to a fill sweep.
///
/// flashscope simulates the same runs on drives with different structures and times, until the
/// distributions of response times match. Each time gets an interval, and choices that the results
/// leave open are listed (docs/twin.md). A fill sweep is a CSV of uniform writes, with the column
/// `fill`, and `write_amplification`, `mb_per_s` or both. A column `queue_depth` gives the IOs in
/// flight.
#[derive(clap::Args)]
#[command(mut_arg("json", json_schema("twin")))]
#[command(after_help = "Examples:
  flashscope twin fit RESULT.flashscope PROBE.flashscope -o drive.toml
  flashscope twin fit sweep.csv -o drive.toml
  flashscope simulate --drive sim:./drive.toml --workload 'zipf?exponent=0.9'")]
pub struct FitArgs {
    /// Results of `flashscope bench` or `flashscope probe`, and tables of fill sweeps (.csv)
    #[arg(required = true, value_name = "RESULT")]
    pub results: Vec<PathBuf>,

    /// Write the profile here, and all details beside it to NAME.twin.json (schema:
    /// docs/schemas/twin.schema.json)
    #[arg(short, long, default_value = "drive.toml", value_name = "FILE")]
    pub output: PathBuf,

    /// The confidence level of the intervals.
    #[command(flatten)]
    pub confidence: PredictionConfidenceArgs,

    /// Fit the structure of the drive to a sample of runs that read and write at most this much,
    /// preparation included
    ///
    /// The times are fitted to all runs. A larger sample finds the structure more often, and takes
    /// longer.
    #[arg(long, default_value = "8GiB", value_name = "SIZE")]
    pub sample: Bytes,

    /// IOs in flight during a fill sweep, unless its table has a column `queue_depth` [default:
    /// unknown; predictions assume 32]
    #[arg(long, value_name = "COUNT", value_parser = clap::value_parser!(u32).range(1..))]
    pub queue_depth: Option<u32>,

    /// The seed of the search and of the bootstrap.
    #[command(flatten)]
    pub seed: SeedArgs,

    /// The number of simulations at once.
    #[command(flatten)]
    pub jobs: JobsArgs,

    /// The memory limit.
    #[command(flatten)]
    pub memory: MemoryArgs,

    /// The form of the output; JSON is the content of NAME.twin.json.
    #[command(flatten)]
    pub json: JsonArgs,
}

/// Compare a twin with results that it was not fitted to.
#[derive(clap::Args)]
#[command(mut_arg("json", json_schema("twin-check")))]
#[command(after_help = "Examples:
  flashscope twin check drive.toml HELD-OUT.flashscope
  flashscope twin check drive.toml held-out-levels.csv")]
pub struct CheckArgs {
    /// The profile written by `flashscope twin fit`
    #[arg(value_name = "TWIN")]
    pub twin: PathBuf,

    /// Results of `flashscope bench`, and tables of fill sweeps (.csv)
    #[arg(required = true, value_name = "RESULT")]
    pub results: Vec<PathBuf>,

    /// The number of simulations at once.
    #[command(flatten)]
    pub jobs: JobsArgs,

    /// The memory limit.
    #[command(flatten)]
    pub memory: MemoryArgs,

    /// The form of the output.
    #[command(flatten)]
    pub json: JsonArgs,
}

/// The help of the queue depth of a prediction.
const MEASURED_DEPTH: &str = "IOs in flight at once, unless the workload sets it [default: as in the measurements that the \
                              twin was fitted to]";

/// Predict the performance of a workload on a drive, by its twin.
///
/// The workload is simulated on the twin, and on alternative drives that fit the results equally
/// well; the alternatives give the intervals. Unless --queue-depth or the workload sets it, the
/// queue depth is that of the measurements.
#[derive(clap::Args)]
#[command(mut_arg("output", folder_default("none, nothing is written")))]
#[command(mut_arg("json", json_schema("twin-prediction")))]
#[command(mut_arg("queue_depth", |arg| arg.help(MEASURED_DEPTH)))]
#[command(after_help = "Examples:
  flashscope twin predict drive.toml --trace 'hm_0.csv.gz?remap=fold'
  flashscope twin predict drive.toml --workload 'zipf?exponent=0.9' --ios 100000 --output zipf.flashscope")]
pub struct PredictArgs {
    /// The profile written by `flashscope twin fit`
    #[arg(value_name = "TWIN")]
    pub twin: PathBuf,

    /// The workload.
    #[command(flatten)]
    pub load: LoadArgs,

    /// Bytes of the drive that hold data [default: as at its fullest measured level]
    #[arg(long, value_name = "SIZE")]
    pub filled: Option<Bytes>,

    /// Number of alternative drives to simulate in addition to the twin [default: until the ends of
    /// intervals are known]
    ///
    /// By default, the number grows from 20 until the standard error of each end is at most 10 % of
    /// the width of its interval. The twin has at most 200 alternative drives. With 0, intervals
    /// reflect only the error of the fit.
    #[arg(long, value_name = "COUNT")]
    pub draws: Option<usize>,

    /// The number of simulations at once.
    #[command(flatten)]
    pub jobs: JobsArgs,

    /// The memory limit.
    #[command(flatten)]
    pub memory: MemoryArgs,

    /// The folder for `prediction.json`.
    #[command(flatten)]
    pub output: OutputFolderArgs,

    /// The form of the output.
    #[command(flatten)]
    pub json: JsonArgs,
}
