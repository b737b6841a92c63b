//! Tests zones: the rules of writes, the location of data, the time of resets, and lost zones.

use std::collections::{BTreeMap, BTreeSet};

use flashscope_block::{Device, Errno, Nanos, Op, Zone, ZoneLimits as Limits, ZoneState};
use flashscope_sim::nand::Lpn;
use flashscope_sim::setup::Scope;
use flashscope_sim::{Profile, SimDevice};

use crate::{drain, drive, request, round_trip};

pub(crate) const PAGE: u64 = 4096;

/// Returns the profile of a drive with one pool of `lanes` packages. Its zones span `spanned`
/// packages (0: all), with `blocks` blocks
/// of 16 pages on each.
pub(crate) fn zoned(lanes: u32, spanned: u32, blocks: u32) -> Profile {
    let mut profile = crate::one_pool(24);
    profile.flash.packages = lanes;
    profile.flash.pages_per_block = 16;
    profile.packages_per_pool = lanes;
    profile.active_blocks = Scope::Package;
    profile.over_provisioning = 0.2;
    profile.cleaning.free_threshold = 0.1;
    profile.interface.logical_block.0 = PAGE;
    (profile.zones.blocks, profile.zones.lanes) = (blocks, spanned);
    (profile.zones.open, profile.zones.active) = (3, 5);
    profile
}

/// Returns the profile with zones that are `pages` pages larger than their capacity.
pub(crate) fn with_hole(profile: Profile, pages: u64) -> Profile {
    let capacity = limits(&mut drive(&profile)).capacity.0;
    let mut profile = profile;
    profile.zones.size.0 = capacity + pages * PAGE;
    profile
}

pub(crate) fn limits(drive: &mut SimDevice) -> Limits {
    drive.zones().expect("it has zones").limits()
}

pub(crate) fn zone(drive: &mut SimDevice, number: u32) -> Zone {
    drive.zones().expect("it has zones").zone(number)
}

fn try_io(drive: &mut SimDevice, op: Op, offset: u64, len: u64) -> Result<(), Errno> {
    drive.submit(&request(op, offset, len, drive.now()));
    drive.complete(Nanos::MAX).expect("it is answered").result
}

/// Writes this many pages at the write pointer of a zone.
fn append(drive: &mut SimDevice, number: u32, pages: u64) -> Result<(), Errno> {
    let pointer = zone(drive, number).write_pointer.0;
    try_io(drive, Op::Write, pointer, pages * PAGE)
}

fn reset(drive: &mut SimDevice, number: u32) -> Result<(), Errno> {
    let Zone { start, size, .. } = zone(drive, number);
    try_io(drive, Op::Trim, start.0, size.0)
}

// A write that does not begin at the write pointer, or does not end within the zone, fails and
// changes nothing.
#[test]
fn writes_begin_at_the_write_pointer() {
    let mut drive = drive(&zoned(2, 0, 1));
    let Zone { start, size, .. } = zone(&mut drive, 1);
    let (start, size) = (start.0, size.0);
    assert_eq!(size, 2 * 16 * PAGE);
    assert_eq!(try_io(&mut drive, Op::Write, start + PAGE, PAGE), Err(Errno::EIO));
    assert_eq!(zone(&mut drive, 1).state, ZoneState::Empty);
    assert_eq!(try_io(&mut drive, Op::Write, start, 2 * PAGE), Ok(()));
    assert_eq!(zone(&mut drive, 1).write_pointer.0, start + 2 * PAGE);
    for (offset, len) in [(start, PAGE), (start + 3 * PAGE, PAGE), (start + 2 * PAGE, size)] {
        assert_eq!(try_io(&mut drive, Op::Write, offset, len), Err(Errno::EIO));
    }
    assert_eq!(try_io(&mut drive, Op::Write, start + 2 * PAGE, size - 2 * PAGE), Ok(()));
    assert_eq!(zone(&mut drive, 1).state, ZoneState::Full);
    assert_eq!(try_io(&mut drive, Op::Write, start + size - PAGE, PAGE), Err(Errno::EIO));
    for (offset, len) in [(start, PAGE), (start + PAGE, size)] {
        assert_eq!(try_io(&mut drive, Op::Trim, offset, len), Err(Errno::EOPNOTSUPP));
    }
    assert_eq!(reset(&mut drive, 1), Ok(()));
    let zone = zone(&mut drive, 1);
    assert_eq!((zone.state, zone.write_pointer.0), (ZoneState::Empty, start));
    assert_eq!(try_io(&mut drive, Op::Read, start, size), Ok(()), "zeros");
}

