//! The memory of a page-mapped FTL.

use std::collections::BTreeSet;

use flashscope_block::StreamId;

use super::lane::{Frontier, Lane};
use super::{HandleCounts, Policies};
use crate::footprint::{Size, fixed, grown, tree};
use crate::nand::{BlockId, Lpn, Note, Stamp};
use crate::setup::Layout;
use crate::wear::Wear;

/// Returns the memory that a [`super::PageMap`] needs, with its entire map, for a drive of this
/// layout.
pub(crate) fn footprint(layout: &Layout, policies: Policies) -> Size {
    let blocks = layout.geometry.blocks();
    let pages = u64::from(layout.logical_pages()) + u64::from(layout.internal_pages());
    let temperatures = match Wear::new(policies.wear, layout.wear_options).migrates() {
        true => fixed::<Stamp>(blocks),
        false => Size(0),
    };
    fixed::<u32>(pages)
        + lanes(layout)
        + fixed::<u32>(layout.turns())
        + handles(layout)
        + (policies.victim.footprint)(layout)
        + temperatures
        + records(layout)
}

/// Returns the size of the handles and their counts.
fn handles(layout: &Layout) -> Size {
    match layout.placement.is_on() {
        true => {
            let handles = layout.placement.handles;
            // The `u32` of a handle is the number of the last block opened before a zone gave back
            // the handle.
            fixed::<HandleCounts>(handles)
                + grown::<(StreamId, u8)>(handles)
                + fixed::<u32>(handles)
        }
        false => Size(0),
    }
}

/// Returns the size of the lanes with their lists of blocks.
fn lanes(layout: &Layout) -> Size {
    let (lanes, size) = (u64::from(layout.lanes()), layout.blocks_per_lane());
    // The list of all blocks, and for each block one entry in the list of free, full or failed
    // blocks.
    let slc = if layout.slc_dynamic > 0.0 { size } else { layout.slc_blocks_per_lane };
    let lists = grown::<BlockId>(size) * 2 + grown::<BlockId>(slc) * 2;
    let suited = size_of::<BTreeSet<BlockId>>() as u64 + tree::<BlockId>(size).0;
    let handles = fixed::<Option<Frontier>>(layout.placement.handles - 1);
    (fixed::<Lane>(1u32) + handles + lists + fixed::<u32>(1u32)) * lanes + Size(suited)
}

/// Returns the size of the records of trims and of the pages with unrecorded trims. A record exists
/// twice while its block is collected.
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
