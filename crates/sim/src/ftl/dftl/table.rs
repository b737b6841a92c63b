//! A table of the map entries in one memory, and of the changes not yet written to the flash.

use std::ops::Range;

use crate::footprint::{Size, fixed};
use crate::memory::prefetch;
use crate::nand::Lpn;

/// A vector of bits.
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
        // Most ranges consist of complete words, each of which is cleared in one step.
        let whole = range.start.next_multiple_of(64)..range.end / 64 * 64;
        if whole.is_empty() {
            range.for_each(|nth| self.clear(nth));
            return;
        }
        self.0[whole.start as usize / 64..whole.end as usize / 64].fill(0);
        (range.start..whole.start).chain(whole.end..range.end).for_each(|nth| self.clear(nth));
    }
}

/// The state of 64 consecutive logical pages, one bit each.
#[derive(Clone, Copy, Default)]
#[repr(align(16))]
struct Group {
    /// Entries that the table holds.
    held: u64,
    /// Entries that are held and were used again since their insertion or the last
    /// [`Table::forget_former_uses`]. Also set for a removed entry, whose uses in the ring no
    /// longer count.
    used_again: u64,
}

/// Logical pages in a group.
const GROUP: u32 = 64;

/// The value of `last_use` for a removed entry.
const NO_PLACE: u32 = u32::MAX;

#[inline]
const fn bit(lpn: u32) -> u64 {
    1 << (lpn % GROUP)
}

/// The entries in one memory, with eviction of the least recently used one.
///
/// A list ordered by age would cause cache misses all over memory. This table keeps a ring of all
/// uses in order instead: the insertions and lookups of entries. Only the last use of an entry
/// counts; earlier uses are skipped. The next victims are known well in advance, which allows
/// prefetches of their state. Three bits for each entry record whether it is held, was used again,
/// and has changed. These bits are mostly in the processor's cache and suffice for most operations.
/// An entry that was not used again has a single use in the ring, which is also its last.
pub(super) struct Table {
    /// A ring of uses: the logical page of each used entry.
    uses: Vec<u32>,
    /// Capacity of the ring.
    room: u32,
    /// Index of the oldest use. `count` is the number of uses in the ring.
    oldest: u32,
    count: u32,
    /// For each logical page whose entry was used again, the ring index of the last use of the
    /// entry. The newest `unnoted` uses are not included yet.
    last_use: Vec<u32>,
    /// Number of newest uses that `last_use` lacks. They are added once the memory to update has
    /// been prefetched.
    unnoted: u32,
    groups: Vec<Group>,
    /// Entries that the table holds and that have changed.
    changed: Bits,
    used: u32,
    entries: u32,
}

impl Table {
    /// Number of uses by which prefetches are ahead of the oldest use. The bits of an entry are
    /// prefetched at twice this distance, its last use at this distance. A cache miss takes about
    /// as long as the simulation of this many writes.
    const AHEAD: u32 = 4;
    /// Maximum number of uses not yet in `last_use`. A cache miss takes about as long as the
    /// simulation of this many writes.
    const UNNOTED: u32 = 4;

    /// Returns the capacity of the ring for `entries` entries.
    fn room(entries: u32) -> u32 {
        entries.saturating_mul(2).saturating_add(2).max(2 * Self::AHEAD)
    }

    /// Returns the size of the memory that [`Table::new`] allocates.
    pub(super) fn footprint(entries: u32, logical_pages: u32) -> Size {
        fixed::<u32>(Self::room(entries))
            + fixed::<u32>(logical_pages)
            + fixed::<Group>(logical_pages.div_ceil(GROUP))
            + fixed::<u64>(logical_pages.div_ceil(64))
    }

    /// Creates an empty table with room for `entries`, at least 1, of `logical_pages` logical
    /// pages.
    pub(super) fn new(entries: u32, logical_pages: u32) -> Self {
        let room = Self::room(entries);
        Table {
            uses: vec![0; room as usize],
            room,
            oldest: 0,
            count: 0,
            last_use: vec![0; logical_pages as usize],
            unnoted: 0,
            groups: vec![Group::default(); logical_pages.div_ceil(GROUP) as usize],
            changed: Bits::new(logical_pages),
            used: 0,
            entries,
        }
    }

    #[inline]
    fn group(&mut self, lpn: u32) -> &mut Group {
        &mut self.groups[(lpn / GROUP) as usize]
    }

    #[inline]
    fn is_used_again(&self, lpn: u32) -> bool {
        self.groups[(lpn / GROUP) as usize].used_again & bit(lpn) != 0
    }

    /// Prefetches the state of an entry that will soon be used or changed.
    #[inline]
    pub(super) fn prefetch(&self, lpn: Lpn) {
        prefetch(&self.groups, (lpn.0 / GROUP) as usize);
        prefetch(&self.changed.0, lpn.0 as usize / 64);
    }

    /// Records a use of an entry. Returns false if the table does not hold it.
    #[inline]
    pub(super) fn touch(&mut self, lpn: Lpn) -> bool {
        let held = self.group(lpn.0).held & bit(lpn.0);
        if held == 0 {
            return false;
        }
        prefetch(&self.last_use, lpn.0 as usize);
        // `note_use` may call `forget_former_uses`, which clears the bit. The bit is therefore set
        // afterwards.
        self.note_use(lpn.0);
        self.group(lpn.0).used_again |= held;
        true
    }

    /// Returns the ring index of the `nth` use from the oldest; `nth` is at most the capacity.
    #[inline]
    fn place(&self, nth: u32) -> u32 {
        let left = self.room - self.oldest;
        if nth < left { self.oldest + nth } else { nth - left }
    }