// A zone ends with a hole. It accepts writes up to its capacity, and reads zeros in its hole. A
// reset covers the hole, too. The addresses of the drive include the holes, but its flash does not.
#[test]
fn writes_end_at_the_capacity_of_a_zone() {
    let plain = zoned(2, 0, 1);
    let zones = limits(&mut drive(&plain)).zones;
    let mut drive = drive(&with_hole(plain, 32));
    let Zone { start, size, capacity, .. } = zone(&mut drive, 1);
    assert_eq!((start.0, size.0, capacity.0), (64 * PAGE, 64 * PAGE, 32 * PAGE));
    assert_eq!(drive.info().capacity.0, u64::from(zones) * 64 * PAGE);
    let end = start.0 + capacity.0;
    for (offset, pages) in [(end, 1), (end + PAGE, 2), (start.0, 33), (start.0, 64)] {
        assert_eq!(try_io(&mut drive, Op::Write, offset, pages * PAGE), Err(Errno::EIO));
    }
    assert_eq!(append(&mut drive, 1, 31), Ok(()));
    assert_eq!(append(&mut drive, 1, 2), Err(Errno::EIO));
    assert_eq!(append(&mut drive, 1, 1), Ok(()));
    let full = zone(&mut drive, 1);
    assert_eq!((full.state, full.write_pointer.0), (ZoneState::Full, end));
    assert_eq!(drive.locate(Lpn(63)).map(|_| ()), Some(()), "the pages have no holes");
    let reads = drive.counters().flash.reads.total();
    for (offset, pages) in [(end, 32), (end + 5 * PAGE, 1), (end + 31 * PAGE, 2)] {
        assert_eq!(try_io(&mut drive, Op::Read, offset, pages * PAGE), Ok(()));
    }
    assert_eq!(drive.counters().flash.reads.total(), reads, "nothing is in the hole");
    assert_eq!(try_io(&mut drive, Op::Read, end - PAGE, 40 * PAGE), Ok(()));
    assert_eq!(drive.counters().flash.reads.total(), reads + 1);
    for (offset, pages) in [(start.0, 32), (end, 32), (start.0, 96)] {
        assert_eq!(try_io(&mut drive, Op::Trim, offset, pages * PAGE), Err(Errno::EOPNOTSUPP));
    }
    assert_eq!(reset(&mut drive, 1), Ok(()));
    assert_eq!(zone(&mut drive, 1).state, ZoneState::Empty);
    assert_eq!(drive.locate(Lpn(63)), None);
}

