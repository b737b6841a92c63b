//! The section `[log]` of a profile: the fields of FTLs with log blocks, and their common rules.

use flashscope_block::Bytes;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Lanes, require, require_none, share};
use crate::nand::Geometry;
use crate::setup::{
    Eviction, Family, Frontiers, LogSharing, LogUse, Logs, MapMemory, Merge, Profile, ProfileError,
    Scope, Transfer, quantity,
};

/// The seed of evictions, which makes their random numbers independent of others.
const EVICTION_SEED: u64 = 0x6576_6963_7473;

/// The log blocks of FTLs that map data by entire blocks. Writes land in log blocks first, and
/// merges later combine these with their data blocks. No effect with other FTLs.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Log {
    /// The number of log blocks of each allocation pool, including the sequential log blocks of
    /// `fast` and `last`. At least 1, with `fast` 2, with `last` 3. They are taken from the blocks
    /// that the host cannot address; merges need one more. Default: 8. Source: none; Sun and Zhang
    /// find 3 and 4 in USB drives.
    pub blocks: u32,
    /// The time at which a full log block is merged: immediately (`eager`), or when its space is
    /// needed (`lazy`). With `fast` and `last`, this applies to sequential log blocks. With `n-k`
    /// and `superblock`, it applies to a group that has as many log blocks as it may have. Default:
    /// `eager`. Source: none, the papers leave it open.
    pub merge: Merge,
    /// True if a log block that holds its data block in order becomes the data block (switch and
    /// partial merges). If false, every merge is a full merge. No effect with `superblock`, which
    /// collects garbage instead. Default: true. Source: none; the drives of Sun and Zhang, section
    /// 3.3, copy
    /// even data that was written in order.
    pub switch: bool,
    /// The log block of a pool that is merged when another data block needs a log block. This is
    /// the log block in use for longest (`fifo`), the least recently written one (`lru`), or a
    /// random one (`random`). For `superblock`, the field chooses the group that gives up a block;
    /// for `last`, one of the sequential log blocks. No effect with `fast`, whose log blocks form a
    /// ring. Default: `fifo`. Source: none; Boboila and Desnoyers, MSST'11, and Sun and Zhang speak
    /// of a log list.
    pub eviction: Eviction,
    /// The number of consecutive logical blocks that share log blocks: the N of `n-k` and the size
    /// of a `superblock`; no effect with other FTLs. Default: 8. Source: none; Park et al., ACM
    /// TECS 7(4), 2008, and Kang et al., EMSOFT'06, vary it.
    pub group: u32,
    /// The largest number of log blocks of a group: the K of `n-k` and the U-blocks of a
    /// `superblock`; no effect with other FTLs. Default: 4. Source: as `group`.
    pub per_group: u32,
    /// The number of pages that a log block can take out of order, because memory for the mapping
    /// is limited; 0 for all pages. Pages are in order while they are those of one data block, from
    /// its first page on. Only for `bast` and `n-k`. Default: 0. Source: none; fitted to the times
    /// of drives in uFLIP's Table 3 for writes in reverse.
    pub unordered: u32,
    /// The minimum length in bytes of a long write, whose pages go to the sequential log blocks of
    /// `last`. Data that leaves a write buffer together counts as one write. At least 1; no effect
    /// with other FTLs. Default: 8 KiB. Source: none, chosen; Lee et al., SIGOPS OSR 42(6), 2008,
    /// also distinguish writes by size.
    #[serde(deserialize_with = "quantity::size")]
    pub sequential_request: Bytes,
    /// The number of sequential log blocks of `last` (1 to `blocks` - 2); no effect with other
    /// FTLs. Default: 2. Source: as `sequential_request`.
    pub sequential: u32,
    /// The largest number of log blocks of `last`, besides the sequential ones, that hold hot pages
    /// (1 to `blocks` - `sequential` - 1); no effect with other FTLs. Default: 3. Source: as
    /// `sequential_request`.
    pub hot: u32,
    /// The interval within which a page must be written again for `last` to treat it as hot, as a
    /// number of page writes, those of long writes excluded. At least 1; no effect with other FTLs.
    /// Default: 256. Source: as `sequential_request`.
    pub hot_interval: u32,
}

impl Default for Log {
    fn default() -> Self {
        Log {
            blocks: 8,
            merge: Merge::Eager,
            switch: true,
            eviction: Eviction::Fifo,
            group: 8,
            per_group: 4,
            unordered: 0,
            sequential_request: Bytes::kib(8),
            sequential: 2,
            hot: 3,
            hot_interval: 256,
        }
    }
}

