//! The options of `flashscope predict`.

use std::borrow::Cow;
use std::path::PathBuf;

use clap::ValueEnum;
use flashscope_block::Bytes;
use flashscope_model::trace::{Ranges, Stretches};
use flashscope_predict::Pieces;

use super::PredictionRequest;
use crate::{MemoryArgs, names};

/// The default number of IOs in a pass of an endless workload.
pub const PASS_IOS: u64 = 1_000_000;

/// The default confidence level of intervals.
pub const CONFIDENCE: f64 = 0.9;

/// Predict the performance of a workload on a drive, by a model instead of a simulation.
///
/// Blocks erased, write amplification, throughput and lifetime follow from how the workload writes: how
/// long, where, and how soon again. A trace is repeated until the prediction has converged, and then
/// counted. Intervals come from cases in which the model was compared with the simulator
/// (docs/models.md). Ten million requests take about a second.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  flashscope predict --trace 'hm_0.csv.gz?remap=compact' --drive 'demo?over_provisioning=0.28'
  flashscope predict --trace 'hm_0.csv.gz?remap=fold' --drive flashsim-2009 --compare
  flashscope predict --workload 'zipf?exponent=0.9' --drive 'demo?cleaning.policy=fifo' --json
  flashscope predict --trace 'hm_0.csv.gz?remap=fold' --drive 'flashsim-2009?ftl=fast' --model fast
  flashscope predict --trace 'hm_0.csv.gz?remap=fold' --lifetime --worn 1200
  flashscope predict --workload uniform --lifetime --per-day 200GB
  flashscope predict --grid RESULT.flashscope --trace 'hm_0.csv.gz?remap=fold'
  flashscope predict --list")]
pub struct PredictArgs {
    /// The simulated drive: a profile or a TOML file, with any field of it after `?`
    #[arg(long, default_value = "sim:demo", value_name = "DRIVE")]
    pub drive: String,

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
    /// Interpolates between its points, over the stretches of time and ranges of space of equations.
    #[arg(long, value_name = "RESULT",
          conflicts_with_all = ["drive", "model", "compare", "lifetime"])]
    pub grid: Option<PathBuf>,

    /// Division of free space in the drive of --grid: a log block per data block, or all for all
    #[arg(long, default_value = "fast", value_name = "FTL", requires = "grid")]
    pub like: LikeArg,

    /// Size of an erase block of the drive of --grid [default: as the drive reported it, or 1 MiB]
    #[arg(long, value_name = "SIZE", requires = "grid")]
    pub block_size: Option<Bytes>,

    /// With equations: take the space of a range to be its logical block, or only its written pages
    #[arg(long, default_value = "whole", value_name = "WHICH")]
    pub ranges: RangesArg,

    /// With equations: divide time into stretches of the log list's length, at changes of the workload, or
    /// of each range by itself
    #[arg(long, default_value = "log-list", value_name = "HOW")]
    pub stretches: StretchesArg,

    /// IOs of an endless workload that are taken at a time
    #[arg(long, default_value_t = PASS_IOS, value_name = "COUNT",
          value_parser = clap::value_parser!(u64).range(1..=names::MOST_IOS))]
    pub ios: u64,

    /// Confidence level of the intervals
    #[arg(long, default_value_t = CONFIDENCE, value_name = "SHARE", value_parser = names::share)]
    pub confidence: f64,

    /// Simulate the same workload as well, and show the error of the prediction
    #[arg(long)]
    pub compare: bool,

    /// Predict the lifetime of the drive, and the bytes that can still be written to it
    #[arg(long)]
    pub lifetime: bool,

    /// Bytes that the host writes in a day [default: as many as the trace does]
    #[arg(long, value_name = "SIZE", requires = "lifetime")]
    pub per_day: Option<Bytes>,

    /// Erases of each block so far
    #[arg(long, default_value_t = 0, value_name = "ERASES", requires = "lifetime")]
    pub worn: u32,

    /// Seed of all random choices
    #[arg(long, default_value = "0", value_parser = names::seed, allow_negative_numbers = true)]
    pub seed: u64,

    /// Print the outcome as JSON (schema: docs/schemas/prediction.schema.json)
    #[arg(long)]
    pub json: bool,

    /// List the models and their sources
    #[arg(long)]
    pub list: bool,
}

/// The workload to run.
#[derive(clap::Args)]
pub struct WorkloadArgs {
    /// The workload, with any fields to set after `?`
    ///
    /// There are: uniform, sequential, hotcold, zipf, uflip:MICRO-BENCHMARK and trace:FILE.
    /// `flashscope simulate --list` shows all, and their fields.
    #[arg(long, default_value = "uniform", value_name = "WORKLOAD")]
    workload: String,

    /// Run a trace: short for --workload trace:FILE, with any field of a trace after `?`
    #[arg(long, value_name = "FILE", conflicts_with = "workload")]
    trace: Option<String>,
}

impl WorkloadArgs {
    /// Returns the workload, as the user wrote it.
    pub fn spec(&self) -> Cow<'_, str> {
        match &self.trace {
            Some(trace) => Cow::Owned(format!("trace:{trace}")),
            None => Cow::Borrowed(&self.workload),
        }
    }
}

/// The ways to divide free space.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum LikeArg {
    /// A log block serves one data block
    Bast,
    /// Log blocks are filled one after the other, whatever is written
    Fast,
}

/// The rules for the space of a range.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum RangesArg {
    /// The logical block
    Whole,
    /// The pages of it that are written
    Written,
}

/// The ways to divide time.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum StretchesArg {
    /// As long as the log list
    LogList,
    /// From one change of the workload to the next
    Stationary,
    /// As long as the log list, and of each range by itself
    OwnTime,
}

impl PredictArgs {
    /// Returns the request for a prediction of the workload `spec`.
    pub fn wanted<'a>(&'a self, spec: &'a str) -> PredictionRequest<'a> {
        PredictionRequest {
            drive: &self.drive,
            workload: spec,
            model: self.model.as_deref(),
            pieces: self.pieces(),
            ios: self.ios,
            confidence: self.confidence,
            seed: self.seed,
        }
    }

    /// Returns the settings of equations.
    pub fn pieces(&self) -> Pieces {
        Pieces {
            ranges: match self.ranges {
                RangesArg::Whole => Ranges::Whole,
                RangesArg::Written => Ranges::Written,
            },
            stretches: match self.stretches {
                StretchesArg::LogList => Stretches::LogList,
                StretchesArg::Stationary => Stretches::Stationary,
                StretchesArg::OwnTime => Stretches::OwnTime,
            },
        }
    }
}
