//! The ranges of the parameters of random drives.

use std::ops::Range;

use super::draft::Draft;

/// The ranges of the parameters of random drives. A value that a list contains several times is
/// more frequent.
#[derive(Clone)]
pub struct Ranges {
    /// The percentage of drives with a page map in memory, and of drives with a page map on the
    /// flash. All other drives have log blocks.
    pub(super) page_maps: [u32; 2],
    pub(super) page_kib: &'static [u64],
    pub(super) pages_per_block: &'static [u64],
    pub(super) page_read_us: Range<u64>,
    pub(super) page_program_us: Range<u64>,
    pub(super) block_erase_us: Range<u64>,
    pub(super) serial_us_per_kib: Range<u64>,
    /// The dies of a package.
    pub(super) dies: &'static [u64],
    /// The planes of a die.
    pub(super) planes: &'static [u64],
    /// The flash of the drive, in MiB. A drive is larger if its packages need more blocks.
    pub(super) raw_mib: &'static [u64],
    /// The minimum number of blocks of a package.
    pub(super) min_blocks: u64,
    /// The packages of a page-mapped drive.
    pub(super) packages: &'static [u64],
    /// The overhead of a request to a page-mapped drive.
    pub(super) overhead_us: Range<u64>,
    pub(super) transfer_us_per_kib: Range<u64>,
    /// The queue depths of a page-mapped drive.
    pub(super) depths: &'static [u32],
    /// The values of the field `persistence.map` of a page-mapped drive.
    pub(super) persistence: &'static [&'static str],
    /// The minimum over-provisioning of a page-mapped drive, and the width of its range.
    pub(super) over_provisioning: (f64, f64),
    /// The share of free blocks below which the drive cleans.
    pub(super) free_thresholds: &'static [f64],
    /// The map entries in the memory of a drive with its map on the flash.
    pub(super) map_entries: &'static [u64],
    pub(super) log_packages: &'static [u64],
    pub(super) log_pages_per_block: &'static [u64],
    pub(super) log_depths: &'static [u32],
    pub(super) log_blocks: Range<u64>,
    /// Makes the changes that the other fields do not cover.
    pub(super) change: fn(&mut Draft<'_>),
}

/// The drives that the probe was developed on.
pub const CALIBRATION: Ranges = Ranges {
    page_maps: [40, 12],
    page_kib: &[2, 4, 4, 8, 16],
    pages_per_block: &[32, 64, 64, 128],
    page_read_us: 20..60,
    page_program_us: 200..900,
    block_erase_us: 1500..4000,
    serial_us_per_kib: 5..26,
    dies: &[1],
    planes: &[1],
    raw_mib: &[64, 96, 128, 192],
    min_blocks: 128,
    // Mostly powers of two, as in real controllers.
    packages: &[1, 2, 4, 8, 1, 2, 4, 8, 1, 2, 4, 8, 3, 6],
    overhead_us: 5..50,
    transfer_us_per_kib: 2..11,
    depths: &[32],
    persistence: &["pages"],
    over_provisioning: (0.08, 0.2),
    free_thresholds: &[0.02, 0.03, 0.04],
    map_entries: &[512, 1024, 2048],
    log_packages: &[1, 1, 2],
    log_pages_per_block: &[32, 64, 128, 128, 256],
    log_depths: &[1],
    log_blocks: 2..13,
    change: |_| {},
};
