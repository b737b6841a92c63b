use std::ops::Range;

use flashscope_block::{Bytes, Nanos, StreamId};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::nand::{
    BlockId, Geometry, Lpn, Parts, PlaneAddresses, Queues, Reliability, Timing, Wiring,
};
use crate::setup::{Family, Log, Placement, WhenFull, ZoneLayout};
use crate::wear;

/// A part of the flash (Agrawal et al., section 3.1).
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
pub enum Scope {
    /// An allocation pool of any size.
    Pool,
    /// A package, or all packages that a logical page spans.
    Package,
    /// A die.
    Die,
    /// A plane.
    Plane,
}

/// Formats the scope as in a profile.
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

/// The separation of data into active blocks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Frontiers {
    /// One active block for host writes and garbage collection together.
    One,
    /// One active block for host writes, and one for garbage collection.
    HostAndCleaning,
    /// One active block for hot data and one for cold data, also during garbage collection. The
    /// host marks cold data.
    HotAndCold,
}

/// The way in which garbage collection moves pages.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Transfer {
    /// Through the controller, with two transfers over the serial bus.
    InterPlane,
    /// Within the plane, without the bus.
    CopyBack,
}

/// The time at which a full log block is merged.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Merge {
    /// As part of the write that fills it.
    Eager,
    /// As part of the write that needs its space.
    Lazy,
}

/// The choice of the log block to evict.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Eviction {
    /// The log block that has been in use the longest.
    Fifo,
    /// The log block that was written least recently.
    Lru,
    /// A random log block; all are equally likely.
    Random,
}

/// The log blocks of a drive.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Logs {
    /// The section `[log]` of the profile.
    pub options: Log,
    /// Bytes from which a write counts as long; `u64::MAX` if the FTL does not distinguish long
    /// writes.
    pub long: u64,
    /// Seed of the random evictions.
    pub seed: u64,
}

/// The memory for entries of a mapping table on the flash.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MapCacheLayout {
    /// Capacity in entries, at least 1.
    pub entries: u32,
    /// Entries on a page of the flash; 0 if the mapping table is not on the flash.
    pub entries_per_page: u32,
    /// True if a write-back also writes the other changed entries of the same translation page.
    pub batch: bool,
    /// Further capacity in the host memory buffer, in entries; 0 without such a buffer.
    pub host_entries: u32,
    /// Access time of the host memory buffer.
    pub host_access: Nanos,
}

/// The options of the policies that select victims. Each policy uses those that it needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct VictimOptions {
    /// See [`super::Cleaning::ties`].
    pub ties: Ties,
    /// See [`super::Cleaning::window`]; at least 1.
    pub window: u32,
    /// See [`super::Cleaning::choices`]; at least 1.
    pub choices: u32,
}

/// The tie-break of greedy policies among blocks with equally few valid pages.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Ties {
    /// Prefer the block that reached this number of valid pages first.
    Oldest,
    /// Prefer the block that reached this number of valid pages last.
    Youngest,
}

/// The validated settings of the buffer memory.
#[derive(Debug, Clone, Copy)]
pub struct BufferLayout {
    /// The capacity in logical pages; 0 without a buffer.
    pub pages: u32,
    /// The number of slots that the buffer keeps free in the background; 0 disables background
    /// evictions.
    pub keep_free: u32,
    /// The number of victims that are evicted at once, at least one.
    pub batch: u32,
    /// The number of free slots at which a buffer that was full has drained; 0 disables draining.
    pub drain: u32,
    /// True if the buffer survives a power cut.
    pub protected: bool,
    /// The number of pages that are read ahead; 0 disables reading ahead.
    pub read_ahead: u32,
}

impl BufferLayout {
    /// Returns true if the drive has buffer memory.
    pub(crate) fn is_some(&self) -> bool {
        self.pages > 0 || self.read_ahead > 0
    }
}