// If 3 zones are open, a write to another zone closes the one that a write opened first. Zones that
// the host opened stay open. At most 5 zones can be active.
#[test]
fn open_and_active_zones_have_limits() {
    let mut drive = drive(&zoned(2, 0, 1));
    let states = |drive: &mut SimDevice| -> Vec<ZoneState> {
        (0..6).map(|number| zone(drive, number).state).collect()
    };
    for number in 0..5 {
        assert_eq!(append(&mut drive, number, 1), Ok(()));
    }
    let (open, closed, empty) = (ZoneState::ImplicitlyOpen, ZoneState::Closed, ZoneState::Empty);
    assert_eq!(states(&mut drive), [closed, closed, open, open, open, empty]);
    assert_eq!(append(&mut drive, 5, 1), Err(Errno::EOVERFLOW));
    assert_eq!(states(&mut drive), [closed, closed, open, open, open, empty], "nothing changed");
    let zones = drive.zones().expect("it has zones");
    for number in 0..3 {
        assert_eq!(zones.open(number), Ok(()));
    }
    assert_eq!(zones.open(3), Err(Errno::ETOOMANYREFS));
    assert_eq!(append(&mut drive, 3, 1), Err(Errno::ETOOMANYREFS));
    let zones = drive.zones().expect("it has zones");
    assert_eq!((zones.close(0), zones.close(5)), (Ok(()), Err(Errno::EIO)));
    assert_eq!(zones.finish(1), Ok(()));
    assert_eq!((zones.open(1), zones.close(1)), (Err(Errno::EIO), Err(Errno::EIO)));
    assert_eq!(append(&mut drive, 5, 1), Ok(()), "the finished zone left its place");
    assert_eq!(reset(&mut drive, 0), Ok(()));
    // A zone that was opened and closed without data stays active: a close never makes a zone
    // empty.
    let zones = drive.zones().expect("it has zones");
    assert_eq!((zones.open(0), zones.close(0), zones.close(0)), (Ok(()), Ok(()), Ok(())));
    assert_eq!(zones.zone(0).state, closed);
    assert_eq!(append(&mut drive, 6, 1), Err(Errno::EOVERFLOW));
    let zones = drive.zones().expect("it has zones");
    assert_eq!(zones.finish(6), Ok(()), "an empty zone is finished without being active");
    assert_eq!(zones.zone(6).state, ZoneState::Full);
    assert_eq!((zones.finish(6), zones.finish(0)), (Ok(()), Ok(())));
}

/// Writes and resets zones at random, and returns the number of host pages. Up to `depth` writes
/// are in flight.
fn write_and_reset(drive: &mut SimDevice, rounds: u32, depth: usize, seed: u64) -> u64 {
    let (count, mut random) = (limits(drive).zones, fastrand::Rng::with_seed(seed));
    let (mut active, mut pages) = (Vec::new(), 0);
    let mut in_flight = 0;
    for _ in 0..rounds {
        if active.len() < 5 {
            let number = random.u32(..count);
            if !active.contains(&number) {
                while in_flight > 0 {
                    assert_eq!(drive.complete(Nanos::MAX).expect("answered").result, Ok(()));
                    in_flight -= 1;
                }
                assert_eq!(reset(drive, number), Ok(()));
                active.push(number);
            }
        }
        let number = active[random.usize(..active.len())];
        let zone = zone(drive, number);
        let write_pointer = zone.write_pointer;
        let left = (zone.end() - write_pointer).0 / PAGE;
        let count = random.u64(1..=left.min(9));
        drive.submit(&request(Op::Write, write_pointer.0, count * PAGE, drive.now()));
        (in_flight, pages) = (in_flight + 1, pages + count);
        if count == left {
            active.retain(|other| *other != number);
        }
        if in_flight == depth {
            assert_eq!(drive.complete(Nanos::MAX).expect("answered").result, Ok(()));
            in_flight -= 1;
        }
    }
    assert!(drain(drive).iter().all(|done| done.result.is_ok()));
    pages
}

// The drive programs only the pages that the host writes, for any set of zones that the host fills
// at the same time.
#[test]
fn write_amplification_is_1() {
    for (lanes, spanned, blocks, policy) in [
        (1, 1, 1, "fcfs"),
        (4, 0, 1, "fcfs"),
        (4, 2, 2, "fcfs"),
        (4, 1, 3, "fcfs"),
        (4, 2, 1, "read-first"),
    ] {
        let mut profile = zoned(lanes, spanned, blocks);
        profile.scheduling.policy = policy.into();
        let mut drive = drive(&with_hole(profile, u64::from(blocks)));
        let pages = write_and_reset(&mut drive, 4000, 8, 3);
        let flash = drive.counters().flash;
        let limits = limits(&mut drive);
        let capacity = u64::from(limits.zones) * limits.capacity.0;
        assert!(pages > 5 * capacity / PAGE, "{pages}");
        assert_eq!(flash.programs.host, pages, "{lanes} {spanned} {blocks} {policy}");
        assert_eq!(flash.programs.total(), pages, "{lanes} {spanned} {blocks} {policy}");
        assert_eq!(flash.erases.total(), flash.erases.host, "only resets erase");
        assert_eq!(drive.counters().write_amplification(), Some(1.0));
    }
}