    #[inline]
    fn note_use(&mut self, lpn: u32) {
        if self.count == self.room {
            self.forget_former_uses();
        }
        if self.unnoted == Self::UNNOTED {
            self.note_oldest();
        }
        let place = self.place(self.count);
        self.uses[place as usize] = lpn;
        self.count += 1;
        self.unnoted += 1;
    }

    /// Includes in `last_use` the oldest use that it lacks.
    #[inline]
    fn note_oldest(&mut self) {
        let place = self.place(self.count - self.unnoted);
        let lpn = self.uses[place as usize];
        if self.is_used_again(lpn) {
            self.last_use[lpn as usize] = place;
        }
        self.unnoted -= 1;
    }

    /// Returns true if the oldest use, which is of this page, is the last use of its entry.
    #[inline]
    fn is_last(&mut self, lpn: u32) -> bool {
        if self.unnoted == self.count {
            self.note_oldest();
        }
        if !self.is_used_again(lpn) {
            return true;
        }
        let newest = self.count - self.unnoted..self.count;
        self.last_use[lpn as usize] == self.oldest
            && newest.into_iter().all(|nth| self.uses[self.place(nth) as usize] != lpn)
    }

    /// Keeps only the last use of each entry, which frees at least half of the ring.
    #[cold]
    fn forget_former_uses(&mut self) {
        while self.unnoted > 0 {
            self.note_oldest();
        }
        let mut kept = 0;
        for nth in 0..self.count {
            let (from, to) = (self.place(nth), self.place(kept));
            let lpn = self.uses[from as usize];
            if !self.is_used_again(lpn) || self.last_use[lpn as usize] == from {
                self.uses[to as usize] = lpn;
                self.group(lpn).used_again &= !bit(lpn);
                kept += 1;
            }
        }
        self.count = kept;
    }

    /// Returns the entry that the next insertion replaces, or `None` if there is free room.
    #[inline]
    pub(super) fn victim(&mut self) -> Option<Lpn> {
        if self.used < self.entries {
            return None;
        }
        loop {
            let lpn = self.uses[self.oldest as usize];
            if self.is_last(lpn) {
                return Some(Lpn(lpn));
            }
            self.pass_over();
        }
    }

    /// Removes the oldest use.
    #[inline]
    fn pass_over(&mut self) {
        let ahead = |uses: u32| self.uses[self.place(uses) as usize];
        let (near, far) = (ahead(Self::AHEAD), ahead(2 * Self::AHEAD));
        self.prefetch(Lpn(far));
        if self.is_used_again(near) {
            prefetch(&self.last_use, near as usize);
        }
        self.oldest = self.place(1);
        self.count -= 1;
    }

    /// Inserts an entry that the table does not hold, in place of the victim.
    #[inline]
    pub(super) fn insert(&mut self, lpn: Lpn) {
        match self.victim() {
            Some(Lpn(victim)) => {
                debug_assert!(!self.changed.get(victim), "{victim} is not on the flash");
                let group = self.group(victim);
                group.held &= !bit(victim);
                group.used_again &= !bit(victim);
                self.pass_over();
            }
            None => self.used += 1,
        }
        self.group(lpn.0).held |= bit(lpn.0);
        self.note_use(lpn.0);
    }

    /// Removes an entry. Returns false if the table does not hold it. Its uses stay in the ring and
    /// no longer count.
    pub(super) fn remove(&mut self, lpn: Lpn) -> bool {
        let held = self.group(lpn.0).held & bit(lpn.0);
        if held == 0 {
            return false;
        }
        while self.unnoted > 0 {
            self.note_oldest();
        }
        self.last_use[lpn.0 as usize] = NO_PLACE;
        let group = self.group(lpn.0);
        group.held &= !held;
        group.used_again |= held;
        self.changed.clear(lpn.0);
        self.used -= 1;
        true
    }

    /// Marks an entry as changed. Returns false if the table does not hold it.
    #[inline]
    pub(super) fn change(&mut self, lpn: Lpn) -> bool {
        let held = self.group(lpn.0).held & bit(lpn.0) != 0;
        if held {
            self.changed.set(lpn.0);
        }
        held
    }

    /// Returns true if the table holds an entry and it has changed since it was last written to the
    /// flash.
    #[inline]
    pub(super) fn is_changed(&self, lpn: Lpn) -> bool {
        self.changed.get(lpn.0)
    }

    /// Marks the entries of these logical pages as equal to those on the flash.
    #[inline]
    pub(super) fn settle(&mut self, lpns: Range<u32>) {
        self.changed.clear_range(lpns);
    }

    /// Drops all entries.
    pub(super) fn forget(&mut self) {
        let pages = u32::try_from(self.last_use.len()).expect("logical page numbers are a u32");
        *self = Table::new(self.entries, pages);
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const PAGES: u32 = 150;

    proptest! {
        // The table agrees with a plain list after any sequence of uses, changes and write-backs.
        #[test]
        fn agrees_with_a_plain_list(
            entries in 1u32..6,
            calls in prop::collection::vec((0u32..3, 0..PAGES), 1..200),
        ) {
            let mut table = Table::new(entries, PAGES);
            // The entries, oldest first, each with a flag that is true if it has changed.
            let mut plain: Vec<(u32, bool)> = Vec::new();
            for (call, lpn) in calls {
                // Many uses of few entries fill up the ring of uses.
                let lpn = if call == 0 { lpn % (entries + 2) } else { lpn };
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
