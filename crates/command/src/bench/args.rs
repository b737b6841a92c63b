//! The options of `flashscope bench` and `flashscope plan`.

use std::path::PathBuf;

use clap::ValueEnum;
use flashscope_block::{Bytes, Nanos};
use flashscope_document::manifest;
use flashscope_workload::uflip::PerBaseline;

use crate::{ConsentArgs, MemoryArgs, names};

/// Measure a drive with the nine micro-benchmarks of uFLIP, a test of SNIA's, a trace, or a grid of
/// uniform writes.
///
/// The drive is first brought into a well-defined state by writing all of it (see --state). A
/// preparation then finds how the drive starts, oscillates and recovers from writes, and from this
/// follow the pauses between runs and what of each run counts. Every micro-benchmark (or the trace)
/// is run, each run until its mean is known well enough (see --precision). Every single IO is
/// kept in a result folder that `flashscope report` turns into a page, and DuckDB, Polars, pandas or
/// Spark can read. `flashscope plan` shows beforehand what will run.
#[derive(clap::Args)]
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
    /// The drive and the options are those of the result; a drive that is written has to be confirmed again. Its state is
    /// enforced again first, or what was left of that is done. A simulated drive, which has forgotten everything, repeats the
    /// completed runs, so that the result is the same as without the stop.
    #[arg(long, value_name = "RESULT", conflicts_with_all = ["drive", "plan", "output", "BenchOptions"])]
    pub resume: Option<PathBuf>,

    /// Run this plan, as `flashscope plan` saved it
    #[arg(long, value_name = "FILE", conflicts_with_all = ["drive", "BenchOptions"])]
    pub plan: Option<PathBuf>,

    /// The options of the measurement.
    #[command(flatten)]
    pub asked: BenchOptions,

    /// The memory limit.
    #[command(flatten, next_help_heading = "Limits")]
    pub memory: MemoryArgs,

    /// Write the result here [default: named after the drive and the time]
    #[arg(long, short, value_name = "FOLDER", help_heading = "Output")]
    pub output: Option<PathBuf>,

    /// Keep the file that was created as a drive; without this it is removed once the plan is complete
    ///
    /// A file that flashscope created is overwritten without being confirmed, for as long as nobody else changes it.
    #[arg(long, help_heading = "Consent to writing")]
    pub keep: bool,

    /// The owner's consent to writing.
    #[command(flatten)]
    pub consent: ConsentArgs,

    /// Print the outcome as JSON (schema: docs/schemas/summary.schema.json)
    #[arg(long, help_heading = "Output")]
    pub json: bool,
}

/// Show what a benchmark would run, how long it takes and how much it writes; write nothing.
///
/// The drive is opened for reading alone. The cost of an IO is measured for reads; for writes it is
/// assumed, unless --like names an earlier result.
#[derive(clap::Args)]
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
    pub asked: BenchOptions,

    /// The memory limit.
    #[command(flatten, next_help_heading = "Limits")]
    pub memory: MemoryArgs,

    /// Save the plan here, for `flashscope bench --plan`
    #[arg(long, short, value_name = "FILE", help_heading = "Output")]
    pub output: Option<PathBuf>,

    /// Take the cost of an IO from this result of the drive, or of one like it
    #[arg(long, value_name = "RESULT")]
    pub like: Option<PathBuf>,

    /// The rated endurance of the drive (TBW), to show what share of it the plan takes
    #[arg(long, value_name = "SIZE", help_heading = "Limits")]
    pub endurance: Option<Bytes>,

    /// Print the plan as JSON (schema: docs/schemas/plan.schema.json)
    #[arg(long, help_heading = "Output")]
    pub json: bool,
}

