//! How often the probes are right: random simulated drives whose truth they cannot see.

pub mod disk;
pub mod drives;
pub mod measured;
pub mod noise;
pub mod score;
