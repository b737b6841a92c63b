use std::cmp::Reverse;

use flashscope_block::Nanos;

use super::Activity;

/// The number of periods whose longest activities are kept, if there is room for so many.
const STRETCHES: usize = 256;

/// Keeps all activities, or only the longest of each period if there are too many.
#[derive(Debug, Clone)]
pub(super) struct Longest {
    most: usize,
    /// Up to twice `most` activities. Thinning out is then rare.
    pieces: Vec<Activity>,
    total: u64,
}

impl Longest {
    /// Creates an empty collection of at most `most` activities (at least 1).
    pub(super) fn new(most: usize) -> Self {
        Longest { most: most.max(1), pieces: Vec::new(), total: 0 }
    }

    pub(super) fn add(&mut self, piece: Activity) {
        self.total += 1;
        self.pieces.push(piece);
        if self.pieces.len() >= 2 * self.most {
            self.thin_out();
        }
    }

    /// Returns the maximum number of activities to keep.
    pub(super) const fn most(&self) -> usize {
        self.most
    }

    /// Returns the number of activities added since the last [`Longest::take`].
    pub(super) const fn total(&self) -> u64 {
        self.total
    }

    /// Removes and returns the remaining activities.
    pub(super) fn take(&mut self) -> Vec<Activity> {
        self.total = 0;
        std::mem::take(&mut self.pieces)
    }

    /// Returns the remaining activities in order of start.
    pub(super) fn into_sorted(mut self) -> Vec<Activity> {
        self.thin_out();
        self.pieces.sort_unstable();
        self.pieces
    }

    /// Keeps the longest activities of each period, at most `most` in all.
    fn thin_out(&mut self) {
        if self.pieces.len() <= self.most {
            return;
        }
        let stretches = STRETCHES.min(self.most);
        let begins = || self.pieces.iter().map(|piece| piece.start_ns);
        let (first, last) =
            (begins().min().unwrap_or_default(), begins().max().unwrap_or_default());
        let stretch = |start: Nanos| {
            let (after, span) = (start.0 - first.0, last.0 - first.0 + 1);
            // The value is below `stretches`.
            usize::try_from(u128::from(after) * stretches as u128 / u128::from(span)).unwrap_or(0)
        };
        let mut counts = vec![0; stretches];
        self.pieces.iter().for_each(|piece| counts[stretch(piece.start_ns)] += 1);
        let quota = quota(&counts, self.most);
        // The cached key computes the period of each activity once, because it needs a division.
        self.pieces
            .sort_by_cached_key(|piece| (stretch(piece.start_ns), Reverse(piece.length()), *piece));
        let mut left = vec![quota; stretches];
        self.pieces.retain(|piece| {
            let left = &mut left[stretch(piece.start_ns)];
            std::mem::replace(left, left.saturating_sub(1)) > 0
        });
    }
}

/// Returns the largest quota per period with which at most `most` activities remain.
fn quota(counts: &[usize], most: usize) -> usize {
    let fits = |quota: usize| counts.iter().map(|count| *count.min(&quota)).sum::<usize>() <= most;
    let (mut low, mut high) = (0, most);
    while low < high {
        let middle = (low + high).div_ceil(2);
        if fits(middle) { low = middle } else { high = middle - 1 }
    }
    low
}

#[cfg(test)]
mod tests {
    use super::super::ActivityKind;
    use super::*;

    fn piece(start: u64, length: u64) -> Activity {
        Activity {
            start_ns: Nanos(start),
            end_ns: Nanos(start + length),
            kind: ActivityKind::Cleaning,
            unit: 0,
            block: 0,
            pages_read: 0,
            pages_programmed: 0,
            blocks_erased: 0,
        }
    }

    #[test]
    fn the_longest_of_each_period_are_kept_when_room_runs_out() {
        let mut random = fastrand::Rng::with_seed(11);
        for most in [1, 10, 1000] {
            let mut kept = Longest::new(most);
            let mut added: Vec<Activity> = vec![];
            for nth in 0..most as u64 {
                added.push(piece(nth * 10, random.u64(1..100)));
                kept.add(added[added.len() - 1]);
            }
            assert_eq!(kept.clone().into_sorted(), added, "all of {most}");
            // Many short activities late, followed by a single long one.
            for nth in 0..20 * most as u64 {
                kept.add(piece(most as u64 * 10 + nth / 10, random.u64(1..50)));
            }
            let long = piece(most as u64 * 12, 1000);
            kept.add(long);
            assert_eq!(kept.total(), 21 * most as u64 + 1);
            let left = kept.into_sorted();
            assert!(left.len() <= most && left.len() * 3 >= most, "{} of {most}", left.len());
            assert!(left.is_sorted() && left.contains(&long), "the longest of {most}");
            // Activities of sparse periods are kept as well.
            let early = left.iter().filter(|piece| piece.start_ns.0 < most as u64 * 10).count();
            assert!(most < 10 || early * 4 > left.len(), "{early} of {}", left.len());
        }
    }
}
