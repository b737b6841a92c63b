//! A workload on a simulated drive: filled, warmed up, measured. `flashscope simulate` as a function.
//!
//! No clock is read: how long it takes on this machine is for the caller to say.

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

/// What came of it.
pub type Simulation = flashscope_result::Simulation<Findings>;

/// Simulates what is asked for. `stop` is set to end early: what was measured is kept.
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
/// What is wrong with what is asked for ([`Error::is_input`]), or what went wrong on the way.
pub fn simulate(
    asked: &Asked,
    stop: &AtomicBool,
    hooks: &mut dyn Hooks,
) -> Result<Simulated, Error> {
    Simulator::open(asked, stop, hooks)?.run(stop, hooks)
}

#[cfg(test)]
mod tests;
