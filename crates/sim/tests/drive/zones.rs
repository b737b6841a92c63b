//! Zones: the rules of their writes, the place of their data, the time of resets, and power cuts.

use std::collections::{BTreeMap, BTreeSet};

use flashscope_block::{Device, Errno, Nanos, Op, Zone, ZoneLimits as Limits, ZoneState};
use flashscope_sim::nand::Lpn;
use flashscope_sim::setup::Scope;
use flashscope_sim::{Profile, SimDevice};
use proptest::prelude::*;

use crate::{drain, drive, request, round_trip};

const PAGE: u64 = 4096;

/// Returns a drive with one pool of `lanes` packages, whose zones span `spanned` of them and take `blocks` blocks of
/// 16 pages in each.
fn zoned(lanes: u32, spanned: u32, blocks: u32) -> Profile {
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

/// Returns the same drive with zones of this many pages more than their capacity.
fn with_hole(profile: Profile, pages: u64) -> Profile {
    let capacity = limits(&mut drive(&profile)).capacity.0;
    let mut profile = profile;
    profile.zones.size.0 = capacity + pages * PAGE;
    profile
}

fn limits(drive: &mut SimDevice) -> Limits {
    drive.zones().expect("it has zones").limits()
}

fn zone(drive: &mut SimDevice, number: u32) -> Zone {
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

// A write that does not begin at the write pointer, or does not end within the zone, fails and changes nothing.
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

// A zone ends with a hole: it takes writes up to its capacity, reads zeros beyond, and is reset as a whole. The addresses
// of the drive have the holes, and its flash has not.
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

// Writes close the zone that has been open for longest, and the host's zones stay open. An active zone needs one of the places.
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
    // Opened and closed without data, a zone stays active: a close never empties one.
    let zones = drive.zones().expect("it has zones");
    assert_eq!((zones.open(0), zones.close(0), zones.close(0)), (Ok(()), Ok(()), Ok(())));
    assert_eq!(zones.zone(0).state, closed);
    assert_eq!(append(&mut drive, 6, 1), Err(Errno::EOVERFLOW));
    let zones = drive.zones().expect("it has zones");
    assert_eq!(zones.finish(6), Ok(()), "an empty zone is finished without being active");
    assert_eq!(zones.zone(6).state, ZoneState::Full);
    assert_eq!((zones.finish(6), zones.finish(0)), (Ok(()), Ok(())));
}

/// Writes and resets zones at random, and returns the number of host pages. Up to `depth` writes are in flight.
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

// The drive programs what the host writes and nothing else, whatever zones a host fills at the same time.
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

// A block holds data of one zone. A zone has equally many pages on each of its lanes, and none on others.
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

// A reset takes the erases of the zone's blocks, side by side on its lanes. A zone is written as fast as its lanes work.
#[test]
fn time_follows_from_the_lanes_of_a_zone() {
    for (spanned, blocks) in [(1, 1), (1, 3), (2, 2), (4, 1)] {
        let mut drive = drive(&zoned(4, spanned, blocks));
        let Zone { start, size, .. } = zone(&mut drive, 0);
        let written = round_trip(&mut drive, Op::Write, start.0, size.0).latency().0;
        // 200 us in the cells and 105.6 us on the bus of its own for each page.
        assert_eq!(written, 305_600 * 16 * u64::from(blocks), "{spanned}, {blocks}");
        let erased = round_trip(&mut drive, Op::Trim, start.0, size.0).latency().0;
        assert_eq!(erased, 1_500_000 * u64::from(blocks), "{spanned}, {blocks}");
        let empty = round_trip(&mut drive, Op::Trim, start.0, size.0).latency().0;
        assert_eq!(empty, 0, "nothing to erase");
    }
}

// A finished zone keeps its data, and its unwritten rest costs nothing but space.
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

// The first field that does not go with zones is named, with what it must be.
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

// Blocks that expire cost one zone after the other, each at a reset. The zones that are left take all of their data,
// and the last zone goes only when its blocks do.
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

// A write that finds no block makes its zone read-only: the data before it can be read until the zone is taken offline.
// Other zones go on.
#[test]
fn zones_whose_writes_fail_are_read_only() {
    let mut profile = zoned(2, 1, 2);
    profile.reliability.program_failures = 0.05;
    let mut drive = drive(&profile);
    let zones = limits(&mut drive).zones;
    let mut random = fastrand::Rng::with_seed(4);
    let mut there: BTreeMap<u32, u64> = BTreeMap::new();
    // Without resets, blocks fail until a lane has none left.
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
    // A trim of all zones leaves out the lost ones.
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

/// A zone as the host knows it.
#[derive(Clone, Copy, Default)]
struct HostZone {
    /// The write pointer after the last power cut, in pages. Pages before it may have been lost.
    kept: u64,
    /// The end of the acknowledged pages.
    acknowledged: u64,
    /// The write pointer after the last write.
    submitted: u64,
    /// A reset was submitted, and not answered yet.
    resets: bool,
}

/// A host that keeps account of its zones.
struct Host {
    drive: SimDevice,
    zones: Vec<HostZone>,
    /// The zone, the offset and the operation of each request in flight.
    in_flight: Vec<(u32, u64, Op)>,
    random: fastrand::Rng,
    /// True if blocks of the flash fail.
    fails: bool,
}

impl Host {
    fn new(profile: &Profile, seed: u64) -> Host {
        let fails = profile.reliability.program_failures > 0.0;
        let mut drive = drive(profile);
        drive.expect_power_cuts();
        let count = limits(&mut drive).zones.min(6) as usize;
        let random = fastrand::Rng::with_seed(seed);
        let zones = vec![HostZone::default(); count];
        Host { drive, zones, in_flight: Vec::new(), random, fails }
    }

    /// Checks that no block has data of two zones.
    fn check_blocks(&mut self) {
        let pages = limits(&mut self.drive).capacity.0 / PAGE;
        let mut zone_of_block = BTreeMap::new();
        for number in 0..self.zones.len() as u64 {
            let lpns = number * pages..(number + 1) * pages;
            let lpns = lpns.map(|lpn| Lpn(u32::try_from(lpn).expect("small")));
            for page in lpns.filter_map(|lpn| self.drive.locate(lpn)) {
                let block = page.block.0;
                let owner = *zone_of_block.entry(block).or_insert(number);
                assert_eq!(owner, number, "block {block} has data of two zones");
            }
        }
    }

    fn step(&mut self) {
        let number = self.random.u32(..u32::try_from(self.zones.len()).expect("a few"));
        let known = self.zones[number as usize];
        match self.random.u32(..20) {
            0 => self.cut(),
            1 => self.finish(number),
            2 | 3 if self.in_flight.iter().all(|(zone, _, _)| *zone != number) => {
                self.reset(number)
            }
            4..=10 if !self.in_flight.is_empty() => {
                self.answer(Nanos::MAX);
            }
            _ if !known.resets && self.in_flight.len() < 16 => self.write(number),
            _ => {}
        }
        self.check_blocks();
    }

    /// Makes a zone full before all of it is written, if it is active.
    fn finish(&mut self, number: u32) {
        if zone(&mut self.drive, number).state.is_active() {
            let zones = self.drive.zones().expect("it has zones");
            assert_eq!(zones.finish(number), Ok(()));
        }
    }

    fn submit(&mut self, number: u32, op: Op, offset: u64, len: u64) {
        self.in_flight.push((number, offset, op));
        self.drive.submit(&request(op, offset, len, self.drive.now()));
    }

    /// Resets a zone. One that is read-only is sometimes taken offline instead.
    fn reset(&mut self, number: u32) {
        let Zone { start, size, state, .. } = zone(&mut self.drive, number);
        if state == ZoneState::ReadOnly && self.random.bool() {
            let zones = self.drive.zones().expect("it has zones");
            assert_eq!(zones.take_offline(number), Ok(()));
            self.zones[number as usize] = HostZone::default();
        }
        if !state.is_lost() {
            self.zones[number as usize] = HostZone { resets: true, ..HostZone::default() };
        }
        self.submit(number, Op::Trim, start.0, size.0);
    }

    /// Writes a few pages, if the zone has room for them. The drive may refuse to open the zone.
    fn write(&mut self, number: u32) {
        let Zone { start, write_pointer, .. } = zone(&mut self.drive, number);
        let zone_before = zone(&mut self.drive, number);
        let left = (zone_before.end() - write_pointer).0 / PAGE;
        if left > 0 && zone_before.state != ZoneState::Offline {
            let pages = self.random.u64(1..=left.min(7));
            self.submit(number, Op::Write, write_pointer.0, pages * PAGE);
            let pointer = zone(&mut self.drive, number).write_pointer.0;
            self.zones[number as usize].submitted = (pointer - start.0) / PAGE;
        }
    }

    /// Receives an answer, if one arrives in time. Data counts as acknowledged up to the first write of its zone that is
    /// still in flight.
    fn answer(&mut self, until: Nanos) -> bool {
        let Some(done) = self.drive.complete(until) else { return false };
        let of =
            |(_, offset, op): &(u32, u64, Op)| (*offset, *op) == (done.io.offset.0, done.io.op);
        let place = self.in_flight.iter().position(of).expect("in flight");
        let (number, _, op) = self.in_flight.remove(place);
        let start = zone(&mut self.drive, number).start.0;
        let known = &mut self.zones[number as usize];
        match (done.result, op) {
            (Err(Errno::EOVERFLOW), Op::Write) => {}
            (Err(errno), _) => {
                let is_lost = zone(&mut self.drive, number).state.is_lost();
                assert!(self.fails && is_lost && errno == Errno::EIO, "{errno} of zone {number}");
            }
            (Ok(()), Op::Trim) => *known = HostZone::default(),
            (Ok(()), _) => {
                let waiting = self.in_flight.iter().filter(|(zone, _, _)| *zone == number);
                let first = waiting.map(|(_, offset, _)| (offset - start) / PAGE).min();
                let end = first.unwrap_or(known.submitted).min(known.submitted);
                known.acknowledged = known.acknowledged.max(end);
            }
        }
        true
    }

    /// Cuts the power after a random time, and checks all zones.
    fn cut(&mut self) {
        let until = Nanos(self.drive.now().0 + self.random.u64(..5_000_000));
        while self.answer(until) {}
        self.drive.cut_power().expect("it recovers");
        self.in_flight.clear();
        for number in 0..u32::try_from(self.zones.len()).expect("a few") {
            self.check(number);
        }
    }

    fn check(&mut self, number: u32) {
        let known = self.zones[number as usize];
        let Zone { start, capacity, write_pointer, state, .. } = zone(&mut self.drive, number);
        let pages = capacity.0 / PAGE;
        let first = u64::from(number) * pages;
        let written = (write_pointer.0 - start.0) / PAGE;
        let drive = &self.drive;
        let there = |place: u64| {
            let lpn = u32::try_from(first + place).expect("small");
            drive.locate(Lpn(lpn)).is_some()
        };
        if !known.resets {
            assert!((known.kept..known.acknowledged).all(there), "data of zone {number}");
            let is_full = state == ZoneState::Full;
            assert!(is_full || written <= known.submitted, "the pointer of zone {number}");
        }
        assert!(!state.is_open(), "a cut closes zones");
        assert!(!(written..pages).any(there), "zone {number} has data beyond its pointer");
        self.zones[number as usize] =
            HostZone { kept: written, acknowledged: 0, submitted: written, resets: false };
    }
}

proptest! {
    // Whatever a host does and whenever the power is cut, acknowledged data stays until it is reset, and zones can be
    // written on from their write pointers.
    #[test]
    fn acknowledged_data_survives_power_cuts(
        seed in any::<u64>(),
        spanned in prop::sample::select(vec![1u32, 2, 4]),
        policy in prop::sample::select(vec!["fcfs", "read-first", "out-of-order", "suspend"]),
        hole in 0u64..40,
        failures in prop::sample::select(vec![0.0, 0.02, 0.2]),
    ) {
        let mut profile = zoned(4, spanned, 1);
        profile.reliability.program_failures = failures;
        profile.reliability.erase_failures = failures;
        profile.scheduling.policy = policy.into();
        let profile = with_hole(profile, hole);
        let mut host = Host::new(&profile, seed);
        (0..400).for_each(|_| host.step());
    }
}
