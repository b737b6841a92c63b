use rand_xoshiro::Xoshiro256PlusPlus;

use super::{COMMON, Generator, Kind, Place, Places};

/// Each IO begins where the previous IO ended.
///
/// At the end of the range, where the next IO would not fit, the workload starts over.
pub(super) const KIND: Kind = Kind {
    name: "sequential",
    argument: None,
    summary: "each IO begins where the previous IO ended; starts over at the end of the range",
    source: "uFLIP's baselines SR and SW, with sizes that may vary",
    leaves_out: None,
    fields: &[],
    common: COMMON,
    open: |values, target| {
        Generator::open(values, target, |room| {
            Ok(Places::Sequential(Sequential { next: 0, end: room.units }))
        })
    },
};

pub(super) struct Sequential {
    next: u64,
    /// The number of places at which the smallest IO can begin.
    end: u64,
}

impl Sequential {
    #[inline]
    pub(super) fn draw(&mut self, units: u64, _rng: &mut Xoshiro256PlusPlus) -> Place {
        if self.next >= self.end {
            self.next = 0;
        }
        let unit = self.next;
        self.next += units;
        Place { unit, stream: 0 }
    }
}
