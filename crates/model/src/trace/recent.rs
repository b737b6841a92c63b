//! An LRU queue: a log of uses in which only the last use of each item counts.

use std::collections::VecDeque;

use super::victims::small;

/// The number of an item that is not in the queue.
const ABSENT: u32 = u32::MAX;

/// The most recently used items, up to a maximum number.
pub(super) struct LruQueue {
    /// For each item, the number of its last use, or [`ABSENT`].
    last: Vec<u32>,
    /// Uses, oldest first. The oldest has the number `first`.
    uses: VecDeque<u32>,
    first: u32,
    count: u32,
    most: u32,
}

impl LruQueue {
    /// Creates an empty queue for `items` items, of which it holds at most `most`.
    pub(super) fn new(items: u32, most: u32) -> LruQueue {
        let (last, uses) = (vec![ABSENT; items as usize], VecDeque::new());
        LruQueue { last, uses, first: 0, count: 0, most }
    }

    /// Returns true if an item is in the queue.
    #[inline]
    pub(super) fn contains(&self, item: u32) -> bool {
        self.last[item as usize] != ABSENT
    }

    /// Records a use of an item if it is in the queue, and returns true if so.
    #[inline]
    pub(super) fn touch(&mut self, item: u32) -> bool {
        let is_present = self.contains(item);
        if is_present {
            self.record_use(item);
        }
        is_present
    }

    /// Appends a use of an item.
    #[inline]
    fn record_use(&mut self, item: u32) {
        // If all items fit, none is ever evicted, and the order of uses does not matter.
        if self.most as usize == self.last.len() {
            self.last[item as usize] = 0;
            return;
        }
        let too_many = self.uses.len() >= 2 * self.most as usize + 64;
        if too_many || self.next() >= ABSENT as usize {
            self.renumber();
        }
        self.last[item as usize] = small(self.next());
        self.uses.push_back(item);
    }

    /// Returns the number of the next use.
    #[inline]
    fn next(&self) -> usize {
        self.first as usize + self.uses.len()
    }

    /// Removes and returns the least recently used item if the queue is full.
    #[inline]
    pub(super) fn evict(&mut self) -> Option<u32> {
        if self.count < self.most {
            return None;
        }
        loop {
            let (item, use_of) = (self.uses.pop_front()?, self.first);
            self.first += 1;
            if self.last[item as usize] == use_of {
                self.last[item as usize] = ABSENT;
                self.count -= 1;
                return Some(item);
            }
        }
    }

    /// Adds an item that is not in the queue. The queue must not be full.
    #[inline]
    pub(super) fn insert(&mut self, item: u32) {
        self.count += 1;
        self.record_use(item);
    }

    /// Drops all but the last use of each item, and numbers the uses from 0.
    #[cold]
    fn renumber(&mut self) {
        let (uses, first) = (std::mem::take(&mut self.uses), self.first);
        let last = &mut self.last;
        let numbered = (first..).zip(uses);
        let is_last = numbered.filter(|(number, item)| last[*item as usize] == *number);
        self.uses = is_last.map(|(_, item)| item).collect();
        self.first = 0;
        (0..).zip(&self.uses).for_each(|(number, item)| last[*item as usize] = number);
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn agrees_with_a_plain_list(
            most in 1_u32..13,
            uses in prop::collection::vec(0_u32..12, 1..400),
        ) {
                let mut queue = LruQueue::new(12, most);
                let mut plain: Vec<u32> = Vec::new();
                for item in uses {
                    let position = plain.iter().position(|other| *other == item);
                    prop_assert_eq!(queue.touch(item), position.is_some());
                    if let Some(nth) = position {
                        plain.remove(nth);
                    } else {
                        let oldest = (plain.len() == most as usize).then(|| plain.remove(0));
                        prop_assert_eq!(queue.evict(), oldest);
                        queue.insert(item);
                    }
                    plain.push(item);
            }
        }
    }
}
