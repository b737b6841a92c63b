//! Generates profiles of small drives of every shape from bytes.

use arbitrary::Unstructured;
use flashscope_block::Nanos;
use flashscope_sim::ftl;
use flashscope_sim::nand::{GangSharing, Interleaving, PlaneAddresses};
use flashscope_sim::sched::Level;
use flashscope_sim::setup::{CleaningUnit, MapMemory, OwnPriority};
use flashscope_sim::setup::{
    Eviction, Frontiers, Identifiers, Isolation, Merge, PerPageType, Placement, Programming, Scope,
    Slc, Transfer, WhenFull,
};
use flashscope_sim::{Profile, gc, wear};

use super::{draw, flip, pick};

pub(crate) const LOGICAL_BLOCK: u64 = 512;

/// The maximum number of flash pages of a drive, which keeps checks of all pages fast.
const MAX_PAGES: u32 = 4096;

/// Returns a random profile without failures of the flash. Most of these profiles are valid.
pub(crate) fn profile(ftl: &ftl::Kind, bytes: &mut Unstructured<'_>) -> Profile {
    let mut profile = Profile { ftl: ftl.name.into(), ..Profile::default() };
    flash(bytes, &mut profile);
    pages(bytes, &mut profile);
    wiring(bytes, &mut profile);
    cleaning(bytes, &mut profile);
    profile.interface.cut_through = flip(bytes);
    profile.interface.queue_depth = draw(bytes, 1, 6);
    profile.interface.request_overhead = Nanos(1000);
    profile.interface.transfer_per_kib = Nanos(3413);
    profile.interface.cores = 1 + profile.flash.packages % 3;
    profile.interface.command_time = Nanos(u64::from(profile.flash.dies_per_package - 1) * 5000);
    profile.timed = draw(bytes, 0, 7) > 0;
    profile.seed = draw(bytes, 0, 255).into();
    // Memory for one entry up to most of the map.
    profile.map_cache.size.0 = profile.map_cache.entry_size.0 << (profile.seed % 11);
    profile.map_cache.batch = profile.seed.is_multiple_of(2);
    if !ftl.is_page_mapped() {
        log_blocks(bytes, &mut profile);
    } else if profile.persistence.map == MapMemory::Summary && profile.seed % 4 == 1 {
        profile.persistence.map = MapMemory::Pages;
    }
    // Host memory for up to 64 entries, unless the map must survive power cuts.
    if profile.persistence.map != MapMemory::NvRam && profile.seed.is_multiple_of(3) {
        profile.map_cache.host_memory.0 = profile.map_cache.entry_size.0 << (profile.seed % 7);
    }
    if profile.timed && profile.seed % 5 == 1 {
        profile.energy.program = 0.1;
    }
    // Bit errors of every kind, and a ladder of retries that always suffices.
    if profile.seed % 5 == 4 && profile.cleaning.transfer != Transfer::CopyBack {
        profile.errors.rate = 2e-3;
        profile.errors.wear = 20;
        profile.errors.retention = Nanos::millis(500);
        (profile.errors.reads, profile.errors.correctable) = (40, 30);
        profile.errors.decode_time = Nanos(profile.seed % 3 * 1000);
        profile.reliability.read_retries = 1000;
        profile.reliability.refresh_retries = 1 + u32::from(profile.seed.is_multiple_of(2));
    }
    // Reads disturb, and the drive rewrites pages in time: no page ever exhausts its retries.
    if profile.seed % 5 == 2 {
        let reliability = &mut profile.reliability;
        (reliability.read_disturb, reliability.read_retries) = (0.3, 1000);
        reliability.refresh_retries = 1 + u32::from(profile.seed.is_multiple_of(2));
    }
    if profile.seed % 7 < 3 {
        let mut typed = profile.clone();
        cells(&mut typed);
        make_room(&mut typed);
        if typed.layout().is_ok() {
            profile = typed;
        }
    }
    if ftl.is_page_mapped() && profile.seed % 8 == 5 && profile.cells.bits_per_cell > 1 {
        let mut cached = profile.clone();
        dynamic_slc(&mut cached);
        make_room(&mut cached);
        if cached.layout().is_ok() {
            profile = cached;
        }
    }
    if ftl.is_page_mapped() && profile.seed % 6 == 4 {
        let mut placed = profile.clone();
        placement(&mut placed);
        make_room(&mut placed);
        if placed.layout().is_ok() {
            return placed;
        }
    }
    make_room(&mut profile);
    profile
}

