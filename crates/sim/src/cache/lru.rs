use std::ops::Range;

use super::buffer::{BufferCore, Replacement};
use super::{AnyBuffer, Kind};
use crate::footprint::{Size, fixed};
use crate::ftl::Slice;
use crate::list::List;
use crate::nand::Lpn;
use crate::setup::Layout;

pub(super) const KIND: Kind = Kind {
    name: "lru",
    summary: "evicts the least recently written page, with the buffered pages that would share its \
              flash page",
    source: "Kim and Ahn, FAST'08, section 2, the page-level LRU that BPLRU is compared with",
    new: |layout| AnyBuffer::LruBuffer(BufferCore::new(layout)),
    footprint: LruBuffer::footprint,
};

/// A write buffer with pages in the order of their last writes.
pub(super) type LruBuffer = BufferCore<Lru>;

/// Pages in the order of their last writes.
pub struct Lru {
    slots: List,
    lpns: Vec<Lpn>,
    /// Logical pages that share a page of the flash.
    together: u32,
}

impl Replacement for Lru {
    const PADS: bool = false;

    fn footprint(layout: &Layout) -> Size {
        List::footprint(layout.cache.pages) + fixed::<Lpn>(layout.cache.pages)
    }

    fn new(layout: &Layout) -> Self {
        let slots = layout.cache.pages;
        Lru {
            slots: List::new(slots),
            lpns: vec![Lpn(0); slots as usize],
            together: layout.slots_per_page(),
        }
    }

    fn inserted(&mut self, slot: u32, lpn: Lpn) {
        self.lpns[slot as usize] = lpn;
    }

    fn written(&mut self, slot: u32, _slice: &Slice) {
        self.slots.make_newest(slot);
    }

    fn removed(&mut self, slot: u32, _lpn: Lpn) {
        self.slots.remove(slot);
    }

    fn victim(&self) -> Range<u32> {
        let Some(slot) = self.slots.oldest() else { return 0..0 };
        let lpn = self.lpns[slot as usize].0;
        let first = lpn - lpn % self.together;
        first..first + self.together
    }
}
