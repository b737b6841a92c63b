//! Tests a map on the flash with a second cache in host memory: the location of each entry, the
//! cost of a lookup, and the benefit.

#![allow(clippy::cast_precision_loss, reason = "counts are far below 2^53")]

use flashscope_block::{Bytes, Device, Nanos, Op};
use flashscope_sim::nand::Events;
use flashscope_sim::setup::MapMemory;
use flashscope_sim::{Drive, Profile, SimDevice};

use crate::{drive, one_pool, request, round_trip};

/// The bytes of a page, few enough that the map occupies eight pages, and the number of pages of a
/// drive.
const PAGE: u64 = 512;
const PAGES: u64 = 1000;

/// The times in nanoseconds to read a page, and to fetch an entry over the link.
const READ: u64 = 41_000;
const ACCESS: u64 = 700;

/// Returns the profile of a drive of one pool with memory for `entries` map entries on the
/// controller and `on_host` on the host.
fn profile(entries: u64, on_host: u64) -> Profile {
    let blocks = 24;
    let mut profile = Profile { ftl: "dftl".into(), ..one_pool(blocks) };
    profile.flash.page_size = Bytes(PAGE);
    profile.over_provisioning = 1.0 - PAGES as f64 / (f64::from(blocks) * 64.0);
    profile.cleaning.free_threshold = 0.1;
    profile.persistence.map = MapMemory::Pages;
    profile.map_cache.size = Bytes(8 * entries);
    profile.map_cache.host_memory = Bytes(8 * on_host);
    profile.map_cache.host_access = Nanos(ACCESS);
    profile
}

/// Returns a drive with every page written.
fn filled(profile: &Profile) -> SimDevice {
    let mut drive = drive(profile);
    assert_eq!(drive.info().capacity.0, PAGES * PAGE);
    for page in 0..PAGES {
        round_trip(&mut drive, Op::Write, page * PAGE, PAGE);
    }
    drive
}

/// Returns a random page number; small ones are more frequent.
fn skewed(random: &mut fastrand::Rng) -> u64 {
    (0..3).fold(PAGES, |below, _| random.u64(..below) + 1) - 1
}

// The stack distance of a page determines where its map entry is: in the controller's memory, in
// host memory, or on the flash only. The extra time of the read is 0, the time of a link access, or
// the time to read a map page, to the nanosecond.
#[test]
fn reads_cost_what_their_stack_distance_says() {
    for (entries, on_host) in [(1, 1), (50, 200), (200, 50), (50, 0), (600, 600)] {
        let mut drive = filled(&profile(entries, on_host));
        // The pages in the order of their last use, the most recently used page last.
        let mut stack: Vec<u64> = (0..PAGES).collect();
        // These reads write back all changed entries, so that the measured ones find nothing to
        // write.
        for page in 0..PAGES {
            round_trip(&mut drive, Op::Read, page * PAGE, PAGE);
        }
        let (mut random, before) = (fastrand::Rng::with_seed(5), drive.counters().flash.events);
        let mut found = [0; 3];
        for _ in 0..20_000 {
            let page = skewed(&mut random);
            let depth = stack.iter().rev().position(|other| *other == page).expect("all are there");
            stack.remove(stack.len() - 1 - depth);
            stack.push(page);
            let level = match depth as u64 {
                depth if depth < entries => 0,
                depth if depth < entries + on_host => 1,
                _ => 2,
            };
            found[level] += 1;
            let start = drive.now();
            let done = round_trip(&mut drive, Op::Read, page * PAGE, PAGE);
            let waits = [0, ACCESS, READ][level];
            assert_eq!((done.completed - start).0, READ + waits, "{page} at {depth}");
        }
        let now = drive.counters().flash.events;
        let counted = [
            now.map_hits - before.map_hits,
            now.map_host_hits - before.map_host_hits,
            now.map_misses - before.map_misses,
        ];
        assert_eq!(counted, found, "{entries}, {on_host}");
        assert!(found[0] > 0 && (found[1] > 0) == (on_host > 0), "{found:?}");
    }
}