/// The validated settings of all parts of a drive, derived from a profile. [`crate::Design`] adds
/// the variants of the parts.
#[derive(Debug, Clone)]
pub struct Layout {
    /// The dimensions of the flash.
    pub geometry: Geometry,
    /// The durations of its commands.
    pub timing: Timing,
    /// The connections between its packages.
    pub wiring: Wiring,
    /// Bad blocks, failing commands and block lifetime.
    pub reliability: Reliability,
    /// True if commands take time.
    pub timed: bool,
    /// True if the times of commands are summed up, to compute their energy.
    pub measures_energy: bool,
    /// The queues of flash commands; `None` if each command reserves its unit and bus at
    /// submission.
    pub queues: Option<Queues>,
    /// Number of allocation pools. Logical pages are assigned to them in turn, `stripe` at a time
    /// (the static part of the mapping).
    pub pools: u32,
    /// Number of lanes in each pool. Each lane has its own active blocks and garbage collection.
    pub lanes_per_pool: u32,
    /// Number of consecutive logical pages that belong to one pool.
    pub stripe: u32,
    /// Number of logical pages in each pool that the host can address.
    pub logical_pages_per_pool: u32,
    /// True if the mapping table is in memory that survives a power cut. If false, recovery
    /// rebuilds the table from the metadata of pages.
    pub map_survives: bool,
    /// Number of logical pages whose trims one internal page records; 0 if the mapping survives
    /// power cuts without records, or there are no trims.
    pub pages_per_record: u32,
    /// Foreground garbage collection runs while a lane has fewer free blocks than this.
    pub clean_below: u32,
    /// Background garbage collection runs while a lane has fewer free blocks than this; 0 without
    /// background garbage collection.
    pub background_below: u32,
    /// Number of blocks of each lane that are bad from the factory.
    pub bad_blocks_per_lane: u32,
    /// Number of free blocks of a lane below which garbage collection is urgent; 0 if it is never
    /// urgent.
    pub urgent_below: u32,
    /// The separation of data into active blocks.
    pub frontiers: Frontiers,
    /// The placement of data by the host.
    pub placement: Placement,
    /// The zones; `None` for a drive that the host can write anywhere.
    pub zones: Option<ZoneLayout>,
    /// The way in which garbage collection moves pages.
    pub transfer: Transfer,
    /// Number of blocks of each lane that form its static SLC region.
    pub slc_blocks_per_lane: u32,
    /// The share of a lane's free and SLC blocks that a dynamic SLC cache may use; 0 without one.
    pub slc_dynamic: f64,
    /// The fate of writes for which the SLC cache has no room.
    pub slc_when_full: WhenFull,
    /// Number of logical pages that fit in a block used as SLC; 0 if no block is used as SLC.
    pub slc_slots_per_block: u32,
    /// The log blocks, if the FTL has any.
    pub logs: Logs,
    /// The options of the policy for victim selection.
    pub cleaning: VictimOptions,
    /// Seed of the drive's random numbers.
    pub seed: u64,
    /// The options of the wear-levelling policy.
    pub wear_options: wear::Options,
    /// The family of the flash translation layer.
    pub family: Family,
    /// The memory for mapping entries, if the mapping table is on the flash.
    pub map_cache: MapCacheLayout,
    /// The buffer memory.
    pub cache: BufferLayout,
}

impl Layout {
    /// Returns the parts of the flash array.
    pub fn parts(&self) -> Parts {
        Parts {
            geometry: self.geometry,
            timing: self.timing,
            wiring: self.wiring,
            reliability: self.reliability.clone(),
            timed: self.timed,
            measures_energy: self.measures_energy,
            slc: self.has_slc(),
            stamped: !self.map_survives,
            settling: self.timed,
            queues: self.queues.map(|queues| Queues {
                blocks_per_lane: self.blocks_per_lane(),
                span: self.geometry.span,
                ..queues
            }),
        }
    }

