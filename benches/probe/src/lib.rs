//! Measures the accuracy of the probes on random simulated drives whose internals the probes cannot
//! see.

pub mod disk;
pub mod drives;
pub mod figure;
mod format;
pub mod held_out;
mod held_out_page;
pub mod measured;
pub mod noise;
pub mod page;
pub mod score;
pub mod speed;
pub mod sweep;
pub mod targets;
pub mod trial;
pub mod trims;
