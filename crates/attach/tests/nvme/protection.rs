//! Metadata and protection information (NVM Command Set Specification 1.1, "End-to-end Data
//! Protection").

use crate::initiator::{Entry, Initiator, piece_header, u64_at};
use crate::served::{SIZE, Target};

/// The status values of failed checks, and of commands whose protection information is invalid.
const GUARD: u16 = 0x282;
const APPLICATION: u16 = 0x283;
const REFERENCE: u16 = 0x284;
const INVALID: u16 = 0x181;

/// The bits of dword 12: insert or strip, and check guard, application tag and reference tag.
const ACT: u32 = 1 << 29;
const CHECK_GUARD: u32 = 1 << 28;
const CHECK_APPLICATION: u32 = 1 << 27;
const CHECK_REFERENCE: u32 = 1 << 26;

/// The application tag of the tests, in dword 15 with a mask of all bits.
const TAG: u16 = 0x1234;
const TAGS: u32 = 0xffff_1234;

/// Options of Format NVM: blocks of 4096 bytes with 8 bytes of metadata that follow their data.
const EXTENDED: u32 = 3 | 1 << 4;

/// The CRC-16/T10-DIF, bit by bit.
fn crc(data: &[u8]) -> u16 {
    let mut crc = 0_u16;
    for byte in data {
        crc ^= u16::from(*byte) << 8;
        for _ in 0..8 {
            crc = crc << 1 ^ if crc >> 15 == 1 { 0x8bb7 } else { 0 };
        }
    }
    crc
}

fn tuple(guard: u16, application: u16, reference: u32) -> Vec<u8> {
    let tags = [&application.to_be_bytes()[..], &reference.to_be_bytes()].concat();
    [&guard.to_be_bytes()[..], &tags].concat()
}

fn block(fill: u8) -> Vec<u8> {
    (0..4096).map(|at| u8::try_from(at % 251).unwrap() ^ fill).collect()
}

/// Returns a block with protection information.
fn protected(fill: u8, application: u16, reference: u32) -> Vec<u8> {
    let data = block(fill);
    [&data[..], &tuple(crc(&data), application, reference)].concat()
}

/// Returns a target whose namespace is formatted with a type of protection information, and its
/// queues.
fn formatted(kind: u32) -> (Target, Initiator, Initiator) {
    let target = Target::new();
    let (mut admin, queue) = target.queues();
    let format = Entry::new(0x80, 1).dword(10, EXTENDED | kind << 5);
    assert_eq!(admin.execute(format).status, 0);
    (target, admin, queue)
}

/// Returns a command for one block with options, its reference tag and the application tag.
fn entry(opcode: u8, start: u32, options: u32, reference: u32) -> Entry {
    let entry = Entry::new(opcode, 1).range(start.into(), 1).dword(12, options);
    entry.dword(14, reference).dword(15, TAGS)
}

fn write(queue: &mut Initiator, start: u32, options: u32, reference: u32, data: &[u8]) -> u16 {
    queue.with_data(entry(0x01, start, options, reference), data).status
}

fn read(queue: &mut Initiator, start: u32, options: u32, reference: u32) -> (u16, Vec<u8>) {
    let len = if options & ACT == 0 { 4104 } else { 4096 };
    let done = queue.execute(entry(0x02, start, options, reference).by_transport(len));
    (done.status, done.data)
}

// The reference is the check value of the published catalogue of CRCs.
#[test]
fn the_host_computes_the_published_crc() {
    assert_eq!(crc(b"123456789"), 0xd0db);
}

