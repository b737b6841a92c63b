//! The nine micro-benchmarks of uFLIP (section 3.2 and Table 1), and the preparation experiments
//! of its methodology (sections 4.2 and 4.3).
//!
//! A *micro-benchmark* is a collection of *experiments* with the same varying parameter; an
//! experiment is a collection of *runs* of the same reference pattern, one for each value.

mod alignment;
mod bursts;
mod granularity;
mod locality;
mod mix;
mod order;
mod parallelism;
mod partitioning;
mod pause;
mod preparation;

use flashscope_block::{Bytes, Nanos, Op};
pub use preparation::INTERFERENCE;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::pattern::{Address, Pattern, Reference, Timing};
use crate::seed_for;

/// The nine micro-benchmarks, in the order of the paper.
pub const MICRO_BENCHMARKS: [&MicroBenchmark; 9] = [
    &granularity::GRANULARITY,
    &alignment::ALIGNMENT,
    &locality::LOCALITY,
    &partitioning::PARTITIONING,
    &order::ORDER,
    &parallelism::PARALLELISM,
    &mix::MIX,
    &pause::PAUSE,
    &bursts::BURSTS,
];

/// The five preparation experiments. The methodology needs their results before all other
/// experiments.
pub const PREPARATION: &MicroBenchmark = &preparation::PREPARATION;

/// Returns the micro-benchmark with a name; the preparation counts as one.
pub fn find(name: &str) -> Option<&'static MicroBenchmark> {
    all().find(|benchmark| benchmark.name == name)
}

/// Returns the preparation, then the nine micro-benchmarks.
pub fn all() -> impl Iterator<Item = &'static MicroBenchmark> {
    std::iter::once(PREPARATION).chain(MICRO_BENCHMARKS)
}

/// The requirements of micro-benchmarks on an open drive.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Needs {
    /// The size of the largest IO.
    pub io: Bytes,
    /// The maximum number of concurrent streams.
    pub streams: u16,
}

/// Returns the combined requirements of `benchmarks`, with IOs of `io_size` unless the size varies.
pub fn needs(benchmarks: &[&MicroBenchmark], io_size: Bytes) -> Needs {
    // Neither the largest IO nor the number of streams depends on the target space.
    let setup = Setup { io_size, ..Setup::paper(io_size, 0) };
    let runs = benchmarks.iter().flat_map(|b| b.experiments(&setup)).flat_map(|e| e.runs);
    runs.fold(Needs { io: io_size, streams: 1 }, |needs, run| Needs {
        io: needs.io.max(run.reference.largest_io()),
        streams: needs.streams.max(run.reference.streams_count()),
    })
}

/// One micro-benchmark: a varying parameter, and the experiments that vary it.
pub struct MicroBenchmark {
    /// The name on the command line and in results.
    pub name: &'static str,
    /// The display name.
    pub title: &'static str,
    /// The question that the micro-benchmark answers.
    pub question: &'static str,
    /// The source that defines it.
    pub source: &'static str,
    /// uFLIP's name of the varying parameter, such as `IOSize`.
    pub parameter: &'static str,
    /// The unit of the parameter's values.
    pub unit: Unit,
    experiments: fn(&Setup) -> Vec<Experiment>,
}

/// The unit of a parameter's values.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Unit {
    /// Bytes.
    Bytes,
    /// Nanoseconds.
    Nanoseconds,
    /// A count without a unit.
    Count,
}

impl Unit {
    /// Returns a value with its unit, such as `32 KiB`.
    pub fn text(self, value: i64) -> String {
        match self {
            Unit::Bytes => Bytes(value.unsigned_abs()).to_string(),
            Unit::Nanoseconds => Nanos(value.unsigned_abs()).to_string(),
            Unit::Count => value.to_string(),
        }
    }
}

