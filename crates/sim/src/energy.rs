//! The energy that a drive takes.

use flashscope_block::Nanos;

use crate::Counters;
use crate::nand::BusyTimes;
use crate::setup::Energy;

/// The energy that a drive took, in joules.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct EnergyUse {
    /// In cells that were read.
    pub read: f64,
    /// In cells that were programmed.
    pub program: f64,
    /// In cells that were erased.
    pub erase: f64,
    /// On the serial buses.
    pub bus: f64,
    /// For requests, in the controller and the host interface.
    pub requests: f64,
    /// At all times.
    pub idle: f64,
}

impl EnergyUse {
    /// Returns the energy for the commands of `counted`, in `took`, in which `drives` drives of this power
    /// answered `requests` requests.
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
