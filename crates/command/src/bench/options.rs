//! The options of a measurement, in the groups of the help.

use std::path::PathBuf;

use clap::ValueEnum;
use flashscope_block::{Bytes, Nanos};
use flashscope_document::manifest;
use flashscope_workload::uflip::PerBaseline;

use crate::options::{BudgetArgs, ReadOnlyArgs, SeedArgs};
use crate::{fio, names};

/// The options of a measurement.
#[derive(clap::Args)]
pub struct BenchOptions {
    /// The choice of experiments.
    #[command(flatten)]
    pub experiments: ExperimentArgs,

    /// The SNIA test.
    #[command(flatten)]
    pub test: TestArgs,

    /// The grid of uniform writes.
    #[command(flatten)]
    pub grid: GridArgs,

    /// The state of the drive before the first run.
    #[command(flatten)]
    pub state: StateArgs,

    /// The precision of the means.
    #[command(flatten)]
    pub precision: PrecisionArgs,

    /// The length and the number of runs.
    #[command(flatten)]
    pub length: LengthArgs,

    /// The pattern of runs.
    #[command(flatten)]
    pub runs: RunArgs,

    /// The limits on time and bytes.
    #[command(flatten)]
    pub budget: BudgetArgs,

    /// The effect of IO errors.
    #[command(flatten)]
    pub errors: ErrorArgs,

    /// The option to write nothing and run only reads.
    #[command(flatten)]
    pub read_only: ReadOnlyArgs,
}

/// The groups of [`BenchOptions`], which a saved plan or result replaces.
pub(super) const GROUPS: [&str; 11] = [
    "ExperimentArgs",
    "TestArgs",
    "GridArgs",
    "StateArgs",
    "PrecisionArgs",
    "LengthArgs",
    "RunArgs",
    "SeedArgs",
    "BudgetArgs",
    "ErrorArgs",
    "ReadOnlyArgs",
];

/// The choice of experiments: micro-benchmarks, or a trace or fio's jobs in their place.
#[derive(clap::Args)]
#[command(next_help_heading = "Choice of experiments")]
pub struct ExperimentArgs {
    /// Run only these micro-benchmarks, by name and separated by commas
    ///
    /// The micro-benchmarks are preparation, granularity, alignment, locality, partitioning, order,
    /// parallelism, mix, pause and bursts. The preparation is run whenever it is needed.
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    pub only: Vec<String>,

    /// Play a trace instead of the micro-benchmarks: a file, with any field of a trace after `?`
    ///
    /// Examples: `hm_0.csv.gz?remap=compact&speed=10` and `hm_0.csv.gz?pace=asap&queue_depth=32`. A
    /// timed trace has up to 64 IOs in flight unless `queue_depth` sets another number. The records
    /// show how late each IO was submitted. `flashscope simulate --list` shows the fields.
    #[arg(long, value_name = "FILE", conflicts_with_all = [
        "only", "io_size", "io_count", "io_ignore", "preparation_io_count", "burst_pause",
        "target_offset", "target_size", "PrecisionArgs", "LengthArgs", "BudgetArgs",
    ])]
    pub trace: Option<String>,

    /// Run a job file of fio instead of the micro-benchmarks
    ///
    /// Jobs without `stonewall` run at the same time. The state of the drive is unchanged unless
    /// --state sets it. Without a drive, the jobs run on their `filename`.
    #[arg(long, value_name = "FILE", long_help = fio_job_help(), conflicts_with_all = [
        "only", "trace", "test", "grid", "io_size", "io_count", "io_ignore", "preparation_io_count", "burst_pause",
        "target_offset", "target_size", "PrecisionArgs", "LengthArgs", "BudgetArgs",
    ])]
    pub fio_job: Option<PathBuf>,
}

/// Returns the help of `--fio-job`, with the options of fio that flashscope supports or ignores.
fn fio_job_help() -> String {
    let summary = "Run a job file of fio instead of the micro-benchmarks, with every IO recorded\n\nJobs without \
                   `stonewall` run at the same time. The state of the drive is unchanged unless --state sets it. \
                   Without a drive, the jobs run on their `filename`. flashscope refuses an option that is not \
                   listed below, and names its section and line.";
    format!("{summary}\n\n{}", fio::help())
}

