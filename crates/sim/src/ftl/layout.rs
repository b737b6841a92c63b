use std::ops::Range;

use flashscope_block::Nanos;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Kind;
use crate::nand::{BlockId, Geometry, Lpn, Parts, Reliability, Timing, Wiring};
use crate::{cache, gc, wear};

/// A part of the flash (Agrawal et al., section 3.1).
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
pub enum Scope {
    /// An allocation pool, whatever it is.
    Pool,
    /// A package, or the packages that a logical page spans.
    Package,
    /// A die.
    Die,
    /// A plane.
    Plane,
}

/// As in a profile.
impl std::fmt::Display for Scope {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Scope::Pool => "pool",
            Scope::Package => "package",
            Scope::Die => "die",
            Scope::Plane => "plane",
        })
    }
}

/// Which data share an active block.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Frontiers {
    /// What the host writes and what cleaning moves.
    One,
    /// What the host writes has one, what cleaning moves another.
    HostAndCleaning,
    /// Hot data has one, cold data another, in cleaning too; the host says which is which.
    HotAndCold,
}

/// How cleaning moves pages.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Transfer {
    /// Through the controller, over the serial bus and back.
    InterPlane,
    /// Within the plane, without the bus.
    CopyBack,
}

/// When a log block that is full is merged.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Merge {
    /// With the write that fills it.
    Eager,
    /// With the write that needs its room.
    Lazy,
}

/// Which log block is given up for another.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Eviction {
    /// The one that has been in use for longest.
    Fifo,
    /// The one whose last write is longest ago.
    Lru,
    /// Any, all equally likely.
    Random,
}

/// The log blocks of a drive.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Logs {
    /// How many each pool has at most.
    pub per_pool: u32,
    /// When one that is full is merged.
    pub merge: Merge,
    /// Whether one that is in order becomes the data block, whole or once it is completed.
    pub switch: bool,
    /// Which is given up for another.
    pub eviction: Eviction,
    /// Logical blocks that share log blocks.
    pub group: u32,
    /// How many log blocks a group may have.
    pub per_group: u32,
    /// How many pages one takes that are not in order.
    pub unordered: u32,
    /// Bytes from which on a write is long; `u64::MAX` where that is of no consequence.
    pub long: u64,
    /// How many of those of a pool are for long writes.
    pub sequential: u32,
    /// How many of the others are for pages that are written again soon.
    pub hot: u32,
    /// Within how many writes that is.
    pub hot_interval: u32,
    /// Where the random numbers for it begin.
    pub seed: u64,
}

/// The memory for entries of a map that is on the flash.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MapCache {
    /// How many it holds, at least 1.
    pub entries: u32,
    /// How many are on a page of the flash; 0 where none are.
    pub entries_per_page: u32,
    /// Whether one that is written back takes the others of its page with it.
    pub batch: bool,
    /// How many more the memory holds that the host lends; 0 if it lends none.
    pub host_entries: u32,
    /// How long what is fetched from there is under way.
    pub host_access: Nanos,
}

/// What a profile comes to: everything that the parts of a drive need to know, checked.
#[derive(Debug, Clone)]
pub struct Layout {
    /// How the flash is divided.
    pub geometry: Geometry,
    /// How long its commands take.
    pub timing: Timing,
    /// How its packages are connected.
    pub wiring: Wiring,
    /// Which commands fail, and how long blocks live.
    pub reliability: Reliability,
    /// Whether commands take time.
    pub timed: bool,
    /// Allocation pools. Logical pages belong to them in turn, `stripe` at a time (the static
    /// part of the map).
    pub pools: u32,
    /// Parts of each pool that have active blocks and are cleaned each for itself.
    pub lanes_per_pool: u32,
    /// Consecutive logical pages that belong to one pool.
    pub stripe: u32,
    /// Logical pages of each pool that the host can address.
    pub logical_pages_per_pool: u32,
    /// Whether the map is in memory that survives a power cut; otherwise it is rebuilt from the
    /// metadata of pages.
    pub map_survives: bool,
    /// Logical pages whose trims one internal page records; 0 if the map survives without, or there
    /// are no trims.
    pub pages_per_record: u32,
    /// Blocks are cleaned in the foreground while a lane has fewer free ones than this.
    pub clean_below: u32,
    /// Blocks are cleaned in the background while a lane has fewer free ones than this; 0 if
    /// they are not.
    pub background_below: u32,
    /// Which data share an active block.
    pub frontiers: Frontiers,
    /// How cleaning moves pages.
    pub transfer: Transfer,
    /// Blocks of each lane that are used as SLC, in front of the others.
    pub slc_blocks_per_lane: u32,
    /// Logical pages that fit in a block used as SLC.
    pub slc_slots_per_block: u32,
    /// The log blocks, where the FTL has any.
    pub logs: Logs,
    /// How victims are chosen.
    pub policy: gc::Kind,
    /// What the policy is told.
    pub cleaning: gc::Options,
    /// Where the random numbers of the drive begin.
    pub seed: u64,
    /// How wear is levelled.
    pub wear: wear::Kind,
    /// Its parameters.
    pub wear_options: wear::Options,
    /// How logical pages are found.
    pub ftl: Kind,
    /// Where the map is.
    pub map_cache: MapCache,
    /// The buffer memory.
    pub cache: cache::Setup,
}

impl Layout {
    /// What the array is made of.
    pub fn parts(&self) -> Parts {
        Parts {
            geometry: self.geometry,
            timing: self.timing,
            wiring: self.wiring,
            reliability: self.reliability.clone(),
            timed: self.timed,
            stamped: !self.map_survives,
            settling: self.timed,
        }
    }

