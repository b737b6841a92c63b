//! The options of `flashscope predict`.

use std::path::PathBuf;

use clap::ValueEnum;
use clap::builder::ArgPredicate;
use flashscope_block::Bytes;
use flashscope_model::trace::{Ranges, Stretches};
use flashscope_predict::Pieces;

use super::PredictionRequest;
use crate::names;
use crate::options::{
    JsonArgs, ListArgs, MemoryArgs, OutputFolderArgs, PredictionConfidenceArgs, SeedArgs,
    SimulatedDriveArgs, WorkloadArgs, folder_default, json_schema,
};

/// The default number of IOs in a pass of an endless workload.
pub(crate) const PASS_IOS: u64 = 1_000_000;

/// The default of `--drive` with `--grid`. No profile has this name.
pub(super) const DRIVE_OF_GRID: &str = "the drive of the grid";

/// The default confidence level of intervals.
pub(super) const CONFIDENCE: f64 = 0.9;

/// Predict the performance of a workload on a drive, by a model instead of a simulation.
///
/// The model derives erases, write amplification, throughput and lifetime from the writes of the
/// workload: their lengths, their addresses, and the intervals between overwrites. A trace repeats
/// until the prediction has converged; only later passes count. Intervals come from comparisons of
/// the model with the simulator (docs/models.md). Ten million requests take about a second.
#[derive(clap::Args)]
#[command(
    mut_arg("output", folder_default("none, nothing is written")),
    mut_arg("json", json_schema("prediction")),
    // The default value of the drive stands for the drive of the grid if there is one.
    mut_arg("drive", |arg| arg.default_value_if("grid", ArgPredicate::IsPresent, DRIVE_OF_GRID)),
    mut_arg("list", |arg| arg.help("List the models and their sources, then exit"))
)]
#[command(after_help = "Examples:
  flashscope predict --trace 'hm_0.csv.gz?remap=compact' --drive 'demo?over_provisioning=0.28'
  flashscope predict --trace 'hm_0.csv.gz?remap=fold' --drive flashsim-2009 --compare
  flashscope predict --workload 'zipf?exponent=0.9' --drive 'demo?cleaning.policy=fifo' --json
  flashscope predict --trace 'hm_0.csv.gz?remap=fold' --drive 'flashsim-2009?ftl=fast' --model fast
  flashscope predict --trace 'hm_0.csv.gz?remap=fold' --lifetime --worn 1200
  flashscope predict --workload uniform --lifetime --per-day 200GB
  flashscope predict --grid RESULT.flashscope --trace 'hm_0.csv.gz?remap=fold'
  flashscope predict --grid RESULT.flashscope --workload 'zipf?exponent=0.9' --compare
  flashscope predict --collection cloud.flashscope --drive demo --json
  flashscope predict --list")]
pub struct PredictArgs {
    /// The drive.
    #[command(flatten)]
    pub drive: SimulatedDriveArgs,

    /// The workload.
    #[command(flatten)]
    pub workload: WorkloadArgs,

    /// The memory limit.
    #[command(flatten)]
    pub memory: MemoryArgs,

    /// The model [default: the best for the drive]; `--list` shows all of them
    #[arg(long, value_name = "MODEL")]
    pub model: Option<String>,

    /// Predict from measurements: a result of `flashscope bench DRIVE --grid`, of any drive
    ///
    /// Divides the workload into intervals of time and ranges of addresses, as for a model of
    /// uniform writes. Interpolates the cost of each piece between the points of the grid. --drive
    /// names a simulated drive of the same size, such as a twin, which gives the size of an erase
    /// block and runs --compare. Without --drive, --compare runs the measured drive if it is
    /// simulated.
    #[arg(long, value_name = "RESULT", conflicts_with_all = ["model", "lifetime"])]
    pub grid: Option<PathBuf>,

