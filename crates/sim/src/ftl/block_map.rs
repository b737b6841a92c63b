//! The block-mapped FTL: a page has the same index in every block that holds it.

use super::log_block::LogBlock;
use super::log_block::core::Core;
use super::log_block::tied_logs::{Placement, TiedLogs, Ties};
use super::{AnyFtl, Family, Kind, LogSharing, LogUse, NO_FIELDS};

/// The block-mapped FTL; see [`KIND`].
pub(super) type BlockMap = LogBlock<TiedLogs>;

pub(in crate::ftl) const KIND: Kind = Kind {
    name: "block-map",
    summary: "data mapped by whole blocks; writes go to a replacement block, a log block that \
              holds each page at the index that the page has in the data block; a write to an \
              index at or before the last one merges the replacement block first",
    source: "Ban, US patent 5,404,485 (1995), the replacement blocks of NFTL; pages \
             programmed in ascending order, as large-block flash requires",
    family: Family::LogBlock(LogUse { min_blocks: 1, sharing: LogSharing::One, any_order: false }),
    check: NO_FIELDS,
    new: |layout, _, nand| {
        let ties = Ties { group: 1, per_group: 1, placement: Placement::InPlace };
        AnyFtl::BlockMap(LogBlock::new(
            layout,
            nand,
            TiedLogs::new(layout, ties, layout.logs.options.blocks),
        ))
    },
    footprint: |layout, _| {
        Core::footprint(layout) + TiedLogs::footprint(layout, 1, layout.logs.options.blocks)
    },
};
