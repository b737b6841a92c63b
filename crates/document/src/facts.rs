//! `facts.json`: the facts derived from the records of a result.

use flashscope_block::{Bytes, Nanos, Op};
use flashscope_stats::{Estimate, Summary};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::conclusion::{Conclusion, Evidence};
use crate::environment::Disturbance;
use crate::manifest::{Experiment, Run};
use crate::rounds::Metric;

/// The version of the format of the facts.
pub const SCHEMA_VERSION: u32 = 6;

/// The facts about a result.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Facts {
    /// The version of the format, [`SCHEMA_VERSION`].
    pub schema_version: u32,
    /// The conclusions about the drive, as sentences with their evidence, the most important first.
    /// Absent from facts before version 5.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub conclusions: Vec<Conclusion>,
    /// The IOs per second and the latency of the patterns that ran with several IO sizes or queue
    /// depths. Absent from facts before version 6.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub depths: Vec<DepthTable>,
    /// The summary of the drive: a row of uFLIP's Table 3.
    pub characteristics: Characteristics,
    /// The statistics of each run with IOs, in the order of the run numbers.
    pub runs: Vec<RunFacts>,
    /// The combined statistics of repeated runs.
    #[serde(default)]
    pub repeats: Vec<RepeatFacts>,
    /// The report of a test in rounds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rounds: Option<RoundsFacts>,
    /// The summary grid: a verdict for each experiment of the nine micro-benchmarks, in their
    /// order, including those that were not performed. Absent from facts before version 4.
    #[serde(default)]
    pub grid: Vec<Verdict>,
    /// The design hints of uFLIP's section 5.3, judged for this drive, in order. Absent from facts
    /// before version 4.
    #[serde(default)]
    pub hints: Vec<Hint>,
    /// The comparison of the identical baselines of the micro-benchmarks. Absent if no baseline was
    /// run in two of them, and from facts before version 5.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub baselines: Option<BaselineCheck>,
    /// The reason why there are no verdicts and no judged hints; absent if there are verdicts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub verdicts_withheld: Option<String>,
}

/// The comparison of the identical baselines of the micro-benchmarks. Several micro-benchmarks run
/// the same baseline pattern, and a sound measurement gives the same cost in each of them.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct BaselineCheck {
    /// The number of means that were compared.
    pub compared: u32,
    /// The largest difference of a mean from the average of the other means of the same baseline,
    /// relative to this average.
    #[schemars(range(min = 0.0))]
    pub largest_difference: f64,
    /// True if no mean differs from the other means of its baseline by more than 2 % and by more
    /// than their intervals explain.
    pub agree: bool,
    /// The means that differ by more than both limits.
    pub differences: Vec<BaselineDifference>,
}

/// A baseline whose mean differs from the identical baselines of other micro-benchmarks.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct BaselineDifference {
    /// The baseline, such as `SW`.
    pub baseline: String,
    /// The micro-benchmark.
    pub micro_benchmark: String,
    /// The mean response time of the baseline in this micro-benchmark, in ns.
    pub mean_ns: Estimate,
    /// The mean relative to the average of the other micro-benchmarks. The interval is corrected
    /// for the number of comparisons.
    pub ratio: Estimate,
    /// The runs from which the mean is computed.
    pub runs: Vec<u32>,
    /// The likely cause.
    pub cause: Cause,
    /// The difference and its likely cause, as text.
    pub finding: String,
}

/// The likely cause of a difference between identical baselines.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Cause {
    /// The drive was in another state than in the other micro-benchmarks.
    State,
    /// The drive changed while the plan ran.
    Drift,
    /// Other processes used the drive or the processors.
    Disturbance,
    /// A run was too short.
    Length,
}

impl Facts {
    /// Returns the mean response time for each value of an experiment of the result, in ns; `None`
    /// for values that were not measured. Repeated runs of a value count once, with their combined
    /// mean.
    pub fn means(&self, experiment: &Experiment) -> Vec<(i64, Option<Estimate>)> {
        means(experiment, &self.runs, &self.repeats)
    }
}