/// A collection of runs of the same reference pattern.
#[derive(Debug, Clone, PartialEq)]
pub struct Experiment {
    /// The baseline pattern or the mix, such as `RW` or `SR/RW`.
    pub name: String,
    /// The runs, by rising value of the parameter.
    pub runs: Vec<Run>,
}

/// A run: one value of the varying parameter, and its pattern.
#[derive(Debug, Clone, PartialEq)]
pub struct Run {
    /// The value, in the unit of the parameter.
    pub value: i64,
    /// The pattern to execute.
    pub reference: Reference,
}

/// The four baseline patterns (section 3.1).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
pub enum Baseline {
    /// Sequential reads.
    #[serde(rename = "SR")]
    SequentialRead,
    /// Random reads.
    #[serde(rename = "RR")]
    RandomRead,
    /// Sequential writes.
    #[serde(rename = "SW")]
    SequentialWrite,
    /// Random writes.
    #[serde(rename = "RW")]
    RandomWrite,
}

use Baseline::{RandomRead, RandomWrite, SequentialRead, SequentialWrite};

impl Baseline {
    /// All four baseline patterns, in the order of the paper.
    pub const ALL: [Baseline; 4] = [SequentialRead, RandomRead, SequentialWrite, RandomWrite];

    /// The two sequential baseline patterns, whose address order can be varied.
    pub(crate) const SEQUENTIAL: [Baseline; 2] = [SequentialRead, SequentialWrite];

    /// Returns the paper's abbreviation.
    pub const fn name(self) -> &'static str {
        match self {
            SequentialRead => "SR",
            RandomRead => "RR",
            SequentialWrite => "SW",
            RandomWrite => "RW",
        }
    }

    /// Returns the operation of its IOs.
    pub const fn op(self) -> Op {
        match self {
            SequentialRead | RandomRead => Op::Read,
            SequentialWrite | RandomWrite => Op::Write,
        }
    }

    /// Returns true if its addresses are random rather than sequential.
    pub const fn is_random(self) -> bool {
        matches!(self, RandomRead | RandomWrite)
    }
}

/// A number for each of the baseline patterns.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PerBaseline {
    /// For sequential reads.
    #[serde(rename = "SR")]
    pub sequential_read: u64,
    /// For random reads.
    #[serde(rename = "RR")]
    pub random_read: u64,
    /// For sequential writes.
    #[serde(rename = "SW")]
    pub sequential_write: u64,
    /// For random writes.
    #[serde(rename = "RW")]
    pub random_write: u64,
}

impl PerBaseline {
    /// Creates the same number for all baseline patterns.
    pub const fn same(n: u64) -> PerBaseline {
        PerBaseline { sequential_read: n, random_read: n, sequential_write: n, random_write: n }
    }

    /// Returns the number for a baseline pattern.
    pub const fn get(self, baseline: Baseline) -> u64 {
        match baseline {
            SequentialRead => self.sequential_read,
            RandomRead => self.random_read,
            SequentialWrite => self.sequential_write,
            RandomWrite => self.random_write,
        }
    }
}

/// The parameters that all micro-benchmarks share.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Setup {
    /// The IO size, unless it varies.
    #[serde(rename = "io_size_bytes")]
    pub io_size: Bytes,
    /// The start of the usable space.
    #[serde(rename = "target_offset_bytes")]
    pub target_offset: Bytes,
    /// The size of the usable space.
    #[serde(rename = "target_size_bytes")]
    pub target_size: Bytes,
    /// The number of IOs of a run.
    pub io_count: PerBaseline,
    /// The number of initial IOs that the statistics ignore.
    pub io_ignore: PerBaseline,
    /// The number of IOs of a preparation run, which must show the start-up phase and several
    /// periods of the drive's oscillation.
    pub preparation_io_count: u64,
    /// The pause of the Bursts micro-benchmark.
    #[serde(rename = "burst_pause_ns")]
    pub burst_pause: Nanos,
    /// The seed from which each run derives its own seed.
    #[schemars(range(max = u64::MAX))]
    pub seed: u64,
}

