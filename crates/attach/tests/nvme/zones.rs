//! Zoned namespaces (Zoned Namespace Command Set Specification 1.1).

use proptest::prelude::*;

use crate::initiator::{ENABLED, Entry, HOST_NQN, Initiator, property_get, property_set};
use crate::served::Target;
use crate::zoned::{ACTIVE, BLOCK, OPEN, ZONE, ZONES, ZonedDrive};

/// The number of blocks of a zone.
const BLOCKS: u64 = ZONE / BLOCK;

const BOUNDARY: u16 = 0x1b8;
const FULL: u16 = 0x1b9;
const READ_ONLY: u16 = 0x1ba;
const OFFLINE_ZONE: u16 = 0x1bb;
const INVALID_WRITE: u16 = 0x1bc;
const TOO_MANY_ACTIVE: u16 = 0x1bd;
const TOO_MANY_OPEN: u16 = 0x1be;
const INVALID_TRANSITION: u16 = 0x1bf;

/// The actions of Zone Management Send.
const CLOSE: u32 = 1;
const FINISH: u32 = 2;
const OPEN_ZONE: u32 = 3;
const RESET: u32 = 4;
const OFFLINE: u32 = 5;
const ALL: u32 = 1 << 8;

/// The states of zones in reports.
const EMPTY: u8 = 1;
const IMPLICIT: u8 = 2;
const EXPLICIT: u8 = 3;
const CLOSED: u8 = 4;
const IS_READ_ONLY: u8 = 0xd;
const IS_FULL: u8 = 0xe;
const IS_OFFLINE: u8 = 0xf;

fn block(fill: u8) -> Vec<u8> {
    vec![fill; usize::try_from(BLOCK).unwrap()]
}

/// Writes `blocks` blocks of the byte `fill` from the block `start` on, and returns the status.
fn write(queue: &mut Initiator, start: u64, blocks: u32, fill: u8) -> u16 {
    let data = block(fill).repeat(blocks as usize);
    let entry = Entry::new(0x01, 1).range(start, blocks);
    match blocks {
        1..=4 => queue.with_data(entry, &data).status,
        _ => queue.on_request(entry, &data).status,
    }
}

/// Appends `blocks` blocks of the byte `fill` to a zone, and returns the status and the first
/// block.
fn append(queue: &mut Initiator, zone: u64, blocks: u32, fill: u8) -> (u16, u64) {
    let data = block(fill).repeat(blocks as usize);
    let entry = Entry::new(0x7d, 1).range(zone * BLOCKS, blocks);
    let done = match blocks {
        1..=4 => queue.with_data(entry, &data),
        _ => queue.on_request(entry, &data),
    };
    (done.status, done.result)
}

/// Returns the first byte of each block, after checking that the block consists of it.
fn read(queue: &mut Initiator, start: u64, blocks: u32) -> Vec<u8> {
    let len = blocks as usize * usize::try_from(BLOCK).unwrap();
    let done = queue.execute(Entry::new(0x02, 1).range(start, blocks).by_transport(len));
    assert_eq!(done.status, 0);
    let fill = |block: &[u8]| {
        assert!(block.iter().all(|byte| *byte == block[0]));
        block[0]
    };
    done.data.chunks(usize::try_from(BLOCK).unwrap()).map(fill).collect()
}

fn manage(queue: &mut Initiator, zone: u64, action: u32) -> u16 {
    let start = (zone * BLOCKS).to_le_bytes();
    queue.execute(Entry::new(0x79, 1).set(40, &start).dword(13, action)).status
}

/// Returns a command for a report of `len` bytes on the zones from the block `start` on.
fn report_entry(start: u64, option: u32, partial: u32, len: usize) -> Entry {
    let dwords = u32::try_from(len / 4 - 1).unwrap();
    let entry = Entry::new(0x7a, 1).set(40, &start.to_le_bytes()).dword(12, dwords);
    entry.dword(13, option << 8 | partial << 16).by_transport(len)
}

#[derive(Debug, PartialEq, Eq, Clone, Copy)]
struct Descriptor {
    state: u8,
    start: u64,
    pointer: u64,
}

/// Returns the count of a report and its descriptors.
fn report(queue: &mut Initiator, entry: Entry) -> (u64, Vec<Descriptor>) {
    let done = queue.execute(entry);
    assert_eq!(done.status, 0);
    let u64_at = |at: usize| u64::from_le_bytes(done.data[at..at + 8].try_into().unwrap());
    let descriptors = (64..done.data.len()).step_by(64).filter(|at| done.data[at + 1] != 0);
    let descriptor = |at: usize| {
        assert_eq!(done.data[at], 2, "sequential writes are required");
        assert_eq!(done.data[at + 2], 0, "attributes");
        Descriptor {
            state: done.data[at + 1] >> 4,
            start: u64_at(at + 16),
            pointer: u64_at(at + 24),
        }
    };
    (u64_at(0), descriptors.map(descriptor).collect())
}

