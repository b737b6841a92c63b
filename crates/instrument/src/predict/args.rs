//! The options of `flashscope predict`, as they are documented.

use std::borrow::Cow;
use std::path::PathBuf;

use clap::ValueEnum;
use flashscope_block::Bytes;
use flashscope_model::trace::{Ranges, Stretches};
use flashscope_twin::predict::Pieces;

use super::Wanted;
use crate::{MemoryArgs, names};

/// So many IOs of a workload without an end are taken at a time, unless something else is asked for.
pub const PASS_IOS: u64 = 1_000_000;

/// How often intervals hold the truth, unless something else is asked for.
pub const CONFIDENCE: f64 = 0.9;

/// Predict what a workload comes to on a drive, by a model instead of simulating it.
///
/// Blocks erased, write amplification, throughput and lifetime follow from how the workload writes: how
/// long, where, and how soon again. A trace is repeated until what it comes to has converged, and then
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

    /// What is run.
    #[command(flatten)]
    pub workload: WorkloadArgs,

    /// How much memory.
    #[command(flatten)]
    pub memory: MemoryArgs,

    /// What predicts [default: the best for the drive]; `--list` shows what there is
    #[arg(long, value_name = "MODEL")]
    pub model: Option<String>,

    /// Predict by what was measured: a result of `flashscope bench DRIVE --grid`, of whatever drive
    ///
    /// Between its points is interpolated, over the stretches of time and ranges of space of equations.
    #[arg(long, value_name = "RESULT",
          conflicts_with_all = ["drive", "model", "compare", "lifetime"])]
    pub grid: Option<PathBuf>,

    /// How the drive of --grid shares out its free space: a log block for a data block, or all for all
    #[arg(long, default_value = "fast", value_name = "FTL", requires = "grid")]
    pub like: LikeArg,

    /// What an erase block of the drive of --grid holds [default: what it told, or 1 MiB]
    #[arg(long, value_name = "SIZE", requires = "grid")]
    pub block_size: Option<Bytes>,

    /// With equations: take the space of a range to be its logical block, or what of it is written
    #[arg(long, default_value = "whole", value_name = "WHICH")]
    pub ranges: RangesArg,

    /// With equations: divide time into stretches of the log list's length, at changes of the workload, or
    /// of each range by itself
    #[arg(long, default_value = "log-list", value_name = "HOW")]
    pub stretches: StretchesArg,

    /// Take so many IOs of a workload without an end at a time
    #[arg(long, default_value_t = PASS_IOS, value_name = "COUNT",
          value_parser = clap::value_parser!(u64).range(1..=names::MOST_IOS))]
    pub ios: u64,

    /// How often intervals are to hold the truth
    #[arg(long, default_value_t = CONFIDENCE, value_name = "SHARE", value_parser = names::share)]
    pub confidence: f64,

    /// Simulate the same beside it, and say how far the prediction is off
    #[arg(long)]
    pub compare: bool,

    /// Say how long the drive lasts, and what can still be written to it
    #[arg(long)]
    pub lifetime: bool,

    /// Bytes that the host writes in a day [default: as many as the trace does]
    #[arg(long, value_name = "SIZE", requires = "lifetime")]
    pub per_day: Option<Bytes>,

    /// Erases that each block has seen
    #[arg(long, default_value_t = 0, value_name = "ERASES", requires = "lifetime")]
    pub worn: u32,

    /// Seed of everything random
    #[arg(long, default_value = "0", value_parser = names::seed, allow_negative_numbers = true)]
    pub seed: u64,

    /// Print the outcome as JSON (schema: docs/schemas/prediction.schema.json)
    #[arg(long)]
    pub json: bool,

    /// List the models, with what they are of
    #[arg(long)]
    pub list: bool,
}

/// What is run.
#[derive(clap::Args)]
pub struct WorkloadArgs {
    /// The workload, with any of its fields after `?`
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
    /// The workload that was asked for.
    pub fn spec(&self) -> Cow<'_, str> {
        match &self.trace {
            Some(trace) => Cow::Owned(format!("trace:{trace}")),
            None => Cow::Borrowed(&self.workload),
        }
    }
}

/// How free space is shared out.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum LikeArg {
    /// A log block serves one data block
    Bast,
    /// Log blocks are filled one after the other, whatever is written
    Fast,
}

/// What the space of a range is taken to be.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum RangesArg {
    /// The logical block
    Whole,
    /// The pages of it that are written
    Written,
}

/// How time is divided.
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
    /// What is to be predicted of the workload `spec`.
    pub fn wanted<'a>(&'a self, spec: &'a str) -> Wanted<'a> {
        Wanted {
            drive: &self.drive,
            workload: spec,
            model: self.model.as_deref(),
            pieces: self.pieces(),
            ios: self.ios,
            confidence: self.confidence,
            seed: self.seed,
        }
    }

    /// How equations are put together.
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
