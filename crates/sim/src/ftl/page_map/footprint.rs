//! What a page-mapped FTL takes.

use std::collections::BTreeSet;

use super::lane::Lane;
use crate::footprint::{Size, fixed, grown, tree};
use crate::ftl::Layout;
use crate::nand::{BlockId, Lpn, Note, Stamp};
use crate::wear::Wear;

/// That of one whose map is in memory as a whole, for a drive of this layout: see
/// [`super::PageMap`].
pub fn footprint(layout: &Layout) -> Size {
    let blocks = layout.geometry.blocks();
    let pages = u64::from(layout.logical_pages()) + u64::from(layout.internal_pages());
    let temperatures = match Wear::new(layout.wear, layout.wear_options).migrates() {
        true => fixed::<Stamp>(blocks),
        false => Size(0),
    };
    fixed::<u32>(pages)
        + lanes(layout)
        + fixed::<u32>(layout.pools)
        + (layout.policy.footprint)(layout)
        + temperatures
        + records(layout)
}

/// The lanes, with their lists of blocks.
fn lanes(layout: &Layout) -> Size {
    let (lanes, size) = (u64::from(layout.lanes()), layout.blocks_per_lane());
    // All blocks, and each in one of the lists of those that are free, full or failed.
    let lists = grown::<BlockId>(size) * 2 + grown::<BlockId>(layout.slc_blocks_per_lane) * 2;
    let suited = size_of::<BTreeSet<BlockId>>() as u64 + tree::<BlockId>(size).0;
    (fixed::<Lane>(1u32) + lists + fixed::<u32>(1u32)) * lanes + Size(suited)
}

/// Records of trims, and the pages whose trims are not recorded yet. A record is there twice while
/// its block is cleaned.
fn records(layout: &Layout) -> Size {
    let records = u64::from(layout.records());
    if records == 0 {
        return Size(0);
    }
    let bits = u64::from(layout.pages_per_record.min(layout.logical_pages())).div_ceil(64);
    let note = fixed::<u64>(bits.saturating_add(2));
    let unrecorded = u64::from(layout.slots_per_block()) + 1;
    fixed::<bool>(records)
        + note * records.saturating_add(2)
        + tree::<(u32, Note)>(2 * records + 1)
        + tree::<Lpn>(unrecorded)
        + grown::<Lpn>(unrecorded)
}
