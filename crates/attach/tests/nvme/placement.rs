//! Flexible data placement (NVM Express Base Specification 2.1, "Flexible Data Placement").

use crate::initiator::{Entry, Initiator, u16_at, u32_at, u64_at};
use crate::placed::{HANDLES, UNIT};
use crate::served::Target;

/// The number of blocks of 512 bytes in a reclaim unit.
const UNIT_BLOCKS: u64 = UNIT / 512;

/// The type of the directive that names a placement identifier.
const PLACED: u32 = 2 << 20;

fn identify(admin: &mut Initiator, selector: u32, namespace: u32) -> Vec<u8> {
    let done = admin.execute(Entry::new(0x06, namespace).dword(10, selector).by_transport(4096));
    assert_eq!(done.status, 0, "{selector:#x}");
    done.data
}

/// Reads 512 bytes of a log page of an endurance group.
fn log(admin: &mut Initiator, page: u32, group: u32, specific: u32) -> (u16, Vec<u8>) {
    let entry = Entry::new(0x02, 0).dword(10, page | specific << 8 | 127 << 16);
    let done = admin.execute(entry.dword(11, group << 16).by_transport(512));
    (done.status, done.data)
}

/// Writes blocks by a placement identifier, and returns the status.
fn write(queue: &mut Initiator, start: u64, blocks: u32, identifier: u16) -> u16 {
    let data = vec![7; blocks as usize * 512];
    let entry = Entry::new(0x01, 1).range(start, blocks).dword(12, (blocks - 1) | PLACED);
    queue.with_data(entry.set(54, &identifier.to_le_bytes()), &data).status
}

/// Returns identifier, handle and available blocks of each handle.
fn status(queue: &mut Initiator) -> Vec<(u16, u16, u64)> {
    let entry = Entry::new(0x12, 1).dword(10, 1).dword(11, 127).by_transport(512);
    let done = queue.execute(entry);
    assert_eq!((done.status, u16_at(&done.data, 14)), (0, HANDLES));
    let handle = |nth: usize| {
        let at = 16 + 32 * nth;
        (u16_at(&done.data, at), u16_at(&done.data, at + 2), u64_at(&done.data, at + 8))
    };
    (0..usize::from(HANDLES)).map(handle).collect()
}

/// Returns the available blocks of each handle.
fn rooms(queue: &mut Initiator) -> Vec<u64> {
    status(queue).into_iter().map(|(_, _, room)| room).collect()
}

fn update(queue: &mut Initiator, identifiers: &[u16]) -> u16 {
    let data: Vec<u8> = identifiers.iter().flat_map(|id| id.to_le_bytes()).collect();
    let count = u32::try_from(identifiers.len() - 1).unwrap();
    queue.with_data(Entry::new(0x1d, 1).dword(10, 1 | count << 16), &data).status
}

/// Returns type and identifier of each event of the host.
fn events(admin: &mut Initiator) -> Vec<(u8, u16)> {
    let (status, page) = log(admin, 0x23, 1, 1);
    assert_eq!(status, 0);
    let event = |nth: usize| {
        let at = 64 * (nth + 1);
        assert_eq!(page[at + 1] & 3, 3, "identifier and namespace are valid");
        assert_eq!(u32_at(&page, at + 12), 1);
        (page[at], u16_at(&page, at + 2))
    };
    (0..u32_at(&page, 0) as usize).map(event).collect()
}