    /// Predict each volume of a collection on a separate drive: a result of
    /// `flashscope trace collection`
    ///
    /// Regions of 1 MiB of a volume are mapped to the drive in the order of their first access. A
    /// volume with more regions than fit on the drive is not predicted. The command reads the
    /// traces of the collection again, several times if the requests of all volumes do not fit in
    /// memory.
    #[arg(long, value_name = "RESULT",
          conflicts_with_all = ["grid", "lifetime", "compare", "workload", "trace", "output", "ios"])]
    pub collection: Option<PathBuf>,

    /// FTL of the drive of --grid: log blocks that each serve one data block, log blocks for any
    /// data block, or a page map [default: the FTL of a simulated drive, or fast for a real drive]
    ///
    /// For a page map, the workload must be uniform, hotcold or zipf, with writes of one size.
    #[arg(long, value_name = "FTL", requires = "grid")]
    pub like: Option<LikeArg>,

    /// Size of an erase block of the drive of --grid [default: as the drive or the profile states
    /// it, or 1 MiB]
    #[arg(long, value_name = "SIZE", requires = "grid")]
    pub block_size: Option<Bytes>,

    /// With a model of uniform writes: count the complete logical block of a range as its space, or
    /// only the written pages
    #[arg(long, default_value = "whole", value_name = "WHICH")]
    pub ranges: RangesArg,

    /// With a model of uniform writes: divide time into intervals as long as the log list, for all
    /// ranges together or for each range separately, or at changes of the workload
    #[arg(long, default_value = "log-list", value_name = "HOW")]
    pub stretches: IntervalRuleArg,

    /// IOs in a pass of an endless workload; passes repeat until the prediction has converged
    #[arg(long, default_value_t = PASS_IOS, value_name = "COUNT",
          value_parser = names::ios)]
    pub ios: u64,

    /// The confidence level of the intervals.
    #[command(flatten)]
    pub confidence: PredictionConfidenceArgs,

    /// Simulate the same workload as well, and show the error of the prediction
    #[arg(long)]
    pub compare: bool,

    /// Predict the lifetime of the drive, and the bytes that can still be written to it
    #[arg(long)]
    pub lifetime: bool,

    /// Bytes that the host writes in a day [default: the rate of the trace]
    #[arg(long, value_name = "SIZE", requires = "lifetime")]
    pub per_day: Option<Bytes>,

    /// Erases of each block so far
    #[arg(long, default_value_t = 0, value_name = "ERASES", requires = "lifetime", value_parser = names::erases)]
    pub worn: u32,

    /// The seed.
    #[command(flatten)]
    pub seed: SeedArgs,

    /// The folder for `prediction.json`.
    #[command(flatten)]
    pub output: OutputFolderArgs,

    /// The form of the output.
    #[command(flatten)]
    pub json: JsonArgs,

    /// The choice to list models.
    #[command(flatten)]
    pub list: ListArgs,
}

/// The ways in which an FTL uses free space.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum LikeArg {
    /// Each log block serves one data block
    Bast,
    /// Log blocks fill one after the other with writes to any data block
    Fast,
    /// All blocks hold pages of any address
    PageMap,
}

/// The rules for the space of a range.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum RangesArg {
    /// The whole logical block
    Whole,
    /// Only the written pages of the logical block
    Written,
}

/// The ways to divide time.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum IntervalRuleArg {
    /// Intervals as long as the log list
    LogList,
    /// Intervals from one change of the workload to the next
    Stationary,
    /// Intervals as long as the log list, separately for each range
    OwnTime,
}

impl PredictArgs {
    /// Returns the request for a prediction of the workload `spec`.
    pub fn request<'a>(&'a self, spec: &'a str) -> PredictionRequest<'a> {
        PredictionRequest {
            drive: self.drive.name(),
            workload: spec,
            model: self.model.as_deref(),
            pieces: self.pieces(),
            ios: self.ios,
            confidence: self.confidence.level,
            seed: self.seed.value,
            memory: self.memory.budget(),
        }
    }

    /// Returns the settings of models of uniform writes.
    pub fn pieces(&self) -> Pieces {
        Pieces {
            ranges: match self.ranges {
                RangesArg::Whole => Ranges::Whole,
                RangesArg::Written => Ranges::Written,
            },
            stretches: match self.stretches {
                IntervalRuleArg::LogList => Stretches::LogList,
                IntervalRuleArg::Stationary => Stretches::Stationary,
                IntervalRuleArg::OwnTime => Stretches::OwnTime,
            },
        }
    }
}