// Identify lists formats with metadata, which only extended blocks have, and the protection in use.
#[test]
fn formats_with_metadata_are_described() {
    let target = Target::new();
    let (mut admin, _queue) = target.queues();
    let identify = |admin: &mut Initiator| {
        let done = admin.execute(Entry::new(0x06, 1).by_transport(4096));
        (done.data[26], done.data[29], u64_at(&done.data, 0), done.data)
    };
    let (flbas, dps, _, space) = identify(&mut admin);
    assert_eq!((space[25], flbas, dps), (3, 0, 0), "NLBAF, FLBAS, DPS");
    assert_eq!(
        (space[27], space[28]),
        (1, 0x1f),
        "MC: extended; DPC: types 1 to 3, first and last"
    );
    for (at, bytes) in [(128, [0, 0, 9]), (132, [0, 0, 12]), (136, [8, 0, 9]), (140, [8, 0, 12])] {
        assert_eq!(space[at..at + 3], bytes, "LBAF at {at}");
    }
    for options in [2, 3, EXTENDED | 4 << 5, EXTENDED | 7 << 5, 1 | 1 << 4, 1 | 1 << 5] {
        let refused = admin.execute(Entry::new(0x80, 1).dword(10, options));
        assert_eq!(refused.status, 0x10a, "{options:#x}");
    }
    for (options, flbas, dps) in
        [(EXTENDED | 2 << 5, 0x13, 2), (EXTENDED | 3 << 5 | 1 << 8, 0x13, 11), (EXTENDED, 0x13, 0)]
    {
        assert_eq!(admin.execute(Entry::new(0x80, 1).dword(10, options)).status, 0);
        let found = identify(&mut admin);
        assert_eq!((found.0, found.1, found.2), (flbas, dps, SIZE.0 / 4096));
    }
    assert_eq!(admin.execute(Entry::new(0x80, 1)).status, 0);
    assert_eq!(identify(&mut admin).0, 0);
}

// Protection information from the host is checked, stored and returned; each failed check has its
// status.
#[test]
fn protection_of_the_host_is_checked_and_kept() {
    for kind in 1..=3 {
        let (_target, _admin, mut queue) = formatted(kind);
        let reference = if kind == 1 { 9 } else { 0x8000_0000 };
        let tags = if kind == 3 { 0 } else { CHECK_REFERENCE };
        let checks = CHECK_GUARD | CHECK_APPLICATION | tags;
        let good = protected(1, TAG, reference);
        assert_eq!(write(&mut queue, 9, checks, reference, &good), 0);
        assert_eq!(read(&mut queue, 9, checks, reference), (0, good.clone()), "type {kind}");
        let durable = read(&mut queue, 9, checks | 1 << 30, reference);
        assert_eq!(durable, (0, good.clone()), "forced unit access");
        let data = block(1);
        let guard = crc(&data);
        let wrong = [
            (tuple(guard ^ 1, TAG, reference), CHECK_GUARD, GUARD),
            (tuple(guard, TAG ^ 1, reference), CHECK_APPLICATION, APPLICATION),
            (tuple(guard, TAG, reference + 1), CHECK_REFERENCE, REFERENCE),
        ];
        for (tuple, check, status) in wrong {
            let bad = [&data[..], &tuple].concat();
            if check & checks == 0 {
                continue;
            }
            assert_eq!(write(&mut queue, 9, checks, reference, &bad), status, "type {kind}");
            assert_eq!(read(&mut queue, 9, 0, 0).1, good, "a refused write changes nothing");
            assert_eq!(write(&mut queue, 9, checks & !check, reference, &bad), 0, "not checked");
            assert_eq!(read(&mut queue, 9, 0, 0), (0, bad), "not checked");
            for options in [check, check | ACT, check | 1 << 30] {
                assert_eq!(read(&mut queue, 9, options, reference).0, status, "type {kind}");
            }
            assert_eq!(queue.execute(entry(0x0c, 9, check, reference)).status, status, "verify");
            assert_eq!(write(&mut queue, 9, checks, reference, &good), 0);
        }
        assert_eq!(queue.execute(entry(0x0c, 9, checks, reference)).status, 0, "verify");
    }
}

// With PRACT, the drive inserts protection information on writes, and checks and strips it on
// reads. Linux uses PRACT with a drive over TCP.
#[test]
fn the_drive_inserts_and_strips_protection() {
    for kind in 1..=3 {
        let (_target, _admin, mut queue) = formatted(kind);
        let reference = if kind == 1 { 5 } else { 0xffff_ffff };
        let data = [block(1), block(2)].concat();
        let insert = entry(0x01, 5, ACT | 1, reference);
        assert_eq!(queue.with_data(insert, &data).status, 0);
        let next = if kind == 3 { reference } else { reference.wrapping_add(1) };
        let expected = [protected(1, TAG, reference), protected(2, TAG, next)].concat();
        let kept = queue.execute(entry(0x02, 5, 1, reference).by_transport(2 * 4104));
        assert_eq!((kept.status, kept.data), (0, expected), "type {kind}");
        let tags = if kind == 3 { 0 } else { CHECK_REFERENCE };
        let strip = entry(0x02, 5, ACT | CHECK_GUARD | CHECK_APPLICATION | tags | 1, reference);
        let stripped = queue.execute(strip.by_transport(2 * 4096));
        assert_eq!((stripped.status, stripped.data), (0, data), "type {kind}");
    }
}

