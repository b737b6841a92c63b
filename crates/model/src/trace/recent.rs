//! What was used most recently (LRU), as a queue of uses of which the last of each thing counts.

use std::collections::VecDeque;

use super::victims::small;

/// Not among them.
const GONE: u32 = u32::MAX;

/// The things that were used most recently.
pub(super) struct Recent {
    /// For each thing the number of its last use, or [`GONE`].
    last: Vec<u32>,
    /// Uses, oldest first, of which the first has this number.
    uses: VecDeque<u32>,
    first: u32,
    count: u32,
    most: u32,
}

impl Recent {
    /// The last `most` of so many things, none of which was used.
    pub(super) fn new(things: u32, most: u32) -> Recent {
        let (last, uses) = (vec![GONE; things as usize], VecDeque::new());
        Recent { last, uses, first: 0, count: 0, most }
    }

    /// Whether one is among them.
    #[inline]
    pub(super) fn holds(&self, thing: u32) -> bool {
        self.last[thing as usize] != GONE
    }

    /// Uses one, if it is among them.
    #[inline]
    pub(super) fn touch(&mut self, thing: u32) -> bool {
        let held = self.holds(thing);
        if held {
            self.note(thing);
        }
        held
    }

    #[inline]
    fn note(&mut self, thing: u32) {
        // Where all have room, none is ever given up.
        if self.most as usize == self.last.len() {
            self.last[thing as usize] = 0;
            return;
        }
        let too_many = self.uses.len() >= 2 * self.most as usize + 64;
        if too_many || self.next() >= GONE as usize {
            self.number_anew();
        }
        self.last[thing as usize] = small(self.next());
        self.uses.push_back(thing);
    }

    /// The number of the next use.
    #[inline]
    fn next(&self) -> usize {
        self.first as usize + self.uses.len()
    }

    /// Takes out the one that was used last longest ago, where another has no room.
    #[inline]
    pub(super) fn give_up(&mut self) -> Option<u32> {
        if self.count < self.most {
            return None;
        }
        loop {
            let (thing, use_of) = (self.uses.pop_front()?, self.first);
            self.first += 1;
            if self.last[thing as usize] == use_of {
                self.last[thing as usize] = GONE;
                self.count -= 1;
                return Some(thing);
            }
        }
    }

    /// Uses one that is not among them, for which there is room.
    #[inline]
    pub(super) fn insert(&mut self, thing: u32) {
        self.count += 1;
        self.note(thing);
    }

    /// Keeps of the uses of each thing the last alone.
    #[cold]
    fn number_anew(&mut self) {
        let (uses, first) = (std::mem::take(&mut self.uses), self.first);
        let last = &mut self.last;
        let numbered = (first..).zip(uses);
        let is_last = numbered.filter(|(number, thing)| last[*thing as usize] == *number);
        self.uses = is_last.map(|(_, thing)| thing).collect();
        self.first = 0;
        (0..).zip(&self.uses).for_each(|(number, thing)| last[*thing as usize] = number);
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        // Does it hold and give up what a plain list does?
        #[test]
        fn agrees_with_a_plain_list(
            most in 1_u32..13,
            uses in prop::collection::vec(0_u32..12, 1..400),
        ) {
            let mut recent = Recent::new(12, most);
            let mut plain: Vec<u32> = Vec::new();
            for thing in uses {
                let found = plain.iter().position(|other| *other == thing);
                prop_assert_eq!(recent.touch(thing), found.is_some());
                if let Some(nth) = found {
                    plain.remove(nth);
                } else {
                    let oldest = (plain.len() == most as usize).then(|| plain.remove(0));
                    prop_assert_eq!(recent.give_up(), oldest);
                    recent.insert(thing);
                }
                plain.push(thing);
            }
        }
    }
}