fn states(queue: &mut Initiator) -> Vec<u8> {
    let (count, zones) = report(queue, report_entry(0, 0, 0, 4096));
    assert_eq!((count, zones.len()), (ZONES.into(), ZONES as usize));
    zones.iter().map(|zone| zone.state).collect()
}

// The controller enables all command sets. Identify and the effects log describe the zones with the
// fields that Linux requires: drivers/nvme/host/zns.c and core.c.
#[test]
fn identify_describes_the_zones() {
    let target = Target::zoned();
    let mut admin = Initiator::new(target.address);
    assert_eq!(admin.connect_as(HOST_NQN, &target.nqn, 0, u16::MAX).status, 0);
    let sets = admin.execute(property_get(0, 8)).result >> 37 & 0xff;
    assert_eq!(sets, 1 << 6, "CAP.CSS: one or more command sets, which Identify lists");
    for (css, status) in [(0, 2), (1, 2), (7, 2), (6, 1)] {
        assert_eq!(admin.execute(property_set(0x14, 0)).status, 0);
        assert_eq!(admin.execute(property_set(0x14, ENABLED | css << 4)).status, 0);
        assert_eq!(admin.execute(property_get(0x1c, 4)).result, status, "CC.CSS {css}");
    }
    let mut identify = |selector: u32, namespace: u32, set: u32| {
        let entry = Entry::new(0x06, namespace).dword(10, selector).dword(11, set << 24);
        let done = admin.execute(entry.by_transport(4096));
        (done.status, done.data)
    };
    let u32_at = |data: &[u8], at: usize| u32::from_le_bytes(data[at..at + 4].try_into().unwrap());
    let (_, space) = identify(0, 1, 0);
    assert_eq!((space[25], space[26] & 0xf, space[130]), (0, 0, 12), "one format: 4096 bytes");
    assert_eq!(u32_at(&space, 0), u32::try_from(u64::from(ZONES) * BLOCKS).unwrap());
    assert_eq!(space[33], 1, "DLFEAT: zeros, and no deallocation by Write Zeroes");
    let (_, controller) = identify(1, 0, 0);
    assert_eq!(controller[520] & 1 << 2, 0, "ONCS: no Dataset Management");
    assert_eq!(identify(3, 1, 0).1[40..45], [4, 1, 0, 0, 2], "the command set of the namespace");
    let (_, zoned) = identify(5, 1, 2);
    assert_eq!(zoned[..4], [0, 0, 1, 0], "ZOC 0, reads across zones");
    assert_eq!((u32_at(&zoned, 4), u32_at(&zoned, 8)), (ACTIVE - 1, OPEN - 1), "MAR and MOR");
    assert_eq!(zoned[2816..2832], [16, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0], "ZSZE");
    assert_eq!(zoned[2832..3840], [0; 1008], "no further format");
    assert_eq!(identify(6, 0, 2).1[0], 8, "ZASL");
    assert_eq!((identify(5, 1, 0).0, identify(6, 0, 0).0), (0, 0), "the NVM command set too");
    assert_eq!((u32_at(&identify(7, 0, 2).1, 0), u32_at(&identify(2, 0, 0).1, 0)), (1, 1));
    assert_eq!(u32_at(&identify(0x1c, 0, 0).1, 0), 1 << 2);
    assert_eq!([identify(5, 1, 1).0, identify(6, 0, 1).0, identify(7, 0, 1).0], [0x02; 3]);
    let mut profile = |value| admin.execute(Entry::new(0x09, 0).dword(10, 0x19).dword(11, value));
    assert_eq!((profile(0).status, profile(1).status), (0, 0x12b));
    let mut commands = |set: u32| -> Vec<usize> {
        let entry = Entry::new(0x02, 0).dword(10, 5 | 1023 << 16).dword(14, set << 24);
        let effects = admin.execute(entry.by_transport(4096)).data;
        (0..256).filter(|opcode| u32_at(&effects, 1024 + 4 * opcode) & 1 == 1).collect()
    };
    assert_eq!(commands(0), [0x00, 0x01, 0x02, 0x05, 0x08, 0x0c, 0x19]);
    assert_eq!(commands(2), [0x00, 0x01, 0x02, 0x05, 0x08, 0x0c, 0x19, 0x79, 0x7a, 0x7d]);
}