/// Returns the mean response time for each value of an experiment, in ns; `None` for values that
/// were not measured. Repeated runs of a value count once, with their combined mean.
pub fn means(
    experiment: &Experiment,
    runs: &[RunFacts],
    repeats: &[RepeatFacts],
) -> Vec<(i64, Option<Estimate>)> {
    let mean_of = |again: &[Run]| {
        let has = |id: u32| again.iter().any(|run| run.id == id);
        let together = repeats.iter().find(|facts| facts.runs.iter().any(|&id| has(id)));
        let one = || runs.iter().find(|facts| has(facts.run)).map(|facts| facts.latency_ns.mean);
        (again[0].value, together.map(|facts| facts.mean_ns).or_else(one))
    };
    experiment.runs.chunk_by(|a, b| a.value == b.value).map(mean_of).collect()
}

/// The verdict about an experiment.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Verdict {
    /// The micro-benchmark.
    pub micro_benchmark: String,
    /// The experiment: a baseline or a mix.
    pub experiment: String,
    /// The verdict.
    pub interest: Interest,
    /// The reason: the rule, in a sentence with its numbers.
    pub reason: String,
    /// The effect of the parameter: the ratio of the highest to the lowest of the costs that the
    /// rule compares. Absent if the experiment was not performed.
    pub effect: Option<Estimate>,
}

/// The interest of an experiment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Interest {
    /// The parameter changes the cost of an IO more than expected.
    Interesting,
    /// The parameter does not change the cost more than expected.
    NotInteresting,
    /// Too few values of the parameter were run.
    NotPerformed,
}

/// The performance of a pattern by IO size and queue depth.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct DepthTable {
    /// The pattern, such as `random reads`.
    pub pattern: String,
    /// The measured combinations, by size and then by depth.
    pub cells: Vec<DepthCell>,
}

/// The performance of a pattern with one IO size at one queue depth.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct DepthCell {
    /// The size of an IO.
    pub io_size_bytes: Bytes,
    /// IOs in flight.
    pub queue_depth: u32,
    /// IOs per second.
    pub iops: Estimate,
    /// Bytes per second.
    pub throughput_bytes_per_s: Estimate,
    /// The mean response time, in ns.
    pub mean_latency_ns: Estimate,
    /// The 99th percentile of the response time, in ns; for several runs, the mean over them.
    #[schemars(range(min = 0.0))]
    pub p99_latency_ns: f64,
    /// The runs.
    pub runs: Vec<u32>,
}

/// A design hint of uFLIP's section 5.3, judged for one drive.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Hint {
    /// The number in the paper, 1 to 7.
    pub number: u32,
    /// The hint in the words of the paper.
    pub title: String,
    /// The judgement for this drive.
    pub judgement: Judgement,
    /// The explanation of the judgement for this drive, in a sentence or two with numbers.
    pub finding: String,
    /// The numbers that support the finding.
    pub evidence: Vec<Evidence>,
}

/// The judgement of a hint for a drive.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Judgement {
    /// The hint holds.
    Holds,
    /// The hint holds in part or within limits, which the finding states.
    HoldsInPart,
    /// The hint does not hold.
    DoesNotHold,
    /// The measurement is too uncertain to decide.
    Undecided,
    /// The required experiments were not run.
    NotMeasured,
}

/// The report of a test in rounds, after SNIA SSS PTS 2.0.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RoundsFacts {
    /// The micro-benchmark, such as `pts-iops`.
    pub test: String,
    /// Completed rounds.
    pub rounds: u32,
    /// The first and the last round that the report covers. They are those of the first measurement
    /// window in which the drive was steady, or of the last window if no window was steady. For a
    /// test that continues after steady state, the report covers all rounds.
    pub window: [u32; 2],
    /// True if the drive was steady at the end.
    pub steady: bool,
    /// The last round of the first steady measurement window after which all windows are steady;
    /// absent if the last window is not steady.
    pub steady_round: Option<u32>,
    /// The values tracked for steadiness.
    pub tracked: Vec<TrackedValue>,
    /// The means over the measurement window for each run of a round, in the order of a round.
    pub cells: Vec<Cell>,
    /// The deviations from the specification of the test, as text.
    pub deviations: Vec<String>,
}

