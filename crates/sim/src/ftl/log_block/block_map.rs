//! The block-mapped FTL: a page has the same index in every block that holds it.

use super::LogBlock;
use super::core::Core;
use super::tied_logs::{Placement, TiedLogs, Ties};
use crate::ftl::{AnyFtl, Family, Kind, LogSharing, LogUse};

/// The block-mapped FTL; see [`KIND`].
pub type BlockMap = LogBlock<TiedLogs>;

pub(in crate::ftl) const KIND: Kind = Kind {
    name: "block-map",
    summary: "data by whole blocks; writes go to a replacement block, a log block in which each \
              page has the place that it has in the data block, and which is merged before a \
              write goes back in it",
    source: "Ban, US patent 5,404,485 (1995), the replacement blocks of NFTL; pages in ascending \
             order, as flash with large blocks asks for",
    family: Family::LogBlock(LogUse { least: 1, sharing: LogSharing::One, any_order: false }),
    new: |layout, nand| {
        let ties = Ties { group: 1, per_group: 1, placement: Placement::InPlace };
        AnyFtl::BlockMap(LogBlock::new(
            layout,
            nand,
            TiedLogs::new(layout, ties, layout.logs.per_pool),
        ))
    },
    footprint: |layout| {
        Core::footprint(layout) + TiedLogs::footprint(layout, 1, layout.logs.per_pool)
    },
};
