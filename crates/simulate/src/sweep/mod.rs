//! Explores a design space: combinations of drives and workloads, their results, and conclusions from them.
//!
//! [`Space`] is read from TOML. A [`Trial`] is one simulation: a point of the space and one of its repeats, as data that
//! can run anywhere ([`run_trial`]). [`explore`] requests trials in batches and receives rows. [`Runner`] runs them on
//! all cores or hands them to [`Workers`]. Rows and conclusions do not depend on where or in which order trials ran.
//!
//! All points share their seeds (common random numbers), so that differences between points are not chance. Effects are
//! means of paired differences.

mod conditions;
mod effects;
mod error;
mod explore;
mod factor;
pub(crate) mod fields;
mod finish;
mod front;
mod regressed;
mod runner;
mod sampling;
mod search;
mod space;
mod trial;

pub use error::SpaceError;
pub use explore::{Batch, explore};
pub use factor::{Factor, Values};
pub use finish::finish;
pub use runner::{Each, Runner, Workers};
pub use sampling::Sampling;
pub use space::Space;
pub use trial::{Trial, run_trial};

#[cfg(test)]
mod tests;
