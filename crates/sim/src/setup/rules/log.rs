//! The rules of a profile for an FTL with log blocks.

use flashscope_block::Bytes;

use super::{Lanes, require, share};
use crate::ftl::{self, Family, LogSharing, LogUse};
use crate::nand::Geometry;
use crate::setup::{Frontiers, Logs, Scope, Transfer};
use crate::setup::{MapMemory, Profile, ProfileError};

/// A seed of its own, so that the random numbers of evictions are independent of others.
const EVICTION_SEED: u64 = 0x6576_6963_7473;

impl Profile {
    /// Refuses fields that an FTL with log blocks does not support.
    pub(super) fn check_log_blocks(
        &self,
        uses: LogUse,
        geometry: &Geometry,
    ) -> Result<(), ProfileError> {
        let cleaning = &self.cleaning;
        let not_done = [
            ("background_cleaning", self.background_cleaning, "true", "false"),
            ("slc.share", self.slc.share > 0.0, "above 0", "0"),
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
        for (field, asked, value, only) in not_done {
            let rule = format!("with ftl = \"{}\" it must be {only}", self.ftl);
            require(!asked, field, value, rule)?;
        }
        let whole = geometry.slots_per_page == 1 && geometry.pages_per_slot == 1;
        let (field, size) = ("logical_page_size", geometry.logical_page_size);
        let page = geometry.element_page();
        let rule = format!("with ftl = \"{}\" it must be that of a page, {page}", self.ftl);
        require(whole, field, size, rule)?;
        self.check_groups(uses)
    }

    fn check_groups(&self, uses: LogUse) -> Result<(), ProfileError> {
        let log = &self.log;
        let rule = format!("with ftl = \"{}\" it must be at least {}", self.ftl, uses.least);
        require(log.blocks >= uses.least, "log.blocks", log.blocks, rule)?;
        let rule = format!("with ftl = \"{}\" it must be 0", self.ftl);
        let heeded = uses.any_order || log.unordered == 0;
        require(heeded, "log.unordered", log.unordered, rule)?;
        if uses.sharing == LogSharing::ByLocality {
            self.check_localities()?;
        }
        if uses.sharing != LogSharing::Group {
            return Ok(());
        }
        require(log.group > 0, "log.group", log.group, "it must be at least 1")?;
        let fits = (1..=log.blocks).contains(&log.per_group);
        let rule = format!("it must be from 1 to log.blocks, which is {}", log.blocks);
        require(fits, "log.per_group", log.per_group, rule)
    }

    /// Checks the numbers of log blocks for long writes, hot pages and other writes, each at least one.
    fn check_localities(&self) -> Result<(), ProfileError> {
        let log = &self.log;
        let (field, size) = ("log.sequential_request", log.sequential_request);
        require(size > Bytes(0), field, size.0, "it must be at least 1")?;
        let (field, interval) = ("log.hot_interval", log.hot_interval);
        require(interval > 0, field, interval, "it must be at least 1")?;
        let most = log.blocks - 2;
        let fits = (1..=most).contains(&log.sequential);
        let rule = format!("it must be from 1 to log.blocks - 2, which is {most}");
        require(fits, "log.sequential", log.sequential, rule)?;
        let most = log.blocks - log.sequential - 1;
        let fits = (1..=most).contains(&log.hot);
        let rule = format!("it must be from 1 to log.blocks - log.sequential - 1, which is {most}");
        require(fits, "log.hot", log.hot, rule)
    }

    /// Returns the number of logical pages of a pool that the host can address, without log blocks. The
    /// pool must have room for data blocks, log blocks, bad blocks and the block that a merge fills.
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
            uses.least, self.ftl
        );
        require(most >= uses.least, field, value, rule)?;
        let rule = format!("it must be at most {most}: {division}; or raise over_provisioning");
        require(self.log.blocks <= most, "log.blocks", self.log.blocks, rule)?;
        Ok(logical)
    }

    pub(super) fn logs(&self, ftl: ftl::Kind) -> Logs {
        let log = &self.log;
        let tells_long =
            matches!(ftl.family, Family::LogBlock(uses) if uses.sharing == LogSharing::ByLocality);
        Logs {
            per_pool: log.blocks,
            merge: log.merge,
            switch: log.switch,
            eviction: log.eviction,
            group: log.group,
            per_group: log.per_group,
            unordered: match log.unordered {
                0 => u32::MAX,
                pages => pages,
            },
            long: if tells_long { log.sequential_request.0 } else { u64::MAX },
            sequential: log.sequential,
            hot: log.hot,
            hot_interval: log.hot_interval,
            seed: self.seed ^ EVICTION_SEED,
        }
    }
}