// A write begins at the pointer and ends within the zone. Any other write fails with the status of
// the specification, and changes nothing.
#[test]
fn writes_begin_at_the_write_pointer() {
    let target = Target::zoned();
    let (_admin, mut queue) = target.queues();
    assert_eq!(write(&mut queue, BLOCKS + 1, 1, 9), INVALID_WRITE, "after the pointer");
    assert_eq!(write(&mut queue, BLOCKS, 2, 1), 0);
    assert_eq!(write(&mut queue, BLOCKS, 1, 9), INVALID_WRITE, "before the pointer");
    assert_eq!(write(&mut queue, BLOCKS + 2, 15, 9), BOUNDARY);
    assert_eq!(write(&mut queue, BLOCKS + 2, 3, 2), 0);
    assert_eq!(queue.execute(Entry::new(0x08, 1).range(BLOCKS + 6, 1)).status, INVALID_WRITE);
    assert_eq!(queue.execute(Entry::new(0x08, 1).range(BLOCKS + 5, 3)).status, 0, "zeroes");
    assert_eq!(write(&mut queue, BLOCKS + 8, 8, 3), 0);
    assert_eq!(write(&mut queue, BLOCKS + 15, 1, 9), FULL);
    assert_eq!(queue.execute(Entry::new(0x08, 1).range(BLOCKS, 1)).status, FULL);
    let expected = [&[1; 2][..], &[2; 3], &[0; 3], &[3; 8]].concat();
    assert_eq!(read(&mut queue, BLOCKS, 16), expected);
    assert_eq!(read(&mut queue, BLOCKS - 1, 3), [0, 1, 1], "reads cross boundaries");
    assert_eq!(read(&mut queue, 2 * BLOCKS, 16), [0; 16], "beyond the pointer are zeros");
    // A copy is a write to its destination.
    let mut source = vec![0; 32];
    source[8..16].copy_from_slice(&(BLOCKS + 1).to_le_bytes());
    source[16] = 2;
    let copy = |to: u64| Entry::new(0x19, 1).set(40, &to.to_le_bytes());
    assert_eq!(queue.with_data(copy(2 * BLOCKS + 1), &source).status, INVALID_WRITE);
    assert_eq!(queue.with_data(copy(2 * BLOCKS), &source).status, 0);
    assert_eq!(read(&mut queue, 2 * BLOCKS, 4), [1, 2, 2, 0]);
}

// An append is written at the pointer, and its completion contains the number of its first block.
#[test]
fn appends_return_their_places() {
    let target = Target::zoned();
    let (_admin, mut queue) = target.queues();
    assert_eq!(append(&mut queue, 3, 2, 1), (0, 3 * BLOCKS));
    assert_eq!(append(&mut queue, 3, 5, 2), (0, 3 * BLOCKS + 2));
    assert_eq!(write(&mut queue, 3 * BLOCKS + 7, 1, 3), 0);
    assert_eq!(append(&mut queue, 3, 1, 4), (0, 3 * BLOCKS + 8));
    assert_eq!(append(&mut queue, 3, 8, 9), (BOUNDARY, 0));
    assert_eq!(append(&mut queue, 3, 7, 5), (0, 3 * BLOCKS + 9));
    assert_eq!(append(&mut queue, 3, 1, 9), (FULL, 0));
    let expected = [&[1; 2][..], &[2; 5], &[3], &[4], &[5; 7]].concat();
    assert_eq!(read(&mut queue, 3 * BLOCKS, 16), expected);
    let durable = Entry::new(0x7d, 1).range(4 * BLOCKS, 1).dword(12, 1 << 30);
    let done = queue.with_data(durable, &block(6));
    assert_eq!((done.status, done.result), (0, 4 * BLOCKS), "forced unit access");
}