// Only the bits of the mask are compared in an application tag.
#[test]
fn application_tags_are_compared_by_their_mask() {
    let (_target, _admin, mut queue) = formatted(1);
    assert_eq!(write(&mut queue, 0, 0, 0, &protected(1, TAG ^ 0x00f0, 0)), 0);
    for (mask, status) in [(0xff0f, 0), (0x0010, APPLICATION), (0, 0)] {
        let check = entry(0x0c, 0, CHECK_APPLICATION, 0);
        let check = check.dword(15, u32::from(TAG) | mask << 16);
        assert_eq!(queue.execute(check).status, status, "{mask:#x}");
    }
}

// An application tag of FFFFh turns off the checks of its block; in type 3, only with a reference
// tag of FFFFFFFFh.
#[test]
fn escape_values_turn_off_checks() {
    for kind in 1..=3 {
        let (_target, _admin, mut queue) = formatted(kind);
        let tags = if kind == 3 { 0 } else { CHECK_REFERENCE };
        let checks = CHECK_GUARD | CHECK_APPLICATION | tags;
        for (application, reference, escapes) in
            [(0xffff, 77, kind < 3), (0xffff, u32::MAX, true), (0xfffe, u32::MAX, false)]
        {
            let unchecked = [block(1), tuple(0, application, reference)].concat();
            let status = if escapes { 0 } else { GUARD };
            assert_eq!(write(&mut queue, 2, checks, 2, &unchecked), status, "type {kind}");
            assert_eq!(write(&mut queue, 2, 0, 2, &unchecked), 0);
            assert_eq!(read(&mut queue, 2, checks, 2).0, status, "type {kind}");
        }
    }
}

// The reference tag of type 1 must be that of the block. Type 3 has no reference tag to check.
// Compare and Verify strip nothing.
#[test]
fn impossible_protection_is_refused() {
    let (_target, _admin, mut queue) = formatted(1);
    assert_eq!(read(&mut queue, 5, CHECK_REFERENCE, 6).0, INVALID);
    assert_eq!(write(&mut queue, 5, ACT | CHECK_REFERENCE, 6, &block(1)), INVALID);
    assert_eq!(queue.execute(entry(0x0c, 5, ACT, 5)).status, INVALID);
    assert_eq!(queue.with_data(entry(0x05, 5, ACT, 5), &block(1)).status, INVALID);
    let (_target, _admin, mut queue) = formatted(3);
    assert_eq!(read(&mut queue, 5, CHECK_REFERENCE, 5).0, INVALID);
    // Metadata count as data of a command.
    let most = |options: u32, len: usize| entry(0x02, 0, options | 255, 0).by_transport(len);
    assert_eq!(queue.execute(most(0, 256 * 4104)).status, 0x02);
    assert_eq!(queue.execute(most(ACT, 256 * 4096)).status, 0);
    assert_eq!(queue.execute(entry(0x02, 0, 0, 0).by_transport(4096)).status, 0x0f, "too short");
}

// A format between a copy and its data adds metadata, and the copy then fails.
#[test]
fn a_copy_is_checked_again_when_its_data_arrive() {
    let target = Target::new();
    let (mut admin, mut queue) = target.queues();
    assert_eq!(queue.with_data(Entry::new(0x19, 1).dword(10, 8), &[0; 32]).status, 0);
    let id = queue.submit(Entry::new(0x19, 1).dword(10, 8).by_transport(32), &[]);
    let request = queue.pdu();
    assert_eq!((request.kind, request.u16(8)), (9, id));
    let format = Entry::new(0x80, 1).dword(10, EXTENDED | 1 << 5);
    assert_eq!(admin.execute(format).status, 0);
    let last = queue.build(6, 1 << 2, &piece_header(id, request.u16(10), 0, 32), &[0; 32]);
    queue.send(&last);
    assert_eq!(queue.done().status, 0x84);
}