/// Gives the cells several bits. The seed of the profile selects their number and the way of
/// programming.
fn cells(profile: &mut Profile) {
    let bits = 1 + u32::try_from(profile.seed % 5).expect("below 5");
    profile.flash.pages_per_block = profile.flash.pages_per_block.next_multiple_of(bits);
    profile.cells.bits_per_cell = bits;
    let times = |first: u64| {
        PerPageType((0..u64::from(bits)).map(|nth| Nanos::micros(first * (1 + nth % 3))).collect())
    };
    if profile.seed.is_multiple_of(2) {
        profile.cells.programming = Programming::OneShot;
    } else {
        profile.cells.page_program = times(150);
    }
    profile.cells.page_read = times(30);
}

/// Adds a dynamic SLC cache. The seed of the profile selects its settings.
fn dynamic_slc(profile: &mut Profile) {
    profile.slc.share = 0.0;
    profile.slc.dynamic = [0.2, 0.5, 0.9, 1.0][(profile.seed / 8 % 4) as usize];
    profile.slc.when_full = match profile.seed / 32 % 3 {
        0 => WhenFull::ByCleaning,
        1 => WhenFull::Fold,
        _ => WhenFull::Bypass,
    };
}

/// Lets the host place data. The seed of the profile selects the settings.
fn placement(profile: &mut Profile) {
    let way = u32::try_from(profile.seed / 6).expect("below 2^32");
    profile.placement = Placement {
        handles: 1 + way % 5,
        isolation: if way.is_multiple_of(2) { Isolation::Persistent } else { Isolation::Initial },
        identifiers: if way % 3 == 1 { Identifiers::Streams } else { Identifiers::Handles },
        groups: 1 + way % 2,
    };
    profile.cleaning.frontiers = Frontiers::One;
    profile.slc = Slc::default();
    if profile.placement.isolation == Isolation::Persistent {
        profile.wear.policy = "rate-limit".into();
    }
}

fn flash(bytes: &mut Unstructured<'_>, profile: &mut Profile) {
    let flash = &mut profile.flash;
    flash.packages = draw(bytes, 1, 4);
    flash.dies_per_package = draw(bytes, 1, 2);
    flash.planes_per_die = draw(bytes, 1, 4);
    flash.pages_per_block = draw(bytes, 1, 70);
    flash.page_size.0 = u64::from(draw(bytes, 1, 4)) * LOGICAL_BLOCK;
    let planes = flash.packages * flash.dies_per_package * flash.planes_per_die;
    let most = MAX_PAGES / (planes * flash.pages_per_block);
    flash.blocks_per_plane = draw(bytes, 3, 24).min(most).max(3);
}

/// Sets the size of a logical page: a flash page, a part of a page, or several pages.
fn pages(bytes: &mut Unstructured<'_>, profile: &mut Profile) {
    let page = profile.flash.page_size.0;
    profile.page_span = pick(bytes, &[1, 1, 2]);
    profile.logical_page_size.0 = match draw(bytes, 0, 3) {
        0 | 1 => 0,
        2 => LOGICAL_BLOCK,
        _ => page * u64::from(profile.page_span * draw(bytes, 1, 3)),
    };
    profile.persistence.map = pick(bytes, &[MapMemory::Summary, MapMemory::NvRam]);
    profile.persistence.summary_pages = pick(bytes, &[1, 1, 1, 2]);
}

/// Returns one of the address rules.
pub(crate) fn plane_addresses(number: u32) -> PlaneAddresses {
    match number % 3 {
        0 => PlaneAddresses::Any,
        1 => PlaneAddresses::SamePage,
        _ => PlaneAddresses::SameBlock,
    }
}

