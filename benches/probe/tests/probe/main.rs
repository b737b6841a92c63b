//! Tests the probes on simulated drives whose parameters are known.

mod accuracy;
mod log_blocks;
mod medium;
mod profile;
mod strangers;
mod sun_zhang;
