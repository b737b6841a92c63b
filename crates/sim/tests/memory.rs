//! Compares the memory that a drive states in advance with its allocations. The test is a separate
//! program, because it needs an allocator that counts.

#![allow(unsafe_code, reason = "an allocator that counts, which has no safe form")]

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

use flashscope_block::{Bytes, Data, Device, Io, Nanos, Op};
use flashscope_sim::budget::{Budget, Limit};
use flashscope_sim::observe::{Watch, erases};
use flashscope_sim::{Drive, Footprint, Profile, cache, ftl, gc, setup, wear};

/// An allocator that counts the bytes that each thread allocates.
struct Counting;

thread_local! {
    static HELD: Cell<i64> = const { Cell::new(0) };
    static PEAK: Cell<i64> = const { Cell::new(0) };
    /// The size of an allocation that does not count: the budget's trial, which is freed before any
    /// other allocation.
    static TRIAL: Cell<u64> = const { Cell::new(0) };
}

fn count(bytes: usize, sign: i64) {
    if bytes as u64 == TRIAL.get() {
        return;
    }
    HELD.set(HELD.get() + sign * i64::try_from(bytes).expect("less than half of all addresses"));
    PEAK.set(PEAK.get().max(HELD.get()));
}

// SAFETY: every call is passed on to the system's allocator unchanged.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count(layout.size(), 1);
        // SAFETY: the caller meets the requirements, which are the same.
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        count(layout.size(), 1);
        // SAFETY: the caller meets the requirements, which are the same.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn realloc(&self, at: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        count(size, 1);
        count(layout.size(), -1);
        // SAFETY: the caller meets the requirements, which are the same.
        unsafe { System.realloc(at, layout, size) }
    }

    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        count(layout.size(), -1);
        // SAFETY: the caller meets the requirements, which are the same.
        unsafe { System.dealloc(at, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// Returns the maximum number of bytes that this thread held at once during `work`.
fn peak_of(work: impl FnOnce()) -> u64 {
    let before = HELD.get();
    PEAK.set(before);
    work();
    u64::try_from(PEAK.get() - before).expect("the peak is at least the start")
}

/// The bytes by which a footprint may exceed twice the memory taken. They are few compared to any
/// drive worth limiting.
const SLACK: u64 = 96 << 10;

fn give(drive: &mut Drive, op: Op, offset: u64, len: u64) {
    let (offset, len, at) = (Bytes(offset), Bytes(len), drive.now());
    drive.submit(&Io { op, stream: 0, offset, len, at, data: Data::Random });
    while drive.complete(Nanos::MAX).is_some() {}
}

/// Fills a drive. Then writes, reads, trims and flushes random parts of it, with idle pauses.
fn use_drive(mut drive: Drive, observed: bool) {
    let mut watch = Watch::default();
    if observed && let Some(one) = drive.only() {
        watch.add_all(one);
    }
    let info = drive.info().clone();
    let (capacity, block) = (info.capacity.0, info.logical_block.0.max(4096));
    let step = (128 << 10) / block * block;
    for offset in (0..capacity).step_by(usize::try_from(step).expect("small")) {
        give(&mut drive, Op::Write, offset, step.min(capacity - offset));
    }
    let mut random = fastrand::Rng::with_seed(1);
    let places = capacity / block;
    for nth in 0..(3 * places).min(60_000) {
        let offset = random.u64(..places) * block;
        let op = match nth % 16 {
            0 if drive.trims() => Op::Trim,
            1..4 => Op::Read,
            _ => Op::Write,
        };
        give(&mut drive, op, offset, block);
        if nth % 512 == 0 {
            give(&mut drive, Op::Flush, 0, 0);
            drive.idle_until(drive.now() + Nanos::millis(20));
        }
    }
    // As many IOs in flight as the drive accepts.
    for _ in 0..info.queue_depth.min(4096) {
        let io = Io {
            op: Op::Read,
            stream: 0,
            offset: Bytes(0),
            len: Bytes(block),
            at: drive.now(),
            data: Data::Random,
        };
        drive.submit(&io);
    }
    while drive.complete(Nanos::MAX).is_some() {}
    std::hint::black_box(erases(drive.members()));
    std::hint::black_box(watch.report(drive.now()));
}

/// Uses a drive. Returns its stated footprint and the memory that it used, or `None` if the profile
/// is invalid.
fn measured(profile: &Profile, observed: bool) -> Option<(Footprint, u64)> {
    let stated = profile.footprint().ok()?;
    TRIAL.set(stated.total().0);
    let taken = peak_of(|| use_drive(Drive::new("sim:test", profile).expect("it works"), observed));
    Some((stated, taken))
}

/// Checks that a drive uses no more memory than its footprint and, if `tight`, at least about half
/// of it. Returns false if the profile is invalid.
#[track_caller]
fn check(name: &str, profile: &Profile, tight: bool) -> bool {
    let Some((Footprint { drive: Bytes(stated), .. }, taken)) = measured(profile, false) else {
        return false;
    };
    assert!(taken <= stated, "{name}: {taken} B taken, {stated} B stated");
    let most = 2 * taken + SLACK;
    assert!(!tight || stated <= most, "{name}: {stated} B stated, only {taken} B taken");
    true
}

/// A small drive, which can be filled quickly.
const SMALL: &str = "demo?flash.packages=4&flash.planes_per_die=2&flash.blocks_per_plane=64\
                     &flash.pages_per_block=32&over_provisioning=0.3";

fn small(with: &str) -> Option<Profile> {
    setup::parse(&format!("{SMALL}&{with}")).ok().filter(|profile| profile.layout().is_ok())
}

#[test]
fn every_profile_takes_the_memory_it_states() {
    for kind in setup::KINDS {
        let whole = setup::parse(kind.name).expect("it is registered");
        let smaller = (6..=11).map(|bits| 1 << bits).chain([whole.flash.blocks_per_plane]);
        let mut smaller = smaller.map(|blocks| {
            let mut profile = whole.clone();
            profile.flash.blocks_per_plane = blocks.min(whole.flash.blocks_per_plane);
            profile
        });
        let profile = smaller.find(|profile| profile.layout().is_ok()).expect("the last works");
        assert!(check(kind.name, &profile, true), "{}", kind.name);
    }
}

#[test]
fn every_variant_takes_the_memory_it_states() {
    let mut checked = 0;
    for ftl in ftl::KINDS {
        let logs = "background_cleaning=false&persistence.map=pages&log.blocks=6&log.group=2\
                    &log.per_group=2&log.sequential=2&log.hot=1";
        let more = if ftl.is_page_mapped() { "" } else { logs };
        let variants = gc::KINDS.iter().map(|kind| format!("cleaning.policy={}", kind.name));
        let variants =
            variants.chain(wear::KINDS.iter().map(|kind| format!("wear.policy={}", kind.name)));
        let buffers =
            cache::KINDS.iter().map(|kind| format!("cache.kind={}&cache.size=4MiB", kind.name));
        for variant in variants.chain(buffers) {
            let name = format!("ftl={}&{more}&{variant}", ftl.name);
            checked += u32::from(small(&name).is_some_and(|profile| check(&name, &profile, true)));
        }
    }
    assert!(checked >= 70, "{checked}");
}

#[test]
fn every_option_takes_the_memory_it_states() {
    for option in [
        "persistence.map=nv-ram",
        "persistence.map=pages",
        "flash.zero_page_program=50us",
        "slc.share=0.1",
        "active_blocks=plane&cleaning.free_threshold=0.1",
        "logical_page_size=1KiB",
        "logical_page_size=8KiB&stripe=8KiB",
        "page_span=2",
        "gang.packages=2",
        "interleaving=die",
        "flash.two_plane_commands=true",
        "cleaning.frontiers=host-and-cleaning",
        "placement.handles=16&over_provisioning=0.5",
        "cache.read_ahead=512",
        "interface.queue_depth=4096",
        "background_cleaning=true",
        "ftl=dftl&map_cache.size=64KiB",
        "ftl=dftl&map_cache.size=16MiB&map_cache.host_memory=4MiB",
        "ftl=dftl&map_cache.size=1KiB&background_cleaning=true",
        "cache.kind=lru&cache.size=16MiB&cache.write_back=0.5&cache.batch=64",
    ] {
        let profile = small(option).unwrap_or_else(|| panic!("{option} does not work"));
        check(option, &profile, true);
    }
    for rare in [
        "reliability.program_failures=0.001",
        "reliability.erase_failures=0.01&reliability.factory_bad_blocks=0.02",
        "reliability.read_disturb=0.5",
        "reliability.block_lifetime=20",
        "raid.drives=3",
    ] {
        let profile = small(rare).unwrap_or_else(|| panic!("{rare} does not work"));
        check(rare, &profile, false);
    }
}

#[test]
fn observers_take_no_more_than_is_stated() {
    for with in ["", "interleaving=die", "ftl=fast&background_cleaning=false&persistence.map=pages"]
    {
        let profile = small(with).expect("it works");
        let (stated, taken) = measured(&profile, true).expect("it works");
        assert!(taken <= stated.total().0, "{with}: {taken} B of {stated:?}");
    }
}

#[test]
fn a_refused_drive_allocates_nothing() {
    let spec = "demo?flash.pages_per_block=400000";
    let profile = setup::parse(spec).expect("a profile");
    let need = profile.footprint().expect("it could work").total();
    assert!(need > Bytes::gib(16), "{need}");
    let memory = Budget::new(Limit::of(Bytes::gib(1)));
    let mut refused = String::new();
    let peak = peak_of(|| {
        refused = flashscope_sim::open_within(spec, &memory).err().expect("too large").to_string();
    });
    assert!(peak < 1 << 20, "{peak} B");
    let figure = need.to_string();
    for part in [figure.as_str(), "1 GiB", "--memory", "sim:demo?flash.pages_per_block=400000"] {
        assert!(refused.contains(part), "{part}: {refused}");
    }
}
