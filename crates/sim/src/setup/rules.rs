//! The rules for a profile, and the values that follow from it.

mod cache;
pub(super) mod cells;
pub(super) mod energy;
pub(super) mod errors;
pub(super) mod log;
mod map_cache;
pub(super) mod placement;
pub(super) mod slc;
pub(super) mod zones;

use flashscope_block::{Bytes, Nanos};

use super::{Cleaning, Family, MapMemory, Profile, ProfileError, Raid};
use crate::nand::{
    self, Dimensions, GangSharing, Geometry, Interleaving, PlaneAddresses, Timing, Wiring, later,
    transfer_time,
};
use crate::setup::{Frontiers, Layout, PageFactors, PageTimes, Scope, Transfer, VictimOptions};
use crate::wear;

/// Distinct seeds, which make the random numbers of a drive's parts independent.
const FAULT_SEED: u64 = 0x6661_756c_7473;
const WEAR_SEED: u64 = 0x7765_6172;

pub(crate) fn broken(
    field: &'static str,
    value: impl std::fmt::Display,
    rule: impl Into<String>,
) -> ProfileError {
    ProfileError::Rule { field, value: value.to_string(), rule: rule.into() }
}

/// Refuses a value that breaks a rule.
pub(crate) fn require(
    kept: bool,
    field: &'static str,
    value: impl std::fmt::Display,
    rule: impl Into<String>,
) -> Result<(), ProfileError> {
    if kept { Ok(()) } else { Err(broken(field, value, rule)) }
}

/// A field; true if its value is excluded; that value in words; and the required value.
type Exclusion<'a> = (&'static str, bool, &'a str, &'a str);

