//! The values of fields that a profile leaves out.

use flashscope_block::{Bytes, Nanos};

use super::{
    Cache, Cells, Cleaning, Energy, Errors, Flash, Gang, Groups, HostInterface, Log, MapCache,
    MapMemory, Persistence, Placement, Profile, Raid, Reliability, Scheduling, Slc, Wear, Zones,
};
use crate::nand::{GangSharing, Interleaving, PlaneAddresses};
use crate::setup::{Frontiers, Scope, Ties, Transfer};

impl Default for Profile {
    fn default() -> Self {
        Profile {
            model: "Agrawal et al. 2008, 8 x 4 GB".into(),
            ftl: "page-map".into(),
            logical_page_size: Bytes(0),
            page_span: 1,
            allocation_pool: Scope::Package,
            packages_per_pool: 1,
            stripe: Bytes(0),
            active_blocks: Scope::Pool,
            over_provisioning: 0.15,
            interleaving: Interleaving::None,
            background_cleaning: false,
            timed: true,
            seed: 0,
            gang: Gang::default(),
            flash: Flash::default(),
            scheduling: Scheduling::default(),
            reliability: Reliability::default(),
            errors: Errors::default(),
            energy: Energy::default(),
            cleaning: Cleaning::default(),
            log: Log::default(),
            placement: Placement::default(),
            zones: Zones::default(),
            wear: Wear::default(),
            cells: Cells::default(),
            slc: Slc::default(),
            persistence: Persistence::default(),
            map_cache: MapCache::default(),
            cache: Cache::default(),
            interface: HostInterface::default(),
            groups: Groups::default(),
            raid: Raid::default(),
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
            zero_page_program: Nanos(0),
            block_erase: Nanos::micros(1500),
            serial_access_per_kib: Nanos(25_600),
            two_plane_commands: false,
            two_plane_addresses: PlaneAddresses::default(),
        }
    }
}

impl Default for Cleaning {
    fn default() -> Self {
        Cleaning {
            policy: "greedy".into(),
            ties: Ties::Oldest,
            window: 1024,
            choices: 10,
            frontiers: Frontiers::One,
            transfer: Transfer::InterPlane,
            free_threshold: 0.05,
            background_threshold: 0.1,
            urgent_threshold: 0.0,
        }
    }
}

impl Default for Gang {
    fn default() -> Self {
        Gang { packages: 1, sharing: GangSharing::Bus, queue_per_package: true }
    }
}

impl Default for Reliability {
    fn default() -> Self {
        Reliability {
            block_lifetime: 100_000,
            factory_bad_blocks: 0.0,
            program_failures: 0.0,
            erase_failures: 0.0,
            read_disturb: 0.0,
            read_retries: 8,
            refresh_retries: 4,
        }
    }
}

impl Default for Wear {
    fn default() -> Self {
        Wear { policy: "none".into(), age_variance: 0.2, retirement_age: 0.85 }
    }
}

impl Default for Persistence {
    fn default() -> Self {
        Persistence { map: MapMemory::Summary, summary_pages: 1, summary_size: Bytes(528) }
    }
}

impl Default for MapCache {
    fn default() -> Self {
        MapCache {
            size: Bytes::kib(512),
            entry_size: Bytes(8),
            batch: true,
            host_memory: Bytes(0),
            host_access: Nanos::micros(1),
        }
    }
}

impl Default for Cache {
    fn default() -> Self {
        Cache {
            kind: "none".into(),
            size: Bytes::mib(16),
            protected: false,
            write_back: 0.0,
            batch: 1,
            drain: 0.0,
            read_ahead: 0,
        }
    }
}

impl Default for Groups {
    fn default() -> Self {
        Groups { count: 1, switch_time: Nanos(0) }
    }
}

impl Default for Raid {
    fn default() -> Self {
        Raid { drives: 1, stripe_unit: Bytes::kib(64) }
    }
}

impl Default for HostInterface {
    fn default() -> Self {
        HostInterface {
            logical_block: Bytes(512),
            queue_depth: 32,
            cores: 1,
            command_time: Nanos(0),
            largest_request: Bytes(0),
            cut_through: true,
            request_overhead: Nanos(0),
            transfer_per_kib: Nanos(0),
        }
    }
}
