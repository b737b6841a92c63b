//! The configuration of a simulated drive: the profile, which is TOML, its rules, and the layout
//! from which the parts of the drive are built. Nothing here depends on the variants of the parts:
//! [`crate::Design`] looks them up.

mod defaults;
mod error;
mod family;
mod layout;
mod per_page_type;
mod quantity;
mod registry;
mod rules;
mod scheduling;
mod size;
mod spec;
mod text;

use flashscope_block::{Bytes, Nanos};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::nand::{GangSharing, Interleaving, PlaneAddresses};

pub use error::ProfileError;
pub use family::{Family, LogSharing, LogUse};
pub use layout::{
    BufferLayout, Eviction, Frontiers, Layout, Logs, MapCacheLayout, Merge, Scope, Ties, Transfer,
    VictimOptions,
};
pub use per_page_type::{PageFactors, PageTimes, PerPageType};
pub use registry::{KINDS, Kind};
pub use rules::cells::{Cells, Programming};
pub use rules::energy::Energy;
pub use rules::errors::Errors;
pub use rules::log::Log;
pub use rules::placement::{Identifiers, Isolation, Placement};
pub use rules::slc::{Slc, WhenFull};
pub use rules::zones::{ZoneLayout, Zones};
pub(crate) use rules::{broken, require};
pub use scheduling::{CleaningUnit, OwnPriority, Scheduling};
pub use spec::{field_names, from_toml, from_toml_with, parse};

/// A simulated drive. A field that is left out has its default; an unknown field is an error. Sizes
/// are bytes or a text such as `"4KiB"`, times a text such as `"25us"`.
///
/// The defaults are the drive of Agrawal et al., "Design Tradeoffs for SSD Performance", USENIX ATC
/// 2008. "Table" and "section" below refer to that paper.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Profile {
    /// The model name that the drive reports. Default: `Agrawal et al. 2008, 8 x 4 GB`. Source:
    /// section 4.3.
    pub model: String,
    /// The mapping of logical pages: a name of [`crate::ftl::KINDS`]. Default: `page-map`. Source:
    /// section 3.1.
    pub ftl: String,
    /// The unit of mapping in bytes: a divisor or a multiple of the flash page size, up to an
    /// entire block. If `page_span` is above 1, it is a multiple of that many flash pages. 0 stands
    /// for exactly `page_span` flash pages. A write of a part of this unit first reads its other
    /// bytes. Default: 0 (4 KiB). Source: sections 3.1 and 4.3.
    #[serde(deserialize_with = "quantity::size")]
    pub logical_page_size: Bytes,
    /// The number of packages over which a logical page is spread. These packages work in step.
    /// Default: 1. Source: section 3.1, page span.
    pub page_span: u32,
    /// The flash that may hold the pages of one part of the address space: a `package`, `die` or
    /// `plane`. Default: `package`. Source: section 4.3.
    pub allocation_pool: Scope,
    /// The number of packages (or spans of packages) in an allocation pool, if `allocation_pool` is
    /// `package`. Default: 1. Source: section 3.1.
    pub packages_per_pool: u32,
    /// The number of consecutive bytes of the address space that belong to one pool. Consecutive
    /// stripes go to consecutive pools, and consecutive pools are in different packages. 0 stands
    /// for the minimum: a logical page, or the logical pages of one flash page. Default: 0 (4 KiB).
    /// Source: section 4.3.
    #[serde(deserialize_with = "quantity::size")]
    pub stripe: Bytes,
    /// The parts of a pool that each have an active block and collect garbage separately: the
    /// entire `pool`, or each `package`, `die` or `plane` of it. Writes go to these parts in turn.
    /// Default: `pool`. Source: section 3.2.
    pub active_blocks: Scope,
    /// The share of the flash's space for data that the host cannot address (0 to 1, both
    /// excluded), the S_f of the literature. Default: 0.15. Source: section 4.3.
    pub over_provisioning: f64,
    /// The parts of a package that work in parallel and take turns on its serial bus. With `none`,
    /// a package carries out one command at a time. With `die`, its dies work in parallel. With
    /// `plane-pair`, planes 0 & 1 of a die also work in parallel with planes 2 & 3. Default:
    /// `none`. Source: sections 2.2 and 4.3.
    pub interleaving: Interleaving,
    /// True if pools collect garbage while their flash is idle, one page or one erase at a time.
    /// Default:
    /// false. Source: section 3.3.
    pub background_cleaning: bool,
    /// True if flash operations take time. If false, the drive only counts them, and only the
    /// interface takes time. Default: true. Source: none, for studies of counts alone.
    pub timed: bool,
    /// The seed of the drive's random numbers (0 to 2^63 - 1), which choose blocks for garbage
    /// collection and operations that fail. Default: 0. Source: none.
    pub seed: u64,
    /// The parts that packages share.
    pub gang: Gang,
    /// The flash packages.
    pub flash: Flash,
    /// The policy by which flash commands wait for their die and their bus.
    pub scheduling: Scheduling,
    /// Failures and wear of the flash.
    pub reliability: Reliability,
    /// Bit errors, their correction, and the retries of reads.
    pub errors: Errors,
    /// The power of the drive's parts.
    pub energy: Energy,
    /// Cleaning (garbage collection).
    pub cleaning: Cleaning,
    /// The log blocks in front of the data blocks.
    pub log: Log,
    /// Placement of data by the host: reclaim unit handles and reclaim groups.
    pub placement: Placement,
    /// Zones, which the host writes from start to end and resets.
    pub zones: Zones,
    /// Wear levelling, which prevents some blocks from wearing out before others.
    pub wear: Wear,
    /// The bits of a cell, and the pages of a word line.
    pub cells: Cells,
    /// Blocks that are used as SLC.
    pub slc: Slc,
    /// The persistence of the map across power cuts.
    pub persistence: Persistence,
    /// The memory for entries of a map that is on the flash.
    pub map_cache: MapCache,
    /// The buffer memory.
    pub cache: Cache,
    /// The host interface and its latencies.
    pub interface: HostInterface,
    /// Groups of the address space, of which the drive works in one at a time.
    pub groups: Groups,
    /// The RAID array of drives with this profile, which the host uses as one drive.
    pub raid: Raid,
}

