//! The sources of IOs: patterns, micro-benchmarks and synthetic workloads.
//!
//! [`pattern`] holds uFLIP's IO patterns (Bouganim et al., CIDR 2009, section 3.1), and [`uflip`]
//! the nine micro-benchmarks built from them (section 3.2, Table 1). [`job`] holds processes that
//! run together, as fio describes them. [`synthetic`] holds workloads whose addresses, sizes and
//! times follow distributions. [`playback`] describes a trace to replay. While it runs, a workload
//! learns nothing about its drive except the completion time of its previous IO.

mod field;
pub mod job;
pub mod pattern;
mod permutation;
pub mod playback;
pub mod state;
pub mod steady_fill;
mod stream;
pub mod synthetic;
pub mod uflip;

pub use field::Field;
pub use stream::{Stream, seed_for};
