//! The speed of the simulator, in wall-clock and processor time.

use flashscope_block::{Bytes, Nanos};
use flashscope_document::{PhaseSpeed, SimulationSpeed};
use flashscope_drive::Clock;
use flashscope_simulate::Simulation;
use flashscope_workload::state::Fill;

/// The wall-clock and processor time at the start of each phase, and at the end.
pub(super) struct PhaseTimes {
    clock: Clock,
    marks: Vec<(Nanos, Nanos)>,
}

impl PhaseTimes {
    pub(super) fn new(clock: &Clock) -> PhaseTimes {
        PhaseTimes { clock: clock.clone(), marks: Vec::with_capacity(4) }
    }

    /// Records the start of a phase, or the end of the last phase.
    pub(super) fn mark(&mut self) {
        self.marks.push((self.clock.now(), Clock::cpu_time()));
    }

    /// Returns the speed of the phases, or `None` if the simulation did not reach its measurement.
    pub(super) fn speed(&self, simulation: &Simulation) -> Option<SimulationSpeed> {
        let [fill, warm_up, measurement, end] = self.marks[..] else { return None };
        let speed = |from: (Nanos, Nanos), to: (Nanos, Nanos), bytes, ios| {
            PhaseSpeed::new(to.0 - from.0, to.1 - from.1, bytes, ios)
        };
        let capacity = simulation.drive.capacity.round_down(simulation.drive.logical_block);
        let filled = if simulation.fill == Fill::None { Bytes(0) } else { capacity };
        let Simulation { bytes_read, bytes_written, bytes_trimmed, .. } = simulation;
        let measured = Bytes(bytes_read.0 + bytes_written.0 + bytes_trimmed.0);
        let warm = &simulation.warm_up;
        Some(SimulationSpeed {
            fill: speed(fill, warm_up, filled, None),
            warm_up: speed(warm_up, measurement, warm.bytes, Some(warm.ios)),
            measurement: speed(measurement, end, measured, Some(simulation.ios)),
        })
    }
}
