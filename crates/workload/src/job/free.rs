//! A set of free places, stored as a hierarchical bitmap.

const BITS: u64 = u64::BITS as u64;

/// The free places of a space. Finds the next free place in a time that hardly depends on the
/// number of places.
///
/// A bit of a level states that a word of the level below has a free place; the bits of level 0 are
/// the places.
pub(super) struct FreePlaces {
    places: u64,
    levels: Vec<Vec<u64>>,
}

impl FreePlaces {
    /// Creates a map of `places` places, all free; at least one.
    pub(super) fn new(places: u64) -> FreePlaces {
        let mut levels = Vec::new();
        let mut bits = places.max(1);
        loop {
            let words = bits.div_ceil(BITS);
            let mut level = vec![u64::MAX; index(words)];
            if let (Some(last), tail @ 1..) = (level.last_mut(), bits % BITS) {
                *last = (1 << tail) - 1;
            }
            levels.push(level);
            if words == 1 {
                return FreePlaces { places: places.max(1), levels };
            }
            bits = words;
        }
    }

    /// Returns the first free place at or after `from`; `None` if all of these places are taken.
    pub(super) fn next(&self, from: u64) -> Option<u64> {
        let (mut at, mut level) = (from, 0);
        // Go up until a level has a bit at or after `at` in the same word.
        let found = loop {
            let word = self.levels.get(level)?.get(index(at / BITS)).copied().unwrap_or(0);
            let left = word & (u64::MAX << (at % BITS));
            if left != 0 {
                break at / BITS * BITS + u64::from(left.trailing_zeros());
            }
            (at, level) = (at / BITS + 1, level + 1);
        };
        let place = self.levels[..level].iter().rev().fold(found, |word, level| {
            word * BITS + u64::from(level[index(word)].trailing_zeros())
        });
        (place < self.places).then_some(place)
    }

    /// Takes consecutive free places from `from` on, at most `most` of them. Returns their number.
    pub(super) fn take(&mut self, from: u64, most: u64) -> u64 {
        let end = from.saturating_add(most).min(self.places);
        let mut at = from;
        while at < end && self.is_free(at) {
            self.remove(at);
            at += 1;
        }
        at - from
    }

    fn is_free(&self, place: u64) -> bool {
        self.levels[0][index(place / BITS)] >> (place % BITS) & 1 == 1
    }

    fn remove(&mut self, place: u64) {
        let mut at = place;
        for level in &mut self.levels {
            let word = &mut level[index(at / BITS)];
            *word &= !(1 << (at % BITS));
            if *word != 0 {
                return;
            }
            at /= BITS;
        }
    }
}

fn index(word: u64) -> usize {
    usize::try_from(word).unwrap_or(usize::MAX)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        // The map agrees with a set of numbers.
        #[test]
        fn the_map_is_a_set(
            places in 1_u64..9000,
            steps in prop::collection::vec((0_u64..9000, 1_u64..200), 1..200),
        ) {
            let (mut map, mut set) = (FreePlaces::new(places), (0..places).collect::<BTreeSet<_>>());
            for (from, most) in steps {
                let next = set.range(from..).next().copied();
                prop_assert_eq!(map.next(from), next);
                let Some(start) = next else { continue };
                let run = (start..start + most).take_while(|place| set.remove(place)).count();
                prop_assert_eq!(map.take(start, most), run as u64);
            }
        }
    }

    #[test]
    fn all_places_are_found_once() {
        let mut map = FreePlaces::new(100_000);
        let found: Vec<u64> = std::iter::from_fn(|| {
            let place = map.next(0)?;
            assert_eq!(map.take(place, 1), 1);
            Some(place)
        })
        .collect();
        assert_eq!(found, (0..100_000).collect::<Vec<_>>());
    }
}