#[test]
fn uniform_hit_rates_are_the_shares_of_the_map() {
    let (entries, on_host, accesses) = (100, 300, 100_000);
    let mut drive = filled(&profile(entries, on_host));
    let mut random = fastrand::Rng::with_seed(6);
    let mut access = |drive: &mut SimDevice, count: u64| -> Events {
        let before = drive.counters();
        for _ in 0..count {
            let op = if random.bool() { Op::Read } else { Op::Write };
            round_trip(drive, op, random.u64(..PAGES) * PAGE, PAGE);
        }
        drive.counters().since(&before).flash.events
    };
    access(&mut drive, 4 * PAGES);
    let events = access(&mut drive, accesses);
    for (found, held) in [(events.map_hits, entries), (events.map_host_hits, on_host)] {
        let share = held as f64 / PAGES as f64;
        let error = (share * (1.0 - share) / accesses as f64).sqrt();
        let off = found as f64 / accesses as f64 - share;
        assert!(off.abs() < 4.0 * error, "{found} of {accesses}, expected {share}: {events:?}");
    }
    assert_eq!(events.map_hits + events.map_host_hits + events.map_misses, accesses);
}

// If part of the map memory is on the host, the flash reads and writes map pages as often as if all
// of it were on the controller, with and without batched write-backs. No changed entry is lost or
// written twice on its way to the host and back.
#[test]
fn all_paths_lead_to_one_memory() {
    for batch in [false, true] {
        let run = |entries, on_host| {
            let mut profile = profile(entries, on_host);
            profile.map_cache.batch = batch;
            let mut drive = filled(&profile);
            let mut random = fastrand::Rng::with_seed(8);
            for _ in 0..20_000 {
                let op = if random.u32(..3) == 0 { Op::Read } else { Op::Write };
                round_trip(&mut drive, op, skewed(&mut random) * PAGE, PAGE);
            }
            let mut flash = drive.counters().flash;
            let hits = flash.events.map_hits + flash.events.map_host_hits;
            (flash.events.map_hits, flash.events.map_host_hits) = (hits, 0);
            flash
        };
        let apart = run(60, 240);
        assert_eq!(apart, run(300, 0));
        assert!(apart.events.map_write_backs > 20 && apart.erases.cleaning > 100, "{apart:?}");
    }
}

/// Returns the mean time of random reads over the first `range` bytes of a filled drive, in
/// microseconds, after one read of the whole range.
fn random_reads(drive: &mut Drive, range: u64) -> f64 {
    const PAGE: u64 = 4096;
    let mut random = fastrand::Rng::with_seed(11);
    let read = |drive: &mut Drive, offset: u64| {
        drive.submit(&request(Op::Read, offset, PAGE, drive.now()));
        drive.complete(Nanos::MAX).expect("it is answered");
    };
    (0..range / PAGE).for_each(|page| read(drive, page * PAGE));
    let (start, count) = (drive.now(), 20_000);
    (0..count).for_each(|_| read(drive, random.u64(..range / PAGE) * PAGE));
    (drive.now() - start).0 as f64 / f64::from(count) / 1000.0
}

// Host memory changes nothing for random reads of `dram-less` in a range whose map fits in the
// controller's memory. Reads of a range whose map fits in host memory become nearly as fast as
// reads of the smaller range. For larger ranges, host memory hardly helps.
#[test]
fn host_memory_carries_ranges_that_the_controller_does_not() {
    let mib = 1 << 20;
    let run = |overrides: &str| {
        let mut drive = flashscope_sim::open(&format!("dram-less?{overrides}")).expect("it works");
        let capacity = drive.info().capacity.0;
        for offset in (0..capacity.div_ceil(mib)).map(|nth| nth * mib) {
            let len = mib.min(capacity - offset);
            drive.submit(&request(Op::Write, offset, len, drive.now()));
            drive.complete(Nanos::MAX).expect("it is answered");
        }
        drive.idle_until(drive.now() + Nanos::millis(10_000));
        [30 * mib, 500 * mib, capacity].map(|range| random_reads(&mut drive, range))
    };
    let (with, without) = (run(""), run("map_cache.host_memory=0"));
    println!("random reads in µs: {with:.1?} with memory of the host, {without:.1?} without");
    let ratio = |one: f64, other: f64| other / one;
    assert!((ratio(with[0], without[0]) - 1.0).abs() < 0.001, "{with:?} {without:?}");
    assert!(ratio(with[1], without[1]) > 1.7, "{with:?} {without:?}");
    let link = with[1] - with[0];
    assert!(link > 0.9 && link < 1.0, "{with:?}");
    assert!(ratio(with[2], without[2]) < 1.1, "{with:?} {without:?}");
}