impl Setup {
    /// Returns the paper's parameters (Table 1, section 5.1) for the first `target_size` bytes of a
    /// drive. They are IOs of 32 KiB, an `IOCount` of 1,024 (5,120 for random writes), an
    /// `IOIgnore` of 0, and bursts 100 ms apart. Preparation runs have 20,480 IOs, as in FlashIO.
    pub fn paper(target_size: Bytes, seed: u64) -> Setup {
        Setup {
            io_size: Bytes::kib(32),
            target_offset: Bytes(0),
            target_size,
            io_count: PerBaseline { random_write: 5120, ..PerBaseline::same(1024) },
            io_ignore: PerBaseline::same(0),
            preparation_io_count: 20_480,
            burst_pause: Nanos::millis(100),
            seed,
        }
    }

    /// Returns the baseline pattern with these parameters.
    ///
    /// A random pattern ranges over the whole target space. The target space of a sequential
    /// pattern is only the space that it passes over. The pattern can therefore be placed where
    /// nothing else was written.
    fn baseline(&self, baseline: Baseline) -> Pattern {
        let io_count = self.io_count.get(baseline);
        let random = baseline.is_random();
        Pattern {
            op: baseline.op(),
            address: if random { Address::Random } else { Address::Sequential },
            timing: Timing::Consecutive,
            io_size: self.io_size,
            io_shift: Bytes(0),
            target_offset: self.target_offset,
            target_size: if random { self.target_size } else { self.span(io_count, self.io_size) },
            io_count,
            io_ignore: self.io_ignore.get(baseline),
            seed: self.seed,
        }
    }

    /// Returns the size of the space that `slots` IOs of `io_size` pass over, at most the whole
    /// target space.
    fn span(&self, slots: u64, io_size: Bytes) -> Bytes {
        Bytes(slots.saturating_mul(io_size.0)).min(self.target_size)
    }
}

/// Creates an experiment on a baseline pattern: one run for each value, with the pattern after
/// `vary` has changed it.
fn vary(
    setup: &Setup,
    baseline: Baseline,
    values: impl IntoIterator<Item = i64>,
    vary: impl Fn(&mut Pattern, i64),
) -> Experiment {
    let run = |value| {
        let mut pattern = setup.baseline(baseline);
        vary(&mut pattern, value);
        Run { value, reference: Reference::Basic { pattern } }
    };
    Experiment { name: baseline.name().into(), runs: values.into_iter().map(run).collect() }
}

/// Returns 2⁰, 2¹, … 2ⁿ.
fn powers_of_two(n: u32) -> impl Iterator<Item = i64> {
    (0..=n).map(|exponent| 1 << exponent)
}

/// Converts a parameter value that is a length or a count, and hence not negative.
fn unsigned(value: i64) -> u64 {
    u64::try_from(value).expect("only Incr is ever negative")
}

/// Converts a size or a time to a parameter value.
fn signed(value: u64) -> i64 {
    i64::try_from(value).expect("sizes and times are far below 2^63")
}

impl MicroBenchmark {
    /// Returns the experiments with the parameters of `setup`. Every run has its own seed.
    ///
    /// The result includes runs for which a drive has no room. [`Reference::validate`] detects
    /// them.
    pub fn experiments(&self, setup: &Setup) -> Vec<Experiment> {
        let position = all().position(|other| other.name == self.name).unwrap_or(0) as u64;
        let seed = seed_for(setup.seed, position);
        let mut experiments = (self.experiments)(setup);
        let references =
            experiments.iter_mut().flat_map(|e| &mut e.runs).map(|run| &mut run.reference);
        let patterns = references.flat_map(Reference::patterns_mut);
        for (part, pattern) in patterns.enumerate() {
            pattern.seed = seed_for(seed, part as u64);
        }
        experiments
    }
}

#[cfg(test)]
mod tests;
