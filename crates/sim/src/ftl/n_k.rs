//! N/K adaptive mapping: N data blocks share up to K log blocks.

use super::log_block::LogBlock;
use super::log_block::core::Core;
use super::log_block::tied_logs::{Placement, TiedLogs, Ties};
use super::{AnyFtl, Family, Kind, LogSharing, LogUse};
use crate::setup::{Log, Profile};

/// The N/K FTL; see [`KIND`].
pub(super) type NK = LogBlock<TiedLogs>;

pub(in crate::ftl) const KIND: Kind = Kind {
    name: "n-k",
    summary: "data mapped by whole blocks; log.group consecutive logical blocks share up to \
              log.per_group log blocks; the same as bast if both numbers are 1",
    source: "Park et al., ACM TECS 7(4), 2008: N/K adaptive mapping",
    family: Family::LogBlock(LogUse { min_blocks: 1, sharing: LogSharing::Group, any_order: true }),
    check: Profile::check_group,
    new: |layout, _, nand| {
        let Log { blocks, group, per_group, .. } = layout.logs.options;
        let ties = Ties { group, per_group, placement: Placement::Any };
        AnyFtl::NK(LogBlock::new(layout, nand, TiedLogs::new(layout, ties, blocks)))
    },
    footprint: |layout, _| {
        let log = layout.logs.options;
        Core::footprint(layout) + TiedLogs::footprint(layout, log.group, log.blocks)
    },
};