    /// Returns the number of lanes in the drive. A lane is a part of a pool with its own active
    /// blocks and garbage collection.
    pub const fn lanes(&self) -> u32 {
        self.pools * self.lanes_per_pool
    }

    /// Returns the number of sets of lanes within which writes take turns. Each pool is a set and,
    /// if there are several reclaim groups, each group of each pool is a set.
    pub(crate) const fn turns(&self) -> u32 {
        match self.placement.groups {
            1 => self.pools,
            groups => self.pools * (1 + groups),
        }
    }

    /// Returns the number of reclaim groups that a stream can name beside `handles` handles.
    pub(crate) const fn max_groups(handles: u32) -> u32 {
        1 << (StreamId::BITS - handles.next_power_of_two().trailing_zeros())
    }

    /// Returns true if blocks may be used as SLC.
    pub const fn has_slc(&self) -> bool {
        self.slc_slots_per_block > 0
    }

    /// Returns the number of blocks in each lane.
    pub const fn blocks_per_lane(&self) -> u32 {
        self.geometry.blocks() / self.lanes()
    }

    /// Returns the number of blocks of a pool that can hold valid data at the same time. Excludes
    /// the blocks of the static SLC region, the blocks that are bad from the factory, and those
    /// that are always free or open.
    pub const fn data_blocks_per_pool(&self) -> u32 {
        let taken = self.slc_blocks_per_lane + self.bad_blocks_per_lane + self.clean_below;
        self.lanes_per_pool * self.blocks_per_lane().saturating_sub(taken)
    }

    /// Returns the first block of a lane.
    ///
    /// Consecutive pools are on different elements if possible. Consecutive lanes of a pool are on
    /// different
    /// elements if possible, or else on different dies. With two-plane commands they are on the two
    /// planes of a pair.
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
        // The lanes of the pool are numbered by the element, die and plane of their first block.
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

    /// Returns the lane on the other plane of the pair of a lane, counted within the pool. Returns
    /// `None` if a lane is more or less than a plane, or no commands of two planes are joined by
    /// their addresses.
    pub(crate) fn partner(&self, nth: u32) -> Option<u32> {
        let is_plane = self.blocks_per_lane() == self.geometry.blocks_per_plane;
        let joins = self.wiring.two_plane && self.wiring.addresses != PlaneAddresses::Any;
        let partner = nth ^ 1;
        (is_plane && joins && partner < self.lanes_per_pool).then_some(partner)
    }

    /// Returns the blocks of a lane in the order of first use. Consecutive blocks are on different
    /// dies, then on different planes of a die, and can work in parallel.
    pub(crate) fn blocks_of_lane(&self, lane: u32) -> Vec<BlockId> {
        let (first, size) = (self.first_block(lane).0, self.blocks_per_lane());
        let plane = self.geometry.blocks_per_plane.min(size);
        let planes = size / plane;
        let per_die = self.geometry.planes_per_die.min(planes);
        let in_turn = (0..plane).flat_map(|block| {
            (0..planes).map(move |part| {
                // Visits the dies in turn before the next plane of the same die.
                let dies = planes / per_die;
                let place = part % dies * per_die + part / dies;
                BlockId(first + place * plane + block)
            })
        });
        in_turn.collect()
    }

    /// Returns the number of logical pages that fit in a block.
    pub const fn slots_per_block(&self) -> u32 {
        self.geometry.slots_per_block
    }

    /// Returns the number of logical pages that share a flash page; 1 if none do.
    pub(crate) const fn slots_per_page(&self) -> u32 {
        self.geometry.slots_per_page
    }

    /// Returns the maximum number of valid logical pages of a block whose garbage collection still
    /// frees a flash page.
    pub(crate) const fn max_valid(&self) -> u32 {
        self.geometry.slots_per_block - self.geometry.slots_per_page
    }