// A block holds data of one zone. A zone has equally many pages on each of its lanes, and no pages
// on other lanes.
#[test]
fn zones_lie_on_blocks_and_lanes_of_their_own() {
    for (lanes, spanned, blocks) in [(4, 0, 1), (4, 2, 2), (4, 1, 3)] {
        let mut drive = drive(&with_hole(zoned(lanes, spanned, blocks), 7));
        write_and_reset(&mut drive, 900, 1, 5);
        let size = limits(&mut drive).capacity.0;
        let spans = if spanned == 0 { lanes } else { spanned };
        let mut zones_of_block: BTreeMap<u32, BTreeSet<u32>> = BTreeMap::new();
        for number in 0..limits(&mut drive).zones {
            let first = u32::try_from(u64::from(number) * size / PAGE).expect("small");
            let pages = u32::try_from(size / PAGE).expect("small");
            let mut on_lane: BTreeMap<u32, u32> = BTreeMap::new();
            for page in (first..first + pages).filter_map(|lpn| drive.locate(Lpn(lpn))) {
                zones_of_block.entry(page.block.0).or_default().insert(number);
                *on_lane.entry(page.block.0 / 24).or_default() += 1;
            }
            let lanes_of_zone = number % (lanes / spans) * spans;
            let own = lanes_of_zone..lanes_of_zone + spans;
            assert!(on_lane.keys().all(|lane| own.contains(lane)), "{number}: {on_lane:?}");
            if zone(&mut drive, number).state == ZoneState::Full {
                assert!(own.clone().all(|lane| on_lane.get(&lane) == Some(&(16 * blocks))));
            }
        }
        assert!(zones_of_block.values().all(|zones| zones.len() == 1));
    }
}

// A reset takes the erases of the zone's blocks, side by side on its lanes. A zone is written as
// fast as its lanes work.
#[test]
fn time_follows_from_the_lanes_of_a_zone() {
    for (spanned, blocks) in [(1, 1), (1, 3), (2, 2), (4, 1)] {
        let mut drive = drive(&zoned(4, spanned, blocks));
        let Zone { start, size, .. } = zone(&mut drive, 0);
        let written = round_trip(&mut drive, Op::Write, start.0, size.0).latency().0;
        // Each page takes 200 us in the cells and 105.6 us on the bus of its package.
        assert_eq!(written, 305_600 * 16 * u64::from(blocks), "{spanned}, {blocks}");
        let erased = round_trip(&mut drive, Op::Trim, start.0, size.0).latency().0;
        assert_eq!(erased, 1_500_000 * u64::from(blocks), "{spanned}, {blocks}");
        let empty = round_trip(&mut drive, Op::Trim, start.0, size.0).latency().0;
        assert_eq!(empty, 0, "nothing to erase");
    }
}

// A finished zone keeps its data, and its unwritten part only occupies space.
#[test]
fn finished_zones_keep_their_data() {
    let mut drive = drive(&zoned(4, 2, 1));
    for round in 0..200 {
        for number in 0..limits(&mut drive).zones {
            assert_eq!(reset(&mut drive, number), Ok(()));
            let pages = u64::from(number + round) % 31;
            if pages > 0 {
                assert_eq!(append(&mut drive, number, pages), Ok(()));
            }
            assert_eq!(drive.zones().expect("it has zones").finish(number), Ok(()));
            let first = u64::from(number) * limits(&mut drive).size.0 / PAGE;
            let there = |lpn: u64| drive.locate(Lpn(u32::try_from(lpn).expect("small"))).is_some();
            assert!((0..32).all(|place| there(first + place) == (place < pages)));
        }
    }
    assert_eq!(drive.counters().write_amplification(), Some(1.0));
}

