//! Placement: the stream of a write identifies data that belongs together, and the drive writes
//! that data to separate blocks (NVMe's Flexible Data Placement, and streams before it).

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Lanes, Profile, ProfileError, require};
use crate::setup::Frontiers;
use crate::wear;

/// Maximum number of handles. Drives of the 2020s have about 8.
const MAX_HANDLES: u32 = 128;

/// Placement of data by the host. A *reclaim unit* is the unit that the drive erases: here a block.
/// A *reclaim unit handle* stands for a reclaim unit that is being filled, in each lane of each
/// reclaim group. A *placement identifier* names a handle and a group; it is the stream of a write.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Placement {
    /// The number of reclaim unit handles (1 to 128); 1 for no placement unless `groups` is
    /// above 1. Data of each handle fills separate blocks. Only for page-mapped FTLs, and only if
    /// `cleaning.frontiers` is `one`. Default: 1. Source: none; QEMU's emulation of Flexible Data
    /// Placement has such a parameter (`fdp.nruh`).
    pub handles: u32,
    /// The fate of data that garbage collection moves. With `initial` isolation, moved data of all
    /// handles shares blocks. With `persistent` isolation, it stays with data of its handle.
    /// Default: `initial`. Source: the types of handles in libnvme (`nvme_fdp_ruh_type`).
    pub isolation: Isolation,
    /// The meaning of a write's stream: with `handles`, stream n stands for handle n, and a stream
    /// without such a handle stands for handle 0. With `streams`, as before Flexible Data
    /// Placement, any number is a stream; a stream that has no handle takes the handle that has
    /// been unused for longest. Stream 0 has handle 0 in both. Default: `handles`. Source: QEMU,
    /// `hw/nvme/ctrl.c`, for `handles`; `streams` is chosen.
    pub identifiers: Identifiers,
    /// The number of reclaim groups: parts of each allocation pool between which no data moves. It
    /// divides the lanes of a pool: see `active_blocks`. The highest bits of a stream name the
    /// group, as many as the number of groups needs; the other bits are the handle or stream.
    /// Stream 0 may go to any group, and so may data for a group that is full. Default: 1. Source:
    /// QEMU, `fdp.nrg` and `nvme_pid2rg`.
    pub groups: u32,
}

/// The isolation of a handle's data.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Isolation {
    /// Data of a handle shares no block with other data until garbage collection moves it.
    Initial,
    /// Data of a handle never shares a block with other data.
    Persistent,
}

/// The meaning of a stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Identifiers {
    /// The number of a handle.
    Handles,
    /// Any number, to which the drive assigns a handle.
    Streams,
}

impl Default for Placement {
    fn default() -> Self {
        Placement {
            handles: 1,
            isolation: Isolation::Initial,
            identifiers: Identifiers::Handles,
            groups: 1,
        }
    }
}

impl Placement {
    /// Returns true if the stream of a write determines the blocks for its data.
    #[inline]
    pub const fn is_on(&self) -> bool {
        self.handles > 1 || self.groups > 1
    }

    /// Returns the number of bits of a stream that name the group.
    pub(crate) const fn group_bits(&self) -> u32 {
        self.groups.next_power_of_two().trailing_zeros()
    }

    /// Returns the number of open blocks of a lane besides the first.
    pub(super) const fn more_open_blocks(&self) -> u32 {
        let moved = match self.isolation {
            Isolation::Initial => 1,
            Isolation::Persistent => 0,
        };
        if self.is_on() { self.handles - 1 + moved } else { 0 }
    }
}

impl Profile {
    pub(super) fn check_placement(
        &self,
        page_mapped: bool,
        lanes: Lanes,
    ) -> Result<(), ProfileError> {
        let Placement { handles, groups, isolation, .. } = self.placement;
        let rule = format!("it must be from 1 to {MAX_HANDLES}");
        require((1..=MAX_HANDLES).contains(&handles), "placement.handles", handles, rule)?;
        let per_pool = lanes.per_pool;
        let rule = format!(
            "it must be at least 1 and divide the {per_pool} lane(s) of a pool, which active_blocks sets"
        );
        let divides = groups > 0 && per_pool.is_multiple_of(groups);
        require(divides, "placement.groups", groups, rule)?;
        if !self.placement.is_on() {
            return Ok(());
        }
        let (field, number) = match handles {
            1 => ("placement.groups", groups),
            _ => ("placement.handles", handles),
        };
        let rule = format!("it must be 1 with ftl = \"{}\", which is not page-mapped", self.ftl);
        require(page_mapped, field, number, rule)?;
        let one = self.cleaning.frontiers == Frontiers::One;
        let rule =
            "it must be 1 unless cleaning.frontiers is \"one\": the handles separate the data";
        require(one, field, number, rule)?;
        let rule =
            "it must be 1 where slc.share or slc.dynamic is above 0: the SLC cache mixes the data";
        require(!self.slc.is_on(), field, number, rule)?;
        let migrates =
            wear::KINDS.iter().any(|kind| kind.name == self.wear.policy && kind.migrates);
        let mixes = migrates && isolation == Isolation::Persistent;
        let rule = "it must be \"none\" or \"rate-limit\" where placement.isolation is \"persistent\": \
                    migration mixes the data";
        require(!mixes, "wear.policy", &self.wear.policy, rule)
    }
}