    /// Lanes of the drive: parts of the pools that have active blocks and are cleaned each for
    /// itself.
    pub const fn lanes(&self) -> u32 {
        self.pools * self.lanes_per_pool
    }

    /// Blocks in each lane.
    pub const fn blocks_per_lane(&self) -> u32 {
        self.geometry.blocks() / self.lanes()
    }

    /// The first block of a lane. Consecutive pools are on different elements; so are, where they
    /// can be, consecutive lanes of a pool, else on different dies, or, for the sake of two-plane
    /// commands, on the two planes of a pair.
    pub fn first_block(&self, lane: u32) -> BlockId {
        let elements = self.geometry.elements();
        let (pool, nth) = (lane / self.lanes_per_pool, lane % self.lanes_per_pool);
        let pool_size = self.geometry.blocks() / self.pools;
        let start = if self.pools > elements {
            let (element, part) = (pool % elements, pool / elements);
            element * self.geometry.blocks_per_element() + part * pool_size
        } else {
            pool * pool_size
        };
        let size = self.blocks_per_lane();
        // The lanes of the pool, by the element, die and plane where they begin.
        let within = |scope: u32| (pool_size / scope).max(1);
        let elements = within(self.geometry.blocks_per_element()).min(self.lanes_per_pool);
        let dies = (within(self.geometry.blocks_per_die()) / elements)
            .clamp(1, self.lanes_per_pool / elements);
        let planes = self.lanes_per_pool / elements / dies;
        let pair = if self.wiring.two_plane && planes.is_multiple_of(2) { 2 } else { 1 };
        let (low, nth) = (nth % pair, nth / pair);
        let (element, nth) = (nth % elements, nth / elements);
        let (die, plane) = (nth % dies, nth / dies * pair + low);
        BlockId(start + ((element * dies + die) * planes + plane) * size)
    }

    /// The blocks of a lane, in the order in which they are used first: in turn from every die, then
    /// every plane, so that successive ones can work side by side.
    pub fn blocks_of_lane(&self, lane: u32) -> Vec<BlockId> {
        let (first, size) = (self.first_block(lane).0, self.blocks_per_lane());
        let plane = self.geometry.blocks_per_plane.min(size);
        let planes = size / plane;
        let per_die = self.geometry.planes_per_die.min(planes);
        let in_turn = (0..plane).flat_map(|block| {
            (0..planes).map(move |part| {
                // The planes of the lane, with those of one die apart from each other.
                let dies = planes / per_die;
                let place = part % dies * per_die + part / dies;
                BlockId(first + place * plane + block)
            })
        });
        in_turn.collect()
    }

    /// Logical pages that fit in a block.
    pub const fn slots_per_block(&self) -> u32 {
        self.geometry.slots_per_block
    }

    /// Logical pages that share a page of the flash; 1 where none do.
    pub const fn slots_per_page(&self) -> u32 {
        self.geometry.slots_per_page
    }

    /// Valid logical pages that a block may hold for its cleaning to gain a page.
    pub const fn most_valid(&self) -> u32 {
        self.geometry.slots_per_block - self.geometry.slots_per_page
    }

    /// Bytes of a logical page.
    pub fn logical_page_size(&self) -> u32 {
        self.geometry.logical_page_size
    }

    /// Pages that the host can address.
    pub const fn logical_pages(&self) -> u32 {
        self.pools * self.logical_pages_per_pool
    }

    /// Pages of the FTL's own, numbered after those of the host.
    pub const fn internal_pages(&self) -> u32 {
        self.records() + self.translation_pages()
    }

    /// Internal pages that record trims: the first of them.
    pub const fn records(&self) -> u32 {
        match self.pages_per_record {
            0 => 0,
            pages => self.logical_pages().div_ceil(pages),
        }
    }

    /// Internal pages that hold the map: those after the records.
    pub const fn translation_pages(&self) -> u32 {
        match self.map_cache.entries_per_page {
            0 => 0,
            entries => self.logical_pages().div_ceil(entries),
        }
    }

    /// The number of translation page `page`.
    pub const fn translation_page(&self, page: u32) -> Lpn {
        Lpn(self.logical_pages() + self.records() + page)
    }

    /// How many blocks of a lane hold translation pages before those are cleaned first. Translation
    /// pages are few and change often: given four times the blocks that they fill, nearly all of
    /// them are superseded before a block is cleaned; but what is spare is for data first.
    pub fn translation_blocks_per_lane(&self) -> u32 {
        let blocks = |pages: u32| pages.div_ceil(self.lanes()).div_ceil(self.slots_per_block());
        let filled = blocks(self.translation_pages());
        let used = blocks(self.logical_pages() + self.internal_pages());
        let others = self.blocks_per_lane() - self.slc_blocks_per_lane;
        filled + (3 * filled).min(others.saturating_sub(used) / 4)
    }

    /// Whether a logical page is internal.
    pub const fn is_internal(&self, lpn: Lpn) -> bool {
        lpn.0 >= self.logical_pages()
    }

    /// Which internal page records the trims of a logical page; beyond them all if none does.
    pub const fn record_of(&self, lpn: Lpn) -> usize {
        match self.pages_per_record {
            0 => usize::MAX,
            pages => (lpn.0 / pages) as usize,
        }
    }

    /// The logical pages whose trims internal page `record` records.
    pub fn recorded_by(&self, record: usize) -> Range<usize> {
        let start = record * self.pages_per_record as usize;
        start..(start + self.pages_per_record as usize).min(self.logical_pages() as usize)
    }

    /// The number of internal page `record`.
    pub fn record(&self, record: usize) -> Lpn {
        let record = u32::try_from(record).expect("an internal page");
        Lpn(self.logical_pages() + record)
    }
}
