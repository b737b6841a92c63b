use std::collections::BTreeMap;
use std::ops::Range;

/// A set of numbers, stored as disjoint ranges; it needs memory for each range only.
#[derive(Debug, Default)]
pub(super) struct RangeSet(BTreeMap<u64, u64>);

impl RangeSet {
    pub(super) fn contains(&self, number: u64) -> bool {
        self.0.range(..=number).next_back().is_some_and(|(_, end)| number < *end)
    }

    /// Adds a range, and joins it with those that it touches.
    pub(super) fn insert(&mut self, range: Range<u64>) {
        if range.is_empty() {
            return;
        }
        let Range { mut start, mut end } = range;
        while let Some((other, other_end)) = self.0.range(..=end).next_back().map(|(s, e)| (*s, *e))
        {
            if other_end < start {
                break;
            }
            self.0.remove(&other);
            (start, end) = (start.min(other), end.max(other_end));
        }
        self.0.insert(start, end);
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn ranges_agree_with_a_set_and_stay_apart(
            ranges in proptest::collection::vec((0u64..60, 0u64..12), 0..30),
        ) {
            let (mut ours, mut theirs) = (RangeSet::default(), BTreeSet::new());
            for (start, len) in ranges {
                ours.insert(start..start + len);
                theirs.extend(start..start + len);
                for number in 0..80 {
                    prop_assert_eq!(ours.contains(number), theirs.contains(&number));
                }
                let ends: Vec<_> = ours.0.iter().collect();
                prop_assert!(ends.windows(2).all(|pair| pair[0].1 < pair[1].0), "{:?}", ours);
            }
        }
    }
}
