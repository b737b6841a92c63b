//! Tests of the commands on simulated drives.

mod baselines;
mod comparison;
mod measured;
