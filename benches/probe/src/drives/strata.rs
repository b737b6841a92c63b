//! Held-out drives, in strata. Each stratum has ranges and options that no drive of [`CALIBRATION`]
//! has, and no probe was developed on them.

use flashscope_document::probe::Parameter;

use super::Truth;
use super::draft::{Draft, KIB};
use super::ranges::{CALIBRATION, Ranges};

/// Drives that differ from the calibration in one respect.
pub struct Stratum {
    /// The name.
    pub name: &'static str,
    /// The respect in which the drives differ.
    pub differs: &'static str,
    /// The ranges of the parameters of its drives.
    pub ranges: Ranges,
}

const PAGE_MAPPED: Ranges = Ranges { page_maps: [80, 20], ..CALIBRATION };
const LOG_BLOCKS: Ranges = Ranges { page_maps: [0, 0], ..CALIBRATION };

/// All strata.
pub const STRATA: &[Stratum] = &[
    Stratum {
        name: "packages",
        differs: "5 to 32 packages, mostly not a power of two",
        ranges: Ranges {
            packages: &[5, 7, 9, 10, 12, 16, 24, 32],
            raw_mib: &[128, 192, 320],
            min_blocks: 64,
            ..PAGE_MAPPED
        },
    },
    Stratum {
        name: "dies and planes",
        differs: "2 or 4 dies of 1 to 4 planes in a package, interleaved or not, with an active block for each package, die or plane",
        ranges: Ranges {
            dies: &[2, 4],
            planes: &[1, 2, 4],
            raw_mib: &[192, 256],
            min_blocks: 256,
            change: interleave,
            ..PAGE_MAPPED
        },
    },
    Stratum {
        name: "shared buses",
        differs: "packages in gangs that share a bus",
        ranges: Ranges { packages: &[4, 8, 12, 16], change: share_buses, ..PAGE_MAPPED },
    },
    Stratum {
        name: "blocks",
        differs: "flash pages of up to 32 KiB, 40 to 384 of them in a block, and a summary in each block",
        ranges: Ranges {
            page_kib: &[4, 8, 16, 32],
            pages_per_block: &[40, 48, 80, 96, 192, 256, 384],
            raw_mib: &[256, 384],
            persistence: &["pages", "summary", "nv-ram"],
            ..PAGE_MAPPED
        },
    },
    Stratum {
        name: "slow flash",
        differs: "the times of flash with 3 or 4 bits a cell behind a fast bus and NVMe",
        ranges: Ranges {
            page_read_us: 40..140,
            page_program_us: 600..2500,
            block_erase_us: 3000..15_000,
            serial_us_per_kib: 1..4,
            overhead_us: 2..12,
            transfer_us_per_kib: 0..2,
            ..PAGE_MAPPED
        },
    },
    Stratum {
        name: "fast flash",
        differs: "the times of low-latency flash behind a fast bus and NVMe",
        ranges: Ranges {
            page_read_us: 3..15,
            page_program_us: 40..150,
            block_erase_us: 600..2000,
            serial_us_per_kib: 1..3,
            overhead_us: 2..8,
            transfer_us_per_kib: 0..2,
            ..PAGE_MAPPED
        },
    },
    Stratum {
        name: "cleaning",
        differs: "over-provisioning of 4 to 45 %, cleaning from 1 to 8 % free blocks on, windowed greedy, ties to the youngest, wear levelling",
        ranges: Ranges {
            over_provisioning: (0.04, 0.41),
            free_thresholds: &[0.01, 0.02, 0.03],
            change: clean,
            ..PAGE_MAPPED
        },
    },
    Stratum {
        name: "scheduling",
        differs: "queue depths of 1 to 256, reads first, suspended programs, commands out of order, and any priority of cleaning",
        ranges: Ranges { depths: &[1, 4, 64, 256], change: schedule, ..PAGE_MAPPED },
    },
    Stratum {
        name: "capacity",
        differs: "1 and 2 GiB of flash",
        ranges: Ranges { raw_mib: &[1024, 2048], page_maps: [50, 15], ..CALIBRATION },
    },
    Stratum {
        name: "map memory",
        differs: "a map on the flash with 128 to 8,192 entries in memory",
        ranges: Ranges {
            page_maps: [0, 100],
            map_entries: &[128, 256, 4096, 8192],
            raw_mib: &[256, 384],
            // A long read fetches map entries for each of its pages, if few fit in the memory.
            change: |draft| leave_out(draft, &[Parameter::BlockCost]),
            ..CALIBRATION
        },
    },
    Stratum {
        name: "failures",
        differs: "bad blocks, failing programs, and reads that need retries",
        ranges: Ranges { change: fail, ..PAGE_MAPPED },
    },
    Stratum {
        name: "log lists",
        differs: "13 to 40 log blocks in each of 1 to 8 packages, and blocks of 48 to 192 pages",
        ranges: Ranges {
            log_packages: &[1, 3, 4, 8],
            log_pages_per_block: &[48, 80, 96, 192],
            log_blocks: 13..41,
            raw_mib: &[256],
            ..LOG_BLOCKS
        },
    },
    Stratum {
        name: "queued log blocks",
        differs: "log blocks behind a queue of 4 to 32 requests and a write buffer",
        ranges: Ranges { log_depths: &[4, 32], change: buffer, ..LOG_BLOCKS },
    },
    Stratum {
        name: "mixed",
        differs: "several of these at once",
        ranges: Ranges {
            page_maps: [45, 15],
            page_kib: &[4, 8, 16, 32],
            pages_per_block: &[48, 96, 128, 256],
            page_read_us: 3..140,
            page_program_us: 60..2500,
            block_erase_us: 700..12_000,
            serial_us_per_kib: 1..15,
            raw_mib: &[192, 512],
            packages: &[1, 2, 3, 5, 8, 12, 16],
            overhead_us: 2..60,
            transfer_us_per_kib: 0..5,
            depths: &[4, 32, 128],
            persistence: &["pages", "summary", "nv-ram"],
            over_provisioning: (0.05, 0.35),
            log_packages: &[1, 3, 4],
            log_pages_per_block: &[48, 96, 128],
            log_depths: &[1, 8],
            log_blocks: 2..30,
            change: mix,
            ..CALIBRATION
        },
    },
];