// The error names the first field that zones do not allow, and the value that it must have.
#[test]
fn parts_that_move_data_are_refused() {
    let refused = |change: fn(&mut Profile), field: &str| {
        let mut profile = zoned(4, 2, 1);
        change(&mut profile);
        let error = profile.layout().expect_err(field).to_string();
        assert!(error.contains(&format!("`{field}`")), "{error}");
    };
    refused(|p| p.zones.lanes = 3, "zones.lanes");
    refused(|p| p.zones.size.0 = 32 * PAGE - PAGE, "zones.size");
    refused(|p| p.zones.size.0 = 32 * PAGE + 512, "zones.size");
    refused(|p| p.zones.size.0 = 1 << 61, "zones.size");
    refused(|p| p.zones.open = 6, "zones.open");
    refused(|p| p.zones.active = 0, "zones.active");
    refused(|p| p.zones.blocks = 24, "zones.blocks");
    refused(|p| p.zones.blocks = u32::MAX, "zones.blocks");
    refused(|p| p.stripe.0 = 3 * PAGE, "zones.blocks");
    refused(|p| p.over_provisioning = 0.99, "over_provisioning");
    refused(|p| p.interface.logical_block.0 = 512, "interface.logical_block");
    refused(|p| p.persistence.map = flashscope_sim::setup::MapMemory::Summary, "persistence.map");
    refused(|p| p.background_cleaning = true, "background_cleaning");
    refused(|p| p.wear.policy = "migrate".into(), "wear.policy");
    refused(|p| p.cache.kind = "lru".into(), "cache.kind");
    refused(|p| p.placement.handles = 2, "placement.handles");
    refused(|p| p.slc.dynamic = 0.1, "slc.dynamic");
    refused(|p| p.raid.drives = 2, "raid.drives");
    refused(|p| p.interface.largest_request.0 = PAGE, "interface.largest_request");
    refused(|p| p.ftl = "dftl".into(), "ftl");
}

/// Returns the numbers of the zones in a state.
fn in_state(drive: &mut SimDevice, state: ZoneState) -> Vec<u32> {
    (0..limits(drive).zones).filter(|number| zone(drive, *number).state == state).collect()
}

// Expired blocks take one zone after the other offline, each at a reset. The remaining zones accept
// writes up to their capacity. The last zone is lost only when its blocks are.
#[test]
fn a_worn_drive_loses_its_zones_one_by_one() {
    for (lanes, spanned, blocks) in [(1, 1, 1), (4, 2, 2), (4, 0, 1)] {
        let mut profile = zoned(lanes, spanned, blocks);
        profile.reliability.block_lifetime = 7;
        let mut drive = drive(&with_hole(profile, 3));
        let Limits { zones, capacity, .. } = limits(&mut drive);
        let (mut lost, mut written, mut rounds) = (0, 0, 0);
        while lost < zones {
            for number in 0..zones {
                if zone(&mut drive, number).state == ZoneState::Offline {
                    assert_eq!(append(&mut drive, number, 1), Err(Errno::EIO));
                    assert_eq!(reset(&mut drive, number), Err(Errno::EIO));
                    continue;
                }
                let was_reset = reset(&mut drive, number);
                let is_lost = zone(&mut drive, number).state == ZoneState::Offline;
                assert_eq!(was_reset, if is_lost { Err(Errno::EIO) } else { Ok(()) });
                lost += u32::from(is_lost);
                if !is_lost {
                    assert_eq!(append(&mut drive, number, capacity.0 / PAGE), Ok(()));
                    written += capacity.0 / PAGE;
                }
                let counts = drive.zone_counts().expect("it has zones");
                assert_eq!((counts.read_only, counts.offline), (0, lost));
            }
            rounds += 1;
            assert!(rounds < 100, "{lost} of {zones}");
        }
        let most = u64::from(lanes * 24 * 16 * 7);
        assert!(written <= most && written > most / 2, "{written} of {most}");
        assert!(drive.flash().expect("simulated").retired_blocks > u64::from(lanes * 24 / 2));
        assert_eq!(drive.counters().write_amplification(), Some(1.0));
    }
}