/// The groups of the address space, all of one size. The drive works in one group at a time, and
/// switching takes time: Sun and Zhang, section 4.1.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Groups {
    /// The number of groups (1 to 65536). Default: 1. Source: none; Sun and Zhang, Table 3, find 2
    /// and 4.
    pub count: u32,
    /// The extra time of a request that begins in another group than the group in which the
    /// previous request ended; no effect with one group. Default: 0. Source: none; Sun and Zhang,
    /// section 4.1, find 0.25 ms.
    #[serde(deserialize_with = "quantity::time")]
    pub switch_time: Nanos,
}

/// Gangs: the parts that packages share (section 3.3).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Gang {
    /// Packages in a gang (1 to 64); 1 if they share nothing. Default: 1. Source: section 4.3.
    pub packages: u32,
    /// The part that a gang shares: the `bus` (Figure 4), or the `control` pins (Figure 5), so that
    /// commands of one kind start together. A gang that shares control pins is the paper's
    /// synchronous gang if pages span it, and the asynchronous gang if they do not. Default: `bus`;
    /// no effect without gangs. Source: section 3.3.
    pub sharing: GangSharing,
    /// True if each package of a gang has its own queue; if false, the gang carries out one command
    /// at a time. Default: true; no effect without gangs. Source: section 3.3.
    pub queue_per_package: bool,
}

/// Failures and wear of the flash: section 3.4 and Table 1.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Reliability {
    /// The number of erases after which the drive retires a block. Default: 100000. Source: Table
    /// 1.
    pub block_lifetime: u32,
    /// Share of the blocks of each plane that are bad when the drive is new (0 to 1). Default: 0.
    /// Source: section 3.2 mentions spare blocks for the replacement of bad ones.
    pub factory_bad_blocks: f64,
    /// The probability that a program fails, after which the drive empties and retires the block.
    /// Default: 0. Source: as `factory_bad_blocks`.
    pub program_failures: f64,
    /// The probability that an erase fails, after which the drive retires the block. Default: 0.
    /// Source: as `factory_bad_blocks`.
    pub erase_failures: f64,
    /// The probability that a host read makes its page need one more retry at every later read,
    /// until its data is rewritten (read disturb). Default: 0. Source: Cai et al., DSN 2015.
    pub read_disturb: f64,
    /// The number of times that an uncorrectable page is read again, each taking the time of a
    /// read, before the host's read fails. Default: 8. Source: chosen.
    pub read_retries: u32,
    /// The number of retries from which on the drive rewrites the page's data elsewhere; more than
    /// `read_retries` means never. Default: 4. Source: chosen.
    pub refresh_retries: u32,
}

