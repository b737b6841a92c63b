use rand::distr::{self, Distribution};
use rand_xoshiro::Xoshiro256PlusPlus;

use super::{COMMON, Generator, Kind, Place, Places, Room, WorkloadError};

/// Uniform and independent addresses.
///
/// With `size=exponential:` or `size=geometric:` and the page as `alignment`, this is the workload
/// of Boboila and Desnoyers (MSST 2011, section III): uniform starts, memoryless lengths, each
/// write one IO. In their workload, a write that would pass the end of the volume is shortened.
/// Here it begins earlier and keeps its length.
pub(super) const KIND: Kind = Kind {
    name: "uniform",
    argument: None,
    summary: "all places are equally likely",
    source: "the workload of the closed-form models of cleaning, such as Desnoyers, SYSTOR 2012",
    leaves_out: None,
    fields: &[],
    common: COMMON,
    open: |values, target| Generator::open(values, target, places),
};

/// Creates the distribution over every address of a range.
#[allow(clippy::unnecessary_wraps)] // all workloads create their places with this signature
pub(super) fn places(room: Room) -> Result<Places, WorkloadError> {
    Ok(Places::Uniform(Uniform::over(room.units)))
}

pub(super) struct Uniform {
    units: distr::Uniform<u64>,
}

impl Uniform {
    /// Creates the distribution over `units` places, at least one.
    pub(super) fn over(units: u64) -> Uniform {
        let units = distr::Uniform::new(0, units).expect("there is room for an IO");
        Uniform { units }
    }

    #[inline]
    pub(super) fn draw(&mut self, _units: u64, rng: &mut Xoshiro256PlusPlus) -> Place {
        Place { unit: self.units.sample(rng), stream: 0 }
    }
}
