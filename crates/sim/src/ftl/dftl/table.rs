//! The cached mapping table: which entries of the map are in memory, and which of them have changed
//! since they were written to the flash.

use std::ops::Range;

use crate::list::List;
use crate::memory::prefetch;
use crate::nand::Lpn;

/// One bit for each of many things.
struct Bits(Vec<u64>);

impl Bits {
    fn new(count: u32) -> Self {
        Bits(vec![0; count.div_ceil(64) as usize])
    }

    #[inline]
    fn get(&self, nth: u32) -> bool {
        self.0[nth as usize / 64] >> (nth % 64) & 1 == 1
    }

    #[inline]
    fn set(&mut self, nth: u32) {
        self.0[nth as usize / 64] |= 1 << (nth % 64);
    }

    #[inline]
    fn clear(&mut self, nth: u32) {
        self.0[nth as usize / 64] &= !(1 << (nth % 64));
    }

    fn clear_range(&mut self, range: Range<u32>) {
        // Whole words, as most ranges are, at once.
        let whole = range.start.next_multiple_of(64)..range.end / 64 * 64;
        if whole.is_empty() {
            range.for_each(|nth| self.clear(nth));
            return;
        }
        self.0[whole.start as usize / 64..whole.end as usize / 64].fill(0);
        (range.start..whole.start).chain(whole.end..range.end).for_each(|nth| self.clear(nth));
    }
}

/// The entries in memory. The one that was used last longest ago is given up for another.
///
/// Flat arrays by logical page and by place in memory: nothing is searched for, nothing is hashed.
/// Two bits say whether an entry is there and has changed, so that cleaning, which asks for pages
/// all over the drive, finds the answer in the processor's cache.
pub(super) struct Table {
    by_age: List,
    /// For each place in memory, the logical page whose entry is there.
    lpns: Vec<u32>,
    /// For each logical page whose entry is in memory, its place.
    places: Vec<u32>,
    held: Bits,
    /// Only of those held.
    changed: Bits,
    used: u32,
}

impl Table {
    /// An empty one with room for `entries`, at least 1, of those of `logical_pages`.
    pub(super) fn new(entries: u32, logical_pages: u32) -> Self {
        Table {
            by_age: List::new(entries),
            lpns: vec![0; entries as usize],
            places: vec![0; logical_pages as usize],
            held: Bits::new(logical_pages),
            changed: Bits::new(logical_pages),
            used: 0,
        }
    }

    /// A hint that an entry is asked for soon.
    #[inline]
    pub(super) fn expect(&self, lpn: Lpn) {
        prefetch(&self.held.0, lpn.0 as usize / 64);
        prefetch(&self.places, lpn.0 as usize);
    }

    /// Uses an entry; false where it is not held.
    #[inline]
    pub(super) fn touch(&mut self, lpn: Lpn) -> bool {
        let held = self.held.get(lpn.0);
        if held {
            self.by_age.make_newest(self.places[lpn.0 as usize]);
        }
        held
    }

    /// The entry that the next one takes the place of, if there is no other.
    #[inline]
    pub(super) fn victim(&self) -> Option<Lpn> {
        if (self.used as usize) < self.lpns.len() {
            return None;
        }
        self.by_age.oldest().map(|place| Lpn(self.lpns[place as usize]))
    }

    /// Takes up an entry that is not held, in the place of the victim.
    #[inline]
    pub(super) fn insert(&mut self, lpn: Lpn) {
        let oldest = self.by_age.oldest().filter(|_| self.used as usize == self.lpns.len());
        let place = match oldest {
            Some(oldest) => {
                let victim = self.lpns[oldest as usize];
                debug_assert!(!self.changed.get(victim), "{victim} is not on the flash");
                self.held.clear(victim);
                oldest
            }
            None => {
                self.used += 1;
                self.used - 1
            }
        };
        self.lpns[place as usize] = lpn.0;
        self.places[lpn.0 as usize] = place;
        self.held.set(lpn.0);
        self.by_age.make_newest(place);
        self.expect_victims();
    }

    /// Has what is asked of the next victims fetched: of the next one, whose number has been, its
    /// bits; of the one after that, its number; and of the one after that, who is next.
    #[inline]
    fn expect_victims(&self) {
        let Some(first) = self.by_age.oldest() else { return };
        let lpn = self.lpns[first as usize];
        prefetch(&self.held.0, lpn as usize / 64);
        prefetch(&self.changed.0, lpn as usize / 64);
        let Some(second) = self.by_age.newer(first) else { return };
        prefetch(&self.lpns, second as usize);
        if let Some(third) = self.by_age.newer(second) {
            self.by_age.expect(third);
        }
    }

    /// Notes that an entry has changed; false where it is not held.
    #[inline]
    pub(super) fn change(&mut self, lpn: Lpn) -> bool {
        let held = self.held.get(lpn.0);
        if held {
            self.changed.set(lpn.0);
        }
        held
    }

    /// Whether an entry is held that the flash does not have.
    #[inline]
    pub(super) fn is_changed(&self, lpn: Lpn) -> bool {
        self.changed.get(lpn.0)
    }

    /// Notes that the entries of these logical pages are on the flash as they are.
    #[inline]
    pub(super) fn settle(&mut self, lpns: Range<u32>) {
        self.changed.clear_range(lpns);
    }

    /// Forgets all entries.
    pub(super) fn forget(&mut self) {
        let entries = u32::try_from(self.lpns.len()).expect("the places are numbered by a u32");
        let pages = u32::try_from(self.places.len()).expect("logical pages are");
        *self = Table::new(entries, pages);
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const PAGES: u32 = 150;

    proptest! {
        // Does the table hold, change and give up what a plain list does, after any sequence of
        // uses, changes and write-backs?
        #[test]
        fn agrees_with_a_plain_list(
            entries in 1u32..6,
            calls in prop::collection::vec((0u32..3, 0..PAGES), 1..200),
        ) {
            let mut table = Table::new(entries, PAGES);
            // The oldest first, with whether it has changed.
            let mut plain: Vec<(u32, bool)> = Vec::new();
            for (call, lpn) in calls {
                let found = plain.iter().position(|entry| entry.0 == lpn);
                match call {
                    0 => {
                        prop_assert_eq!(table.touch(Lpn(lpn)), found.is_some());
                        let entry = match found {
                            Some(nth) => plain.remove(nth),
                            None => {
                                let full = plain.len() == entries as usize;
                                let victim = full.then(|| plain.remove(0).0);
                                prop_assert_eq!(table.victim(), victim.map(Lpn));
                                victim.into_iter().for_each(|v| table.settle(v..v + 1));
                                table.insert(Lpn(lpn));
                                (lpn, false)
                            }
                        };
                        plain.push(entry);
                    }
                    1 => {
                        prop_assert_eq!(table.change(Lpn(lpn)), found.is_some());
                        found.into_iter().for_each(|nth| plain[nth].1 = true);
                    }
                    _ => {
                        let range = lpn..(lpn + 90).min(PAGES);
                        table.settle(range.clone());
                        plain.iter_mut().filter(|e| range.contains(&e.0)).for_each(|e| e.1 = false);
                    }
                }
                for lpn in 0..PAGES {
                    let changed = plain.contains(&(lpn, true));
                    prop_assert_eq!(table.is_changed(Lpn(lpn)), changed);
                }
            }
        }
    }
}
