//! What a simulated drive is made of, as TOML.

mod error;
mod quantity;
mod registry;
mod rules;
mod spec;

use flashscope_block::{Bytes, Nanos};
use serde::{Deserialize, Serialize};

pub use error::ProfileError;
pub use registry::{KINDS, Kind};
pub use spec::{field_names, parse};

/// A simulated drive. Every field may be left out, which gives it its default; an unknown one is
/// an error. Sizes are bytes or a text such as `"4KiB"`, times a text such as `"25us"`.
///
/// The defaults are the drive of Agrawal et al., "Design Tradeoffs for SSD Performance", USENIX
/// ATC 2008; "Table" and "section" below are those of that paper.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Profile {
    /// What the drive calls itself. Default: `Agrawal et al. 2008, 8 x 4 GB`. Source: section 4.3.
    pub model: String,
    /// How logical pages are mapped: a name of [`crate::ftl::KINDS`]. Default: `page-map`.
    /// Source: section 3.1.
    pub ftl: String,
    /// Which flash shares a write frontier and is cleaned together. Consecutive logical pages go
    /// to consecutive pools, and those to different packages. Default: `package`. Source:
    /// section 4.3.
    pub allocation_pool: AllocationPool,
    /// Share of the flash that the host cannot address (0 to 1, both excluded), the S_f of the
    /// literature. Default: 0.15. Source: section 4.3.
    pub over_provisioning: f64,
    /// Whether the dies of a package work side by side, taking turns on its serial bus; otherwise
    /// a package carries out one command at a time. Default: false. Source: sections 2.2 and 4.3.
    pub interleaving: bool,
    /// Whether pools clean while their flash is idle, a page or an erase at a time. Default:
    /// false. Source: section 3.3.
    pub background_cleaning: bool,
    /// The flash packages.
    pub flash: Flash,
    /// How blocks are recycled.
    pub cleaning: Cleaning,
    /// What the host sees and waits for.
    pub interface: HostInterface,
}

/// The scope of an allocation pool (section 3.1).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum AllocationPool {
    /// One pool for each package.
    Package,
    /// One pool for each die.
    Die,
    /// One pool for each plane.
    Plane,
}

/// The flash packages: section 2 and Table 1.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Flash {
    /// Packages, each with a serial bus of its own. Default: 8. Source: section 4.3.
    pub packages: u32,
    /// Dies in a package. Default: 2 (the 4 GB part). Source: Table 1.
    pub dies_per_package: u32,
    /// Planes in a die. Default: 4. Source: Table 1.
    pub planes_per_die: u32,
    /// Erase blocks in a plane. Default: 2048. Source: section 2.
    pub blocks_per_plane: u32,
    /// Pages in a block. Default: 64. Source: section 2.
    pub pages_per_block: u32,
    /// Data bytes in a page; also the unit of mapping. Default: 4 KiB. Source: Table 1.
    #[serde(deserialize_with = "quantity::size")]
    pub page_size: Bytes,
    /// Bytes of identification and error detection that travel with each page; may be 0.
    /// Default: 128. Source: section 2.
    #[serde(deserialize_with = "quantity::size")]
    pub metadata_size: Bytes,
    /// Time from the cells of a page to the register. Default: 25 µs. Source: Table 1.
    #[serde(deserialize_with = "quantity::time")]
    pub page_read: Nanos,
    /// Time from the register to the cells of a page. Default: 200 µs. Source: Table 1.
    #[serde(deserialize_with = "quantity::time")]
    pub page_program: Nanos,
    /// Time to erase a block. Default: 1.5 ms. Source: Table 1.
    #[serde(deserialize_with = "quantity::time")]
    pub block_erase: Nanos,
    /// Time of 1024 bytes on the serial bus. Default: 25.6 µs, which is 25 ns a byte. Source:
    /// section 2.1.
    #[serde(deserialize_with = "quantity::time")]
    pub serial_access_per_kib: Nanos,
}

/// How blocks are recycled: section 3.2.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Cleaning {
    /// How the block to clean is chosen: a name of [`crate::gc::KINDS`]. Default: `greedy`.
    /// Source: section 3.2.
    pub policy: String,
    /// Share of a pool's blocks (0 to 1, both excluded) below which free blocks are replenished
    /// in the foreground, while the host waits. Default: 0.05. Source: section 4.3.
    pub free_threshold: f64,
    /// Share of a pool's blocks below which free blocks are replenished in the background; not
    /// below `free_threshold`, and of no consequence without `background_cleaning`. Default:
    /// 0.1. Source: none, twice the foreground's.
    pub background_threshold: f64,
}

/// What the host sees and waits for.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct HostInterface {
    /// Bytes that offsets and lengths of requests must be multiples of; divides the page size.
    /// Default: 512. Source: the sector of ATA.
    #[serde(deserialize_with = "quantity::size")]
    pub logical_block: Bytes,
    /// Requests that may be in flight at once (1 to 65536). Default: 32. Source: native command
    /// queuing of SATA.
    pub queue_depth: u32,
    /// Time the controller spends on each request, one at a time; may be 0. Default: 0. Source:
    /// Table 3, whose times are those of the flash alone.
    #[serde(deserialize_with = "quantity::time")]
    pub request_overhead: Nanos,
    /// Time of 1024 bytes between host and drive, one transfer at a time in each direction; may
    /// be 0. Default: 0. Source: as `request_overhead`.
    #[serde(deserialize_with = "quantity::time")]
    pub transfer_per_kib: Nanos,
}

impl Default for Profile {
    fn default() -> Self {
        Profile {
            model: "Agrawal et al. 2008, 8 x 4 GB".into(),
            ftl: "page-map".into(),
            allocation_pool: AllocationPool::Package,
            over_provisioning: 0.15,
            interleaving: false,
            background_cleaning: false,
            flash: Flash::default(),
            cleaning: Cleaning::default(),
            interface: HostInterface::default(),
        }
    }
}

impl Default for Flash {
    fn default() -> Self {
        Flash {
            packages: 8,
            dies_per_package: 2,
            planes_per_die: 4,
            blocks_per_plane: 2048,
            pages_per_block: 64,
            page_size: Bytes::kib(4),
            metadata_size: Bytes(128),
            page_read: Nanos::micros(25),
            page_program: Nanos::micros(200),
            block_erase: Nanos::micros(1500),
            serial_access_per_kib: Nanos(25_600),
        }
    }
}

impl Default for Cleaning {
    fn default() -> Self {
        Cleaning { policy: "greedy".into(), free_threshold: 0.05, background_threshold: 0.1 }
    }
}

impl Default for HostInterface {
    fn default() -> Self {
        HostInterface {
            logical_block: Bytes(512),
            queue_depth: 32,
            request_overhead: Nanos(0),
            transfer_per_kib: Nanos(0),
        }
    }
}
