//! Mapping traffic of DFTL for uniform independent accesses, with and without garbage collection.

#![allow(clippy::cast_precision_loss, reason = "counts are far below 2^53")]

use flashscope_block::{Bytes, Device, Op};
use flashscope_sim::nand::{FlashCounters, Lpn};
use flashscope_sim::observe::Observer;
use flashscope_sim::setup::MapMemory;
use flashscope_sim::{Profile, SimDevice};

use crate::exactness::{PAGE, drive_with};
use crate::{drive, one_pool, round_trip};

/// Logical pages of the drive.
const PAGES: u64 = 1 << 18;

/// Number of accesses that these tests count.
const ACCESSES: u64 = 400_000;
/// Number of accesses that the reference counts.
const REFERENCE: u64 = 2_000_000;

/// Reference values from `dftl-mapping-traffic.csv`, an event simulation of 2 million accesses.
/// Each row holds the entries in memory, the share of hits, and the unbatched write-backs per
/// access for writes alone and for half reads. Every miss reads a translation page. The number of
/// entries on a page makes no difference.
const ONE_BY_ONE: [(u64, f64, [f64; 2]); 8] = [
    (64, 0.0002375, [0.9997625, 0.49956]),
    (256, 0.0009505, [0.9990495, 0.499388]),
    (1024, 0.003896, [0.996104, 0.498672]),
    (4096, 0.015615, [0.984385, 0.4957585]),
    (16384, 0.0627705, [0.9372295, 0.483454]),
    (32768, 0.1250325, [0.8749675, 0.466289]),
    (65536, 0.250053, [0.749947, 0.428359]),
    (131072, 0.4996965, [0.5003035, 0.3333275]),
];

/// Reference values as in [`ONE_BY_ONE`] for batched write-backs. Each row holds the entries in
/// memory, the entries of a translation page, and the write-backs per access for writes alone and
/// for half reads.
const BATCHED: [(u64, u64, [f64; 2]); 4] = [
    (64, 512, [0.890442, 0.470713]),
    (64, 1024, [0.802527, 0.4450755]),
    (4096, 512, [0.1101955, 0.099191]),
    (4096, 1024, [0.058334, 0.0551195]),
];

/// The mean cost of an access.
#[derive(Debug, PartialEq)]
struct Traffic {
    hits: f64,
    fetches: f64,
    write_backs: f64,
}

/// Returns a drive with every page written, and so much flash that nothing is garbage-collected.
fn large_drive(entries: u64, per_page: u64, batch: bool) -> SimDevice {
    // Every access programs at most two pages.
    let share = 12;
    let blocks = u32::try_from(share * PAGES / 64).expect("small");
    let mut profile = Profile { ftl: "dftl".into(), timed: false, ..one_pool(blocks) };
    profile.flash.page_size = Bytes(4 * per_page);
    profile.over_provisioning = 1.0 - 1.0 / f64::from(u32::try_from(share).expect("small"));
    profile.cleaning.free_threshold = 2.0 / f64::from(blocks);
    profile.map_cache.size = Bytes(entries * profile.map_cache.entry_size.0);
    profile.map_cache.batch = batch;
    let mut drive = drive(&profile);
    assert_eq!(drive.info().capacity.0, PAGES * 4 * per_page);
    let stripe = 4 * per_page * 64;
    for offset in (0..drive.info().capacity.0).step_by(usize::try_from(stripe).expect("small")) {
        round_trip(&mut drive, Op::Write, offset, stripe);
    }
    drive
}

fn traffic(entries: u64, per_page: u64, batch: bool, reads: f64) -> Traffic {
    let mut drive = large_drive(entries, per_page, batch);
    let page = 4 * per_page;
    let mut random = fastrand::Rng::with_seed(2009);
    let mut access = |drive: &mut SimDevice, count: u64| {
        for _ in 0..count {
            let op = if random.f64() < reads { Op::Read } else { Op::Write };
            round_trip(drive, op, random.u64(..PAGES) * page, page);
        }
    };
    access(&mut drive, 4 * entries);
    let start = drive.counters();
    access(&mut drive, ACCESSES);
    let done = drive.counters().since(&start).flash;
    assert_eq!(done.erases.total(), 0, "{done:?}");
    let events = done.events;
    assert_eq!(events.map_hits + events.map_misses, ACCESSES);
    // A miss reads one page. A write-back reads one page and programs one.
    assert_eq!(done.reads.mapping, events.map_misses + events.map_write_backs);
    assert_eq!(done.programs.mapping, events.map_write_backs);
    let each = |count: u64| count as f64 / ACCESSES as f64;
    Traffic {
        hits: each(events.map_hits),
        fetches: each(done.reads.mapping - done.programs.mapping),
        write_backs: each(events.map_write_backs),
    }
}

/// Returns true if two shares of accesses agree within 1 %. For rare events, whose share in
/// [`REFERENCE`] accesses is less certain than that, allows four standard errors.
fn agree(found: f64, expected: f64) -> bool {
    let [here, there] = [ACCESSES, REFERENCE].map(|count| 1.0 / count as f64);
    let error = (expected * (here + there)).sqrt();
    (found - expected).abs() < (0.01 * expected).max(4.0 * error)
}

