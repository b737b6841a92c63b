//! N/K adaptive mapping: N data blocks share up to K log blocks.

use super::LogBlock;
use super::core::Core;
use super::tied_logs::{Placement, TiedLogs, Ties};
use crate::ftl::{AnyFtl, Family, Kind, LogSharing, LogUse};

/// The N/K FTL; see [`KIND`].
pub type NK = LogBlock<TiedLogs>;

pub(in crate::ftl) const KIND: Kind = Kind {
    name: "n-k",
    summary: "data by whole blocks, log.group of which share up to log.per_group log blocks; with \
              1 and 1 it is bast",
    source: "Park et al., ACM TECS 7(4), 2008: N/K adaptive mapping",
    family: Family::LogBlock(LogUse { least: 1, sharing: LogSharing::Group, any_order: true }),
    new: |layout, nand| {
        let (group, per_group) = (layout.logs.group, layout.logs.per_group);
        let ties = Ties { group, per_group, placement: Placement::Any };
        AnyFtl::NK(LogBlock::new(layout, nand, TiedLogs::new(layout, ties, layout.logs.per_pool)))
    },
    footprint: |layout| {
        let logs = layout.logs;
        Core::footprint(layout) + TiedLogs::footprint(layout, logs.group, logs.per_pool)
    },
};
