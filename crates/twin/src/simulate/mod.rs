//! Simulates a workload on a drive: fill, warm-up, measurement. This is `flashscope simulate` as a function.
//!
//! It reads no real clock; the caller measures how long the simulation takes.

mod asked;
mod error;
mod found;
mod hooks;
mod load;
mod simulator;

pub use asked::{Asked, Work, drive, profile_name};
pub use error::Error;
use flashscope_sim::observe::Findings;
pub use hooks::Hooks;
pub use simulator::{Simulated, Simulator};
use std::sync::atomic::AtomicBool;

/// The document of a simulation.
pub type Simulation = flashscope_result::Simulation<Findings>;

/// Runs a simulation. Setting `stop` ends it early; the measurements up to then are kept.
///
/// ```
/// use flashscope_twin::simulate::{Asked, Work, simulate};
///
/// let work = Work { ios: Some(1000), ..Work::default() };
/// let asked = Asked { drive: "sim:demo?over_provisioning=0.28".into(), work };
/// let found = simulate(&asked, &false.into(), &mut ())?.simulation;
/// assert_eq!(found.ios, 1000);
/// # Ok::<(), flashscope_twin::simulate::Error>(())
/// ```
///
/// # Errors
/// If the request is invalid ([`Error::is_input`]) or the simulation fails.
pub fn simulate(
    asked: &Asked,
    stop: &AtomicBool,
    hooks: &mut dyn Hooks,
) -> Result<Simulated, Error> {
    Simulator::open(asked, stop, hooks)?.run(stop, hooks)
}

#[cfg(test)]
mod tests;