impl Log {
    /// Returns the number of pages that a log block takes out of order.
    pub(crate) fn max_unordered(self) -> u32 {
        if self.unordered == 0 { u32::MAX } else { self.unordered }
    }
}

impl Profile {
    /// Refuses fields that an FTL with log blocks does not support.
    pub(super) fn check_log_blocks(
        &self,
        uses: LogUse,
        geometry: &Geometry,
    ) -> Result<(), ProfileError> {
        let cleaning = &self.cleaning;
        let excluded = [
            ("background_cleaning", self.background_cleaning, "true", "false"),
            ("slc.share", self.slc.share > 0.0, "above 0", "0"),
            ("slc.dynamic", self.slc.dynamic > 0.0, "above 0", "0"),
            ("wear.policy", self.wear.policy != "none", &self.wear.policy, "\"none\""),
            ("active_blocks", self.active_blocks != Scope::Pool, "part of a pool", "\"pool\""),
            (
                "cleaning.frontiers",
                cleaning.frontiers != Frontiers::One,
                "more than one",
                "\"one\"",
            ),
            (
                "cleaning.transfer",
                cleaning.transfer == Transfer::CopyBack,
                "copy-back",
                "\"inter-plane\"",
            ),
            (
                "persistence.map",
                self.persistence.map == MapMemory::Summary,
                "summary",
                "\"pages\" or \"nv-ram\"",
            ),
        ];
        require_none(&format!("with ftl = \"{}\"", self.ftl), &excluded)?;
        let whole = geometry.slots_per_page == 1 && geometry.pages_per_slot == 1;
        let (field, size) = ("logical_page_size", geometry.logical_page_size);
        let page = geometry.element_page();
        let rule = format!("with ftl = \"{}\" it must be {page}: page_span flash pages", self.ftl);
        require(whole, field, size, rule)?;
        self.check_log(uses)
    }

    fn check_log(&self, uses: LogUse) -> Result<(), ProfileError> {
        let log = &self.log;
        let rule = format!("with ftl = \"{}\" it must be at least {}", self.ftl, uses.min_blocks);
        require(log.blocks >= uses.min_blocks, "log.blocks", log.blocks, rule)?;
        let rule = format!("with ftl = \"{}\" it must be 0", self.ftl);
        let heeded = uses.any_order || log.unordered == 0;
        require(heeded, "log.unordered", log.unordered, rule)
    }

    /// Checks the fields of an FTL whose log blocks belong to groups of logical blocks.
    pub(crate) fn check_group(&self) -> Result<(), ProfileError> {
        let log = &self.log;
        require(log.group > 0, "log.group", log.group, "it must be at least 1")?;
        let fits = (1..=log.blocks).contains(&log.per_group);
        let rule = format!("it must be from 1 to log.blocks, which is {}", log.blocks);
        require(fits, "log.per_group", log.per_group, rule)
    }

    /// Returns the number of logical pages of a pool that the host can address. Refuses a pool
    /// without room for data blocks, log blocks, bad blocks and the block that a merge fills.
    pub(super) fn pages_beside_logs(
        &self,
        uses: LogUse,
        geometry: &Geometry,
        lanes: Lanes,
        stripe: u32,
    ) -> Result<u32, ProfileError> {
        let (field, value) = ("over_provisioning", self.over_provisioning);
        let places = lanes.blocks * geometry.slots_per_block;
        let spare = share(field, value, places, f64::floor)?;
        let logical = (places - spare) / stripe * stripe;
        let rule = format!("it must leave at least a stripe of {stripe} pages for the host");
        require(logical > 0, field, value, rule)?;
        let data = logical.div_ceil(geometry.slots_per_block);
        let taken = data + lanes.bad + 1;
        let most = lanes.blocks.saturating_sub(taken);
        let division = format!(
            "of the {} blocks of a pool, {data} hold data, {} are bad and a merge needs one",
            lanes.blocks, lanes.bad
        );
        let rule = format!(
            "it must be larger to leave {} log blocks with ftl = \"{}\": {division}",
            uses.min_blocks, self.ftl
        );
        require(most >= uses.min_blocks, field, value, rule)?;
        let rule = format!("it must be at most {most}: {division}; or raise over_provisioning");
        require(self.log.blocks <= most, "log.blocks", self.log.blocks, rule)?;
        Ok(logical)
    }

    pub(super) fn logs(&self, family: Family) -> Logs {
        let tells_long =
            matches!(family, Family::LogBlock(uses) if uses.sharing == LogSharing::ByLocality);
        Logs {
            options: self.log,
            long: if tells_long { self.log.sequential_request.0 } else { u64::MAX },
            seed: self.seed ^ EVICTION_SEED,
        }
    }
}
