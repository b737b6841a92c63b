//! `facts.json`: what the records of a result say.

use flashscope_block::{Bytes, Nanos, Op};
use flashscope_result::environment::Disturbance;
use flashscope_result::rounds::Metric;
use flashscope_stats::Estimate;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Version of the format of the facts.
pub const SCHEMA_VERSION: u32 = 4;

/// Everything that was found in a result.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Facts {
    /// Version of the format, [`SCHEMA_VERSION`].
    pub schema_version: u32,
    /// What summarizes the drive: a row of uFLIP's Table 3.
    pub characteristics: Characteristics,
    /// The statistics of each run that has any IO, by its number.
    pub runs: Vec<RunFacts>,
    /// What runs that were repeated say together.
    #[serde(default)]
    pub repeats: Vec<RepeatFacts>,
    /// What a test in rounds says.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rounds: Option<RoundsFacts>,
    /// The summary grid: whether each experiment of the nine micro-benchmarks is worth a look, in their
    /// order; those that were not performed are among them. Absent from facts before version 4.
    #[serde(default)]
    pub grid: Vec<Verdict>,
    /// The design hints of uFLIP's section 5.3, judged for this drive, in their order. Absent from
    /// facts before version 4.
    #[serde(default)]
    pub hints: Vec<Hint>,
}

/// What an experiment shows, at a glance.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Verdict {
    /// The micro-benchmark.
    pub micro_benchmark: String,
    /// The experiment: a baseline or a mix.
    pub experiment: String,
    /// The verdict.
    pub interest: Interest,
    /// By which rule, in a sentence with the numbers that it rests on.
    pub reason: String,
    /// How much the parameter matters: the dearest over the cheapest, as the rule of the
    /// micro-benchmark compares them; absent where it was not performed.
    pub effect: Option<Estimate>,
}

/// Whether an experiment is worth a look.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Interest {
    /// Its parameter changes what an IO costs beyond what anyone would expect.
    Interesting,
    /// It does not.
    NotInteresting,
    /// Too little of it was run.
    NotPerformed,
}

/// A design hint of uFLIP's section 5.3, judged for one drive.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Hint {
    /// Its number in the paper, 1 to 7.
    pub number: u32,
    /// What it says, in the words of the paper.
    pub title: String,
    /// Whether it holds here.
    pub judgement: Judgement,
    /// What was found on this drive, in a sentence or two with numbers.
    pub finding: String,
    /// What that rests on.
    pub evidence: Vec<Evidence>,
}

/// Whether a hint holds for a drive.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Judgement {
    /// It does.
    Holds,
    /// In part, or within limits: the finding says which.
    HoldsInPart,
    /// It does not.
    DoesNotHold,
    /// What was measured is too uncertain to say.
    Undecided,
    /// What it rests on was not measured.
    NotMeasured,
}

/// A number that a hint rests on, and where it comes from.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Evidence {
    /// What it is, such as `random writes in 8 MiB, relative to sequential ones`.
    pub what: String,
    /// The number; a ratio, or nanoseconds where `unit` says so.
    pub value: Estimate,
    /// What the number counts.
    pub unit: EvidenceUnit,
    /// The micro-benchmark that shows it.
    pub micro_benchmark: String,
    /// The experiment that shows it.
    pub experiment: String,
    /// The runs that it was computed from.
    pub runs: Vec<u32>,
}

/// What the number of an [`Evidence`] counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum EvidenceUnit {
    /// One thing relative to another.
    Ratio,
    /// A time.
    Nanoseconds,
}

/// What a test in rounds says: its report after SNIA SSS PTS 2.0.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RoundsFacts {
    /// The micro-benchmark, such as `pts-iops`.
    pub test: String,
    /// Rounds that were run to their end.
    pub rounds: u32,
    /// The first and the last of the rounds over which the report goes: the measurement window in which
    /// the drive was steady or, where it never was, the last one. Of a test that does not end when
    /// the drive is steady, all rounds.
    pub window: [u32; 2],
    /// Whether the drive was steady at the end.
    pub steady: bool,
    /// The round with which the first measurement window ended since which it was steady.
    pub steady_round: Option<u32>,
    /// What was tracked to see it.
    pub tracked: Vec<Tracked>,
    /// The means over the measurement window of each run of a round, in the order of a round.
    pub cells: Vec<Cell>,
    /// In which ways the test was not run as it is specified, in words.
    pub deviations: Vec<String>,
}