fn wiring(bytes: &mut Unstructured<'_>, profile: &mut Profile) {
    let scopes = [Scope::Package, Scope::Die, Scope::Plane];
    profile.allocation_pool = pick(bytes, &scopes);
    profile.active_blocks = pick(bytes, &[Scope::Pool, Scope::Package, Scope::Die, Scope::Plane]);
    profile.packages_per_pool = pick(bytes, &[1, 1, 2]);
    profile.interleaving =
        pick(bytes, &[Interleaving::None, Interleaving::Die, Interleaving::PlanePair]);
    profile.flash.two_plane_commands = flip(bytes);
    if profile.flash.two_plane_commands {
        profile.flash.two_plane_addresses = plane_addresses(profile.flash.blocks_per_plane);
    }
    profile.gang.packages = if flip(bytes) { profile.flash.packages } else { 1 };
    profile.gang.sharing = pick(bytes, &[GangSharing::Bus, GangSharing::Control]);
    profile.gang.queue_per_package = flip(bytes);
}

fn cleaning(bytes: &mut Unstructured<'_>, profile: &mut Profile) {
    let hundredths =
        |bytes: &mut Unstructured<'_>, least, most| f64::from(draw(bytes, least, most)) / 100.0;
    profile.background_cleaning = flip(bytes);
    profile.slc.share = if flip(bytes) { hundredths(bytes, 1, 30) } else { 0.0 };
    profile.over_provisioning = hundredths(bytes, 5, 60);
    profile.cleaning.free_threshold = hundredths(bytes, 2, 40);
    profile.cleaning.background_threshold = hundredths(bytes, 2, 60);
    if profile.background_cleaning && profile.cleaning.background_threshold > 0.3 {
        profile.cleaning.urgent_threshold = profile.cleaning.background_threshold;
    }
    profile.cleaning.transfer = pick(bytes, &[Transfer::InterPlane, Transfer::CopyBack]);
    profile.cleaning.frontiers =
        pick(bytes, &[Frontiers::One, Frontiers::HostAndCleaning, Frontiers::HotAndCold]);
    profile.cleaning.policy = pick(bytes, gc::KINDS).name.into();
    profile.cleaning.window = draw(bytes, 1, 8);
    profile.wear.policy = pick(bytes, wear::KINDS).name.into();
    profile.reliability.block_lifetime = 1_000_000;
}

/// Chooses log blocks at random, and resets the fields that FTLs with log blocks do not support.
fn log_blocks(bytes: &mut Unstructured<'_>, profile: &mut Profile) {
    profile.log.blocks = draw(bytes, 1, 6);
    profile.log.merge = pick(bytes, &[Merge::Eager, Merge::Lazy]);
    profile.log.eviction = pick(bytes, &[Eviction::Fifo, Eviction::Lru, Eviction::Random]);
    profile.log.group = draw(bytes, 1, 5);
    profile.log.per_group = draw(bytes, 1, profile.log.blocks);
    share_out(profile, profile.seed);
    without_cleaning(profile);
}

/// Divides the log blocks among the localities; `way` selects the division.
pub(crate) fn share_out(profile: &mut Profile, way: u64) {
    let (log, small) = (&mut profile.log, u32::try_from(way % 1000).expect("below 1000"));
    let blocks = log.blocks.max(3);
    log.sequential = 1 + small % (blocks - 2);
    log.hot = 1 + small / 7 % (blocks - log.sequential - 1);
    log.hot_interval = 1 << (small % 9);
    log.sequential_request.0 = LOGICAL_BLOCK << (small % 6);
}

/// Resets the fields that only page-mapped FTLs support.
pub(crate) fn without_cleaning(profile: &mut Profile) {
    profile.logical_page_size.0 = 0;
    profile.active_blocks = Scope::Pool;
    profile.background_cleaning = false;
    profile.slc = Slc::default();
    profile.wear.policy = "none".into();
    profile.cleaning.frontiers = Frontiers::One;
    profile.cleaning.transfer = Transfer::InterPlane;
    if profile.persistence.map == MapMemory::Summary {
        profile.persistence.map = MapMemory::Pages;
    }
}

