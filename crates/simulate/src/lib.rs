//! Simulates a workload on a drive: fill, warm-up, measurement. This is `flashscope simulate` as a
//! function.
//!
//! A simulation reads no real clock; the caller measures how long the simulation takes.

mod alone;
mod document;
mod error;
mod hooks;
mod load;
mod reading;
mod request;
mod resources;
mod simulator;
mod survey;
pub mod sweep;
mod tenants;
pub mod what_if;

pub use alone::run_alone;
pub use error::Error;
use flashscope_sim::budget::Budget;
use flashscope_sim::observe::Findings;
pub use hooks::Hooks;
pub use request::{SimulationRequest, Work, drive, profile_name};
pub use resources::Resources;
pub use simulator::{SimulationResult, Simulator, initial_contents};
use std::sync::atomic::AtomicBool;
pub use tenants::{Tenant, TenantError};

/// The document of a simulation.
pub type Simulation = flashscope_document::Simulation<Findings>;

/// Runs a simulation. Setting `stop` ends it early; the measurements up to then are kept.
///
/// ```
/// use flashscope_simulate::{SimulationRequest, Work, simulate};
///
/// let work = Work { ios: Some(1000), ..Work::default() };
/// let request = SimulationRequest { drive: "sim:demo?over_provisioning=0.28".into(), work };
/// let result = simulate(&request, &false.into(), &mut ())?.simulation;
/// assert_eq!(result.ios, 1000);
/// # Ok::<(), flashscope_simulate::Error>(())
/// ```
///
/// # Errors
/// If the request is invalid ([`Error::is_input`]) or the simulation fails.
pub fn simulate(
    request: &SimulationRequest,
    stop: &AtomicBool,
    hooks: &mut dyn Hooks,
) -> Result<SimulationResult, Error> {
    simulate_within(request, &Budget::default(), stop, hooks)
}

/// Runs a simulation like [`simulate`], but limits its memory to this budget.
///
/// # Errors
/// The same as for [`simulate`], and an error if the drive needs more memory than the budget has.
pub(crate) fn simulate_within(
    request: &SimulationRequest,
    memory: &Budget,
    stop: &AtomicBool,
    hooks: &mut dyn Hooks,
) -> Result<SimulationResult, Error> {
    let mut result = Simulator::open(request, memory, stop, hooks)?.run(stop, hooks)?;
    if request.work.alone {
        run_alone(request, memory, stop, hooks, &mut result.simulation)?;
    }
    Ok(result)
}

#[cfg(test)]
mod tests;
