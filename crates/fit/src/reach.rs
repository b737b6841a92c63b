//! Predictions outside the measured range, and the factor by which their intervals grow.
//!
//! A prediction extrapolates if the drive holds more or less data than at any measurement, or if
//! more or fewer IOs are in flight. A step is a doubling or a halving, either of the IOs in flight
//! or of the spare flash. Each step moves both ends of an interval away from its
//! value by [`WIDER_PER_STEP`].

use flashscope_block::Bytes;
use flashscope_document::twin::{Extrapolation, MeasuredDepth, Quantity, Twin};
use flashscope_simulate::Simulation;
use flashscope_workload::pattern::Reference;
use flashscope_workload::synthetic::{Ios, Workload};

use super::scale::Size;

/// The factor by which each step moves the ends of an interval. With this factor, intervals of 90 %
/// contain 95 % of the throughputs of 48 generated drives outside the measured range. Without it,
/// they contain 58 % (docs/twin.md).
pub(crate) const WIDER_PER_STEP: f64 = 1.15;

/// The smallest distance from the measured range that counts, in steps. The number of IOs in flight
/// of an open loop is only an estimate.
const MIN_STEPS: f64 = 0.1;

/// Returns the factor by which the ends of an interval move, at this distance from the measured
/// range in steps.
#[must_use]
pub fn widening(steps: f64) -> f64 {
    WIDER_PER_STEP.powf(steps)
}

/// Returns the extrapolation if the drive holds more or less data than at any measurement.
#[allow(clippy::cast_precision_loss, reason = "bytes of drives are below 2^53")]
pub(super) fn of_fill(twin: &Twin, size: &Size) -> Option<Extrapolation> {
    let levels = twin.fill.iter().flat_map(|fill| &fill.levels).map(|level| level.fill);
    let measured: Vec<Bytes> =
        levels.chain((!twin.runs.is_empty()).then_some(size.profiled())).collect();
    let (least, most) = (*measured.iter().min()?, *measured.iter().max()?);
    let spare = |fill: f64| 1.0 - fill / size.flash;
    let steps = |end: Bytes| (spare(end.0 as f64) / spare(size.filled.0 as f64)).log2();
    let beyond = steps(most).max(-steps(least));
    extrapolation(Quantity::Fill, [size.filled.0, least.0, most.0].map(|b| b as f64), beyond)
}

/// Returns the extrapolation if more or fewer IOs are in flight than in any measurement.
pub(super) fn of_depth(measured: MeasuredDepth, in_flight: f64) -> Option<Extrapolation> {
    let (least, most) = (f64::from(measured.min), f64::from(measured.max));
    let beyond = (in_flight / most).log2().max((least / in_flight).log2());
    extrapolation(Quantity::QueueDepth, [in_flight, least, most], beyond)
}

fn extrapolation(
    quantity: Quantity,
    [value, min, max]: [f64; 3],
    steps: f64,
) -> Option<Extrapolation> {
    let widened = widening(steps);
    (steps >= MIN_STEPS).then_some(Extrapolation { quantity, value, min, max, steps, widened })
}

/// Returns the number of IOs in flight, at least 1: that of a closed loop, or the mean of an open
/// loop by Little's law.
#[allow(clippy::cast_precision_loss, reason = "counts are below 2^53")]
pub(super) fn in_flight(workload: &Workload, simulation: &Simulation) -> f64 {
    let streams = match &workload.ios {
        Ios::Runs(runs) => runs.iter().map(Reference::streams_count).max().unwrap_or(1),
        Ios::Endless(_) | Ios::Application(_) | Ios::Trace(_) => 1,
    };
    let most = f64::from(simulation.queue_depth) * f64::from(streams);
    if !simulation.open_loop {
        return most;
    }
    let latency = simulation.latency_ns.as_ref().map_or(0.0, |latency| latency.mean.value);
    let mean = simulation.ios as f64 * latency / (simulation.simulated_ns.0.max(1) as f64);
    mean.clamp(1.0, most.max(1.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_doubling_beyond_the_measured_depths_widens_by_the_same_factor() {
        let measured = MeasuredDepth { usual: 4, min: 4, max: 16, stated: true };
        for inside in [4.0, 9.0, 16.0, 16.5] {
            assert_eq!(of_depth(measured, inside), None);
        }
        for (depth, steps) in [(2.0, 1.0), (1.0, 2.0), (32.0, 1.0), (128.0, 3.0)] {
            let widened = of_depth(measured, depth).unwrap().widened;
            assert!((widened - WIDER_PER_STEP.powf(steps)).abs() < 1e-12, "{depth}: {widened}");
        }
    }
}
