use std::ops::Range;

use super::buffer::{BufferCore, Replacement};
use super::lru::Lru;
use super::{AnyBuffer, Kind};
use crate::footprint::{Size, fixed};
use crate::ftl::Slice;
use crate::nand::Lpn;
use crate::setup::Layout;

pub(super) const KIND: Kind = Kind {
    name: "fifo",
    summary: "a queue: evicts the page that was written first, with the buffered pages that would \
              share its flash page; a write to a buffered page first evicts the pages before it \
              and the page itself",
    source: "none; fitted to the in-place writes of uFLIP's Transcend Module, Bouganim et al., \
             CIDR'09, Table 3",
    new: |layout| AnyBuffer::FifoBuffer(BufferCore::new(layout)),
    footprint: FifoBuffer::footprint,
};

/// A write buffer that never merges writes: each write of a page is programmed.
pub(super) type FifoBuffer = BufferCore<Fifo>;

/// Pages in the order of their writes.
pub struct Fifo {
    order: Lru,
    /// For each logical page, true if it is in the buffer.
    held: Vec<bool>,
}

impl Replacement for Fifo {
    const PADS: bool = false;

    fn footprint(layout: &Layout) -> Size {
        Lru::footprint(layout) + fixed::<bool>(layout.logical_pages())
    }

    fn new(layout: &Layout) -> Self {
        Fifo { order: Lru::new(layout), held: vec![false; layout.logical_pages() as usize] }
    }

    fn rejects_page(&self, slice: &Slice) -> bool {
        self.held[slice.lpn.0 as usize]
    }

    fn inserted(&mut self, slot: u32, lpn: Lpn) {
        self.held[lpn.0 as usize] = true;
        self.order.inserted(slot, lpn);
    }

    fn written(&mut self, slot: u32, slice: &Slice) {
        self.order.written(slot, slice);
    }

    fn removed(&mut self, slot: u32, lpn: Lpn) {
        self.held[lpn.0 as usize] = false;
        self.order.removed(slot, lpn);
    }

    fn victim(&self) -> Range<u32> {
        self.order.victim()
    }
}
