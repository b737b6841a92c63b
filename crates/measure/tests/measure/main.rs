//! Benchmarks and load generators on simulated and null drives.

mod bench;
mod load;
