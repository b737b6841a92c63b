//! The quantities that are compared.

use flashscope_block::Bytes;

/// A quantity that the benchmark states about a drive.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Quantity {
    /// The mean response time of sequential reads, in ns.
    SequentialRead,
    /// The mean response time of random reads, in ns.
    RandomRead,
    /// The mean response time of sequential writes, in ns.
    SequentialWrite,
    /// The mean response time of random writes, in ns.
    RandomWrite,
    /// The smallest IO with which random reads reach half of their best throughput, in bytes.
    ReadSize,
    /// The cost of random reads at the most expensive shift, relative to aligned ones.
    ReadShift,
    /// The gain by concurrency: the most random reads a second, relative to one at a time.
    ConcurrentReads,
    /// The largest area in which random writes are cheap, in bytes.
    Locality,
    /// The largest number of partitions in which sequential writes are cheap.
    Partitions,
}

use Quantity::{
    ConcurrentReads, Locality, Partitions, RandomRead, RandomWrite, ReadShift, ReadSize,
    SequentialRead, SequentialWrite,
};

/// All quantities, in the order of the table.
pub const QUANTITIES: [Quantity; 9] = [
    SequentialRead,
    RandomRead,
    SequentialWrite,
    RandomWrite,
    ReadSize,
    ReadShift,
    ConcurrentReads,
    Locality,
    Partitions,
];

impl Quantity {
    /// Returns the name.
    pub const fn name(self) -> &'static str {
        match self {
            SequentialRead => "sequential reads",
            RandomRead => "random reads",
            SequentialWrite => "sequential writes",
            RandomWrite => "random writes",
            ReadSize => "size for half the throughput of random reads",
            ReadShift => "random reads at the most expensive shift",
            ConcurrentReads => "gain of random reads by concurrency",
            Locality => "area of cheap random writes",
            Partitions => "cheap partitions",
        }
    }

    /// Returns true for a limit on a parameter. A limit is one of the measured values, infinite if
    /// every measured value is cheap, and 0 if none is.
    pub const fn is_limit(self) -> bool {
        matches!(self, Locality | Partitions)
    }

    /// Returns a value as text.
    pub fn text(self, value: f64) -> String {
        #[allow(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "sizes are positive and fit into 64 bits"
        )]
        let bytes = |value: f64| Bytes(value as u64).to_string();
        match self {
            SequentialRead | RandomRead | SequentialWrite | RandomWrite => time(value),
            ReadShift | ConcurrentReads => format!("x{value:.3}"),
            Locality | Partitions if value == 0.0 => "none".into(),
            Locality | Partitions if value.is_infinite() => "all".into(),
            ReadSize | Locality => bytes(value),
            Partitions => format!("{value:.0}"),
        }
    }
}

/// Returns a time in ns with four significant digits.
fn time(ns: f64) -> String {
    let (value, unit) = if ns < 1e6 { (ns / 1e3, "µs") } else { (ns / 1e6, "ms") };
    let digits = if value < 10.0 {
        3
    } else if value < 100.0 {
        2
    } else {
        1
    };
    format!("{value:.digits$} {unit}")
}