/// A value that has to be steady.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Tracked {
    /// The experiment.
    pub experiment: String,
    /// What of it.
    pub metric: Metric,
    /// Its values in rounds 1, 2, …; IOs or bytes a second, or ns; `null` for a round that was not run
    /// to its end.
    pub values: Vec<Option<f64>>,
    /// The mean of the values in the last measurement window, where it is whole.
    #[schemars(range(min = 0.0))]
    pub mean: Option<f64>,
    /// From the smallest to the largest of them, relative to the mean.
    #[schemars(range(min = 0.0))]
    pub range: Option<f64>,
    /// How far the line fitted to them rises over the window, relative to the mean; negative where it
    /// falls.
    pub slope: Option<f64>,
    /// The largest range of a steady drive.
    #[schemars(range(min = 0.0))]
    pub range_limit: f64,
    /// The largest rise or fall of a steady drive.
    #[schemars(range(min = 0.0))]
    pub slope_limit: f64,
    /// Whether both are kept.
    pub steady: bool,
}

/// What a run of a round comes to over the measurement window.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Cell {
    /// The experiment.
    pub experiment: String,
    /// The share of reads in percent.
    #[schemars(range(max = 100))]
    pub reads_percent: u8,
    /// The size of an IO.
    pub io_size_bytes: Bytes,
    /// IOs in flight.
    pub queue_depth: u32,
    /// The runs that count, one of each round.
    pub runs: Vec<u32>,
    /// The mean of the rounds' IOs a second.
    #[schemars(range(min = 0.0))]
    pub iops: f64,
    /// The mean of the rounds' bytes a second.
    #[schemars(range(min = 0.0))]
    pub throughput_bytes_per_s: f64,
    /// The mean of the rounds' mean response times.
    #[schemars(range(min = 0.0))]
    pub mean_latency_ns: f64,
    /// The longest response time of all rounds.
    pub max_latency_ns: u64,
}

/// One value of the parameter of an experiment that was run several times.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RepeatFacts {
    /// The micro-benchmark.
    pub micro_benchmark: String,
    /// The experiment.
    pub experiment: String,
    /// The value of its parameter.
    pub value: i64,
    /// The numbers of the runs.
    pub runs: Vec<u32>,
    /// The mean of the runs' means, in ns, with an interval from how they differ: wide for few.
    pub mean_ns: Estimate,
    /// The standard deviation of a run's mean that the IOs within the run account for, in ns.
    #[schemars(range(min = 0.0))]
    pub within_runs_ns: f64,
    /// The standard deviation of the runs' true means, in ns; 0 where they differ by no more than
    /// what is within them accounts for.
    #[schemars(range(min = 0.0))]
    pub between_runs_ns: f64,
    /// 1 less the probability that runs with one true mean differ as much.
    #[schemars(range(min = 0.0, max = 1.0))]
    pub differ_confidence: f64,
}

/// The statistics of one run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RunFacts {
    /// The number of the run.
    pub run: u32,
    /// IOs counted: answered without error, the first `IOIgnore` left out.
    pub ios: u64,
    /// IOs that failed.
    pub errors: u64,
    /// IOs left out at the start.
    pub ignored: u64,
    /// Response times of the IOs counted.
    pub latency_ns: Latency,
    /// The same for each pattern of a mix or a sequence apart, in the order of the reference
    /// pattern; `null` for one of which no IO counts. Empty where there is but one pattern.
    pub parts: Vec<Option<Latency>>,
    /// The same for each operation apart; empty where there is but one.
    #[serde(default)]
    pub operations: Vec<OperationFacts>,
    /// Where IOs were due at times of their own (an open loop): what that says of them.
    #[serde(default)]
    pub open_loop: Option<OpenLoop>,
    /// Of uniform writes, which have many lengths: what a byte took.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub uniform: Option<UniformFacts>,
    /// From the first submission to the last completion of the IOs counted.
    pub duration_ns: Nanos,
    /// Bytes of the IOs counted over that time.
    #[schemars(range(min = 0.0))]
    pub throughput_bytes_per_s: f64,
    /// What the harness itself takes of the mean response time, as a share of it, where that is more
    /// than 5 %: then it is not the drive alone that was measured. Never on virtual time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0.0))]
    pub harness_share: Option<f64>,
    /// What others did during the run that may have changed its numbers.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub disturbed_by: Vec<Disturbance>,
}

