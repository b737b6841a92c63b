//! Computes response times and limits from the fields of a profile, by arithmetic.
//!
//! This module does not use the simulator. A quantity that needs more than arithmetic has a reason
//! instead of a value.

use flashscope_sim::Profile;
use flashscope_sim::setup::Scope;

use crate::IO;
use crate::quantity::Quantity;

/// The reason why a quantity does not follow from the profile.
pub type Reason = &'static str;

const BUFFER: Reason = "the write buffer overlaps the work of host and flash";
const MAP: Reason = "the map is on the flash: the cost depends on its cache";
const AHEAD: Reason = "read-ahead overlaps the work of host and flash";
const CLEANING: Reason = "the cost of cleaning depends on the state";
const SPREAD: Reason = "blocks of several packages serve an IO";

/// Computes a quantity from a profile.
///
/// # Errors
/// Returns the reason if the quantity does not follow from the profile.
pub fn truth(profile: &Profile, quantity: Quantity) -> Result<f64, Reason> {
    let drive = Drive::new(profile);
    if drive.profile.ftl == "dftl" {
        return Err(MAP);
    }
    match quantity {
        Quantity::SequentialRead if profile.cache.read_ahead > 0 => Err(AHEAD),
        Quantity::SequentialRead => Ok(drive.mean_read(IO, 0)),
        Quantity::RandomRead => Ok(drive.random_read(IO, 0)),
        Quantity::SequentialWrite => drive.sequential_write(),
        Quantity::RandomWrite => drive.random_write(),
        Quantity::ReadSize => Ok(drive.read_size()),
        Quantity::ReadShift => Ok(drive.read_shift()),
        Quantity::ConcurrentReads => Ok(drive.concurrent_reads()),
        Quantity::Locality => drive.locality(),
        Quantity::Partitions => drive.partitions(),
    }
}

/// The fields of a profile in ns and bytes.
struct Drive<'a> {
    profile: &'a Profile,
    /// The time to read a page.
    read: f64,
    /// The time to move a page over the serial bus.
    bus: f64,
    /// The time to program a page.
    program: f64,
    /// The time to erase a block.
    erase: f64,
    page: u64,
    /// The number of consecutive bytes on one package.
    stripe: u64,
    packages: u64,
}