// Unwritten and deallocated blocks have protection information that turns off checks. Zeroed blocks
// have it as well, unless the drive inserts protection information.
#[test]
fn blocks_without_data_pass_all_checks() {
    let (_target, mut admin, mut queue) = formatted(1);
    let checks = CHECK_GUARD | CHECK_APPLICATION | CHECK_REFERENCE;
    let empty = [vec![0; 4096], vec![0xff; 8]].concat();
    assert_eq!(read(&mut queue, 3, checks, 3), (0, empty.clone()), "unwritten");
    let good = protected(1, TAG, 3);
    assert_eq!(write(&mut queue, 3, checks, 3, &good), 0);
    let range = [&[0; 4][..], &1_u32.to_le_bytes(), &3_u64.to_le_bytes()].concat();
    assert_eq!(queue.with_data(Entry::new(0x09, 1).dword(11, 4), &range).status, 0);
    assert_eq!(read(&mut queue, 3, checks, 3), (0, empty.clone()), "deallocated");
    for deallocate in [0, 1 << 25] {
        assert_eq!(write(&mut queue, 3, checks, 3, &good), 0);
        assert_eq!(queue.execute(entry(0x08, 3, deallocate, 3)).status, 0);
        assert_eq!(read(&mut queue, 3, checks, 3), (0, empty.clone()), "zeroed");
    }
    assert_eq!(queue.execute(entry(0x08, 3, ACT | 1 << 25, 3)).status, 0);
    let zeros = [vec![0; 4096], tuple(0, TAG, 3)].concat();
    assert_eq!(read(&mut queue, 3, checks, 3), (0, zeros), "inserted");
    let again = Entry::new(0x80, 1).dword(10, EXTENDED | 1 << 5);
    assert_eq!(admin.execute(again).status, 0);
    assert_eq!(read(&mut queue, 3, checks, 3), (0, empty), "formatted");
}

// Compare checks the protection information of both sides, and compares the data.
#[test]
fn compare_checks_both_sides() {
    let (_target, _admin, mut queue) = formatted(1);
    let checks = CHECK_GUARD | CHECK_REFERENCE;
    let mut compare = |data: &[u8]| queue.with_data(entry(0x05, 4, checks, 4), data).status;
    assert_eq!(compare(&protected(1, TAG, 4)), 0x285, "unwritten");
    assert_eq!(compare(&protected(1, TAG, 5)), REFERENCE, "of the host");
    assert_eq!(write(&mut queue, 4, 0, 4, &protected(1, TAG ^ 1, 4)), 0);
    let mut compare = |data: &[u8]| queue.with_data(entry(0x05, 4, checks, 4), data).status;
    assert_eq!(compare(&protected(1, TAG, 4)), 0, "tags are not compared");
    assert_eq!(compare(&protected(2, TAG, 4)), 0x285);
    assert_eq!(write(&mut queue, 4, 0, 4, &protected(1, TAG, 7)), 0);
    let done = queue.with_data(entry(0x05, 4, checks, 4), &protected(1, TAG, 4));
    assert_eq!(done.status, REFERENCE, "of the drive");
}

// Without protection, metadata are stored unchanged, and compared.
#[test]
fn metadata_without_protection_are_data() {
    let (_target, _admin, mut queue) = formatted(0);
    let empty = vec![0; 4104];
    assert_eq!(queue.execute(entry(0x02, 6, 0, 0).by_transport(4104)).data, empty, "unwritten");
    let extended = [block(1), b"metadata".to_vec()].concat();
    assert_eq!(write(&mut queue, 6, CHECK_GUARD, 0, &extended), 0);
    assert_eq!(read(&mut queue, 6, CHECK_GUARD, 0), (0, extended.clone()));
    assert_eq!(queue.with_data(entry(0x05, 6, 0, 0), &extended).status, 0);
    let other = [block(1), b"Metadata".to_vec()].concat();
    assert_eq!(queue.with_data(entry(0x05, 6, 0, 0), &other).status, 0x285);
}

/// Returns the bits of dword 12 that request `options` for the source ranges of Copy.
const fn of_sources(options: u32) -> u32 {
    options >> 14
}

/// Returns a source range of one block with its reference tag and the application tag.
fn source(start: u64, reference: u32, application: u16) -> Vec<u8> {
    let tags = [application.to_le_bytes(), u16::MAX.to_le_bytes()].concat();
    [&[0; 8][..], &start.to_le_bytes(), &[0; 8], &reference.to_le_bytes(), &tags].concat()
}

/// Copies blocks to block 9.
fn copy(queue: &mut Initiator, options: u32, reference: u32, sources: &[Vec<u8>]) -> u16 {
    let ranges = u32::try_from(sources.len() - 1).unwrap();
    let copy = entry(0x19, 9, options | ranges, reference);
    queue.with_data(copy, &sources.concat()).status
}

