//! Compares what `flashscope bench` states about simulated drives with two truths. One follows from
//! the drive's profile by arithmetic, without a simulation. The other is a run that is so long that
//! its own error does not count, without the methodology of the benchmark.

pub mod agreement;
pub mod long_run;
pub mod page;
pub mod quantity;
pub mod stated;
pub mod truth;

/// The size of an IO, as `flashscope bench` chooses it.
const IO: u64 = 32 << 10;