// Identify, the configuration and the features describe the handles, as Linux reads them
// (drivers/nvme/host/core.c, function nvme_query_fdp_info).
#[test]
fn identify_and_logs_describe_the_handles() {
    for persistent in [false, true] {
        let target = Target::placed(persistent);
        let (mut admin, mut queue) = target.queues();
        let controller = identify(&mut admin, 1, 0);
        assert_eq!(u32_at(&controller, 96), 1 << 4 | 1 << 6 | 1 << 19, "CTRATT");
        assert_eq!((u16_at(&controller, 340), controller[256]), (1, 1 << 1 | 1 << 5));
        assert_eq!(u16_at(&identify(&mut admin, 0, 1), 102), 1, "ENDGID");
        assert_eq!(u16_at(&identify(&mut admin, 8, 1), 12), 1, "ENDGID");
        assert_eq!(u32_at(&identify(&mut admin, 0x19, 0), 0), 1 | 1 << 16, "the groups");
        let feature = Entry::new(0x0a, 0).dword(10, 0x1d).dword(11, 1);
        assert_eq!(admin.execute(feature.clone()).result, 1, "enabled, configuration 0");
        assert_eq!(admin.execute(feature.dword(11, 2)).status, 0x02, "another group");
        let set = Entry::new(0x09, 0).dword(10, 0x1d).dword(11, 1).dword(12, 1);
        assert_eq!(admin.execute(set).status, 0x0c, "a namespace exists");
        let (_, page) = log(&mut admin, 0x20, 1, 0);
        assert_eq!((u16_at(&page, 0), page[2], u32_at(&page, 4)), (0, 0, 16 + 64 + 12));
        assert_eq!((u16_at(&page, 16), page[18]), (64 + 12, 1 << 7), "valid, no bits of a group");
        assert_eq!((u32_at(&page, 20), u16_at(&page, 24)), (1, HANDLES), "NRG and NRUH");
        assert_eq!((u16_at(&page, 26), u32_at(&page, 28)), (HANDLES - 1, 1), "MAXPIDS and NNSS");
        assert_eq!(u64_at(&page, 32), UNIT, "RUNS");
        let kind = if persistent { 2 } else { 1 };
        assert_eq!(page[80..92], [kind, 0, 0, 0, kind, 0, 0, 0, kind, 0, 0, 0], "RUHT");
        let (_, page) = log(&mut admin, 0x21, 1, 0);
        assert_eq!((u16_at(&page, 0), [page[8], page[16], page[24], page[32]]), (3, [1, 1, 1, 0]));
        for page in [0x09, 0x20, 0x21, 0x22, 0x23] {
            assert_eq!(log(&mut admin, page, 1, 0).0, 0, "{page:#x}");
            assert_eq!(log(&mut admin, page, 2, 0).0, 0x02, "{page:#x} of another group");
        }
        let expected: Vec<_> = (0..HANDLES).map(|nth| (nth, nth, UNIT_BLOCKS)).collect();
        assert_eq!(status(&mut queue), expected);
        let directives = Entry::new(0x1a, 1).dword(10, 1023).dword(11, 1).by_transport(4096);
        let parameters = admin.execute(directives.clone());
        assert_eq!((parameters.data[0], parameters.data[32]), (5, 5), "Identify, Data Placement");
        assert_eq!(admin.execute(directives.dword(11, 1 | 2 << 8)).status, 0x02);
        let enable =
            |kind: u32, is: u32| Entry::new(0x19, 1).dword(11, 1).dword(12, is | kind << 8);
        assert_eq!(admin.execute(enable(2, 1)).status, 0, "it is enabled");
        assert_eq!(admin.execute(enable(2, 0)).status, 0x02);
        assert_eq!(admin.execute(enable(1, 1)).status, 0x02, "streams");
    }
}

// A write goes to the handle of its identifier, and to handle 0 without an identifier. Write Zeroes
// and Copy use the same handles.
#[test]
fn writes_go_to_their_handles() {
    let target = Target::placed(false);
    let (_admin, mut queue) = target.queues();
    assert_eq!([write(&mut queue, 0, 8, 2), write(&mut queue, 8, 4, 1)], [0; 2]);
    let plain = Entry::new(0x01, 1).range(20, 1);
    assert_eq!(queue.with_data(plain, &[7; 512]).status, 0);
    let mut expected = [UNIT_BLOCKS - 1, UNIT_BLOCKS - 4, UNIT_BLOCKS - 8];
    assert_eq!(rooms(&mut queue), expected);
    let zeroes = Entry::new(0x08, 1).range(30, 2).dword(12, 1 | PLACED).set(54, &[1, 0]);
    assert_eq!(queue.execute(zeroes).status, 0);
    let mut source = vec![0; 32];
    source[16] = 2;
    let copy = Entry::new(0x19, 1).set(40, &40_u64.to_le_bytes()).dword(12, PLACED);
    assert_eq!(queue.with_data(copy.set(54, &[2, 0]), &source).status, 0);
    expected = [expected[0], expected[1] - 2, expected[2] - 3];
    assert_eq!(rooms(&mut queue), expected);
    for kind in [1, 3, 4] {
        let other = Entry::new(0x01, 1).range(0, 1).dword(12, kind << 20);
        assert_eq!(queue.with_data(other, &[7; 512]).status, 0x02, "directive {kind}");
    }
}

