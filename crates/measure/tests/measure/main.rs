//! Benchmarks and workloads on drives with scripted answers.

mod bench;
mod load;