/// Adjusts an invalid profile up to twelve times, until it is valid: for example, it gets more
/// spare space or log blocks, or logical pages as large as flash pages.
fn make_room(profile: &mut Profile) {
    for _ in 0..12 {
        let Err(error) = profile.layout() else { return };
        let error = error.to_string();
        if error.contains("`log.blocks`") && error.contains("it must be at least") {
            profile.log.blocks += 1;
        } else if error.contains("cleaning.free_threshold") {
            profile.cleaning.free_threshold = (profile.cleaning.free_threshold + 0.1).min(0.9);
            profile.cleaning.background_threshold = profile.cleaning.free_threshold;
        } else if error.contains("over_provisioning") && profile.placement.handles > 2 {
            profile.placement.handles = 2;
        } else if error.contains("over_provisioning") && profile.over_provisioning < 0.9 {
            profile.over_provisioning += 0.08;
        } else if error.contains("maps whole pages") {
            profile.logical_page_size.0 = 0;
        } else if error.contains("`placement.groups`") {
            profile.placement.groups = 1;
        } else if error.contains("`placement.handles`") || error.contains("`wear.policy`") {
            profile.placement = Placement::default();
        } else if error.contains("copy-back") {
            profile.active_blocks = Scope::Plane;
        } else {
            return;
        }
    }
}

/// Makes commands wait in queues by this policy. The seed of the profile selects the other
/// settings.
pub(crate) fn wait_in_queues(profile: &mut Profile, policy: &str) {
    let (way, micros) = (profile.seed, |count: u64| Nanos::micros(count));
    profile.timed = true;
    let scheduling = &mut profile.scheduling;
    scheduling.policy = policy.into();
    scheduling.command_cycles = micros(way % 2);
    scheduling.cleaning_priority = match way % 3 {
        0 => Level::Urgent,
        1 => Level::Equal,
        _ => Level::Low,
    };
    scheduling.erase_priority = match way / 3 % 4 {
        0 => OwnPriority::AsCleaning,
        1 => OwnPriority::Urgent,
        2 => OwnPriority::Equal,
        _ => OwnPriority::Low,
    };
    if way % 13 < 4 && profile.persistence.map != MapMemory::NvRam {
        scheduling.mapping_priority = Level::Urgent;
    }
    match policy {
        "suspend" => {
            scheduling.suspend_time = micros(way % 7);
            scheduling.resume_time = micros(way % 11);
            scheduling.min_progress = micros(way % 40);
            scheduling.max_suspensions = u32::try_from(way % 4).expect("below 4");
        }
        "fcfs" if way % 5 < 2 => {
            scheduling.cleaning = CleaningUnit::Block;
        }
        _ => {
            scheduling.cleaning = CleaningUnit::Step;
            scheduling.cache_read = way.is_multiple_of(2);
            scheduling.cache_program = way.is_multiple_of(3);
        }
    }
    if scheduling.cleaning != CleaningUnit::Block {
        scheduling.steps_in_a_row = 1 + u32::try_from(way % 5).expect("below 5");
        scheduling.steps_in_a_row = scheduling.steps_in_a_row.min(profile.flash.pages_per_block);
    }
    let works = profile.cache.write_back > 0.0 || profile.background_cleaning;
    scheduling.turns = works
        && way % 7 < 3
        && policy != "suspend"
        && scheduling.cleaning == CleaningUnit::Step
        && scheduling.cleaning_priority != Level::Low;
    if policy != "fcfs" {
        scheduling.overtake_limit = u32::try_from(way % 5).expect("below 5");
        scheduling.overtake_wait = micros(way % 3 * 500);
    }
    make_room(profile);
}

/// Makes commands fail and blocks expire.
pub(crate) fn make_unreliable(bytes: &mut Unstructured<'_>, profile: &mut Profile) {
    let reliability = &mut profile.reliability;
    reliability.program_failures = pick(bytes, &[0.0, 0.001, 0.01, 0.1]);
    reliability.erase_failures = pick(bytes, &[0.0, 0.01, 0.2]);
    reliability.block_lifetime = pick(bytes, &[1000, 2, 5, 12]);
    reliability.factory_bad_blocks = pick(bytes, &[0.0, 0.05, 0.2]);
    make_room(profile);
}
