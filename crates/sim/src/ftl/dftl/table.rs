//! Which entries of the map are in a memory, and which of them have changed since they were written
//! to the flash.

use std::ops::Range;

use crate::footprint::{Size, fixed};
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

/// Of 64 logical pages that follow each other, a bit each.
#[derive(Clone, Copy, Default)]
#[repr(align(16))]
struct Group {
    /// Whether its entry is there.
    held: u64,
    /// Whether the entry, which is held, has been used more than once since it came.
    used_again: u64,
}

/// Pages in a group.
const GROUP: u32 = 64;

/// The place of the last use of what was taken out.
const NO_PLACE: u32 = u32::MAX;

#[inline]
const fn bit(lpn: u32) -> u64 {
    1 << (lpn % GROUP)
}

/// The entries in a memory. The one that was used last longest ago is given up for another.
///
/// Instead of a list by age, which takes steps all over memory, there is a record of all uses, in
/// the order in which they were. Of those of an entry only the last counts; the others are passed
/// over. What is asked of the next victims is then known well before, and fetched. Bits say whether
/// an entry is there, whether it was used again, without which its only use is the last, and whether
/// it has changed, so that most questions find the answer in the processor's cache.
pub(super) struct Table {
    /// A ring of uses: the logical pages whose entries were used.
    uses: Vec<u32>,
    /// How many uses there may be.
    room: u32,
    /// Where the oldest of them is, and how many there are.
    oldest: u32,
    count: u32,
    /// For each logical page whose entry was used again, where in the ring its last use is; of the
    /// newest uses only the ring knows.
    last_use: Vec<u32>,
    /// How many these are: noting them waits until memory has been fetched for it.
    unnoted: u32,
    groups: Vec<Group>,
    /// Only of those held.
    changed: Bits,
    used: u32,
    entries: u32,
}

impl Table {
    /// How many uses ahead of being passed over one is looked at, and twice as many. Memory takes
    /// about as long as this many writes.
    const AHEAD: u32 = 4;
    /// How many uses may be not noted yet. Memory takes about as long as this many writes.
    const UNNOTED: u32 = 4;

    /// How many uses there may be of so many entries.
    fn room(entries: u32) -> u32 {
        entries.saturating_mul(2).saturating_add(2).max(2 * Self::AHEAD)
    }

    /// What one takes: see [`Table::new`].
    pub(super) fn footprint(entries: u32, logical_pages: u32) -> Size {
        fixed::<u32>(Self::room(entries))
            + fixed::<u32>(logical_pages)
            + fixed::<Group>(logical_pages.div_ceil(GROUP))
            + fixed::<u64>(logical_pages.div_ceil(64))
    }

    /// An empty one with room for `entries`, at least 1, of those of `logical_pages`.
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

    /// A hint that an entry is asked for, or changes, soon.
    #[inline]
    pub(super) fn expect(&self, lpn: Lpn) {
        prefetch(&self.groups, (lpn.0 / GROUP) as usize);
        prefetch(&self.changed.0, lpn.0 as usize / 64);
    }

    /// Uses an entry; false where it is not held.
    #[inline]
    pub(super) fn touch(&mut self, lpn: Lpn) -> bool {
        let held = self.group(lpn.0).held & bit(lpn.0);
        if held == 0 {
            return false;
        }
        prefetch(&self.last_use, lpn.0 as usize);
        // In this order: making room for the use may leave the former ones of the entry one.
        self.note_use(lpn.0);
        self.group(lpn.0).used_again |= held;
        true
    }

    /// The `nth` place of the ring from the oldest use on; for up to as many as there are places.
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

    /// Notes the oldest of the uses that are not yet.
    #[inline]
    fn note_oldest(&mut self) {
        let place = self.place(self.count - self.unnoted);
        let lpn = self.uses[place as usize];
        if self.is_used_again(lpn) {
            self.last_use[lpn as usize] = place;
        }
        self.unnoted -= 1;
    }

    /// Whether the oldest use, which is of this page, is the last of its entry.
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

    /// Keeps of the uses of each entry the last alone: half of the ring or more is free then.
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

    /// The entry that the next one takes the place of, if there is no other.
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

    /// Takes out the oldest use.
    #[inline]
    fn pass_over(&mut self) {
        let ahead = |uses: u32| self.uses[self.place(uses) as usize];
        let (near, far) = (ahead(Self::AHEAD), ahead(2 * Self::AHEAD));
        self.expect(Lpn(far));
        if self.is_used_again(near) {
            prefetch(&self.last_use, near as usize);
        }
        self.oldest = self.place(1);
        self.count -= 1;
    }

    /// Takes up an entry that is not held, in the place of the victim.
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

    /// Takes out an entry; false where it is not held. Its uses are left, all of them former ones.
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

    /// Notes that an entry has changed; false where it is not held.
    #[inline]
    pub(super) fn change(&mut self, lpn: Lpn) -> bool {
        let held = self.group(lpn.0).held & bit(lpn.0) != 0;
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
        let pages = u32::try_from(self.last_use.len()).expect("logical pages are numbered so");
        *self = Table::new(self.entries, pages);
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
                // Enough uses of few entries that there is no room to record them all.
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