/// The options of a measurement.
#[derive(clap::Args)]
pub struct BenchOptions {
    /// Run only these micro-benchmarks, by name and separated by commas
    ///
    /// There are: preparation, granularity, alignment, locality, partitioning, order,
    /// parallelism, mix, pause, bursts. The preparation is run whenever it is needed.
    #[arg(
        long,
        value_name = "NAMES",
        value_delimiter = ',',
        help_heading = "Choice of experiments"
    )]
    pub only: Vec<String>,

    /// Run a test of the SNIA Solid State Storage Performance Test Specification (PTS 2.0) instead
    ///
    /// There are: pts-iops, pts-throughput, pts-throughput-128k, pts-latency, pts-write-saturation.
    /// The drive is purged and, but for the last, written twice in sequence; then rounds of runs of
    /// a minute are repeated until the drive is steady: over five rounds, what the test tracks has a
    /// range of at most 20 % of its mean, and the line fitted to it rises or falls by at most 10 %.
    /// A drive that cannot be purged is refused; --state tests it from another state, and the
    /// report says so.
    #[arg(long, value_name = "NAME", conflicts_with_all = [
        "only", "trace", "io_size", "io_count", "io_ignore", "preparation_io_count", "burst_pause",
        "precision", "confidence", "statistic", "most_ios", "most_time", "most_bytes", "repeats",
        "budget_time", "budget_bytes",
    ], help_heading = "Choice of experiments")]
    pub test: Option<String>,

    /// Length of each run in a round of --test
    #[arg(long, default_value = "1min", value_name = "TIME", value_parser = names::duration,
          requires = "test", help_heading = "Choice of experiments")]
    pub round: Nanos,

    /// Rounds of --test at most [default: 25, or 1440 for pts-write-saturation]
    #[arg(long, value_name = "COUNT", requires = "test",
          value_parser = clap::value_parser!(u32).range(1..=names::MOST_ROUNDS), help_heading = "Choice of experiments")]
    pub most_rounds: Option<u32>,

    /// IOs in flight in --test [default: 128 (32 for each of four threads), or what the drive takes]
    #[arg(long, value_name = "COUNT", requires = "test",
          value_parser = clap::value_parser!(u32).range(1..=names::DEEPEST), help_heading = "Choice of experiments")]
    pub queue_depth: Option<u32>,

    /// Play a trace instead: a file, with any field of a trace after `?`
    ///
    /// As in `hm_0.csv.gz?remap=compact&speed=10`, or with `pace=asap&queue_depth=32`; a timed trace
    /// has up to 64 IOs in flight unless `queue_depth` says otherwise. How late each IO was submitted
    /// is recorded. `flashscope simulate --list` shows the fields.
    #[arg(long, value_name = "FILE", conflicts_with_all = [
        "only", "io_size", "io_count", "io_ignore", "preparation_io_count", "burst_pause",
        "target_offset", "target_size", "precision", "confidence", "statistic", "most_ios",
        "most_time", "most_bytes", "repeats", "budget_time", "budget_bytes",
    ], help_heading = "Choice of experiments")]
    pub trace: Option<String>,

    /// Measure uniform writes instead, over a grid of mean lengths and of free space
    ///
    /// Covers every amount of free space that a part of a real workload may have: writes of geometric
    /// lengths that start anywhere in a part of the drive, which has all of the free space inside the
    /// drive to itself (Boboila and Desnoyers, MSST 2011, section IV). Each run writes until the drive
    /// is used to it, and then until a page is known as well as --precision says. Outcome: grid.json
    /// in the result. All of the drive must hold data, in order: --state sequential, or keep.
    #[arg(long, conflicts_with_all = [
        "only", "test", "trace", "io_size", "io_count", "io_ignore", "preparation_io_count",
        "burst_pause", "target_offset", "target_size", "statistic", "most_ios", "most_time",
        "most_bytes", "repeats", "read_only",
    ], help_heading = "Choice of experiments")]
    pub grid: bool,

    /// Mean lengths of --grid in pages, separated by commas [default: 1,4,16,64,256]
    #[arg(long, value_name = "PAGES", value_delimiter = ',', requires = "grid",
          value_parser = clap::value_parser!(u32).range(1..=names::LONGEST_MEAN), help_heading = "Choice of experiments")]
    pub grid_lengths: Vec<u32>,

    /// Free space of --grid relative to what is written, separated by commas [default: that of the
    /// drive, and from there to 100 in steps of 1, 2 and 5, as far as the longest writes allow]
    #[arg(long, value_name = "RATIOS", value_delimiter = ',', requires = "grid",
          value_parser = names::free_space, help_heading = "Choice of experiments")]
    pub grid_spaces: Vec<f64>,

    /// The page of --grid
    #[arg(long, default_value = "4KiB", value_name = "SIZE", requires = "grid",
          value_parser = names::page, help_heading = "Choice of experiments")]
    pub grid_page: Bytes,

    /// Bytes of flash in the drive, its free space included [default: known for a simulated drive; for others the next usual
    /// size, such as 64GiB for 64 GB]
    #[arg(long, value_name = "SIZE", requires = "grid", help_heading = "Choice of experiments")]
    pub capacity_inside: Option<Bytes>,

    /// Open the drive for reading only, and run only reads
    #[arg(long, help_heading = "Choice of experiments")]
    pub read_only: bool,

    /// The state to bring the drive into first [default: random; keep with --read-only; purged with
    /// --test; sequential with --grid]
    ///
    /// It is enforced again when sequential writes have passed over the whole target space.
    #[arg(long, value_enum, value_name = "STATE", help_heading = "State of the drive")]
    pub state: Option<State>,

    /// Required precision of each run's mean: half the width of its interval, relative to the mean
    #[arg(long, default_value = "2%", value_name = "SHARE", value_parser = names::share,
          conflicts_with = "io_count", help_heading = "Precision")]
    pub precision: f64,

    /// Confidence level of the intervals
    #[arg(long, default_value = "95%", value_name = "SHARE", value_parser = names::share,
          conflicts_with = "io_count", help_heading = "Precision")]
    pub confidence: f64,

    /// The statistic that must reach the precision: `mean`, or a percentile such as `p99` or `p99.9`
    #[arg(long, default_value = "mean", value_name = "STATISTIC", value_parser = names::statistic,
          conflicts_with = "io_count", help_heading = "Precision")]
    pub statistic: names::Statistic,

    /// Most counted IOs of a run, even if its precision is not reached
    #[arg(long, default_value_t = 5120, value_name = "COUNT", conflicts_with = "io_count",
          value_parser = clap::value_parser!(u64).range(1..=names::MOST_IOS), help_heading = "Precision")]
    pub most_ios: u64,

    /// Longest time of a run
    #[arg(long, default_value = "10min", value_name = "TIME", value_parser = names::duration,
          conflicts_with = "io_count", help_heading = "Precision")]
    pub most_time: Nanos,

    /// Most bytes that a run writes [default: no limit]
    #[arg(long, value_name = "SIZE", conflicts_with = "io_count", help_heading = "Precision")]
    pub most_bytes: Option<Bytes>,

    /// Number of repeats of each run, each with other random addresses
    ///
    /// The variation between repeats is reported separately from that within each run.
    #[arg(long, default_value_t = 3, value_name = "COUNT",
          value_parser = clap::value_parser!(u32).range(1..=100), help_heading = "Precision")]
    pub repeats: u32,

    /// Set the IOs in a run (IOCount) instead of finding them: one number, or some of SR, RR, SW, RW
    ///
    /// Patterns that are not named keep the paper's value: SR=1024,RR=1024,SW=1024,RW=5120. With this, --io-ignore and
    /// --run-pause are not found either.
    #[arg(long, value_name = "COUNTS", value_parser = names::io_count, help_heading = "Runs")]
    pub io_count: Option<PerBaseline>,

    /// IOs at the start of a run that the statistics leave out (IOIgnore) [default: found by the
    /// preparation, or 0 with --io-count]
    #[arg(long, value_name = "COUNTS", value_parser = names::io_ignore, help_heading = "Runs")]
    pub io_ignore: Option<PerBaseline>,

    /// Pause between runs [default: found by the preparation; 1s with --io-count; none with --test and
    /// --grid]
    #[arg(long, value_name = "TIME", value_parser = names::pause, help_heading = "Runs")]
    pub run_pause: Option<Nanos>,

    /// IOs in each run of the preparation
    #[arg(long, default_value_t = 20_480, value_name = "COUNT",
          value_parser = clap::value_parser!(u64).range(1..=names::MOST_IOS), help_heading = "Runs")]
    pub preparation_io_count: u64,

    /// Size of an IO, except where it is the parameter (uFLIP's IOSize)
    #[arg(long, default_value = "32KiB", value_name = "SIZE", value_parser = names::io_size, help_heading = "Runs")]
    pub io_size: Bytes,

    /// Pause between bursts
    #[arg(long, default_value = "100ms", value_name = "TIME", value_parser = names::pause, help_heading = "Runs")]
    pub burst_pause: Nanos,

    /// Use the drive from this byte on (TargetOffset)
    #[arg(long, default_value = "0", value_name = "SIZE", help_heading = "Runs")]
    pub target_offset: Bytes,

    /// Use this much of the drive (TargetSize) [default: all of it]
    #[arg(long, value_name = "SIZE", help_heading = "Runs")]
    pub target_size: Option<Bytes>,

    /// Time limit: experiments that do not fit are left out, and runs still open at the end are skipped
    #[arg(long, value_name = "TIME", value_parser = names::duration, help_heading = "Limits")]
    pub budget_time: Option<Nanos>,

    /// Limit on bytes written, including those that bring the drive into its state
    #[arg(long, value_name = "SIZE", help_heading = "Limits")]
    pub budget_bytes: Option<Bytes>,

    /// Effect of an IO error on the runs after it
    #[arg(
        long,
        value_enum,
        default_value = "continue",
        value_name = "WHAT",
        help_heading = "Limits"
    )]
    pub on_error: OnError,

    /// Seed of all random choices; the same seed gives the same IOs
    #[arg(long, default_value_t = 1, allow_negative_numbers = true, value_parser = names::seed, help_heading = "Runs")]
    pub seed: u64,
}

/// The state of the drive before the first run.
#[derive(Clone, Copy, ValueEnum)]
pub enum State {
    /// Write everything once, in random order, in IOs of random size from 512 B to 128 KiB
    Random,
    /// Write everything once, from start to end
    Sequential,
    /// Discard everything (TRIM), so that nothing is written: fresh, as few drives in use are
    Purged,
    /// Have the drive format itself, in the format that it has; a whole NVMe drive (/dev/nvme0n1) alone
    Formatted,
    /// Have the drive erase all of its flash, spare blocks included; a whole NVMe drive alone
    Sanitized,
    /// Leave the drive as it is
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