/// A test of the SNIA Solid State Storage Performance Test Specification.
#[derive(clap::Args)]
#[command(next_help_heading = "Test of SNIA")]
pub struct TestArgs {
    /// Run a test of the SNIA Solid State Storage Performance Test Specification (PTS 2.0) instead
    /// of micro-benchmarks
    ///
    /// The tests are pts-iops, pts-throughput, pts-throughput-128k, pts-latency and
    /// pts-write-saturation. The test purges the drive and, except for pts-write-saturation, writes
    /// it twice in sequence. It then repeats rounds of one-minute runs until the drive is steady.
    /// Steady means that the measured values range by at most 20 % of their mean over five rounds.
    /// A line fitted to the values may rise or fall by at most 10 %. pts-write-saturation instead
    /// ends once it has written four times the target space, or after 1440 rounds. A drive that
    /// cannot be purged is refused. --state tests it from another state, and the report states this
    /// deviation.
    #[arg(long, value_name = "NAME", conflicts_with_all = [
        "only", "trace", "io_size", "io_count", "io_ignore", "preparation_io_count", "burst_pause",
        "PrecisionArgs", "LengthArgs", "BudgetArgs",
    ])]
    pub test: Option<String>,

    /// Length of each run in a round of --test
    #[arg(long, default_value = "1min", value_name = "TIME", value_parser = names::duration, requires = "test")]
    pub round: Nanos,

    /// Maximum number of rounds of --test [default: 25, or 1440 for pts-write-saturation]
    #[arg(long, alias = "most-rounds", value_name = "COUNT", requires = "test",
          value_parser = clap::value_parser!(u32).range(1..=names::MAX_ROUNDS))]
    pub max_rounds: Option<u32>,

    /// IOs in flight in --test; always 1 in pts-latency [default: 128 (32 for each of four
    /// threads), or fewer if the drive accepts fewer]
    #[arg(long, value_name = "COUNT", requires = "test",
          value_parser = clap::value_parser!(u32).range(1..=names::DEEPEST))]
    pub queue_depth: Option<u32>,
}

/// A grid of uniform writes.
#[derive(clap::Args)]
#[command(next_help_heading = "Grid of uniform writes")]
pub struct GridArgs {
    /// Measure uniform writes instead of the micro-benchmarks, over a grid of mean lengths and of
    /// free space
    ///
    /// Covers the amounts of free space that the parts of a real workload may have. The writes have
    /// geometrically distributed lengths, and start at random pages of one part of the drive. All
    /// free space of the drive then serves that part (Boboila and Desnoyers, MSST 2011, section
    /// IV). Each run writes until the response times are steady, and then until the cost per page
    /// has the required --precision. The result contains grid.json. The whole drive must first be
    /// written in sequence: --state sequential, or keep if it already is.
    #[arg(long, conflicts_with_all = [
        "only", "test", "trace", "io_size", "io_count", "io_ignore", "preparation_io_count",
        "burst_pause", "target_offset", "target_size", "LengthArgs", "read_only",
    ])]
    pub grid: bool,

    /// Mean lengths of --grid in pages, separated by commas [default: 1,4,16,64,256]
    #[arg(long, value_name = "PAGES", value_delimiter = ',', requires = "grid",
          value_parser = clap::value_parser!(u32).range(1..=names::LONGEST_MEAN))]
    pub grid_lengths: Vec<u32>,

    /// Free space of --grid relative to the space written, separated by commas [default: the
    /// drive's own, then every 1, 2 and 5 times a power of ten up to 100, as far as the longest
    /// writes allow]
    #[arg(long, value_name = "RATIOS", value_delimiter = ',', requires = "grid",
          value_parser = names::free_space)]
    pub grid_spaces: Vec<f64>,

    /// Page size of --grid
    #[arg(long, default_value = "4KiB", value_name = "SIZE", requires = "grid", value_parser = names::page)]
    pub grid_page: Bytes,
}

/// The state of the drive before the first run.
#[derive(clap::Args)]
#[command(next_help_heading = "State of the drive")]
pub struct StateArgs {
    /// The state to bring the drive into first [default: random; keep with --read-only or
    /// --fio-job; purged with --test; sequential with --grid]
    ///
    /// The state is enforced again once the sequential writes of the runs have covered the whole
    /// target space.
    #[arg(long, value_enum, value_name = "STATE")]
    pub state: Option<State>,

    /// Bytes of flash in the drive, including free space, for --grid and --state steady [default:
    /// as the simulated drive reports; for a real drive the next usual size, such as 64GiB for 64
    /// GB]
    #[arg(long, value_name = "SIZE")]
    pub capacity_inside: Option<Bytes>,
}

/// The precision of the means.
#[derive(clap::Args)]
#[command(next_help_heading = "Precision")]
pub struct PrecisionArgs {
    /// Required precision of each run's mean: half the width of its interval, relative to the mean
    #[arg(long, default_value = "2%", value_name = "SHARE", value_parser = names::share,
          conflicts_with = "io_count")]
    pub precision: f64,

    /// Confidence level of the intervals
    #[arg(long, default_value = "95%", value_name = "SHARE", value_parser = names::share,
          conflicts_with = "io_count")]
    pub confidence: f64,
}