// Covers memory from 64 entries to half of the mapping table, with and without reads.
#[test]
fn single_write_backs_match_the_reference() {
    for (entries, hits, write_backs) in ONE_BY_ONE {
        for (reads, expected) in [0.0, 0.5].into_iter().zip(write_backs) {
            let found = traffic(entries, 512, false, reads);
            assert!(agree(found.hits, hits), "{entries}, {reads}: {found:?}, expected {hits}");
            let errors = [found.fetches / (1.0 - hits), found.write_backs / expected];
            let near = errors.iter().all(|ratio| (ratio - 1.0).abs() < 0.01);
            assert!(near, "{entries}, {reads}: {found:?}, expected {expected}");
        }
    }
    let [small, large] = [512, 1024].map(|per_page| traffic(65_536, per_page, false, 0.5));
    assert_eq!(small, large, "entries of a translation page make a difference");
}

// The number of batched write-backs depends on the number of entries on a translation page.
#[test]
fn batched_write_backs_match_the_reference() {
    for (entries, per_page, write_backs) in BATCHED {
        for (reads, expected) in [0.0, 0.5].into_iter().zip(write_backs) {
            let found = traffic(entries, per_page, true, reads);
            let error = found.write_backs / expected - 1.0;
            assert!(error.abs() < 0.01, "{entries}, {per_page}, {reads}: {found:?}, {error:+.4}");
        }
    }
}

/// Returns a drive that garbage-collects `used` blocks, with memory for `entries` entries, and
/// the number of its logical pages.
fn cleaned_drive(used: u32, entries: u64, batch: bool, map: MapMemory) -> (SimDevice, u64) {
    drive_with(used, 0.8, |profile| {
        profile.ftl = "dftl".into();
        profile.persistence.map = map;
        // One translation block is open in addition.
        profile.over_provisioning += 0.01;
        profile.map_cache.size = Bytes(8 * entries);
        profile.map_cache.batch = batch;
    })
}

/// Returns the flash commands of uniform writes in the steady state, with garbage collection.
fn steady(entries: u64, batch: bool) -> FlashCounters {
    let (mut drive, pages) = cleaned_drive(512, entries, batch, MapMemory::Summary);
    for page in 0..pages {
        round_trip(&mut drive, Op::Write, page * PAGE, PAGE);
    }
    let mut random = fastrand::Rng::with_seed(4);
    let mut write = |drive: &mut SimDevice, count: u64| {
        for _ in 0..count {
            round_trip(drive, Op::Write, random.u64(..pages) * PAGE, PAGE);
        }
    };
    write(&mut drive, 6 * pages);
    let start = drive.counters();
    write(&mut drive, 2 * pages);
    let done = drive.counters().since(&start);
    assert_eq!(done.flash.programs.host, 2 * pages);
    done.flash
}

// Programs are host writes, moved pages, summaries, and translation pages. Each translation page is
// read before it is written. As many blocks are erased as are filled.
#[test]
fn programs_add_up_by_cause() {
    for batch in [false, true] {
        let done = steady(1000, batch);
        let (programs, reads, erases) = (&done.programs, &done.reads, &done.erases);
        assert_eq!(programs.host + programs.cleaning + programs.mapping, programs.total());
        assert_eq!(reads.cleaning, programs.cleaning, "each page that is moved is read");
        let summaries = programs.total() / 64;
        let translations = reads.mapping - done.events.map_misses;
        assert!(translations.abs_diff(programs.mapping - summaries) < 4, "{done:?}");
        let after_cleaning = translations - done.events.map_write_backs;
        assert!(after_cleaning > done.programs.cleaning / 10, "{done:?}");
        assert!(after_cleaning < done.programs.cleaning, "{done:?}");
        assert!(erases.cleaning.abs_diff(summaries) < 40, "{done:?}");
        assert_eq!(erases.total(), erases.cleaning);
    }
}

// With memory for the complete mapping table, only the first lookup of each page reads the flash.
// Less memory needs more reads and writes.
#[test]
fn memory_saves_traffic() {
    let [none, some, most, all] = [1, 1000, 10_000, 100_000].map(|entries| steady(entries, true));
    assert_eq!((all.events.map_misses, all.events.map_write_backs), (0, 0));
    let programs = [all, most, some, none].map(|done| done.programs.total());
    assert!(programs.is_sorted() && 3 * programs[0] < 2 * programs[3], "{programs:?}");
    let map_pages = all.programs.mapping - all.programs.total() / 64;
    assert!(map_pages < 4, "{all:?}");
}

/// An observer that ignores all events.
struct Blind;

impl Observer for Blind {}

// Out-of-date translation pages are written many at a time if there are no observers. Times and
// slots are the same as if they were written one by one, with and without stamps.
#[test]
fn many_at_once_are_the_same_as_one_by_one() {
    for (map, batch) in [(MapMemory::NvRam, true), (MapMemory::Summary, false)] {
        let (mut drive, pages) = cleaned_drive(256, 500, batch, map);
        let (mut watched, _) = cleaned_drive(256, 500, batch, map);
        watched.observe(Blind);
        let mut random = fastrand::Rng::with_seed(7);
        for nth in 0..4 * pages {
            let page = if nth < pages { nth } else { random.u64(..pages) };
            let offset = page * PAGE;
            let one = round_trip(&mut drive, Op::Write, offset, PAGE);
            assert_eq!(one, round_trip(&mut watched, Op::Write, offset, PAGE));
        }
        let done = drive.counters();
        assert_eq!(done, watched.counters());
        assert!(done.flash.programs.mapping > pages, "{done:?}");
        assert!(drive.nand().erase_counts().eq(watched.nand().erase_counts()));
        for lpn in (0..pages).map(|page| Lpn(u32::try_from(page).expect("small"))) {
            assert_eq!(drive.locate(lpn), watched.locate(lpn), "{lpn:?}");
            assert_eq!(drive.stamp(lpn), watched.stamp(lpn), "{lpn:?}");
        }
    }
}
