//! BAST, the hybrid log-block FTL: each log block belongs to one data block.

use super::log_block::LogBlock;
use super::log_block::core::Core;
use super::log_block::tied_logs::{Placement, TiedLogs, Ties};
use super::{AnyFtl, Family, Kind, LogSharing, LogUse, NO_FIELDS};

/// The BAST FTL; see [`KIND`].
pub(super) type Bast = LogBlock<TiedLogs>;

pub(in crate::ftl) const KIND: Kind = Kind {
    name: "bast",
    summary: "data mapped by whole blocks; writes to a data block go to its log block, which is \
              merged with it when the log block is full or another data block needs a log block",
    source: "Kim et al., IEEE Trans. Consumer Electronics 48(2), 2002; Boboila and Desnoyers, \
             MSST'11, section II (Hybrid Log Block)",
    family: Family::LogBlock(LogUse { min_blocks: 1, sharing: LogSharing::One, any_order: true }),
    check: NO_FIELDS,
    new: |layout, _, nand| {
        let ties = Ties { group: 1, per_group: 1, placement: Placement::Any };
        AnyFtl::Bast(LogBlock::new(
            layout,
            nand,
            TiedLogs::new(layout, ties, layout.logs.options.blocks),
        ))
    },
    footprint: |layout, _| {
        Core::footprint(layout) + TiedLogs::footprint(layout, 1, layout.logs.options.blocks)
    },
};