/// The length and the number of runs that are measured to a precision.
#[derive(clap::Args)]
#[command(next_help_heading = "Precision")]
pub struct LengthArgs {
    /// The statistic that must reach the precision: `mean`, or a percentile such as `p99` or
    /// `p99.9`
    #[arg(long, default_value = "mean", value_name = "STATISTIC", value_parser = names::statistic,
          conflicts_with = "io_count")]
    pub statistic: names::Statistic,

    /// Maximum number of counted IOs in a run, even if the run has not reached its precision
    #[arg(long, alias = "most-ios", default_value_t = 5120, value_name = "COUNT", conflicts_with = "io_count",
          value_parser = names::ios)]
    pub max_ios: u64,

    /// Maximum duration of a run
    #[arg(long, alias = "most-time", default_value = "10min", value_name = "TIME", value_parser = names::duration,
          conflicts_with = "io_count")]
    pub max_time: Nanos,

    /// Maximum number of bytes that a run writes [default: no limit]
    #[arg(long, alias = "most-bytes", value_name = "SIZE", conflicts_with = "io_count")]
    pub max_bytes: Option<Bytes>,

    /// Number of repeats of each run, each with different random addresses
    ///
    /// The variation between repeats is reported separately from the variation within each run.
    #[arg(long, default_value_t = 3, value_name = "COUNT",
          value_parser = clap::value_parser!(u32).range(1..=100))]
    pub repeats: u32,
}

/// The pattern of runs: uFLIP's parameters.
#[derive(clap::Args)]
#[command(next_help_heading = "Runs")]
pub struct RunArgs {
    /// Set the number of IOs in a run (IOCount) instead of finding it by measurement: one number,
    /// or some of SR, RR, SW, RW
    ///
    /// Patterns that are not named keep the paper's value: SR=1024,RR=1024,SW=1024,RW=5120. With
    /// this option, flashscope does not determine --io-ignore and --run-pause by measurement
    /// either.
    #[arg(long, value_name = "COUNTS", value_parser = names::io_count)]
    pub io_count: Option<PerBaseline>,

    /// IOs at the start of a run that the statistics leave out (IOIgnore) [default: found by the
    /// preparation, or 0 with --io-count]
    #[arg(long, value_name = "COUNTS", value_parser = names::io_ignore)]
    pub io_ignore: Option<PerBaseline>,

    /// Pause between runs [default: found by the preparation; 1s with --io-count; none with --test,
    /// --fio-job and
    /// --grid]
    #[arg(long, value_name = "TIME", value_parser = names::pause)]
    pub run_pause: Option<Nanos>,

    /// IOs in each run of the preparation
    #[arg(long, default_value_t = 20_480, value_name = "COUNT",
          value_parser = names::ios)]
    pub preparation_io_count: u64,

    /// Size of an IO (uFLIP's IOSize), except in experiments that vary it
    #[arg(long, default_value = "32KiB", value_name = "SIZE", value_parser = names::io_size)]
    pub io_size: Bytes,

    /// Pause between bursts
    #[arg(long, default_value = "100ms", value_name = "TIME", value_parser = names::pause)]
    pub burst_pause: Nanos,

    /// Use the drive from this byte on (TargetOffset)
    #[arg(long, default_value = "0", value_name = "SIZE")]
    pub target_offset: Bytes,

    /// Use this much of the drive (TargetSize) [default: all of it]
    #[arg(long, value_name = "SIZE")]
    pub target_size: Option<Bytes>,

    /// The seed.
    #[command(flatten)]
    pub seed: SeedArgs,
}

/// The effect of IO errors on the rest of the plan.
#[derive(clap::Args)]
#[command(next_help_heading = "Limits")]
pub struct ErrorArgs {
    /// Effect of an IO error on the runs after it
    #[arg(long, value_enum, default_value = "continue", value_name = "WHAT")]
    pub on_error: OnError,
}

/// The state of the drive before the first run.
#[derive(Clone, Copy, ValueEnum)]
pub enum State {
    /// Write everything once, in random order, in IOs of random size from 512 B to 128 KiB
    Random,
    /// Write everything once, from start to end
    Sequential,
    /// Discard everything (TRIM): the drive is then empty, unlike most drives in use
    Purged,
    /// Have the drive format itself, in its current format; only for a whole NVMe drive
    /// (/dev/nvme0n1)
    Formatted,
    /// Have the drive erase all of its flash, including spare blocks; only for a whole NVMe drive
    Sanitized,
    /// Trim everything, and write the flash about once, so that it is in the steady state of long
    /// random writes; only for a whole drive that maps pages
    Steady,
    /// Leave the drive unchanged
    Keep,
}

impl From<State> for manifest::State {
    fn from(state: State) -> Self {
        match state {
            State::Random => manifest::State::Random,
            State::Sequential => manifest::State::Sequential,
            State::Purged => manifest::State::Purged,
            State::Formatted => manifest::State::Formatted,
            State::Sanitized => manifest::State::Sanitized,
            State::Steady => manifest::State::Steady,
            State::Keep => manifest::State::Keep,
        }
    }
}

/// The effects of an IO error on the rest of the plan.
#[derive(Clone, Copy, ValueEnum)]
pub enum OnError {
    /// End the run, and continue with the next
    Continue,
    /// End the run and the whole benchmark
    Stop,
}

impl From<OnError> for manifest::OnError {
    fn from(on_error: OnError) -> Self {
        match on_error {
            OnError::Continue => manifest::OnError::Continue,
            OnError::Stop => manifest::OnError::Stop,
        }
    }
}