/// Wear levelling, which prevents some blocks from wearing out before others (section 5).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Wear {
    /// The wear-levelling policy: a name of [`crate::wear::KINDS`]. Default: `none`. Source:
    /// section 5.
    pub policy: String,
    /// The distance of a block's remaining lifetime below the average, as a share of the average (0
    /// to 1), beyond which its recycling is rate-limited. Default: 0.2. Source: section 5.
    pub age_variance: f64,
    /// The share of the average remaining lifetime (0 to 1) below which a block is filled with cold
    /// data. Default: 0.85. Source: section 5.
    pub retirement_age: f64,
}

/// Persistence of the map across power cuts: section 3.4.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Persistence {
    /// The way in which the map survives a power cut. `summary` rebuilds it from a summary at the
    /// end of each block, `pages` from the metadata of every programmed page. With `nv-ram`, the
    /// map, or its part in memory, survives. FTLs with log blocks do not support summaries.
    /// Default: `summary`. Source: section 3.4.
    pub map: MapMemory,
    /// The number of pages at the end of each block for its summary; no effect unless `map` is
    /// `summary`. Default: 1. Source: the latencies of Table 3, which include one summary page for
    /// each 63 data pages.
    pub summary_pages: u32,
    /// The bytes of a summary that cross the serial bus. Default: 528. Source: as `summary_pages`.
    #[serde(deserialize_with = "quantity::size")]
    pub summary_size: Bytes,
}

/// The memory for entries of a map on the flash; no effect unless `ftl` is `dftl`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct MapCache {
    /// The size of this memory in bytes, enough for at least one entry; memory beyond the size of
    /// the map stays unused. Default: 512 KiB (65,536 entries). Source: none, chosen; Gupta et al.,
    /// ASPLOS'09, vary it.
    #[serde(deserialize_with = "quantity::size")]
    pub size: Bytes,
    /// The memory of an entry in bytes. On the flash an entry takes 4 bytes, because its position
    /// gives its number. Default: 8. Source: Gupta et al., ASPLOS'09: a logical and a physical page
    /// number.
    #[serde(deserialize_with = "quantity::size")]
    pub entry_size: Bytes,
    /// True if writing back an entry also writes back all other changed entries of the same page of
    /// the map. Default: true. Source: Gupta et al., ASPLOS'09, batch updates.
    pub batch: bool,
    /// The bytes of memory that the host lends (NVMe's host memory buffer) for entries that do not
    /// fit in the controller's memory. It is 0, or enough for at least one entry. A power cut loses
    /// these entries; `persistence.map` must therefore not be `nv-ram`. Default: 0. Source: none;
    /// NVM Express 1.2, section 8.9, describes it.
    #[serde(deserialize_with = "quantity::size")]
    pub host_memory: Bytes,
    /// The time that a request waits to fetch an entry from the host's memory, or a page of the map
    /// with changed entries there. Writes to the host's memory take no time. No effect without
    /// `host_memory`. Default: 1 µs. Source: none, chosen; Neugebauer et al., SIGCOMM'18, measure
    /// reads of host memory over PCI Express.
    #[serde(deserialize_with = "quantity::time")]
    pub host_access: Nanos,
}

/// The memory that holds the map.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum MapMemory {
    /// In volatile memory, rebuilt from summaries.
    Summary,
    /// In volatile memory, rebuilt from the metadata of each page.
    Pages,
    /// In memory that survives a power cut.
    NvRam,
}