// Writes beyond a limit fail with the status of the limit. Writes close zones that writes opened.
#[test]
fn open_and_active_zones_are_limited() {
    let target = Target::zoned();
    let (_admin, mut queue) = target.queues();
    for zone in 0..3 {
        assert_eq!(append(&mut queue, zone, 1, 1).0, 0);
    }
    assert_eq!(states(&mut queue)[..4], [CLOSED, IMPLICIT, IMPLICIT, EMPTY]);
    assert_eq!(append(&mut queue, 3, 1, 9).0, TOO_MANY_ACTIVE);
    assert_eq!(write(&mut queue, 3 * BLOCKS, 1, 9), TOO_MANY_ACTIVE);
    assert_eq!(manage(&mut queue, 3, OPEN_ZONE), TOO_MANY_ACTIVE);
    assert_eq!(manage(&mut queue, 4, FINISH), 0, "an empty zone is finished without resources");
    assert_eq!(read(&mut queue, 3 * BLOCKS, 1), [0], "the refused data are not there");
    assert_eq!((manage(&mut queue, 0, OPEN_ZONE), manage(&mut queue, 1, OPEN_ZONE)), (0, 0));
    assert_eq!(states(&mut queue)[..4], [EXPLICIT, EXPLICIT, CLOSED, EMPTY]);
    assert_eq!(append(&mut queue, 2, 1, 9).0, TOO_MANY_OPEN);
    assert_eq!(manage(&mut queue, 2, OPEN_ZONE), TOO_MANY_OPEN);
    assert_eq!(manage(&mut queue, 0, OPEN_ZONE | ALL), TOO_MANY_OPEN);
    assert_eq!(read(&mut queue, 2 * BLOCKS, 2), [1, 0]);
    assert_eq!(manage(&mut queue, 1, FINISH), 0);
    assert_eq!(append(&mut queue, 3, 1, 1).0, 0, "the finished zone is no longer active");
}

// The capacity of a zone is below its size. Reports and Identify state both, writes and appends end
// at the capacity, the hole reads as zeros, and the store keeps all data.
#[test]
fn writes_end_at_the_capacity_of_a_zone() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store");
    let drive = || ZonedDrive::with_capacity(11 * BLOCK);
    {
        let target = Target::zoned_by(drive(), true, Some(&path));
        let (mut admin, mut queue) = target.queues();
        let entry = Entry::new(0x06, 1).dword(10, 5).dword(11, 2 << 24);
        let identified = admin.execute(entry.by_transport(4096)).data;
        assert_eq!(identified[2816..2820], [16, 0, 0, 0], "ZSZE");
        let reported = queue.execute(report_entry(BLOCKS, 0, 1, 3 * 64)).data;
        assert_eq!((reported[72], reported[80]), (11, 16), "ZCAP and ZSLBA");
        assert_eq!((reported[136], reported[144]), (11, 32));
        for (start, blocks) in [(BLOCKS + 11, 1), (BLOCKS + 13, 3)] {
            assert_eq!(write(&mut queue, start, blocks, 9), INVALID_WRITE, "in the hole");
        }
        assert_eq!(write(&mut queue, BLOCKS, 12, 9), BOUNDARY);
        let long = Entry::new(0x7d, 1).range(BLOCKS, 12).by_transport(1 << 22);
        assert_eq!(queue.execute(long).status, BOUNDARY, "longer than the capacity");
        assert_eq!(append(&mut queue, 1, 10, 1), (0, BLOCKS));
        assert_eq!(append(&mut queue, 1, 2, 9).0, BOUNDARY);
        assert_eq!(append(&mut queue, 1, 1, 2), (0, BLOCKS + 10));
        assert_eq!(append(&mut queue, 2, 3, 3), (0, 2 * BLOCKS));
        assert_eq!(manage(&mut queue, 4, FINISH), 0);
        assert_eq!(states(&mut queue)[..5], [EMPTY, IS_FULL, IMPLICIT, EMPTY, IS_FULL]);
        let expected = [&[1; 10][..], &[2], &[0; 5], &[3]].concat();
        assert_eq!(read(&mut queue, BLOCKS, 17), expected, "the hole reads as zeros");
    }
    let target = Target::zoned_by(drive(), true, Some(&path));
    let (_admin, mut queue) = target.queues();
    assert_eq!(states(&mut queue)[..5], [EMPTY, IS_FULL, CLOSED, EMPTY, IS_FULL]);
    assert_eq!(manage(&mut queue, 1, RESET), 0);
    assert_eq!(read(&mut queue, BLOCKS, 17), [&[0; 16][..], &[3]].concat());
}

