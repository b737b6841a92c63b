//! The writes of the experiment, chosen such that their costs differ between policies.

use fastrand::Rng;

/// The group size of the thinned regions: each pass overwrites one unit of each group.
const GROUP: u32 = 16;

/// The group size of the stale region: all but one unit of each group are overwritten.
const STALE: u32 = 4;

/// The regions, in units, in the order in which they are filled.
///
/// The drive is filled up to `filled`. Then most of the *stale* region is overwritten, and then the
/// other regions, thinly and evenly, until the drive has to clean and beyond. The blocks before the
/// stale region are older and hold more valid data; the blocks after it are younger. A greedy
/// policy cleans the stale region first, at little cost, and the other regions later. A policy by
/// age first meets expensive blocks, then the stale region, then expensive blocks again. A random
/// policy always meets a mixture.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Regions {
    pub(super) units: u32,
    pub(super) stale: (u32, u32),
    pub(super) filled: u32,
}

impl Regions {
    pub(super) fn new(units: u32) -> Regions {
        // Regions consist of whole groups.
        let whole = |percent: u64| {
            let share = u64::from(units) * percent / 100;
            u32::try_from(share).unwrap_or(u32::MAX) / GROUP * GROUP
        };
        Regions { units, stale: (whole(10), whole(26)), filled: whole(85) }
    }

    /// Returns writes that overwrite most of the stale region, in order.
    pub(super) fn stale_writes(&self, rng: &mut Rng) -> Vec<u32> {
        let mut writes = Vec::new();
        for first in (self.stale.0..self.stale.1).step_by(STALE as usize) {
            let kept = first + rng.u32(0..STALE);
            writes.extend((first..(first + STALE).min(self.stale.1)).filter(|unit| *unit != kept));
        }
        writes
    }

    /// Returns endless writes that overwrite the filled space outside the stale region evenly: each
    /// pass writes one unit of each group.
    pub(super) fn thin_writes(&self, rng: &mut Rng) -> Thin {
        let outside = |first: &u32| *first < self.stale.0 || *first >= self.stale.1;
        let firsts = (0..self.filled).step_by(GROUP as usize).filter(outside);
        let groups = firsts.map(|first| {
            let mut group: Vec<u32> = (first..(first + GROUP).min(self.filled)).collect();
            rng.shuffle(&mut group);
            group
        });
        Thin { groups: groups.collect(), next: 0 }
    }
}

/// The writes of [`Regions::thin_writes`].
pub(super) struct Thin {
    groups: Vec<Vec<u32>>,
    next: usize,
}

impl Iterator for Thin {
    type Item = u32;

    fn next(&mut self) -> Option<u32> {
        let (pass, nth) = (self.next / self.groups.len(), self.next % self.groups.len());
        self.next += 1;
        let group = &self.groups[nth];
        Some(group[pass % group.len()])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn regions_are_in_order_and_writes_stay_within_theirs() {
        for units in [512, 4096, 32_768] {
            let regions = Regions::new(units);
            let (from, to) = regions.stale;
            assert!(0 < from && from < to && to < regions.filled && regions.filled < units);
            let mut rng = Rng::with_seed(1);
            let stale = regions.stale_writes(&mut rng);
            assert!(stale.iter().all(|unit| (from..to).contains(unit)));
            let share = f64::from(u32::try_from(stale.len()).unwrap()) / f64::from(to - from);
            assert!((share - 0.75).abs() < 0.02);
            let mut thin = regions.thin_writes(&mut rng);
            assert!(
                thin.by_ref()
                    .take(3 * units as usize)
                    .all(|unit| { unit < regions.filled && !(from..to).contains(&unit) })
            );
        }
    }
}