// A write that finds no free block makes its zone read-only: the data before it can be read until
// the zone is taken offline. Other zones can still be written.
#[test]
fn zones_whose_writes_fail_are_read_only() {
    let mut profile = zoned(2, 1, 2);
    profile.reliability.program_failures = 0.05;
    let mut drive = drive(&profile);
    let zones = limits(&mut drive).zones;
    let mut random = fastrand::Rng::with_seed(4);
    let mut there: BTreeMap<u32, u64> = BTreeMap::new();
    // Without resets, blocks fail until the free blocks of a lane are exhausted.
    for _ in 0..100 * zones {
        let number = random.u32(..zones);
        if zone(&mut drive, number).state == ZoneState::Full {
            continue;
        }
        match append(&mut drive, number, 1) {
            Ok(()) => *there.entry(number).or_default() += 1,
            Err(Errno::EOVERFLOW) => {}
            Err(errno) => {
                assert_eq!(errno, Errno::EIO);
                assert_eq!(zone(&mut drive, number).state, ZoneState::ReadOnly);
            }
        }
    }
    assert!(in_state(&mut drive, ZoneState::Full).len() > 2);
    let read_only = in_state(&mut drive, ZoneState::ReadOnly);
    assert!(read_only.len() > 2, "{read_only:?}");
    let capacity = limits(&mut drive).capacity.0;
    for number in &read_only {
        let written = there.get(number).copied().unwrap_or_default();
        let zone = zone(&mut drive, *number);
        assert_eq!((zone.write_pointer - zone.start).0, written * PAGE);
        let first = u64::from(*number) * capacity / PAGE;
        let is_there = |lpn: u64| drive.locate(Lpn(u32::try_from(lpn).expect("small"))).is_some();
        assert!((0..written).all(|place| is_there(first + place)));
        assert_eq!(try_io(&mut drive, Op::Read, zone.start.0, capacity), Ok(()));
        assert_eq!(reset(&mut drive, *number), Err(Errno::EIO));
        let zones = drive.zones().expect("it has zones");
        let refused = [zones.open(*number), zones.close(*number), zones.finish(*number)];
        assert_eq!(refused, [Err(Errno::EIO); 3]);
    }
    assert!(!drive.flash().expect("simulated").read_only, "others can be written");
    let gone = read_only[0];
    let zones = drive.zones().expect("it has zones");
    assert_eq!((zones.take_offline(gone), zones.take_offline(gone)), (Ok(()), Ok(())));
    let first = u32::try_from(u64::from(gone) * capacity / PAGE).expect("small");
    assert_eq!(drive.locate(Lpn(first)), None, "its data is gone");
    let start = zone(&mut drive, gone).start.0;
    assert_eq!(try_io(&mut drive, Op::Read, start, PAGE), Err(Errno::EIO));
    // A trim of all zones does not change lost zones.
    let size = drive.info().capacity.0;
    let _ = try_io(&mut drive, Op::Trim, 0, size);
    assert_eq!(in_state(&mut drive, ZoneState::ReadOnly), read_only[1..]);
    let lost = drive.zone_counts().expect("it has zones");
    let empty = in_state(&mut drive, ZoneState::Empty).len();
    assert_eq!(empty + lost.read_only as usize + lost.offline as usize, zones_of(&mut drive));
}

fn zones_of(drive: &mut SimDevice) -> usize {
    limits(drive).zones as usize
}