// A zone that failed is read-only: it keeps its data until it is taken offline. A zone that is
// offline cannot be read. No command of the host makes such a zone writable again.
#[test]
fn lost_zones_are_read_only_or_offline() {
    let target = Target::zoned_by(ZonedDrive::worn(), true, None);
    let (mut admin, mut queue) = target.queues();
    let data = block(1);
    assert_eq!(append(&mut queue, 6, 16, 6).0, 0);
    assert_eq!(append(&mut queue, 5, 1, 5).0, 0x280, "Write Fault");
    assert_eq!(manage(&mut queue, 6, RESET), OFFLINE_ZONE);
    assert_eq!(states(&mut queue)[4..], [EMPTY, IS_READ_ONLY, IS_OFFLINE, EMPTY]);
    for (zone, status) in [(5, READ_ONLY), (6, OFFLINE_ZONE)] {
        assert_eq!(append(&mut queue, zone, 1, 1).0, status);
        assert_eq!(write(&mut queue, zone * BLOCKS, 1, 1), status);
        assert_eq!(queue.execute(Entry::new(0x08, 1).range(zone * BLOCKS, 1)).status, status);
        for action in [CLOSE, FINISH, OPEN_ZONE, RESET] {
            assert_eq!(manage(&mut queue, zone, action), INVALID_TRANSITION, "{action}");
        }
        let descriptor = |state| Descriptor { state, start: zone * BLOCKS, pointer: u64::MAX };
        let state = if zone == 5 { IS_READ_ONLY } else { IS_OFFLINE };
        let option = u32::try_from(zone + 1).unwrap();
        let found = report(&mut queue, report_entry(0, option, 0, 4096));
        assert_eq!(found, (1, vec![descriptor(state)]));
    }
    assert_eq!(read(&mut queue, 5 * BLOCKS, 16), [0; 16]);
    for entry in [
        Entry::new(0x02, 1).range(6 * BLOCKS - 1, 2).by_transport(2 * data.len()),
        Entry::new(0x0c, 1).range(6 * BLOCKS + 3, 1),
    ] {
        assert_eq!(queue.execute(entry).status, OFFLINE_ZONE);
    }
    assert_eq!(manage(&mut queue, 0, RESET | ALL), 0, "of the others");
    assert_eq!(states(&mut queue)[4..], [EMPTY, IS_READ_ONLY, IS_OFFLINE, EMPTY]);
    assert_eq!(manage(&mut queue, 4, OFFLINE), INVALID_TRANSITION);
    assert_eq!(manage(&mut queue, 0, OFFLINE | ALL), 0);
    assert_eq!((manage(&mut queue, 5, OFFLINE), manage(&mut queue, 6, OFFLINE)), (0, 0));
    assert_eq!(append(&mut queue, 0, 1, 1).0, 0);
    assert_eq!(admin.execute(Entry::new(0x80, 1)).status, 0, "Format");
    let expected = [EMPTY, EMPTY, EMPTY, EMPTY, EMPTY, IS_OFFLINE, IS_OFFLINE, EMPTY];
    assert_eq!(states(&mut queue), expected);
}

// An action for all zones selects zones by their states. If it selects none, it succeeds and
// changes nothing.
#[test]
fn an_action_for_all_zones_may_select_none() {
    let target = Target::zoned_by(ZonedDrive::lost(), true, None);
    let (_admin, mut queue) = target.queues();
    for action in [CLOSE, FINISH, OPEN_ZONE, RESET, OFFLINE] {
        assert_eq!(manage(&mut queue, 0, action | ALL), 0, "{action}");
    }
    assert_eq!(manage(&mut queue, 0, RESET), INVALID_TRANSITION);
    let lost = Descriptor { state: IS_OFFLINE, start: 0, pointer: u64::MAX };
    assert_eq!(report(&mut queue, report_entry(0, 0, 0, 4096)), (1, vec![lost]));
}

// Each action leads to its state, for one zone and for all zones that it selects, and is refused in
// other states.
#[test]
fn zones_change_their_states() {
    let target = Target::zoned();
    let (_admin, mut queue) = target.queues();
    for action in [CLOSE, OFFLINE] {
        assert_eq!(manage(&mut queue, 0, action), INVALID_TRANSITION, "{action} of an empty zone");
    }
    assert_eq!(manage(&mut queue, 0, RESET), 0);
    assert_eq!(manage(&mut queue, 0, OPEN_ZONE), 0);
    assert_eq!(manage(&mut queue, 0, OPEN_ZONE), 0, "again");
    assert_eq!(append(&mut queue, 0, 1, 1), (0, 0));
    assert_eq!(states(&mut queue)[0], EXPLICIT, "a write leaves it explicitly open");
    assert_eq!((manage(&mut queue, 0, CLOSE), manage(&mut queue, 0, CLOSE)), (0, 0));
    assert_eq!(states(&mut queue)[0], CLOSED);
    assert_eq!((manage(&mut queue, 0, FINISH), manage(&mut queue, 0, FINISH)), (0, 0));
    assert_eq!(states(&mut queue)[0], IS_FULL);
    for action in [CLOSE, OPEN_ZONE, OFFLINE] {
        assert_eq!(manage(&mut queue, 0, action), INVALID_TRANSITION, "{action} of a full zone");
    }
    assert_eq!(read(&mut queue, 0, 2), [1, 0]);
    for zone in 1..4 {
        assert_eq!(append(&mut queue, zone, 1, 1).0, 0);
    }
    let run = |queue: &mut Initiator, action| {
        assert_eq!(manage(queue, 99, action | ALL), 0, "the zone is ignored");
        states(queue)[..5].to_vec()
    };
    assert_eq!(run(&mut queue, CLOSE), [IS_FULL, CLOSED, CLOSED, CLOSED, EMPTY]);
    assert_eq!(manage(&mut queue, 1, FINISH), 0);
    assert_eq!(run(&mut queue, OPEN_ZONE), [IS_FULL, IS_FULL, EXPLICIT, EXPLICIT, EMPTY]);
    assert_eq!(run(&mut queue, OFFLINE), [IS_FULL, IS_FULL, EXPLICIT, EXPLICIT, EMPTY]);
    assert_eq!(run(&mut queue, FINISH), [IS_FULL, IS_FULL, IS_FULL, IS_FULL, EMPTY]);
    assert_eq!(run(&mut queue, RESET), [EMPTY; 5]);
    assert_eq!(read(&mut queue, 0, 16), [0; 16]);
}

