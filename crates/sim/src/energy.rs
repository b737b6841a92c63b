//! The energy that a drive uses.

use flashscope_block::Nanos;

use crate::Counters;
use crate::nand::BusyTimes;
use crate::setup::Energy;

/// The energy that a drive used in a period, in joules.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct EnergyUse {
    /// Energy to read cells.
    pub read: f64,
    /// Energy to program cells.
    pub program: f64,
    /// Energy to erase cells.
    pub erase: f64,
    /// Energy of transfers on the serial buses.
    pub bus: f64,
    /// Energy of requests in the controller and the host interface.
    pub requests: f64,
    /// Energy of the idle power, which the drive uses at all times.
    pub idle: f64,
}

impl EnergyUse {
    /// Returns the energy of a period of length `took`, in which `drives` drives of this power
    /// executed the commands of `counted` and answered `requests` requests.
    #[allow(clippy::cast_precision_loss)] // exact up to 2^53 ns, which is 104 days
    pub(crate) fn new(
        power: &Energy,
        counted: &Counters,
        requests: u64,
        took: Nanos,
        drives: u32,
    ) -> EnergyUse {
        let BusyTimes { read, program, erase, bus } = counted.flash.busy;
        let joules = |watts: f64, nanos: u64| watts * nanos as f64 * 1e-9;
        EnergyUse {
            read: joules(power.read, read),
            program: joules(power.program, program),
            erase: joules(power.erase, erase),
            bus: joules(power.bus, bus),
            requests: power.request * requests as f64 * 1e-6,
            idle: f64::from(drives) * joules(power.idle, took.0),
        }
    }

    /// Returns each part with its name.
    pub fn parts(&self) -> [(&'static str, f64); 6] {
        [
            ("read", self.read),
            ("program", self.program),
            ("erase", self.erase),
            ("bus", self.bus),
            ("requests", self.requests),
            ("idle", self.idle),
        ]
    }

    /// Returns the sum of all parts.
    pub fn total(&self) -> f64 {
        self.parts().iter().map(|(_, joules)| joules).sum()
    }
}