/// A value that has to become steady.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TrackedValue {
    /// The experiment.
    pub experiment: String,
    /// The metric.
    pub metric: Metric,
    /// The values of the metric in rounds 1, 2, …: IOs or bytes per second, or ns; `null` for a
    /// round that was not completed.
    pub values: Vec<Option<f64>>,
    /// The mean of the values in the last measurement window; absent if the window is incomplete.
    #[schemars(range(min = 0.0))]
    pub mean: Option<f64>,
    /// The difference between the largest and the smallest value in this window, relative to the
    /// mean.
    #[schemars(range(min = 0.0))]
    pub range: Option<f64>,
    /// The rise of the fitted line over the window, relative to the mean; negative for a fall.
    pub slope: Option<f64>,
    /// The largest allowed range.
    #[schemars(range(min = 0.0))]
    pub range_limit: f64,
    /// The largest allowed rise or fall.
    #[schemars(range(min = 0.0))]
    pub slope_limit: f64,
    /// True if range and slope are within their limits.
    pub steady: bool,
}

/// The result of one run of a round, combined over all rounds of the measurement window.
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
    /// The runs whose results are averaged, one per round.
    pub runs: Vec<u32>,
    /// The mean of the rounds' IOs per second.
    #[schemars(range(min = 0.0))]
    pub iops: f64,
    /// The mean of the rounds' bytes per second.
    #[schemars(range(min = 0.0))]
    pub throughput_bytes_per_s: f64,
    /// The mean of the rounds' mean response times.
    #[schemars(range(min = 0.0))]
    pub mean_latency_ns: f64,
    /// The longest response time of all rounds.
    pub max_latency_ns: u64,
}

/// The combined statistics of a parameter value that was run several times.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RepeatFacts {
    /// The micro-benchmark.
    pub micro_benchmark: String,
    /// The experiment.
    pub experiment: String,
    /// The value of the experiment's parameter.
    pub value: i64,
    /// The numbers of the runs.
    pub runs: Vec<u32>,
    /// The mean of the runs' means in ns. The interval follows from the differences between the
    /// runs, and is wide for few runs.
    pub mean_ns: Estimate,
    /// The standard deviation of a run's mean due to the IOs within the run, in ns.
    #[schemars(range(min = 0.0))]
    pub within_runs_ns: f64,
    /// The standard deviation of the runs' true means, in ns; 0 if the runs differ by no more than
    /// the IOs within them explain.
    #[schemars(range(min = 0.0))]
    pub between_runs_ns: f64,
    /// 1 minus the probability that runs with the same true mean differ this much.
    #[schemars(range(min = 0.0, max = 1.0))]
    pub differ_confidence: f64,
}

/// The statistics of one run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RunFacts {
    /// The number of the run.
    pub run: u32,
    /// The number of counted IOs: successful IOs after the first `IOIgnore`.
    pub ios: u64,
    /// IOs that failed.
    pub errors: u64,
    /// IOs ignored at the start.
    pub ignored: u64,
    /// Response times of the IOs counted.
    pub latency_ns: Latency,
    /// The response times of each pattern of a mix or a sequence, in the order of the reference
    /// pattern; `null` for a pattern without counted IOs. Empty if there is only one pattern.
    pub parts: Vec<Option<Latency>>,
    /// The response times of each operation; empty if there is only one.
    #[serde(default)]
    pub operations: Vec<OperationFacts>,
    /// The statistics of an open loop, in which each IO has a time at which it is due.
    #[serde(default)]
    pub open_loop: Option<OpenLoop>,
    /// The service times of concurrent streams: the part of the response time that an IO spends on
    /// the drive. Present if IOs waited in the queue of the host first, because the run has
    /// more IOs in flight than the drive accepts. `latency_ns` includes that wait.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub service_ns: Option<Latency>,
    /// The time per byte of uniform writes, which have many lengths.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub uniform: Option<UniformFacts>,
    /// The time from the first submission to the last completion of the IOs counted.
    pub duration_ns: Nanos,
    /// Bytes per second of the IOs counted, over `duration_ns`.
    #[schemars(range(min = 0.0))]
    pub throughput_bytes_per_s: f64,
    /// The share of the mean response time that the harness itself causes. Present if it exceeds 5
    /// %, because the measurement then does not show the drive alone; always absent for simulated
    /// drives.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0.0))]
    pub harness_share: Option<f64>,
    /// The disturbances by other processes that may have changed the numbers.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub disturbed_by: Vec<Disturbance>,
}