    /// Returns the effective over-provisioning. This is the number of logical pages that an empty
    /// drive takes before garbage collection starts, divided by the number that the host can
    /// address, minus 1. Returns `None` if the FTL does not map pages, or the drive has zones.
    #[must_use]
    pub fn spare_share(&self) -> Option<f64> {
        if !self.family.is_page_mapped() || self.zones.is_some() {
            return None;
        }
        let pages =
            f64::from(self.pools * self.data_blocks_per_pool()) * f64::from(self.slots_per_block());
        let own = f64::from(self.internal_pages());
        Some((pages - own) / f64::from(self.logical_pages()) - 1.0)
    }

    /// Returns the size of a logical page in bytes.
    pub fn logical_page_size(&self) -> u32 {
        self.geometry.logical_page_size
    }

    /// Returns the number of logical pages that the host can address.
    pub const fn logical_pages(&self) -> u32 {
        self.pools * self.logical_pages_per_pool
    }

    /// Returns the number of bytes that the host can address, including the holes of zones.
    pub fn capacity(&self) -> Bytes {
        let pages = match self.zones {
            Some(zones) => u64::from(zones.count) * zones.size,
            None => self.logical_pages().into(),
        };
        Bytes(pages * u64::from(self.geometry.logical_page_size))
    }

    /// Returns the number of internal pages of the FTL. They are numbered after the host's pages.
    pub(crate) const fn internal_pages(&self) -> u32 {
        self.records() + self.translation_pages()
    }

    /// Returns the number of internal pages that record trims. They are the first internal pages.
    pub const fn records(&self) -> u32 {
        match self.pages_per_record {
            0 => 0,
            pages => self.logical_pages().div_ceil(pages),
        }
    }

    /// Returns the number of translation pages. They follow the records of trims.
    pub(crate) const fn translation_pages(&self) -> u32 {
        match self.map_cache.entries_per_page {
            0 => 0,
            entries => self.logical_pages().div_ceil(entries),
        }
    }

    /// Returns the logical page number of translation page `page`.
    pub(crate) const fn translation_page(&self, page: u32) -> Lpn {
        Lpn(self.logical_pages() + self.records() + page)
    }

    /// Returns the number of translation blocks in a lane above which garbage collection takes
    /// translation blocks first.
    ///
    /// Translation pages are few and change often. With four times the blocks that they fill,
    /// nearly all of them are superseded before their block is collected. At most a quarter of the
    /// spare blocks goes to them, because data needs the others.
    pub fn translation_blocks_per_lane(&self) -> u32 {
        let blocks = |pages: u32| pages.div_ceil(self.lanes()).div_ceil(self.slots_per_block());
        let filled = blocks(self.translation_pages());
        let used = blocks(self.logical_pages() + self.internal_pages());
        let others = self.blocks_per_lane() - self.slc_blocks_per_lane;
        filled + (3 * filled).min(others.saturating_sub(used) / 4)
    }

    /// Returns true if a logical page is an internal page.
    pub(crate) const fn is_internal(&self, lpn: Lpn) -> bool {
        lpn.0 >= self.logical_pages()
    }

    /// Returns the index of the record for the trims of a logical page, or `usize::MAX` if trims
    /// are not recorded.
    pub(crate) const fn record_of(&self, lpn: Lpn) -> usize {
        match self.pages_per_record {
            0 => usize::MAX,
            pages => (lpn.0 / pages) as usize,
        }
    }

    /// Returns the logical pages whose trims record `record` holds.
    pub(crate) fn recorded_by(&self, record: usize) -> Range<usize> {
        let start = record * self.pages_per_record as usize;
        start..(start + self.pages_per_record as usize).min(self.logical_pages() as usize)
    }

    /// Returns the logical page number of record `record`.
    pub fn record(&self, record: usize) -> Lpn {
        let record = u32::try_from(record).expect("fewer records than logical pages");
        Lpn(self.logical_pages() + record)
    }
}
