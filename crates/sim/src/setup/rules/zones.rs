//! Zones: the drive as a zoned namespace of NVMe.

use flashscope_block::Bytes;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Lanes, Profile, ProfileError, require, require_none};
use crate::nand::Geometry;
use crate::setup::{Frontiers, Identifiers, Isolation, Layout, MapMemory, Placement, quantity};

/// Maximum number of active zones. Each active zone has its own handle: see [`Placement::handles`].
const MAX_ACTIVE: u32 = 127;

/// The zones of the drive. A zone is written from start to end, and reset as a whole. A zone
/// consists of entire blocks; the drive therefore never moves data. A trim of complete zones resets
/// them: their blocks are erased before the answer. Other trims, and writes that do not begin at
/// the write pointer of a zone, fail.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Zones {
    /// The number of blocks that a zone takes in each of its lanes; 0 for a drive without zones.
    /// The lanes are the parts of a pool that `active_blocks` names. Default: 0. Source: none.
    pub blocks: u32,
    /// The number of lanes of each pool that a zone spans. These lanes work in parallel on one
    /// zone. The number divides the lanes of a pool; 0 stands for all of them. Default: 0. Source:
    /// none.
    pub lanes: u32,
    /// The bytes from the start of a zone to the start of the next. The zone ends with a hole if
    /// its blocks hold fewer bytes, the *capacity* of the zone. A multiple of the logical page, at
    /// least the capacity; 0 for the capacity. Linux accepts only powers of two. Default: 0.
    /// Source: Zoned Namespace Command Set Specification 1.1, Figures 37 and 49.
    #[serde(deserialize_with = "quantity::size")]
    pub size: Bytes,
    /// The number of zones that may be open at a time (1 to 127, at most `active`). At the limit, a
    /// write to another zone closes the zone that has been open for longest among those that the
    /// host did not open explicitly. Default: 14. Source: chosen.
    pub open: u32,
    /// The number of zones that may be active at a time, which means open or closed (1 to 127).
    /// Default: 14. Source: chosen.
    pub active: u32,
}

impl Default for Zones {
    fn default() -> Self {
        Zones { blocks: 0, lanes: 0, size: Bytes(0), open: 14, active: 14 }
    }
}

impl Zones {
    /// Returns true if the drive has zones.
    pub const fn is_on(&self) -> bool {
        self.blocks > 0
    }

    /// Returns the placement of the drive: a handle for each active zone, and a reclaim group for
    /// each lane. Handle 0 stays unused, because data of its stream 0 may go to any lane.
    pub(super) const fn placement(&self, lanes: Lanes) -> Placement {
        Placement {
            handles: self.active + 1,
            isolation: Isolation::Persistent,
            identifiers: Identifiers::Handles,
            groups: lanes.per_pool,
        }
    }
}

/// The zones of a drive, derived from its profile.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ZoneLayout {
    /// The number of zones.
    pub count: u32,
    /// The logical pages of a zone in each pool.
    pub pages_per_pool: u32,
    /// The logical pages from the start of a zone to the start of the next, at least those of all
    /// pools.
    pub size: u64,
    /// The blocks of a zone in each of its lanes.
    pub blocks: u32,
    /// The lanes of each pool that a zone spans. These lanes are consecutive.
    pub lanes: u32,
    /// The blocks of a lane that must be free beside those of its zones.
    pub spare: u32,
    /// The number of zones that may be open at a time.
    pub open: u32,
    /// The number of zones that may be active at a time.
    pub active: u32,
}

impl Profile {
    /// Returns the number of logical pages in each pool of one zone on every lane of the pool. The
    /// number of logical pages of a drive is a multiple of it. Returns `None` for a drive without
    /// zones.
    pub(super) fn zone_row(
        &self,
        geometry: &Geometry,
        lanes: Lanes,
        stripe: u32,
    ) -> Result<Option<u32>, ProfileError> {
        if !self.zones.is_on() {
            return Ok(None);
        }
        self.check_zones(geometry, lanes)?;
        let Zones { blocks, .. } = self.zones;
        let in_lane = blocks.checked_mul(geometry.slots_per_block);
        let row = in_lane.and_then(|pages| pages.checked_mul(lanes.per_pool));
        let rule = format!("it must be below the {} blocks of a lane", lanes.blocks);
        let fits = blocks < lanes.blocks;
        require(fits && row.is_some(), "zones.blocks", blocks, rule)?;
        let (row, spanned) = (row.unwrap_or(u32::MAX), self.spanned(lanes));
        let zone = row / lanes.per_pool * spanned;
        let rule = format!(
            "it must give a zone a multiple of {stripe} logical pages (a stripe) in each pool; it gives {zone}"
        );
        require(zone.is_multiple_of(stripe), "zones.blocks", blocks, rule)?;
        Ok(Some(row))
    }

    /// Returns the number of lanes in each pool that a zone spans.
    const fn spanned(&self, lanes: Lanes) -> u32 {
        match self.zones.lanes {
            0 => lanes.per_pool,
            spanned => spanned,
        }
    }