/// The time per byte of uniform writes.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct UniformFacts {
    /// Bytes of the IOs counted.
    pub bytes: Bytes,
    /// The response time per byte.
    pub per_byte_ns: Estimate,
}

/// The statistics of one operation in a run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct OperationFacts {
    /// The operation.
    pub op: Op,
    /// IOs counted.
    pub ios: u64,
    /// The bytes of these IOs.
    pub bytes: Bytes,
    /// The response times of these IOs.
    pub latency_ns: Latency,
}

/// The statistics of an open loop, in which each IO has a time at which it is due. An IO that waits
/// for earlier IOs is submitted late. The response time counts from the submission and would hide
/// the wait (*coordinated omission*).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct OpenLoop {
    /// The time from when an IO was due until its answer.
    pub latency_ns: Latency,
    /// The time from when an IO was due until its submission.
    pub late_ns: Latency,
}

/// A summary of response times, in nanoseconds.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Latency {
    /// The arithmetic mean.
    pub mean: Estimate,
    /// The standard deviation of single IOs.
    #[schemars(range(min = 0.0))]
    pub standard_deviation: f64,
    /// The fastest response.
    pub min: u64,
    /// The slowest response.
    pub max: u64,
    /// The median.
    pub p50: u64,
    /// The 99th percentile.
    pub p99: u64,
    /// The 99.9th percentile.
    pub p999: u64,
}

impl Latency {
    /// Summarizes response times; `None` if there are none.
    pub fn of(summary: &Summary) -> Option<Latency> {
        Some(Latency {
            mean: summary.mean(),
            standard_deviation: summary.standard_deviation(),
            min: summary.min()?,
            max: summary.max()?,
            p50: summary.quantile(0.5)?,
            p99: summary.quantile(0.99)?,
            p999: summary.quantile(0.999)?,
        })
    }
}

/// The columns of uFLIP's Table 3 for one drive. A column is absent if its runs are missing.
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
    /// The effect of pauses on random writes.
    pub pause: Option<PauseEffect>,
    /// The area in which random writes are cheap.
    pub locality: Option<CheapLimit>,
    /// The number of partitions that sequential writes can alternate between.
    pub partitioning: Option<CheapLimit>,
    /// The cost of sequential writes in reverse order (Incr = −1), relative to sequential writes in
    /// order (Incr = 1).
    pub reverse: Option<Estimate>,
    /// The cost of writes in place (Incr = 0), relative to sequential writes in order (Incr = 1).
    pub in_place: Option<Estimate>,
    /// The highest cost of writes with large increments (1 MiB to 8 MiB), relative to random
    /// writes.
    pub large_increments: Option<Estimate>,
}

/// The effect of pauses on random writes.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case", tag = "effect")]
pub enum PauseEffect {
    /// Random writes cost about the same with any pause.
    None,
    /// With pauses of this length or more, random writes cost the same as sequential writes.
    AsSequential {
        /// The shortest such pause.
        pause_ns: Nanos,
    },
    /// Random writes get cheaper, but not as cheap as sequential ones.
    Cheaper {
        /// The lowest cost of random writes with a pause, relative to random writes without a
        /// pause.
        ratio: Estimate,
    },
}

/// The limit up to which values of a parameter are cheap.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case", tag = "limit")]
pub enum CheapLimit {
    /// No value is cheap, not even the smallest.
    No,
    /// Every measured value is cheap.
    Unlimited {
        /// The largest value measured.
        measured: u64,
        /// The highest mean, relative to sequential writes.
        ratio: Estimate,
    },
    /// Values up to a limit are cheap.
    UpTo {
        /// The largest cheap value, in the unit of the parameter.
        value: u64,
        /// The highest mean among the cheap values, relative to sequential writes.
        ratio: Estimate,
        /// The measured values between which the limit lies, with 95 % confidence. Absent from
        /// facts before version 5, and if only two values were measured.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        range: Option<LimitRange>,
    },
}

/// The uncertainty of a limit that was derived from a curve.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LimitRange {
    /// The lowest value that the limit may have.
    pub low: u64,
    /// The highest value that the limit may have.
    pub high: u64,
    /// 1 minus the probability that chance alone makes a constant cost appear to rise this clearly.
    #[schemars(range(min = 0.0, max = 1.0))]
    pub confidence: f64,
}