/// What uniform writes come to by their bytes.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct UniformFacts {
    /// Bytes of the IOs counted.
    pub bytes: Bytes,
    /// Response time for each of them.
    pub per_byte_ns: Estimate,
}

/// The IOs of one operation in a run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct OperationFacts {
    /// The operation.
    pub op: Op,
    /// IOs counted.
    pub ios: u64,
    /// Their bytes.
    pub bytes: Bytes,
    /// Their response times.
    pub latency_ns: Latency,
}

/// IOs that were due at times of their own. One that had to wait for others is answered late, which
/// its response time alone, from its submission on, would hide (*coordinated omission*).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct OpenLoop {
    /// From when each IO was due to its answer.
    pub latency_ns: Latency,
    /// From when each IO was due to its submission.
    pub late_ns: Latency,
}

/// Summary of response times, in nanoseconds.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Latency {
    /// Arithmetic mean.
    pub mean: Estimate,
    /// Standard deviation of single IOs.
    #[schemars(range(min = 0.0))]
    pub standard_deviation: f64,
    /// Fastest.
    pub min: u64,
    /// Slowest.
    pub max: u64,
    /// Median.
    pub p50: u64,
    /// 99th percentile.
    pub p99: u64,
    /// 99.9th percentile.
    pub p999: u64,
}

/// The columns of uFLIP's Table 3 for one drive. A column is absent when its runs are.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct Characteristics {
    /// IO size of the basic patterns.
    pub io_size_bytes: Option<Bytes>,
    /// Mean response time of sequential reads, ns.
    pub sequential_read_ns: Option<Estimate>,
    /// Mean response time of random reads, ns.
    pub random_read_ns: Option<Estimate>,
    /// Mean response time of sequential writes, ns.
    pub sequential_write_ns: Option<Estimate>,
    /// Mean response time of random writes, ns.
    pub random_write_ns: Option<Estimate>,
    /// Whether pauses make random writes as cheap as sequential ones.
    pub pause: Option<PauseEffect>,
    /// The area in which random writes are cheap.
    pub locality: Option<Bounded>,
    /// The number of partitions into which sequential writes can go in turns.
    pub partitioning: Option<Bounded>,
    /// Sequential writes in reverse order (Incr = −1), relative to those in order (Incr = 1).
    pub reverse: Option<Estimate>,
    /// Sequential writes in place (Incr = 0), relative to those in order (Incr = 1).
    pub in_place: Option<Estimate>,
    /// The dearest of the large increments (1 MiB to 8 MiB), relative to random writes.
    pub large_increments: Option<Estimate>,
}

/// What pauses do to random writes.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case", tag = "effect")]
pub enum PauseEffect {
    /// Random writes cost about the same with any pause.
    None,
    /// With pauses of this length or more, random writes cost what sequential ones do.
    AsSequential {
        /// The shortest such pause.
        pause_ns: Nanos,
    },
    /// Random writes get cheaper, but not as cheap as sequential ones.
    Cheaper {
        /// The cheapest random writes of the experiment, relative to those without a pause.
        ratio: Estimate,
    },
}

/// Up to where something is cheap.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case", tag = "limit")]
pub enum Bounded {
    /// Nowhere: it is dear from the smallest value on.
    No,
    /// Everywhere that was measured.
    Unlimited {
        /// The largest value measured.
        measured: u64,
        /// The dearest mean, relative to sequential writes.
        ratio: Estimate,
    },
    /// Up to this value.
    UpTo {
        /// The value, in the unit of the parameter.
        value: u64,
        /// The dearest mean up to there, relative to sequential writes.
        ratio: Estimate,
    },
}
