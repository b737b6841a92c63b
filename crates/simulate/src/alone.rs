//! Compares tenants with their performance alone.

use std::sync::atomic::AtomicBool;

use flashscope_document::{TenantAlone, TenantResult};
use flashscope_sim::budget::Budget;

use super::simulator::Simulator;
use super::{Error, Hooks, Simulation, SimulationRequest, Work, request};

/// Runs each tenant of a simulation alone, on a fresh drive and in its namespace, for as many IOs
/// as it completed with the others. Adds the latencies, the slowdowns and the fairness to the
/// simulation. Ends early if `stop` is set.
///
/// # Errors
/// The same as for the simulation.
pub fn run_alone(
    request: &SimulationRequest,
    memory: &Budget,
    stop: &AtomicBool,
    hooks: &mut dyn Hooks,
    simulation: &mut Simulation,
) -> Result<(), Error> {
    for (nth, tenant) in simulation.tenants.iter_mut().enumerate() {
        let Some(shared) = tenant.latency_ns.as_ref() else { continue };
        let (observe, pictures) = (Vec::new(), false);
        let work = Work {
            ios: Some(tenant.ios),
            duration: None,
            observe,
            pictures,
            ..request.work.clone()
        };
        let drive = request::drive(&request.drive, memory)?;
        let simulator = Simulator::with_tenants(drive, &work, Some(nth), stop, hooks)?;
        let alone = match simulator.run(stop, hooks) {
            Err(Error::Interrupted) => return Ok(()),
            alone => alone?.simulation,
        };
        let Some(latency_ns) = alone.latency_ns else { continue };
        if alone.ios < tenant.ios {
            return Ok(());
        }
        tenant.slowdown = Some(shared.mean.value / latency_ns.mean.value);
        tenant.alone = Some(TenantAlone { ios_per_second: alone.ios_per_second, latency_ns });
    }
    simulation.fairness = fairness(&simulation.tenants);
    Ok(())
}

/// Returns the smallest slowdown divided by the largest. Returns `None` if there is only one
/// tenant, or if the slowdown of a tenant is unknown.
fn fairness(tenants: &[TenantResult]) -> Option<f64> {
    let slowdowns: Option<Vec<f64>> = tenants.iter().map(|tenant| tenant.slowdown).collect();
    let slowdowns = slowdowns.filter(|slowdowns| slowdowns.len() > 1)?;
    let least = slowdowns.iter().copied().fold(f64::INFINITY, f64::min);
    let most = slowdowns.iter().copied().fold(0.0, f64::max);
    Some(least / most)
}