// Without PRACT, a copy keeps protection information. PRINFOR checks it against the tags of the
// source ranges, and PRINFOW against those of the destination.
#[test]
fn copies_keep_protection_information() {
    let (_target, _admin, mut queue) = formatted(2);
    let all = CHECK_GUARD | CHECK_APPLICATION | CHECK_REFERENCE;
    let (first, second) = (protected(1, TAG, 70), protected(2, TAG, 71));
    assert_eq!(write(&mut queue, 3, 0, 0, &first), 0);
    assert_eq!(write(&mut queue, 5, 0, 0, &second), 0);
    let sources = [source(3, 70, TAG), source(5, 71, TAG)];
    let refused = [
        (of_sources(all), 0, [source(3, 71, TAG), source(5, 71, TAG)], REFERENCE),
        (of_sources(all), 0, [source(3, 70, TAG), source(5, 71, 1)], APPLICATION),
        (CHECK_REFERENCE, 71, sources.clone(), REFERENCE),
        (CHECK_REFERENCE, 70, [sources[0].clone(), sources[0].clone()], REFERENCE),
    ];
    for (options, reference, sources, status) in refused {
        assert_eq!(copy(&mut queue, options, reference, &sources), status, "{options:#x}");
    }
    assert_eq!(read(&mut queue, 9, 0, 0).1[4096..], [0xff; 8], "failed copies write nothing");
    assert_eq!(copy(&mut queue, of_sources(all) | all, 70, &sources), 0);
    assert_eq!(read(&mut queue, 9, all, 70), (0, first));
    assert_eq!(read(&mut queue, 10, all, 71), (0, second));
    let damaged = [&block(1)[..], &tuple(crc(&block(2)), TAG, 70)].concat();
    assert_eq!(write(&mut queue, 3, 0, 0, &damaged), 0);
    for options in [CHECK_GUARD, of_sources(CHECK_GUARD)] {
        assert_eq!(copy(&mut queue, options, 70, &sources[..1]), GUARD, "{options:#x}");
    }
    assert_eq!(copy(&mut queue, 0, 70, &sources[..1]), 0, "without checks");
    assert_eq!(read(&mut queue, 9, 0, 0), (0, damaged));
}

// With PRACT for both sides, a copy strips protection information and inserts new. PRACT for one
// side is Invalid Field.
#[test]
fn copies_insert_new_protection_information() {
    for kind in [1, 2, 3] {
        let (_target, _admin, mut queue) = formatted(kind);
        assert_eq!(write(&mut queue, 3, 0, 0, &protected(1, 7, 3)), 0);
        let sources = [source(3, 3, 7)];
        for options in [ACT, of_sources(ACT)] {
            assert_eq!(copy(&mut queue, options, 9, &sources), 0x02, "type {kind}");
        }
        let checks = CHECK_GUARD | CHECK_APPLICATION;
        let both = ACT | of_sources(ACT | checks);
        assert_eq!(copy(&mut queue, both, 9, &[source(3, 3, 8)]), APPLICATION, "type {kind}");
        assert_eq!(copy(&mut queue, both, 9, &sources), 0, "type {kind}");
        assert_eq!(read(&mut queue, 9, checks, 9), (0, protected(1, TAG, 9)), "type {kind}");
    }
}

// In type 1, the reference tags of both sides must be those of their first blocks. Type 3 has none
// to check.
#[test]
fn impossible_protection_of_copies_is_refused() {
    for (kind, of_source, of_destination) in [(1, 4, 3), (3, 3, 9)] {
        let (_target, _admin, mut queue) = formatted(kind);
        let checks = of_sources(CHECK_REFERENCE);
        assert_eq!(copy(&mut queue, checks, 9, &[source(3, of_source, TAG)]), INVALID);
        let sources = [source(3, 3, TAG)];
        assert_eq!(copy(&mut queue, CHECK_REFERENCE, of_destination, &sources), INVALID);
    }
}

// Metadata without protection are copied with their blocks, and PRACT has no effect.
#[test]
fn copies_keep_metadata_without_protection() {
    let (_target, _admin, mut queue) = formatted(0);
    let extended = [block(1), b"metadata".to_vec()].concat();
    for options in [0, ACT, CHECK_GUARD | of_sources(CHECK_GUARD)] {
        assert_eq!(write(&mut queue, 6, 0, 0, &extended), 0);
        assert_eq!(copy(&mut queue, options, 0, &[source(6, 0, 0)]), 0, "{options:#x}");
        assert_eq!(read(&mut queue, 9, 0, 0), (0, extended.clone()), "{options:#x}");
        assert_eq!(queue.execute(entry(0x08, 9, 0, 0)).status, 0);
    }
}