/// Refuses the first excluded value. `by` names the setting that excludes it, such as
/// `with ftl = "bast"`.
fn require_none(by: &str, exclusions: &[Exclusion<'_>]) -> Result<(), ProfileError> {
    for (field, is_excluded, value, only) in exclusions {
        require(!is_excluded, field, value, format!("{by} it must be {only}"))?;
    }
    Ok(())
}

/// The number of lanes, and the blocks of each lane.
#[derive(Clone, Copy)]
struct Lanes {
    pools: u32,
    per_pool: u32,
    /// Blocks of a lane, without the blocks that are used as SLC.
    blocks: u32,
    slc_blocks: u32,
    slc_slots: u32,
    /// Blocks of a lane that are bad from the factory.
    bad: u32,
}

impl Profile {
    /// Checks every rule for an FTL of this family, and computes the layout.
    ///
    /// # Errors
    /// Returns the first field that breaks a rule, with its value and the rule.
    pub(crate) fn layout_of(&self, family: Family) -> Result<Layout, ProfileError> {
        let geometry = self.geometry()?;
        let timing = self.timing()?;
        self.check_interface()?;
        self.check_energy()?;
        let wiring = self.wiring()?;
        self.check_shares()?;
        let lanes = self.lanes(&geometry)?;
        let stripe = self.stripe(&geometry)?;
        self.check_placement(family.is_page_mapped(), lanes)?;
        let zone_row = self.zone_row(&geometry, lanes, stripe)?;
        let map_cache = self.map_cache(family, &geometry)?;
        let (clean_below, background_below) = self.thresholds(family, lanes.blocks)?;
        let urgent_below = self.urgent_below(lanes.blocks, clean_below, background_below)?;
        let logical_pages_per_pool = match family {
            Family::PageMapped { .. } => {
                let keep_free = clean_below.max(background_below);
                let entries = map_cache.entries_per_page;
                self.logical_pages(
                    &geometry,
                    lanes,
                    keep_free,
                    zone_row.unwrap_or(stripe),
                    entries,
                )?
            }
            Family::LogBlock(uses) => {
                self.check_log_blocks(uses, &geometry)?;
                self.pages_beside_logs(uses, &geometry, lanes, stripe)?
            }
        };
        let map_survives = self.persistence.map == MapMemory::NvRam;
        let record = u32::try_from(geometry.element_page().saturating_mul(8)).unwrap_or(u32::MAX);
        let pages_per_record = if map_survives || !family.trims() { 0 } else { record };
        let layout = Layout {
            geometry,
            timing,
            wiring,
            reliability: nand::Reliability {
                factory_bad_blocks: self.reliability.factory_bad_blocks,
                program_failures: self.reliability.program_failures,
                erase_failures: self.reliability.erase_failures,
                read_disturb: nand::ReadDisturb {
                    probability: self.reliability.read_disturb,
                    max_retries: self.reliability.read_retries,
                    refresh_from: self.reliability.refresh_retries,
                },
                bit_errors: self.bit_errors()?,
                block_lifetime: self.reliability.block_lifetime,
                seed: self.seed ^ FAULT_SEED,
            },
            timed: self.timed,
            measures_energy: self.energy.is_on(),
            queues: self.queues(&geometry, wiring)?,
            pools: lanes.pools,
            lanes_per_pool: lanes.per_pool,
            stripe,
            logical_pages_per_pool,
            map_survives,
            pages_per_record,
            clean_below,
            background_below,
            bad_blocks_per_lane: lanes.bad,
            urgent_below,
            frontiers: self.cleaning.frontiers,
            placement: zone_row.map_or(self.placement, |_| self.zones.placement(lanes)),
            zones: self.zone_layout(
                zone_row,
                lanes,
                clean_below.max(1),
                (logical_pages_per_pool, geometry.logical_page_size),
            )?,
            transfer: self.cleaning.transfer,
            slc_blocks_per_lane: lanes.slc_blocks,
            slc_dynamic: self.slc.dynamic,
            slc_when_full: self.slc.when_full,
            slc_slots_per_block: lanes.slc_slots,
            logs: self.logs(family),
            cleaning: self.cleaning_options()?,
            seed: self.seed,
            wear_options: wear::Options {
                age_variance: self.wear.age_variance,
                retirement_age: self.wear.retirement_age,
                seed: self.seed ^ WEAR_SEED,
            },
            family,
            map_cache: map_cache.of(lanes.pools * logical_pages_per_pool),
            cache: self.buffer(lanes.pools * logical_pages_per_pool, &geometry)?,
        };
        self.check_raid(&layout)?;
        Ok(layout)
    }

    fn check_raid(&self, layout: &Layout) -> Result<(), ProfileError> {
        let Raid { drives, stripe_unit } = self.raid;
        let rule = "it must be from 1 to 256";
        require((1..=256).contains(&drives), "raid.drives", drives, rule)?;
        if drives == 1 {
            return Ok(());
        }
        let (field, page) = ("raid.stripe_unit", u64::from(layout.logical_page_size()));
        let fits = stripe_unit > Bytes(0) && stripe_unit.is_multiple_of(Bytes(page));
        let rule = format!("it must be a multiple of the logical page, which is {page}");
        require(fits, field, stripe_unit.0, rule)?;
        let capacity = layout.capacity().0;
        let rule = format!("it must not exceed a drive's capacity, which is {capacity}");
        require(stripe_unit.0 <= capacity, field, stripe_unit.0, rule)?;
        let fits = capacity.checked_mul(u64::from(drives)).is_some();
        let rule = "all drives together must have fewer than 2^64 bytes";
        require(fits, "raid.drives", drives, rule)
    }

    pub(super) fn geometry(&self) -> Result<Geometry, ProfileError> {
        let flash = &self.flash;
        let counts = [
            ("flash.packages", flash.packages),
            ("flash.dies_per_package", flash.dies_per_package),
            ("flash.planes_per_die", flash.planes_per_die),
            ("flash.blocks_per_plane", flash.blocks_per_plane),
            ("flash.pages_per_block", flash.pages_per_block),
        ];
        let (field, rule) = ("flash.page_size", "it must be at least 1 byte and below 4 GiB");
        let page_size = flash.page_size;
        require((1..1 << 32).contains(&page_size.0), field, page_size.0, rule)?;
        let mut pages = 1u32;
        for (field, count) in counts {
            require(count > 0, field, count, "it must be at least 1")?;
            pages = pages.checked_mul(count).ok_or_else(|| {
                broken(field, count, "the drive must have fewer than 2^32 pages in all")
            })?;
        }
        let rule = "the drive must have fewer than 2^64 bytes in all";
        require(page_size.0.checked_mul(pages.into()).is_some(), field, page_size.0, rule)?;
        let span = self.page_span;
        let rule = format!("it must divide flash.packages, which is {}", flash.packages);
        require(span > 0 && flash.packages.is_multiple_of(span), "page_span", span, rule)?;
        let summed_up = self.persistence.map == MapMemory::Summary;
        let summary_pages = if summed_up { self.persistence.summary_pages } else { 0 };
        let rule = format!(
            "it must be at least 1 and leave pages for data in a block of {} pages",
            flash.pages_per_block
        );
        let fits = summary_pages < flash.pages_per_block && (summary_pages > 0 || !summed_up);
        require(fits, "persistence.summary_pages", summary_pages, rule)?;
        self.places(Dimensions {
            packages: flash.packages,
            span,
            dies_per_package: flash.dies_per_package,
            planes_per_die: flash.planes_per_die,
            blocks_per_plane: flash.blocks_per_plane,
            pages_per_block: flash.pages_per_block,
            page_size,
            summary_pages,
            logical_page_size: u32::try_from(self.logical_page_size().0).unwrap_or(u32::MAX),
        })
    }

    /// Returns the size of a logical page.
    fn logical_page_size(&self) -> Bytes {
        match self.logical_page_size {
            Bytes(0) => Bytes(self.flash.page_size.0.saturating_mul(self.page_span.into())),
            size => size,
        }
    }

    /// Returns the geometry of these dimensions, if logical pages fit into it.
    fn places(&self, dimensions: Dimensions) -> Result<Geometry, ProfileError> {
        let (field, size) = ("logical_page_size", self.logical_page_size());
        let page = Bytes(dimensions.page_size.0 * u64::from(dimensions.span));
        let small = size.0 > 0 && page.is_multiple_of(size) && dimensions.span == 1;
        let rule = format!(
            "it must be a multiple of the {} bytes of {} flash page(s), or divide the bytes of a \
             single page, and be below 4 GiB",
            page.0, dimensions.span
        );
        let large = size.0 > 0 && size.0 < 1 << 32 && size.is_multiple_of(page);
        require(small || large, field, size.0, rule)?;
        let geometry = Geometry::new(dimensions).map_err(|places| {
            let rule = format!(
                "the drive must have fewer than 2^32 - 1 slots for logical pages; it has {places}"
            );
            broken("flash.blocks_per_plane", dimensions.blocks_per_plane, rule)
        })?;
        let rule = format!(
            "it must fit in a block, which has {} bytes for data",
            page.0 * u64::from(geometry.data_pages())
        );
        require(geometry.slots_per_block > 0, field, size.0, rule)?;
        Ok(geometry)
    }

    /// Returns the duration of a step inside the drive: `time`, or 0 if flash operations take no
    /// time. All operations are then done when the drive answers a request, and no erase has to
    /// wait.
    fn within_drive(&self, time: Nanos) -> Nanos {
        if self.timed { time } else { Nanos(0) }
    }

    fn timing(&self) -> Result<Timing, ProfileError> {
        let flash = &self.flash;
        let times = [
            ("flash.page_read", flash.page_read),
            ("flash.page_program", flash.page_program),
            ("flash.block_erase", flash.block_erase),
            ("flash.serial_access_per_kib", flash.serial_access_per_kib),
            ("slc.page_read", self.slc.page_read),
            ("slc.page_program", self.slc.page_program),
        ];
        for (field, time) in times {
            require(time > Nanos(0), field, time, "it must be above 0")?;
        }
        let zeros = flash.zero_page_program;
        let copies_back = self.cleaning.transfer == Transfer::CopyBack;
        let rule = "it must be 0 where cleaning.transfer is \"copy-back\"";
        require(zeros == Nanos(0) || !copies_back, "flash.zero_page_program", zeros, rule)?;
        let transfer = |size| transfer_time(size, flash.serial_access_per_kib);
        Ok(Timing {
            page_read: flash.page_read,
            page_program: flash.page_program,
            zero_page_program: match flash.zero_page_program {
                Nanos(0) => flash.page_program,
                time => time,
            },
            slc_read: self.slc.page_read,
            slc_program: self.slc.page_program,
            page_types: self.page_types()?,
            block_erase: flash.block_erase,
            page_transfer: later(transfer(flash.page_size), transfer(flash.metadata_size)),
            metadata_transfer: transfer(flash.metadata_size),
            summary_transfer: transfer(self.persistence.summary_size),
        })
    }

    fn wiring(&self) -> Result<Wiring, ProfileError> {
        let (gang, packages) = (&self.gang, self.flash.packages);
        let rule =
            format!("it must be from 1 to 64 and divide flash.packages, which is {packages}");
        let divides = (1..=64).contains(&gang.packages) && packages.is_multiple_of(gang.packages);
        require(divides, "gang.packages", gang.packages, rule)?;
        let planes = self.flash.planes_per_die;
        let paired = planes.is_multiple_of(2);
        let rule = format!("it needs planes in pairs, but flash.planes_per_die is {planes}");
        let pairs = self.interleaving == Interleaving::PlanePair;
        require(!pairs || paired, "interleaving", "plane-pair", rule.clone())?;
        let two_plane = self.flash.two_plane_commands;
        require(!two_plane || paired, "flash.two_plane_commands", two_plane, rule)?;
        let addresses = self.flash.two_plane_addresses;
        let field = "flash.two_plane_addresses";
        let rule = "it needs flash.two_plane_commands: other commands are not joined";
        let allowed = two_plane || addresses == PlaneAddresses::default();
        require(allowed, field, addresses, rule)?;
        if gang.packages > 1 {
            self.check_gang()?;
        }
        Ok(Wiring {
            interleaving: self.interleaving,
            two_plane,
            addresses,
            gang: gang.packages,
            sharing: gang.sharing,
            queue_per_package: gang.queue_per_package || gang.packages == 1,
        })
    }

    fn check_gang(&self) -> Result<(), ProfileError> {
        let (gang, span) = (&self.gang, self.page_span);
        let control = gang.sharing == GangSharing::Control;
        let rule = format!(
            "it must be 1 or, for a gang that works in step, gang.packages, which is {}",
            gang.packages
        );
        require(span == 1 || span == gang.packages, "page_span", span, rule)?;
        let alone = self.interleaving == Interleaving::None && !self.flash.two_plane_commands;
        let rule = "it must be true where packages interleave or use two-plane commands";
        require(gang.queue_per_package || alone, "gang.queue_per_package", false, rule)?;
        let rule = "it must be true where the gang shares control pins or a page spans it: each \
                    package has data pins of its own";
        let shared = gang.queue_per_package || !control && span == 1;
        require(shared, "gang.queue_per_package", false, rule)?;
        let rule = "it must be \"bus\" where packages interleave or use two-plane commands: with \
                    shared control pins all work in step";
        require(!control || alone, "gang.sharing", "control", rule)
    }

    fn check_interface(&self) -> Result<(), ProfileError> {
        let block = self.interface.logical_block;
        let (page, logical) = (self.flash.page_size, self.logical_page_size());
        let divides =
            block > Bytes(0) && page.is_multiple_of(block) && logical.is_multiple_of(block);
        let rule = format!(
            "it must divide flash.page_size, which is {}, and logical_page_size, which is {}",
            page.0, logical.0
        );
        require(divides, "interface.logical_block", block.0, rule)?;
        let largest = self.interface.largest_request;
        let rule =
            format!("it must be a multiple of interface.logical_block, which is {}", block.0);
        require(largest.is_multiple_of(block), "interface.largest_request", largest.0, rule)?;
        let (depth, groups) = (self.interface.queue_depth, self.groups.count);
        let cores = self.interface.cores;
        let rule = "it must be from 1 to 1024";
        require((1..=1024).contains(&cores), "interface.cores", cores, rule)?;
        let rule = "it must be from 1 to 65536";
        require((1..=1 << 16).contains(&groups), "groups.count", groups, rule)?;
        require((1..=1 << 16).contains(&depth), "interface.queue_depth", depth, rule)
    }

    /// Checks the fields that are shares or probabilities, and the other fields of `reliability`.
    fn check_shares(&self) -> Result<(), ProfileError> {
        let shares = [
            ("reliability.factory_bad_blocks", self.reliability.factory_bad_blocks),
            ("reliability.program_failures", self.reliability.program_failures),
            ("reliability.erase_failures", self.reliability.erase_failures),
            ("reliability.read_disturb", self.reliability.read_disturb),
            ("slc.share", self.slc.share),
            ("wear.age_variance", self.wear.age_variance),
            ("wear.retirement_age", self.wear.retirement_age),
        ];
        for (field, share) in shares {
            require((0.0..1.0).contains(&share), field, share, "it must be from 0 to below 1")?;
        }
        let (retries, refresh) = (self.reliability.read_retries, self.reliability.refresh_retries);
        let rule = "it must be at most 1000";
        require(retries <= 1000, "reliability.read_retries", retries, rule)?;
        let rule = "it must be at least 1";
        require(refresh > 0, "reliability.refresh_retries", refresh, rule)?;
        let lifetime = self.reliability.block_lifetime;
        require(lifetime > 0, "reliability.block_lifetime", lifetime, "it must be at least 1")
    }

    fn cleaning_options(&self) -> Result<VictimOptions, ProfileError> {
        let Cleaning { ties, window, choices, .. } = self.cleaning;
        for (field, count) in [("cleaning.window", window), ("cleaning.choices", choices)] {
            require(count > 0, field, count, "it must be at least 1")?;
        }
        Ok(VictimOptions { ties, window, choices })
    }

    fn lanes(&self, geometry: &Geometry) -> Result<Lanes, ProfileError> {
        let elements = geometry.elements();
        let per_pool = self.packages_per_pool;
        let rule = format!("it must divide the {elements} packages, or spans of packages");
        let divides = per_pool > 0 && elements.is_multiple_of(per_pool);
        require(divides, "packages_per_pool", per_pool, rule)?;
        let whole = per_pool == 1 || self.allocation_pool == Scope::Package;
        let rule = "it must be 1 unless allocation_pool is \"package\"";
        require(whole, "packages_per_pool", per_pool, rule)?;
        let parts = |scope: Scope| match scope {
            Scope::Pool => None,
            Scope::Package => Some(elements),
            Scope::Die => Some(elements * geometry.dies_per_package),
            Scope::Plane => Some(geometry.blocks() / geometry.blocks_per_plane),
        };
        let rule = "it must be \"package\", \"die\" or \"plane\"";
        let pools = parts(self.allocation_pool)
            .ok_or_else(|| broken("allocation_pool", "pool", rule))?
            / per_pool;
        let lanes = parts(self.active_blocks).unwrap_or(pools);
        let rule = "it must not be larger than allocation_pool";
        require(lanes >= pools, "active_blocks", self.active_blocks, rule)?;
        let blocks = geometry.blocks() / lanes;
        let in_plane = blocks <= geometry.blocks_per_plane;
        let rule = "it needs active_blocks = \"plane\": copy-backs stay within their plane";
        let copies_back = self.cleaning.transfer == Transfer::CopyBack;
        require(in_plane || !copies_back, "cleaning.transfer", "copy-back", rule)?;
        let planes = blocks / geometry.blocks_per_plane.min(blocks);
        let bad = nand::bad_blocks(self.reliability.factory_bad_blocks, geometry.blocks_per_plane);
        let (slc_blocks, slc_slots) = self.slc(geometry, blocks)?;
        Ok(Lanes {
            pools,
            per_pool: lanes / pools,
            blocks: blocks - slc_blocks,
            slc_blocks,
            slc_slots,
            bad: bad * planes,
        })
    }

    /// Returns the number of consecutive logical pages that belong to one pool.
    fn stripe(&self, geometry: &Geometry) -> Result<u32, ProfileError> {
        let logical = u64::from(geometry.logical_page_size);
        let unit = Bytes(logical.max(geometry.element_page()));
        let stripe = if self.stripe == Bytes(0) { unit } else { self.stripe };
        let rule = format!(
            "it must be a multiple of {} bytes, the larger of a logical page and page_span flash pages",
            unit.0
        );
        let fits = stripe > Bytes(0) && stripe.is_multiple_of(unit);
        require(fits, "stripe", stripe.0, rule)?;
        u32::try_from(stripe.0 / logical)
            .map_err(|_| broken("stripe", stripe.0, "it must be below 2^32 logical pages"))
    }

    /// Returns the numbers of free blocks in a lane of `blocks` below which foreground and
    /// background garbage collection run; 0 for one that never runs.
    fn thresholds(&self, family: Family, blocks: u32) -> Result<(u32, u32), ProfileError> {
        let cleaning = &self.cleaning;
        if !family.is_page_mapped() {
            return Ok((0, 0));
        }
        let foreground = threshold("cleaning.free_threshold", cleaning.free_threshold, blocks)?;
        let rule = format!(
            "at least 2 of the {blocks} blocks of a lane must be kept free: one to write to and \
             one to move pages to"
        );
        require(foreground >= 2, "cleaning.free_threshold", cleaning.free_threshold, rule)?;
        let field = "cleaning.background_threshold";
        let background = threshold(field, cleaning.background_threshold, blocks)?;
        if !self.background_cleaning {
            return Ok((foreground, 0));
        }
        let rule = format!(
            "it must not be below cleaning.free_threshold, which is {}",
            cleaning.free_threshold
        );
        require(background >= foreground, field, cleaning.background_threshold, rule)?;
        Ok((foreground, background))
    }

    /// Returns the number of free blocks of a lane of `blocks` below which garbage collection is
    /// urgent; 0 if it is never urgent.
    fn urgent_below(
        &self,
        blocks: u32,
        foreground: u32,
        background: u32,
    ) -> Result<u32, ProfileError> {
        let (field, value) = ("cleaning.urgent_threshold", self.cleaning.urgent_threshold);
        if value == 0.0 {
            return Ok(0);
        }
        let rule = "it needs a page-mapped FTL with background_cleaning";
        require(background > 0, field, value, rule)?;
        let urgent = threshold(field, value, blocks)?;
        let rule = "it must be from cleaning.free_threshold to cleaning.background_threshold";
        require((foreground..=background).contains(&urgent), field, value, rule)?;
        Ok(urgent)
    }

    /// Returns the number of logical pages of a pool that the host can address. The number is small
    /// enough that garbage collection always has a victim. While it frees up to `keep_free` blocks
    /// of every lane, at least one full block has a page of superseded slots. Valid slots must
    /// therefore not fill all blocks that are neither free nor open. Each of these blocks may leave
    /// part of a page unused. The number is a multiple of `unit`.
    fn logical_pages(
        &self,
        geometry: &Geometry,
        lanes: Lanes,
        keep_free: u32,
        unit: u32,
        entries_per_page: u32,
    ) -> Result<u32, ProfileError> {
        let (field, value) = ("over_provisioning", self.over_provisioning);
        let places = lanes.blocks * lanes.per_pool * geometry.slots_per_block;
        let spare = share(field, value, places, f64::floor)?;
        let logical = (places - spare) / unit * unit;
        let what = if self.zones.is_on() { "a zone in each lane" } else { "a stripe" };
        let rule = format!("it must leave at least {what} ({unit} pages of a pool) for the host");
        require(logical > 0, field, value, rule)?;
        let map_frontier = u32::from(entries_per_page > 0);
        let open = map_frontier
            + u32::from(self.slc.dynamic > 0.0)
            + self.placement.more_open_blocks()
            + match self.cleaning.frontiers {
                Frontiers::One => 0,
                Frontiers::HostAndCleaning | Frontiers::HotAndCold => 1,
            };
        let full = lanes.blocks.saturating_sub(keep_free + open + lanes.bad);
        let usable = lanes.per_pool
            * full
            * (geometry.slots_per_block - (geometry.slots_per_page - 1)).max(1);
        // Records of trims: each record page has a bit for every logical page that it covers.
        let records = match self.persistence.map {
            MapMemory::NvRam => 0,
            MapMemory::Summary | MapMemory::Pages => {
                let bits = u32::try_from(geometry.element_page() * 8).unwrap_or(u32::MAX);
                logical.div_ceil(bits) + 1
            }
        };
        // Translation pages belong to the pools in turn.
        let internal = records
            + match entries_per_page {
                0 => 0,
                entries => logical.div_ceil(entries) + 1,
            };
        if logical + internal <= usable.saturating_sub(1) {
            return Ok(logical);
        }
        let needed = places - usable.saturating_sub(1 + internal).min(places);
        let least = (f64::from(needed) / f64::from(places) * 1e4).ceil() / 1e4;
        let rule = format!(
            "it must be at least {least}: more than {keep_free} of the {} blocks of a lane must be \
             spare, because garbage collection keeps {keep_free} free; or lower its thresholds",
            lanes.blocks
        );
        Err(broken(field, value, rule))
    }
}

fn threshold(field: &'static str, value: f64, blocks: u32) -> Result<u32, ProfileError> {
    share(field, value, blocks, f64::ceil)
}

/// Returns `value` times `whole`, rounded by `round`. A product within 1e-6 of an integer counts as
/// that integer, because binary fractions are not exact.
fn share(
    field: &'static str,
    value: f64,
    whole: u32,
    round: fn(f64) -> f64,
) -> Result<u32, ProfileError> {
    if !(value > 0.0 && value < 1.0) {
        return Err(broken(field, value, "it must be above 0 and below 1"));
    }
    let exact = value * f64::from(whole);
    let nearest = exact.round();
    let part = if (exact - nearest).abs() < 1e-6 { nearest } else { round(exact) };
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // between 0 and `whole`
    Ok(part as u32)
}
