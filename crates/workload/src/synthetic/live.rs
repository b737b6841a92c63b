use rand::{Rng, RngExt};

/// The slots of the target range that hold data, of which any can be drawn.
pub(super) struct Live {
    /// The live slots, in no order.
    slots: Vec<u32>,
    /// Where each slot stands among them.
    position: Vec<u32>,
}

/// The position of a slot that is not live.
const DEAD: u32 = u32::MAX;

impl Live {
    /// `count` slots, all or none of them live.
    pub(super) fn new(count: u32, live: bool) -> Live {
        let slots: Vec<u32> = if live { (0..count).collect() } else { Vec::new() };
        let position = if live { slots.clone() } else { vec![DEAD; count as usize] };
        Live { slots, position }
    }

    /// Notes that a slot was written.
    #[allow(clippy::cast_possible_truncation)] // there are at most u32::MAX slots
    pub(super) fn insert(&mut self, slot: u64) {
        let position = &mut self.position[slot as usize];
        if *position == DEAD {
            *position = self.slots.len() as u32;
            self.slots.push(slot as u32);
        }
    }

    /// Draws a live slot, which is live no longer; `None` when there is none.
    pub(super) fn take(&mut self, rng: &mut impl Rng) -> Option<u64> {
        if self.slots.is_empty() {
            return None;
        }
        let drawn = rng.random_range(0..self.slots.len());
        let slot = self.slots.swap_remove(drawn);
        if let Some(moved) = self.slots.get(drawn) {
            self.position[*moved as usize] = self.position[slot as usize];
        }
        self.position[slot as usize] = DEAD;
        Some(u64::from(slot))
    }
}