// Reports select zones by state, from a zone on. They count the zones in the report, or all
// matching zones.
#[test]
fn reports_select_zones_by_state() {
    let target = Target::zoned();
    let (_admin, mut queue) = target.queues();
    assert_eq!(append(&mut queue, 1, 16, 1).0, 0);
    assert_eq!(append(&mut queue, 2, 3, 1).0, 0);
    assert_eq!(append(&mut queue, 4, 2, 1).0, 0);
    assert_eq!(manage(&mut queue, 4, CLOSE), 0);
    assert_eq!(manage(&mut queue, 6, OPEN_ZONE), 0);
    let all = [
        (EMPTY, 0, 0),
        (IS_FULL, 1, u64::MAX),
        (IMPLICIT, 2, 3),
        (EMPTY, 3, 0),
        (CLOSED, 4, 2),
        (EMPTY, 5, 0),
        (EXPLICIT, 6, 0),
        (EMPTY, 7, 0),
    ];
    let descriptor = |(state, zone, written): (u8, u64, u64)| {
        let start = zone * BLOCKS;
        let pointer = if written == u64::MAX { written } else { start + written };
        Descriptor { state, start, pointer }
    };
    let with = |state: u8| -> Vec<Descriptor> {
        all.into_iter().filter(|zone| zone.0 == state).map(descriptor).collect()
    };
    let all: Vec<Descriptor> = all.into_iter().map(descriptor).collect();
    assert_eq!(report(&mut queue, report_entry(0, 0, 0, 4096)), (8, all.clone()));
    assert_eq!(queue.execute(report_entry(0, 0, 0, 128)).data[72..74], [16, 0], "ZCAP");
    assert_eq!(report(&mut queue, report_entry(3 * BLOCKS + 5, 0, 1, 4096)), (5, all[3..].into()));
    for (option, state) in [(1, EMPTY), (2, IMPLICIT), (3, EXPLICIT), (4, CLOSED), (5, IS_FULL)] {
        let zones = with(state);
        let expected = (zones.len() as u64, zones);
        assert_eq!(report(&mut queue, report_entry(0, option, 0, 4096)), expected, "{option}");
    }
    for option in [6, 7] {
        assert_eq!(report(&mut queue, report_entry(0, option, 0, 4096)), (0, vec![]), "{option}");
    }
    // There is room for two descriptors, for none, and for a part of one.
    for (partial, count) in [(0, 8), (1, 2)] {
        let found = report(&mut queue, report_entry(0, 0, partial, 3 * 64));
        assert_eq!(found, (count, all[..2].to_vec()));
        let none = report(&mut queue, report_entry(0, 0, partial, 64));
        assert_eq!(none, (count * u64::from(partial == 0), vec![]));
        let part = report(&mut queue, report_entry(BLOCKS, 0, partial, 64 + 60));
        assert_eq!(part, (7 * u64::from(partial == 0), vec![]));
    }
}

