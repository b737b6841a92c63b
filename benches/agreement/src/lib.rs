//! Compares the statements of `flashscope bench` about simulated drives with two references. One
//! follows from the drive's profile by arithmetic, without a simulation. The other is a run long
//! enough that its own error is negligible, without the methodology of the benchmark.

pub mod agreement;
pub mod long_run;
pub mod page;
pub mod quantity;
pub mod stated;
pub mod truth;

/// The size of an IO, in bytes: the default of `flashscope bench`.
const IO: u64 = 32 << 10;
