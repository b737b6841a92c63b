use std::ops::Range;

use super::buffer::{BufferCore, Replacement};
use super::{AnyBuffer, Kind};
use crate::footprint::{Size, fixed};
use crate::ftl::Slice;
use crate::list::List;
use crate::nand::Lpn;
use crate::setup::Layout;

pub(super) const KIND: Kind = Kind {
    name: "bplru",
    summary: "evicts the least recently written logical block, but prefers a block that was \
              written in order from its first byte to its last; reads the pages of the block that \
              the buffer lacks and writes them too, so that the FTL gets whole blocks",
    source: "Kim and Ahn, BPLRU, FAST'08, section 3",
    new: |layout| AnyBuffer::BplruBuffer(BufferCore::new(layout)),
    footprint: BplruBuffer::footprint,
};

/// A write buffer that evicts entire logical blocks, the least recently written first.
pub(super) type BplruBuffer = BufferCore<Bplru>;

/// A logical block: as many consecutive logical pages as a flash block has.
#[derive(Clone, Copy, Default)]
struct Block {
    /// The number of its pages in the buffer.
    buffered: u32,
    /// The number of bytes written in order from its start; 0 if another write came in between.
    in_order: u64,
}

/// Logical blocks in the order of their last writes, after section 3 of the paper: block-level LRU,
/// page padding, and LRU compensation.
pub struct Bplru {
    order: List,
    blocks: Vec<Block>,
    pages_per_block: u32,
    logical_pages: u32,
    page_size: u64,
}

impl Bplru {
    fn pages(&self, block: u32) -> Range<u32> {
        let first = block * self.pages_per_block;
        first..first.saturating_add(self.pages_per_block).min(self.logical_pages)
    }

    /// Records a write. Returns true if every byte of the block has now been written in order.
    fn completes_in_order(&mut self, block: u32, slice: &Slice) -> bool {
        let pages = self.pages(block);
        let from = u64::from(slice.lpn.0 - pages.start) * self.page_size + u64::from(slice.start);
        let size = u64::from(pages.end - pages.start) * self.page_size;
        let state = &mut self.blocks[block as usize];
        let continues = from == 0 || from == state.in_order;
        state.in_order = if continues { from + u64::from(slice.len) } else { 0 };
        state.in_order == size
    }
}

impl Replacement for Bplru {
    const PADS: bool = true;

    fn footprint(layout: &Layout) -> Size {
        let blocks = layout.logical_pages().div_ceil(layout.slots_per_block());
        List::footprint(blocks) + fixed::<Block>(blocks)
    }

    fn new(layout: &Layout) -> Self {
        let (logical_pages, pages_per_block) = (layout.logical_pages(), layout.slots_per_block());
        let blocks = logical_pages.div_ceil(pages_per_block);
        Bplru {
            order: List::new(blocks),
            blocks: vec![Block::default(); blocks as usize],
            pages_per_block,
            logical_pages,
            page_size: u64::from(layout.logical_page_size()),
        }
    }

    fn inserted(&mut self, _slot: u32, lpn: Lpn) {
        self.blocks[(lpn.0 / self.pages_per_block) as usize].buffered += 1;
    }

    fn written(&mut self, _slot: u32, slice: &Slice) {
        let block = slice.lpn.0 / self.pages_per_block;
        if self.completes_in_order(block, slice) {
            self.order.make_oldest(block);
        } else {
            self.order.make_newest(block);
        }
    }

    fn removed(&mut self, _slot: u32, lpn: Lpn) {
        let block = lpn.0 / self.pages_per_block;
        let state = &mut self.blocks[block as usize];
        state.buffered -= 1;
        if state.buffered == 0 {
            state.in_order = 0;
            self.order.remove(block);
        }
    }

    fn victim(&self) -> Range<u32> {
        self.order.oldest().map_or(0..0, |block| self.pages(block))
    }
}