/// The flash packages: section 2 and Table 1.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Flash {
    /// Packages, each with its own serial bus unless a gang shares one. Default: 8. Source: section
    /// 4.3.
    pub packages: u32,
    /// Dies in a package. Default: 2 (the 4 GB part). Source: Table 1.
    pub dies_per_package: u32,
    /// Planes in a die. Default: 4. Source: Table 1.
    pub planes_per_die: u32,
    /// The number of blocks in a plane. Default: 2048. Source: section 2.
    pub blocks_per_plane: u32,
    /// Pages in a block. Default: 64. Source: section 2.
    pub pages_per_block: u32,
    /// Data bytes in a page. Default: 4 KiB. Source: Table 1.
    #[serde(deserialize_with = "quantity::size")]
    pub page_size: Bytes,
    /// Bytes of identification and error detection that travel with each page; may be 0.
    /// Default: 128. Source: section 2.
    #[serde(deserialize_with = "quantity::size")]
    pub metadata_size: Bytes,
    /// Time to read a page from its cells into the register. Default: 25 µs. Source: Table 1.
    #[serde(deserialize_with = "quantity::time")]
    pub page_read: Nanos,
    /// Time to program a page from the register into its cells. Default: 200 µs. Source: Table 1.
    #[serde(deserialize_with = "quantity::time")]
    pub page_program: Nanos,
    /// Time to program a page that holds only zeros; 0 for the time of `page_program`. If set,
    /// `copy-back` cannot move pages. Default: 0. Source: none; Sun and Zhang, section 4.2, find
    /// that pages of zeros take less time.
    #[serde(deserialize_with = "quantity::time")]
    pub zero_page_program: Nanos,
    /// Time to erase a block. Default: 1.5 ms. Source: Table 1.
    #[serde(deserialize_with = "quantity::time")]
    pub block_erase: Nanos,
    /// Time to transfer 1024 bytes over the serial bus. Default: 25.6 µs, which is 25 ns a byte.
    /// Source: section 2.1.
    #[serde(deserialize_with = "quantity::time")]
    pub serial_access_per_kib: Nanos,
    /// True if the planes 0 & 1, or 2 & 3, of a die carry out commands of the same kind together.
    /// The commands may belong to different requests. Default: false. Source: section 2.
    pub two_plane_commands: bool,
    /// The addresses of two commands that are carried out together: `any`, the same page of any two
    /// blocks (`same-page`), or the same page of the same block of each plane (`same-block`). An
    /// erase has no page. Default: `same-page`. Source: none; ONFI 3.0 requires equal page
    /// addresses, and a chip may also restrict the block address.
    pub two_plane_addresses: PlaneAddresses,
}

/// Cleaning, which is the paper's term for garbage collection: section 3.2.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Cleaning {
    /// The policy that chooses the block to clean: a name of [`crate::gc::KINDS`]. Default:
    /// `greedy`. Source: section 3.2.
    pub policy: String,
    /// The choice of the policies `greedy` and `windowed-greedy` among blocks with equally few
    /// valid pages. `oldest` chooses the first block to reach that number, `youngest` the last
    /// block to reach it. Default: `oldest`. Source: none, section 3.2 leaves it open.
    pub ties: Ties,
    /// The number of blocks among which `windowed-greedy` chooses in each lane: the blocks that
    /// were filled first. At least 1, which equals `fifo`. Default: 1024. Source: none; Hu et al.,
    /// SYSTOR'09, vary it.
    pub window: u32,
    /// The number of blocks that `d-choices` picks at random, to clean the best of them; at least
    /// 1. Default: 10. Source: Van Houdt, SIGMETRICS'13, which finds ten close to greedy.
    pub choices: u32,
    /// The separation of data into active blocks. With `one`, all data shares an active block.
    /// `host-and-cleaning` separates the host's data from moved data. `hot-and-cold` separates hot
    /// data from cold data, which the host marks by stream 2. Default: `one`. Source: section 5.2.
    pub frontiers: Frontiers,
    /// The way in which pages move: `inter-plane`, over the serial bus and back, or `copy-back`,
    /// within the plane, which requires `active_blocks` to be `plane`. Default: `inter-plane`.
    /// Source: sections 2.2 and 4.3.
    pub transfer: Transfer,
    /// The share of free blocks in a lane (0 to 1, both excluded) below which the drive cleans in
    /// the foreground, while the host waits. A lane is the part that `active_blocks` names.
    /// Default: 0.05. Source: section 4.3.
    pub free_threshold: f64,
    /// The share of free blocks in a lane below which the drive cleans in the background; at least
    /// `free_threshold`, and no effect without `background_cleaning`. Default: 0.1. Source: none,
    /// twice `free_threshold`.
    pub background_threshold: f64,
    /// The share of free blocks in a lane below which the drive does not wait for an idle die. Each
    /// write to the lane then also moves enough pages to keep pace with it, and these moves go
    /// before waiting commands. From `free_threshold` to `background_threshold`; 0 for none, which
    /// is required without `background_cleaning`. Default: 0. Source: none.
    pub urgent_threshold: f64,
}