// Each invalid command is refused with its status, and the next command succeeds.
#[test]
fn invalid_zone_commands_are_refused() {
    let target = Target::zoned();
    let (_admin, mut queue) = target.queues();
    let end = u64::from(ZONES) * BLOCKS;
    let append = |start, blocks| Entry::new(0x7d, 1).range(start, blocks).by_transport(1 << 22);
    let send =
        |start: u64, action| Entry::new(0x79, 1).set(40, &start.to_le_bytes()).dword(13, action);
    for (name, entry, status) in [
        ("an append inside a zone", append(1, 1), 0x02),
        ("an append past the end", append(end, 1), 0x80),
        ("an append longer than a zone", append(0, 17), BOUNDARY),
        ("an append longer than ZASL", append(0, 257), 0x02),
        ("an append with a directive", append(0, 1).dword(12, 1 << 20), 0x02),
        ("an append with remapping", append(0, 1).dword(12, 1 << 25), 0x02),
        ("an append to namespace 2", append(0, 1).set(4, &[2]), 0x0b),
        ("an action inside a zone", send(1, OPEN_ZONE), 0x02),
        ("an action past the end", send(end, RESET), 0x80),
        ("no action", send(0, 0), 0x02),
        ("an unknown action", send(0, 6), 0x02),
        ("a descriptor extension", send(0, 0x10), 0x02),
        ("a flush of a random write area", send(0, 0x11), 0x02),
        ("a random write area", send(0, OPEN_ZONE | 1 << 9), 0x02),
        ("an extended report", report_entry(0, 0, 0, 4096).set(52, &[1]), 0x02),
        ("an unknown reporting option", report_entry(0, 8, 0, 4096), 0x02),
        ("a report past the end", report_entry(end, 0, 0, 4096), 0x80),
        ("a report without its header", report_entry(0, 0, 0, 60), 0x02),
        ("a report longer than a transfer", report_entry(0, 0, 0, (1 << 20) + 4), 0x02),
        ("dataset management", Entry::new(0x09, 1).dword(11, 4).by_transport(16), 0x01),
    ] {
        let done = queue.execute(entry);
        assert_eq!((done.status, done.do_not_retry), (status, true), "{name}");
        assert_eq!(queue.execute(Entry::new(0x00, 1)).status, 0, "after {name}");
    }
    assert_eq!(states(&mut queue), [EMPTY; ZONES as usize]);
    let plain = Target::new();
    let (_admin, mut queue) = plain.queues();
    for opcode in [0x79, 0x7a, 0x7d] {
        assert_eq!(queue.execute(Entry::new(opcode, 1)).status, 0x01, "a drive without zones");
    }
}

// Format and sanitize empty all zones.
#[test]
fn format_and_sanitize_empty_all_zones() {
    let target = Target::zoned();
    let (mut admin, mut queue) = target.queues();
    for erase in [Entry::new(0x80, 1), Entry::new(0x84, 0).dword(10, 2)] {
        for zone in 0..2 {
            assert_eq!(append(&mut queue, zone, 16, 1).0, 0);
        }
        assert_eq!(append(&mut queue, 7, 1, 1).0, 0);
        assert_eq!(admin.execute(erase).status, 0);
        // Sanitize continues after its command.
        while queue.execute(report_entry(0, 0, 0, 4096)).status == 0x1d {}
        assert_eq!(states(&mut queue), [EMPTY; ZONES as usize]);
        assert_eq!(read(&mut queue, 0, 16), [0; 16]);
    }
    assert_eq!(admin.execute(Entry::new(0x80, 1).dword(10, 1)).status, 0x10a, "no other format");
}

// A write-protected drive reports its zones, and refuses commands that change them.
#[test]
fn a_read_only_drive_keeps_its_zones() {
    let target = Target::zoned_with(false, None);
    let (_admin, mut queue) = target.queues();
    assert_eq!(append(&mut queue, 0, 1, 1).0, 0x20);
    for action in [CLOSE, FINISH, OPEN_ZONE, RESET, RESET | ALL] {
        assert_eq!(manage(&mut queue, 0, action), 0x20);
    }
    assert_eq!(states(&mut queue), [EMPTY; ZONES as usize]);
}

// More writes than the drive accepts at a time are executed in their order, even if some fail.
#[test]
fn refused_writes_hold_up_no_others() {
    let target = Target::zoned();
    let (_admin, mut queue) = target.queues();
    for number in 0..16_u64 {
        // Every third write repeats the previous place.
        let place = number - number / 3;
        queue.submit(
            Entry::new(0x01, 1).range(place, 1).in_capsule(block(0).len()),
            &block(u8::try_from(number).unwrap()),
        );
    }
    let mut done: Vec<_> = (0..16).map(|_| queue.done()).collect();
    done.sort_by_key(|done| done.id);
    let failed: Vec<_> = done.iter().map(|done| done.status).collect();
    let expected: Vec<u16> = (0..16)
        .map(|number| if number % 3 == 0 && number > 0 { INVALID_WRITE } else { 0 })
        .collect();
    assert_eq!(failed, expected);
    assert_eq!(read(&mut queue, 0, 11), [0, 1, 2, 4, 5, 7, 8, 10, 11, 13, 14]);
}