// An update moves handles to empty units; an invalid update changes nothing.
#[test]
fn updates_renew_reclaim_units() {
    let target = Target::placed(false);
    let (_admin, mut queue) = target.queues();
    for handle in 0..HANDLES {
        assert_eq!(write(&mut queue, 0, 8, handle), 0);
    }
    let used = UNIT_BLOCKS - 8;
    assert_eq!(update(&mut queue, &[1]), 0);
    assert_eq!(rooms(&mut queue), [used, UNIT_BLOCKS, used]);
    assert_eq!(update(&mut queue, &[2, HANDLES]), 0x02, "an unknown identifier");
    assert_eq!(update(&mut queue, &[0, 1, 2, 0]), 0x02, "more than there are");
    assert_eq!(rooms(&mut queue), [used, UNIT_BLOCKS, used]);
    assert_eq!(update(&mut queue, &[0, 2]), 0);
    assert_eq!(rooms(&mut queue), [UNIT_BLOCKS; 3]);
    for (name, entry, status) in [
        ("no action", Entry::new(0x1d, 1), 0),
        ("no action", Entry::new(0x12, 1), 0),
        ("an unknown action", Entry::new(0x1d, 1).dword(10, 2), 0x02),
        ("an unknown report", Entry::new(0x12, 1).dword(10, 2).by_transport(512), 0x02),
        ("a long report", Entry::new(0x12, 1).dword(10, 1).dword(11, 1 << 18), 0x02),
        ("namespace 2", Entry::new(0x12, 2).dword(10, 1).by_transport(512), 0x0b),
    ] {
        assert_eq!(queue.execute(entry).status, status, "{name}");
    }
    let header = Entry::new(0x12, 1).dword(10, 1).dword(11, 3).by_transport(16);
    assert_eq!(u16_at(&queue.execute(header).data, 14), HANDLES, "a part of the report");
}

// Events are kept for the handles and types that the host enabled.
#[test]
fn enabled_events_are_kept() {
    let target = Target::placed(false);
    let (mut admin, mut queue) = target.queues();
    assert_eq!((write(&mut queue, 0, 1, 99), update(&mut queue, &[0])), (0, 0));
    assert_eq!(rooms(&mut queue)[0], UNIT_BLOCKS, "an invalid identifier stands for handle 0");
    assert_eq!(events(&mut admin), [], "none is enabled");
    let enable = |handle: u32, kinds: u32, is: u32| {
        Entry::new(0x09, 1).dword(10, 0x1e).dword(11, handle | kinds << 16).dword(12, is)
    };
    assert_eq!(admin.with_data(enable(0, 2, 1), &[0, 3]).status, 0);
    assert_eq!(admin.with_data(enable(1, 1, 1), &[0]).status, 0);
    assert_eq!(admin.with_data(enable(0, 1, 1), &[1]).status, 0x02, "an unknown type");
    assert_eq!(admin.with_data(enable(3, 1, 1), &[0]).status, 0x02, "an unknown handle");
    let get = Entry::new(0x0a, 1).dword(10, 0x1e).dword(11, 1 | 2 << 16).by_transport(4);
    let done = admin.execute(get);
    assert_eq!((done.result, &done.data[..]), (2, &[0, 1, 3, 0][..]));
    assert_eq!([write(&mut queue, 0, 1, 99), write(&mut queue, 0, 1, 1)], [0; 2]);
    assert_eq!(write(&mut queue, 0, 1, 2), 0);
    assert_eq!(update(&mut queue, &[0, 1, 2]), 0);
    assert_eq!(update(&mut queue, &[0]), 0, "an empty unit causes no event");
    assert_eq!(events(&mut admin), [(3, 99), (0, 0), (0, 1)]);
    assert_eq!(u32_at(&log(&mut admin, 0x23, 1, 0).1, 0), 0, "none of the controller");
    assert_eq!(admin.with_data(enable(1, 1, 0), &[0]).status, 0);
    assert_eq!([write(&mut queue, 0, 1, 1), update(&mut queue, &[1])], [0; 2]);
    assert_eq!(events(&mut admin).len(), 3, "disabled again");
}

// The statistics are those of the flash.
#[test]
fn statistics_count_the_bytes_of_host_and_media() {
    let target = Target::placed(false);
    let (mut admin, mut queue) = target.queues();
    assert_eq!(write(&mut queue, 0, 8, 1), 0);
    let (_, page) = log(&mut admin, 0x22, 1, 0);
    assert_eq!([0, 16, 32].map(|at| u64_at(&page, at)), [4096, 8192, 7 * UNIT]);
    let (_, group) = log(&mut admin, 0x09, 1, 0);
    assert_eq!((u64_at(&group, 64), u64_at(&group, 112)), (1, 1), "10^9 bytes, and commands");
}

// A drive without handles has no commands, features or log pages of data placement.
#[test]
fn a_drive_without_handles_refuses_placement() {
    let target = Target::new();
    let (mut admin, mut queue) = target.queues();
    assert_eq!(u32_at(&identify(&mut admin, 1, 0), 96), 1 << 6);
    assert_eq!(write(&mut queue, 0, 1, 0), 0x02);
    assert_eq!(queue.execute(Entry::new(0x12, 1).dword(10, 1).by_transport(512)).status, 0x01);
    assert_eq!(queue.execute(Entry::new(0x1d, 1).dword(10, 1)).status, 0x01);
    assert_eq!(log(&mut admin, 0x20, 1, 0).0, 0x109);
    assert_eq!(admin.execute(Entry::new(0x0a, 0).dword(10, 0x1d).dword(11, 1)).status, 0x02);
    assert_eq!(admin.execute(Entry::new(0x1a, 1).dword(11, 1).by_transport(4096)).status, 0x01);
}