/// The buffer memory between the host interface and the FTL. A write is done when it is in the
/// buffer. While the buffer is full, the write waits for space.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Cache {
    /// The write buffer, with its policy of eviction: a name of [`crate::cache::KINDS`]. Default:
    /// `none`. Source: section 4, which simulates no buffer.
    pub kind: String,
    /// The size of the write buffer in bytes, a multiple of the logical page; no effect if `kind`
    /// is `none`. Default: 16 MiB. Source: none, chosen.
    #[serde(deserialize_with = "quantity::size")]
    pub size: Bytes,
    /// True if the write buffer survives a power cut. A flush then need not wait for the flash; no
    /// effect if `kind` is `none`. Default: false. Source: none, chosen.
    pub protected: bool,
    /// The share of the write buffer (0 to 1) that the drive keeps free in the background. While
    /// less is free and fewer than `batch` programs are in progress, the drive writes out the next
    /// victim. 0 for none; no effect if `kind` is `none`. Default: 0. Source: as `protected`.
    pub write_back: f64,
    /// The number of evictions that a full write buffer starts before it waits for all of them (1
    /// to the logical pages of `size`). With several evictions, merges and programs in several
    /// packages overlap. This is also the number of concurrent programs in the background. No
    /// effect if `kind` is `none`. Default: 1. Source: none; fitted to the times of drives in
    /// uFLIP's Table 3 for writes that all fall on one package.
    pub batch: u32,
    /// The share of the write buffer (0 to `write_back`) that a full buffer frees before it stops
    /// draining. While it drains, each write that needs space waits for all evictions in progress,
    /// at most `batch`. Slow writes and fast ones therefore alternate in long periods. 0 if a write
    /// waits only for its own space; no effect if `kind` is `none`. Default: 0. Source: none;
    /// fitted to uFLIP's Figure 3.
    pub drain: f64,
    /// The number of logical pages fetched after sequential reads (0 to 65536), into separate
    /// memory; 0 for none. Default: 0. Source: as `kind`.
    pub read_ahead: u32,
}

/// A RAID-0 controller over drives of this profile.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Raid {
    /// The number of drives (1 to 256); with 1 there is no controller. Each drive has its own seed,
    /// one more than the seed of the previous drive. Default: 1. Source: section 4.3, where TPC-C
    /// takes 6 drives and Exchange 10.
    pub drives: u32,
    /// The bytes that go to one drive before the next drive's turn, a multiple of the logical page;
    /// no effect with one drive. Default: 64 KiB. Source: section 3.1.
    #[serde(deserialize_with = "quantity::size")]
    pub stripe_unit: Bytes,
}

/// The host interface and its latencies.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct HostInterface {
    /// The unit of the offsets and lengths of requests in bytes; divides the page size. Default:
    /// 512. Source: the sector of ATA.
    #[serde(deserialize_with = "quantity::size")]
    pub logical_block: Bytes,
    /// The largest number of requests in flight (1 to 65536). Default: 32. Source: native command
    /// queuing of SATA.
    pub queue_depth: u32,
    /// The time for which the controller processes a request, one request at a time; may be 0.
    /// Default: 0. Source: Table 3, whose times are those of the flash alone.
    #[serde(deserialize_with = "quantity::time")]
    pub request_overhead: Nanos,
    /// The number of the controller's cores that process commands (1 to 1024). Each core processes
    /// one command at a time. No effect unless `command_time` is above 0. Default: 1. Source:
    /// chosen.
    pub cores: u32,
    /// The time for which a core processes a command, after `request_overhead`, before the drive
    /// carries it out; may be 0. The cores limit the drive to `cores` / `command_time` commands a
    /// second. Default: 0. Source: chosen.
    #[serde(deserialize_with = "quantity::time")]
    pub command_time: Nanos,
    /// The size in bytes of the longest request that the drive carries out as one. The drive splits
    /// a longer request into parts of this size; each part starts when the previous part is
    /// answered. A multiple of `logical_block`; 0 for no limit. Default: 0. Source: none; Sun and
    /// Zhang, section 4.4, find 120 KiB.
    #[serde(deserialize_with = "quantity::size")]
    pub largest_request: Bytes,
    /// True if each page of a write goes to the flash as soon as it arrives. If false, all pages go
    /// once the last page has arrived. Default: true. Source: none.
    pub cut_through: bool,
    /// Time to transfer 1024 bytes between host and drive, one transfer at a time in each
    /// direction; may be 0. Default: 0. Source: as `request_overhead`.
    #[serde(deserialize_with = "quantity::time")]
    pub transfer_per_kib: Nanos,
}