// A store keeps the write pointers and the full zones until the drive is attached again.
#[test]
fn a_store_keeps_the_write_pointers() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store");
    let before = {
        let target = Target::zoned_with(true, Some(&path));
        let (_admin, mut queue) = target.queues();
        assert_eq!(append(&mut queue, 0, 16, 1).0, 0);
        assert_eq!(append(&mut queue, 1, 3, 2).0, 0);
        assert_eq!(queue.execute(Entry::new(0x08, 1).range(BLOCKS + 3, 2)).status, 0, "zeroes");
        assert_eq!(append(&mut queue, 6, 1, 3).0, 0);
        assert_eq!(manage(&mut queue, 6, FINISH), 0);
        assert_eq!(append(&mut queue, 3, 9, 4).0, 0);
        assert_eq!(manage(&mut queue, 3, RESET), 0);
        assert_eq!(append(&mut queue, 4, 2, 5).0, 0);
        assert_eq!(append(&mut queue, 3, 1, 6).0, 0);
        assert_eq!(append(&mut queue, 5, 1, 9).0, TOO_MANY_ACTIVE);
        report(&mut queue, report_entry(0, 0, 0, 4096)).1
    };
    let target = Target::zoned_with(true, Some(&path));
    let (_admin, mut queue) = target.queues();
    let (_, after) = report(&mut queue, report_entry(0, 0, 0, 4096));
    let places =
        |zones: &[Descriptor]| -> Vec<u64> { zones.iter().map(|zone| zone.pointer).collect() };
    assert_eq!(places(&after), places(&before));
    let expected = [IS_FULL, CLOSED, EMPTY, CLOSED, CLOSED, EMPTY, IS_FULL, EMPTY];
    assert_eq!(after.iter().map(|zone| zone.state).collect::<Vec<_>>(), expected);
    assert_eq!(read(&mut queue, BLOCKS, 6), [2, 2, 2, 0, 0, 0]);
    assert_eq!(read(&mut queue, 3 * BLOCKS, 2), [6, 0]);
    assert_eq!(read(&mut queue, 6 * BLOCKS, 2), [3, 0]);
    assert_eq!(append(&mut queue, 1, 1, 7), (0, BLOCKS + 5));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    // Appends of two queues, all in flight at once, are written next to each other without overlap
    // or gap, and the blocks of each append contain its data.
    #[test]
    fn appends_of_two_queues_never_overlap(
        appends in proptest::collection::vec((0..2_usize, 0..3_u64, 1..4_u32), 1..24),
    ) {
        let target = Target::zoned();
        let (_admin, first, second) = target.two_queues();
        let mut queues = [first, second];
        let mut sent = [Vec::new(), Vec::new()];
        for (number, (queue, zone, blocks)) in appends.iter().enumerate() {
            let fill = u8::try_from(number + 1).unwrap();
            let data = block(fill).repeat(*blocks as usize);
            let entry = Entry::new(0x7d, 1).range(zone * BLOCKS, *blocks).in_capsule(data.len());
            let id = queues[*queue].submit(entry, &data);
            sent[*queue].push((id, *zone, *blocks, fill));
        }
        let mut expected = vec![0; 3 * usize::try_from(BLOCKS).unwrap()];
        for (queue, sent) in queues.iter_mut().zip(&sent) {
            for _ in sent {
                let done = queue.done();
                let (_, zone, blocks, fill) = sent.iter().find(|sent| sent.0 == done.id).unwrap();
                if done.status != 0 {
                    prop_assert!([BOUNDARY, FULL].contains(&done.status), "{:#x}", done.status);
                    continue;
                }
                prop_assert_eq!(done.result / BLOCKS, *zone);
                for place in done.result..done.result + u64::from(*blocks) {
                    let place = &mut expected[usize::try_from(place).unwrap()];
                    prop_assert_eq!(std::mem::replace(place, *fill), 0, "an overlap");
                }
            }
        }
        for (zone, fills) in expected.chunks(usize::try_from(BLOCKS).unwrap()).enumerate() {
            let written = fills.iter().filter(|fill| **fill > 0).count();
            prop_assert!(fills[..written].iter().all(|fill| *fill > 0), "a gap");
            let found = read(&mut queues[0], zone as u64 * BLOCKS, 16);
            prop_assert_eq!(&found[..], fills);
        }
    }
}
