//! Explores a design space: combinations of drives and workloads, their results, and conclusions
//! from them.
//!
//! [`Space`] is read from TOML. A [`Trial`] is one simulation: a point of the space and one of its
//! repeats, as data that can run anywhere ([`run_trial`]). [`explore`] requests trials in batches
//! and receives a row of results for each trial. [`Runner`] runs them on all cores or hands them to
//! [`Workers`]. Rows and conclusions do not depend on where or in which order trials ran.
//!
//! All points share their seeds (common random numbers), so that differences between points are not
//! chance. Effects are means of paired differences.

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

use flashscope_document::sweep::Row;

pub use error::SpaceError;
pub use explore::explore;
pub use factor::{Factor, Values};
pub use finish::finish;
pub use runner::{Each, Runner, Workers};
pub use sampling::Sampling;
pub use space::Space;
pub use trial::{Trial, run_trial};

/// A function that runs trials anywhere. Returns their rows in the order of the trials, or `None`
/// if stopped.
pub type Batch<'a> = dyn FnMut(&[Trial]) -> Option<Vec<Row>> + Send + 'a;

#[cfg(test)]
mod tests;
