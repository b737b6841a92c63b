use rand::{Rng, RngExt};

/// The slots of the target range that hold data. Drawing a random slot takes constant time.
pub(super) struct Live {
    /// The live slots, in no order.
    slots: Vec<u32>,
    /// The position of each slot in `slots`.
    position: Vec<u32>,
}

/// The position of a slot that is not live.
const DEAD: u32 = u32::MAX;

impl Live {
    /// Creates `count` slots, all of them live or none.
    pub(super) fn new(count: u32, live: bool) -> Live {
        let slots: Vec<u32> = if live { (0..count).collect() } else { Vec::new() };
        let position = if live { slots.clone() } else { vec![DEAD; count as usize] };
        Live { slots, position }
    }

    /// Marks slots as live after a write.
    #[allow(clippy::cast_possible_truncation)] // there are at most u32::MAX slots
    pub(super) fn insert(&mut self, first: u64, count: u64) {
        for slot in first..first + count {
            let position = &mut self.position[slot as usize];
            if *position == DEAD {
                *position = self.slots.len() as u32;
                self.slots.push(slot as u32);
            }
        }
    }

    /// Draws a live slot and removes it with the live slots right after it, at most `most` in all.
    /// Returns the first slot and the number of removed slots; `None` if no slot is live.
    pub(super) fn take(&mut self, most: u64, rng: &mut impl Rng) -> Option<(u64, u64)> {
        if self.slots.is_empty() {
            return None;
        }
        let first = self.slots[rng.random_range(0..self.slots.len())] as usize;
        let mut end = first;
        while end < self.position.len() && (end - first) as u64 != most && self.remove(end) {
            end += 1;
        }
        Some((first as u64, (end - first) as u64))
    }

    /// Removes a slot; returns true if it was live.
    fn remove(&mut self, slot: usize) -> bool {
        let position = std::mem::replace(&mut self.position[slot], DEAD);
        if position == DEAD {
            return false;
        }
        self.slots.swap_remove(position as usize);
        if let Some(moved) = self.slots.get(position as usize) {
            self.position[*moved as usize] = position;
        }
        true
    }
}
