//! Blocks that are used as SLC: a fast cache for the host's writes.

use flashscope_block::Nanos;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Profile, ProfileError, require, share};
use crate::nand::Geometry;
use crate::setup::quantity;

/// Blocks that are used as SLC, in which writes of the host land first. Later the drive *folds*
/// them: it moves their data to other blocks, and erases them. Newer drives have such a cache; the
/// flash of the paper's drive is all SLC.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Slc {
    /// The share of the blocks (0 to 1) that are used as SLC; the host cannot address them. Such a
    /// block holds `cells.bits_per_cell` times fewer pages. Default: 0. Source: none.
    pub share: f64,
    /// The share (0 to 1) of a lane's free and SLC blocks that a dynamic cache may use as SLC. The
    /// blocks that `cleaning.free_threshold` keeps free do not count. The cache shrinks as the
    /// drive fills, and its blocks are folded before garbage collection takes others. Only for
    /// page-mapped FTLs, and only if `share` is 0. Default: 0. Source: none.
    pub dynamic: f64,
    /// The fate of a write for which the cache has no room. With `fold`, it waits until a block is
    /// folded; with `bypass`, it goes to other blocks. `by-cleaning` is `bypass` with
    /// `background_cleaning`, which folds blocks while the flash is idle, and `fold` without.
    /// Default: `by-cleaning`. Source: none.
    pub when_full: WhenFull,
    /// Time to read a page of an SLC block into the register. Default: 25 µs. Source: Table 1.
    #[serde(deserialize_with = "quantity::time")]
    pub page_read: Nanos,
    /// Time to program a page of an SLC block from the register. Default: 200 µs. Source: Table 1.
    #[serde(deserialize_with = "quantity::time")]
    pub page_program: Nanos,
}

/// The fate of a write for which the SLC cache has no room.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum WhenFull {
    /// [`WhenFull::Bypass`] with background garbage collection, [`WhenFull::Fold`] without it.
    ByCleaning,
    /// The write waits until a block is folded.
    Fold,
    /// The write goes to other blocks.
    Bypass,
}

/// Formats the fate as in a profile.
impl std::fmt::Display for WhenFull {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            WhenFull::ByCleaning => "by-cleaning",
            WhenFull::Fold => "fold",
            WhenFull::Bypass => "bypass",
        })
    }
}

impl Default for Slc {
    fn default() -> Self {
        Slc {
            share: 0.0,
            dynamic: 0.0,
            when_full: WhenFull::ByCleaning,
            page_read: Nanos::micros(25),
            page_program: Nanos::micros(200),
        }
    }
}

impl Slc {
    /// Returns true if blocks may be used as SLC.
    pub(super) fn is_on(&self) -> bool {
        self.share > 0.0 || self.dynamic > 0.0
    }
}

impl Profile {
    /// Returns the number of blocks of a lane that are always used as SLC, and the number of
    /// logical pages that fit in a block used as SLC.
    pub(super) fn slc(&self, geometry: &Geometry, blocks: u32) -> Result<(u32, u32), ProfileError> {
        let Slc { share: value, dynamic, when_full, .. } = self.slc;
        let rule = "it must be from 0 to 1";
        require((0.0..=1.0).contains(&dynamic), "slc.dynamic", dynamic, rule)?;
        if !self.slc.is_on() {
            return Ok((0, 0));
        }
        let slots = self.slc_slots(geometry)?;
        let empties = when_full != WhenFull::Bypass || dynamic > 0.0 || self.background_cleaning;
        let rule =
            "it needs background_cleaning or slc.dynamic: nothing else would ever empty the cache";
        require(empties, "slc.when_full", when_full, rule)?;
        if dynamic > 0.0 {
            let rule = "it must be 0 where slc.share is above 0";
            require(value == 0.0, "slc.dynamic", dynamic, rule)?;
            let rule =
                "it must be at least 2 where slc.dynamic is above 0: folding must gain space";
            require(slots < geometry.slots_per_block, "cells.bits_per_cell", 1, rule)?;
            return Ok((0, slots));
        }
        let slc = share("slc.share", value, blocks, f64::ceil)?;
        let rule = format!("it must leave some of the {blocks} blocks of a lane for other data");
        require(slc < blocks, "slc.share", value, rule)?;
        Ok((slc, slots))
    }

    /// Returns the number of logical pages that fit in a block used as SLC.
    fn slc_slots(&self, geometry: &Geometry) -> Result<u32, ProfileError> {
        let (bits, page) = (self.cells.bits_per_cell, geometry.slots_per_page);
        let pages = geometry.slots_per_block / page / bits;
        let rule = format!(
            "it must leave a page in a block of {} that is used as SLC",
            geometry.slots_per_block / page
        );
        require(pages > 0, "cells.bits_per_cell", bits, rule)?;
        Ok(pages * page)
    }
}