/// The parameters that describe how addresses go to parallel units.
const PARALLEL: [Parameter; 4] =
    [Parameter::Parallelism, Parameter::Chunk, Parameter::Mapping, Parameter::Volumes];

/// Removes parameters that have no definite value, or none that this file can compute.
fn leave_out(draft: &mut Draft<'_>, parameters: &[Parameter]) {
    for parameter in parameters {
        draft.truth.remove(parameter);
    }
}

fn is_page_mapped(draft: &Draft<'_>) -> bool {
    draft.truth.get(&Parameter::FtlClass) == Some(&Truth::Class("page-mapped"))
}

fn interleave(draft: &mut Draft<'_>) {
    if draft.chance(40) {
        return;
    }
    draft.set("interleaving", "die");
    // Two pages on one package can be read together if they are on different dies, which depends on
    // the time of writing.
    leave_out(draft, &PARALLEL);
    let dynamic = draft.spec.contains("active_blocks=");
    if !dynamic && draft.chance(60) {
        let lanes = draft.one_of(&["die", "plane"]);
        draft.set("active_blocks", lanes);
        // Each die or plane cleans alone: the onset does not follow from the sum of the spare
        // blocks.
        leave_out(draft, &CLEANING);
        // A lane has few blocks: cleaning while idle keeps no more of them free than cleaning under
        // load.
        leave_out(draft, &[Parameter::Segment, Parameter::SlcCache, Parameter::IdleCleaning]);
    }
}

/// The parameters of cleaning that the generator computes from the spare blocks.
const CLEANING: [Parameter; 3] =
    [Parameter::OverProvisioning, Parameter::CleaningOnset, Parameter::CleaningPeriod];

fn share_buses(draft: &mut Draft<'_>) {
    let gang = if draft.packages.is_multiple_of(4) { draft.one_of(&[2, 4]) } else { 2 };
    draft.set("gang.packages", gang);
    let queues = draft.chance(70);
    draft.set("gang.queue_per_package", queues);
    leave_out(draft, &PARALLEL);
}

fn clean(draft: &mut Draft<'_>) {
    if draft.chance(30) {
        draft.set("cleaning.policy", "windowed-greedy");
        let window = draft.one_of(&[4, 16, 64]);
        draft.set("cleaning.window", window);
        // The policy lies between greedy and FIFO, depending on the window.
        leave_out(draft, &[Parameter::CleaningPolicy, Parameter::CleaningPeriod]);
    }
    let ties = draft.one_of(&["oldest", "youngest"]);
    draft.set("cleaning.ties", ties);
    let wear = draft.one_of(&["none", "rate-limit", "migrate"]);
    draft.set("wear.policy", wear);
    let background = draft.one_of(&[0.04, 0.06, 0.08]);
    draft.set("cleaning.background_threshold", background);
    // The generator computes these for a background threshold of 6 % only.
    leave_out(draft, &CLEANING);
}

fn schedule(draft: &mut Draft<'_>) {
    let policy = draft.one_of(&["read-first", "suspend", "out-of-order"]);
    draft.set("scheduling.policy", policy);
    let priority = draft.one_of(&["urgent", "equal", "low"]);
    draft.set("scheduling.cleaning_priority", priority);
    let cached = draft.chance(30);
    draft.set("scheduling.cache_read", cached);
    draft.set("scheduling.cache_program", cached);
}

fn fail(draft: &mut Draft<'_>) {
    let bad = draft.one_of(&[0.005, 0.01, 0.02]);
    draft.set("reliability.factory_bad_blocks", bad);
    let programs = draft.one_of(&[0.0, 1e-5, 1e-4]);
    draft.set("reliability.program_failures", programs);
    let disturb = draft.one_of(&[0.0, 1e-6, 1e-5]);
    draft.set("reliability.read_disturb", disturb);
    leave_out(draft, &CLEANING);
    // Bad blocks are no part of the cache, and neither are the blocks that replace them.
    leave_out(draft, &[Parameter::SlcCache]);
}

fn buffer(draft: &mut Draft<'_>) {
    let kind = draft.one_of(&["fifo", "lru", "bplru"]);
    let size = draft.one_of(&[64, 128, 512, 1024]) * KIB;
    draft.write_buffer(kind, size);
    // The regions that cost nothing depend on the buffer as well as on the log blocks.
    leave_out(draft, &[Parameter::OpenPartitions]);
}

fn mix(draft: &mut Draft<'_>) {
    match draft.rng.u32(0..5) {
        0 if draft.packages.is_multiple_of(2) => share_buses(draft),
        1 if is_page_mapped(draft) => schedule(draft),
        2 if is_page_mapped(draft) => clean(draft),
        3 if is_page_mapped(draft) => fail(draft),
        _ if !is_page_mapped(draft) => buffer(draft),
        _ => {}
    }
}
