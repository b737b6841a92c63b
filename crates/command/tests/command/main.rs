//! Tests of the commands on simulated drives.

mod baselines;
mod collection;
mod comparison;
mod measured;