    /// Returns the zones of a drive with `logical_pages_per_pool` logical pages of `page` bytes in
    /// each pool.
    pub(super) fn zone_layout(
        &self,
        row: Option<u32>,
        lanes: Lanes,
        spare: u32,
        (logical_pages_per_pool, page): (u32, u32),
    ) -> Result<Option<ZoneLayout>, ProfileError> {
        let Some(row) = row else { return Ok(None) };
        let spanned = self.spanned(lanes);
        let count = logical_pages_per_pool / row * (lanes.per_pool / spanned);
        let pages_per_pool = row / lanes.per_pool * spanned;
        let size = self.zone_size(count, u64::from(pages_per_pool * lanes.pools), page.into())?;
        let Zones { blocks, open, active, .. } = self.zones;
        let lanes = spanned;
        Ok(Some(ZoneLayout { count, pages_per_pool, size, blocks, lanes, spare, open, active }))
    }

    /// Returns the number of logical pages from the start of a zone to the start of the next. Each
    /// of the `count` zones holds `pages` of `page` bytes.
    fn zone_size(&self, count: u32, pages: u64, page: u64) -> Result<u64, ProfileError> {
        let (capacity, most) = (pages * page, (1 << 62) / u64::from(count));
        let size = match self.zones.size.0 {
            0 => capacity,
            size => size,
        };
        let rule = format!(
            "it must be 0, or a multiple of {page}, a logical page, from the {capacity} bytes of a zone's blocks to {most}"
        );
        let fits = (capacity..=most).contains(&size) && size.is_multiple_of(page);
        require(fits, "zones.size", size, rule)?;
        Ok(size / page)
    }

    fn check_zones(&self, geometry: &Geometry, lanes: Lanes) -> Result<(), ProfileError> {
        let Zones { lanes: spanned, open, active, .. } = self.zones;
        let rule = format!("it must be from 1 to {MAX_ACTIVE}");
        require((1..=MAX_ACTIVE).contains(&active), "zones.active", active, rule)?;
        let rule = format!("it must be from 1 to zones.active, which is {active}");
        require((1..=active).contains(&open), "zones.open", open, rule)?;
        let per_pool = lanes.per_pool;
        let rule = format!(
            "it must divide the {per_pool} lane(s) of a pool, which active_blocks sets, or be 0 for all"
        );
        let divides = spanned == 0 || per_pool.is_multiple_of(spanned);
        require(divides, "zones.lanes", spanned, rule)?;
        let rule = format!(
            "it must leave at most {} lanes in a pool, not {per_pool}, with {active} active zones",
            Layout::max_groups(active + 1)
        );
        let named = per_pool <= Layout::max_groups(active + 1);
        require(named, "active_blocks", self.active_blocks, rule)?;
        let whole = geometry.slots_per_page == 1;
        let rule = "it must be at least a page of the flash where zones.blocks is above 0";
        require(whole, "logical_page_size", self.logical_page_size.0, rule)?;
        let page = u64::from(geometry.logical_page_size);
        let rule = format!(
            "it must be {page}, a logical page, where zones.blocks is above 0: zones are written page by page"
        );
        let (field, block) = ("interface.logical_block", self.interface.logical_block.0);
        require(block == page, field, block, rule)?;
        self.check_parts_beside_zones()
    }

    /// Refuses settings that would move the data of zones, or write it in another order.
    fn check_parts_beside_zones(&self) -> Result<(), ProfileError> {
        let Placement { handles, groups, .. } = self.placement;
        let in_flash = self.persistence.map != MapMemory::NvRam;
        let many = self.cleaning.frontiers != Frontiers::One;
        let largest = self.interface.largest_request.0;
        require_none(
            "where zones.blocks is above 0",
            &[
                (
                    "ftl",
                    self.ftl != "page-map",
                    &self.ftl,
                    "\"page-map\", the only FTL that has zones",
                ),
                (
                    "persistence.map",
                    in_flash,
                    "not \"nv-ram\"",
                    "\"nv-ram\": the map of zones survives a power cut",
                ),
                ("cache.kind", self.cache.kind != "none", &self.cache.kind, "\"none\""),
                ("slc.share", self.slc.share > 0.0, "above 0", "0"),
                ("slc.dynamic", self.slc.dynamic > 0.0, "above 0", "0"),
                ("wear.policy", self.wear.policy != "none", &self.wear.policy, "\"none\""),
                ("placement.handles", handles > 1, "above 1", "1"),
                ("placement.groups", groups > 1, "above 1", "1"),
                ("cleaning.frontiers", many, "more than one", "\"one\""),
                (
                    "background_cleaning",
                    self.background_cleaning,
                    "true",
                    "false: zones leave no garbage to collect",
                ),
                ("raid.drives", self.raid.drives > 1, "above 1", "1"),
                ("interface.largest_request", largest > 0, "above 0", "0"),
            ],
        )
    }
}
