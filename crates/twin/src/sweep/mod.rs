//! A design space: which drives and workloads there could be, what each comes to, and what follows.
//!
//! [`Space`] is read from TOML. What is simulated are [`Trial`]s: a point of the space and one of its
//! repeats, as data that can be run anywhere ([`run_trial`]). [`explore`] asks for them in batches and
//! is given rows; [`Runner`] runs them on all cores, or lets [`Workers`] run them. The rows and what follows from them do not depend
//! on who ran them, or in which order.
//!
//! All points have the same seeds (common random numbers), so that what differs between two of them
//! is not luck: effects are means of differences of pairs.

mod conditions;
mod effects;
mod error;
mod explore;
mod factor;
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
pub use runner::{Runner, Told, Workers};
pub use sampling::Sampling;
pub use space::Space;
pub use trial::{Trial, run_trial};

#[cfg(test)]
mod tests;
