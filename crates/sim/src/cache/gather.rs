use std::ops::Range;

use super::buffer::{BufferCore, Replacement};
use super::{AnyBuffer, Kind};
use crate::footprint::Size;
use crate::ftl::Slice;
use crate::nand::Lpn;
use crate::setup::Layout;

pub(super) const KIND: Kind = Kind {
    name: "gather",
    summary: "collects one contiguous run of bytes from writes that extend it at its start or end; \
              evicts the whole run in ascending order when it fills the buffer or another write \
              arrives, such as one to bytes in the run",
    source: "none; fitted to the reverse writes of uFLIP's Kingston DTI, Bouganim et al., \
             CIDR'09, Table 3",
    new: |layout| AnyBuffer::GatherBuffer(BufferCore::new(layout)),
    footprint: GatherBuffer::footprint,
};

/// A write buffer that holds one contiguous run of bytes.
pub(super) type GatherBuffer = BufferCore<Gather>;

/// The run of bytes in the buffer.
pub struct Gather {
    /// The range in bytes of the drive, empty if the buffer is empty.
    run: Range<u64>,
    pages: u32,
    page_size: u64,
}

impl Gather {
    fn bytes(&self, slice: &Slice) -> Range<u64> {
        let start = u64::from(slice.lpn.0) * self.page_size + u64::from(slice.start);
        start..start + u64::from(slice.len)
    }
}

impl Replacement for Gather {
    const PADS: bool = false;

    fn footprint(_layout: &Layout) -> Size {
        Size(0)
    }

    fn new(layout: &Layout) -> Self {
        Gather { run: 0..0, pages: 0, page_size: u64::from(layout.logical_page_size()) }
    }

    fn rejects_page(&self, slice: &Slice) -> bool {
        let bytes = self.bytes(slice);
        self.pages > 0 && bytes.start != self.run.end && bytes.end != self.run.start
    }

    fn inserted(&mut self, _slot: u32, _lpn: Lpn) {
        self.pages += 1;
    }

    fn written(&mut self, _slot: u32, slice: &Slice) {
        let bytes = self.bytes(slice);
        self.run = match self.run.is_empty() {
            true => bytes,
            false => self.run.start.min(bytes.start)..self.run.end.max(bytes.end),
        };
    }

    fn removed(&mut self, _slot: u32, _lpn: Lpn) {
        self.pages -= 1;
        if self.pages == 0 {
            self.run = 0..0;
        }
    }

    fn victim(&self) -> Range<u32> {
        let page = |byte: u64| u32::try_from(byte).expect("the pages of a drive fit in a u32");
        page(self.run.start / self.page_size)..page(self.run.end.div_ceil(self.page_size))
    }
}