#[allow(clippy::cast_precision_loss, reason = "times and sizes are far below 2^53")]
impl Drive<'_> {
    fn new(profile: &Profile) -> Drive<'_> {
        let flash = &profile.flash;
        let page = flash.page_size.0;
        Drive {
            profile,
            read: flash.page_read.0 as f64,
            bus: flash.serial_access_per_kib.0 as f64 * (page + flash.metadata_size.0) as f64
                / 1024.0,
            program: flash.page_program.0 as f64,
            erase: flash.block_erase.0 as f64,
            page,
            stripe: profile.stripe.0.max(page),
            packages: flash.packages.into(),
        }
    }

    fn overhead(&self) -> f64 {
        self.profile.interface.request_overhead.0 as f64
    }

    /// Returns the transfer time of `bytes` bytes on the link to the host.
    fn link(&self, bytes: u64) -> f64 {
        self.profile.interface.transfer_per_kib.0 as f64 * bytes as f64 / 1024.0
    }

    /// Returns the package of each page of an IO, in order.
    fn packages_of(&self, offset: u64, len: u64) -> impl Iterator<Item = usize> {
        let pages = offset / self.page..(offset + len).div_ceil(self.page);
        let (page, stripe, packages) = (self.page, self.stripe, self.packages);
        #[allow(clippy::cast_possible_truncation, reason = "a few packages")]
        pages.map(move |nth| (nth * page / stripe % packages) as usize)
    }

    /// Returns the maximum number of pages of an IO on one package.
    fn busiest(&self, offset: u64, len: u64) -> f64 {
        let mut pages = vec![0_u32; self.profile.flash.packages as usize];
        self.packages_of(offset, len).for_each(|package| pages[package] += 1);
        pages.into_iter().max().unwrap_or(0).into()
    }

    /// Returns the time of a read. A package reads page after page. The link carries the data from
    /// the first page on, and the last page when the flash has read it.
    fn read(&self, offset: u64, len: u64) -> f64 {
        let each = self.read + self.bus;
        let all = each + self.link(len);
        let last = self.busiest(offset, len) * each + self.link(len.min(self.page));
        self.overhead() + all.max(last)
    }

    /// Returns the mean time of a read of `len` bytes whose offset is `shift` bytes after a
    /// multiple of `len`.
    fn mean_read(&self, len: u64, shift: u64) -> f64 {
        let places = (self.stripe * self.packages).div_ceil(len).clamp(1, 4096);
        (0..places).map(|place| self.read(place * len + shift, len)).sum::<f64>() / places as f64
    }

    /// Returns the mean time of a random read, including switches between groups of the address
    /// space.
    fn random_read(&self, len: u64, shift: u64) -> f64 {
        let groups = &self.profile.groups;
        let other = 1.0 - 1.0 / f64::from(groups.count);
        self.mean_read(len, shift) + other * groups.switch_time.0 as f64
    }

    /// Returns the size of the micro-benchmark Granularity from which on a byte costs at most twice
    /// the minimum.
    fn read_size(&self) -> f64 {
        let powers = (0..=9).map(|n| 1_u64 << n);
        let mut sizes: Vec<u64> = powers.chain([24, 48, 96, 192, 384]).map(|n| 512 * n).collect();
        sizes.sort_unstable();
        let per_byte = |size: &u64| self.random_read(*size, 0) / *size as f64;
        let best = sizes.iter().map(per_byte).fold(f64::INFINITY, f64::min);
        let good = sizes.iter().rev().take_while(|size| per_byte(size) <= 2.0 * best).last();
        good.map_or(f64::NAN, |size| *size as f64)
    }

    /// Returns the cost at the most expensive shift of the micro-benchmark Alignment, relative to
    /// aligned reads.
    fn read_shift(&self) -> f64 {
        let shifts = (0..).map(|n| 512 << n).take_while(|shift| *shift < IO);
        let most = shifts.map(|shift| self.random_read(IO, shift)).fold(0.0, f64::max);
        most / self.random_read(IO, 0)
    }

    /// Returns the throughput of many concurrent reads, relative to one read at a time. The slowest
    /// part is the bottleneck: the controller, the link, or the packages.
    fn concurrent_reads(&self) -> f64 {
        if self.profile.interface.queue_depth == 1 {
            return 1.0;
        }
        let pages = IO.div_ceil(self.page) as f64;
        let flash = (self.read + self.bus) * pages / self.packages as f64;
        let pace = self.overhead().max(self.link(IO)).max(flash);
        self.random_read(IO, 0) / pace
    }

    /// Returns the time to write an aligned IO to erased pages. Each page goes to its package as
    /// soon as it arrives.
    fn write(&self) -> f64 {
        let mut free = vec![0.0_f64; self.profile.flash.packages as usize];
        for (nth, package) in (1..).zip(self.packages_of(0, IO)) {
            let arrived = self.overhead() + self.link((nth * self.page).min(IO));
            free[package] = free[package].max(arrived) + self.bus + self.program;
        }
        free.into_iter().fold(0.0, f64::max)
    }

    /// Returns the time to copy pages within a package, over its bus.
    fn copy(&self, pages: f64) -> f64 {
        pages * (self.read + 2.0 * self.bus + self.program)
    }

    fn pages_per_block(&self) -> f64 {
        self.profile.flash.pages_per_block.into()
    }

    /// Returns the time of a full merge: all pages are copied, and two blocks erased.
    fn full_merge(&self) -> f64 {
        self.copy(self.pages_per_block()) + 2.0 * self.erase
    }

    /// Returns an error unless the drive has one package, the FTL BAST and no buffer.
    fn one_log_list(&self) -> Result<(), Reason> {
        if self.profile.cache.kind != "none" {
            return Err(BUFFER);
        }
        if self.profile.ftl != "bast" {
            return Err(CLEANING);
        }
        if self.packages > 1 { Err(SPREAD) } else { Ok(()) }
    }

    /// Returns the time of sequential writes. Each block of data costs a switch merge. It costs a
    /// full merge if the state left it a log block, or if the drive has no switch merges.
    fn sequential_write(&self) -> Result<f64, Reason> {
        self.one_log_list()?;
        let with_log = if self.profile.log.switch { self.blocks_with_log() } else { 1.0 };
        let merge = with_log * self.full_merge() + (1.0 - with_log) * self.erase;
        let pages = IO.div_ceil(self.page) as f64;
        Ok(self.write() + merge * pages / self.pages_per_block())
    }

    /// Returns the share of data blocks that have a log block.
    fn blocks_with_log(&self) -> f64 {
        let data_blocks = self.capacity() / (self.pages_per_block() * self.page as f64);
        f64::from(self.profile.log.blocks) / data_blocks
    }

    /// Returns the bytes that the host can address.
    fn capacity(&self) -> f64 {
        self.profile.capacity().map_or(f64::NAN, |capacity| capacity.0 as f64)
    }

    fn random_write(&self) -> Result<f64, Reason> {
        self.one_log_list()?;
        let pages = IO.div_ceil(self.page) as f64;
        let with_log = self.blocks_with_log();
        let miss = 1.0 - with_log;
        // A log block holds only its first write if no other write hits it before its eviction. If
        // this is the beginning of the data block, its merge is a partial one.
        let hits = with_log / miss;
        let partial = if self.profile.log.switch {
            (-hits).exp() * pages / self.pages_per_block()
        } else {
            0.0
        };
        let saved = self.copy(pages) + self.erase;
        Ok(self.write() + miss * (self.full_merge() - partial * saved))
    }

    /// Returns the largest area, as a power of two in bytes, that the log blocks of all packages
    /// cover. It is infinite if they cover the drive.
    fn locality(&self) -> Result<f64, Reason> {
        match self.profile.ftl.as_str() {
            "bast" if self.profile.cache.kind == "none" => {
                let blocks = f64::from(self.profile.log.blocks) * self.packages as f64;
                let bytes = blocks * self.pages_per_block() * self.page as f64;
                let largest = self.capacity();
                Ok(if bytes >= largest { f64::INFINITY } else { bytes.log2().floor().exp2() })
            }
            "bast" => Err(BUFFER),
            _ => Err(CLEANING),
        }
    }

    /// Returns the largest power of two of partitions for which every package has a log block per
    /// partition. It is infinite from 256 log blocks on, and for a page map with active blocks per
    /// pool.
    fn partitions(&self) -> Result<f64, Reason> {
        match self.profile.ftl.as_str() {
            "page-map" if self.profile.active_blocks == Scope::Pool => Ok(f64::INFINITY),
            "bast" => {
                let blocks = f64::from(self.profile.log.blocks);
                Ok(if blocks >= 256.0 { f64::INFINITY } else { blocks.log2().floor().exp2() })
            }
            _ => Err(CLEANING),
        }
    }
}
