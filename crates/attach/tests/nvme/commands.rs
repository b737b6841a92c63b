//! Commands of the NVM command set (NVM Command Set Specification 1.1).

use crate::initiator::{Entry, Initiator};
use crate::served::{SIZE, Target};
use flashscope_attach::nvme::SubsystemOptions;

const BLOCKS: u64 = SIZE.0 / 512;

fn pattern(seed: u8, blocks: usize) -> Vec<u8> {
    (0..blocks * 512).map(|at| u8::try_from(at * 13 % 241).unwrap() ^ seed).collect()
}

fn write(queue: &mut Initiator, start: u64, data: &[u8]) {
    let blocks = u32::try_from(data.len() / 512).unwrap();
    assert_eq!(queue.with_data(Entry::new(0x01, 1).range(start, blocks), data).status, 0);
}

fn read(queue: &mut Initiator, start: u64, blocks: u32) -> Vec<u8> {
    let read = Entry::new(0x02, 1).range(start, blocks).by_transport(blocks as usize * 512);
    let done = queue.execute(read);
    assert_eq!(done.status, 0);
    done.data
}

/// A range of Dataset Management.
fn range(start: u64, blocks: u32) -> Vec<u8> {
    [&[0; 4][..], &blocks.to_le_bytes(), &start.to_le_bytes()].concat()
}

/// A source range of Copy.
fn source(start: u64, blocks: u16) -> Vec<u8> {
    let mut bytes = vec![0; 32];
    bytes[8..16].copy_from_slice(&start.to_le_bytes());
    bytes[16..18].copy_from_slice(&(blocks - 1).to_le_bytes());
    bytes
}

// Written blocks are read, also with forced unit access; other blocks read as zeros.
#[test]
fn written_blocks_are_read() {
    let target = Target::new();
    let (_admin, mut queue) = target.queues();
    let data = pattern(1, 8);
    write(&mut queue, BLOCKS - 8, &data);
    assert_eq!(read(&mut queue, BLOCKS - 8, 8), data);
    assert_eq!(read(&mut queue, BLOCKS - 9, 1), vec![0; 512]);
    let durable = Entry::new(0x01, 1).range(3, 1).dword(12, 1 << 30);
    assert_eq!(queue.with_data(durable, &data[..512]).status, 0);
    let durable = Entry::new(0x02, 1).range(3, 1).dword(12, 1 << 30).by_transport(512);
    let done = queue.execute(durable);
    assert_eq!((done.status, &done.data[..]), (0, &data[..512]));
    assert_eq!(queue.execute(Entry::new(0x00, 1)).status, 0, "flush");
    assert_eq!(queue.execute(Entry::new(0x00, u32::MAX)).status, 0, "flush of all namespaces");
}

// Compare detects a single different bit. Verify reads the data.
#[test]
fn compare_tells_equal_from_different_data() {
    let target = Target::new();
    let (_admin, mut queue) = target.queues();
    let mut data = pattern(2, 4);
    write(&mut queue, 10, &data);
    let compare = Entry::new(0x05, 1).range(10, 4);
    assert_eq!(queue.with_data(compare.clone(), &data).status, 0);
    data[2047] ^= 1;
    assert_eq!(queue.with_data(compare, &data).status, 0x285);
    assert_eq!(queue.execute(Entry::new(0x0c, 1).range(10, 4)).status, 0);
}

// Zeroed and deallocated blocks read as zeros, and their neighbours keep their data.
#[test]
fn zeroed_and_deallocated_blocks_read_as_zeros() {
    let target = Target::new();
    let (_admin, mut queue) = target.queues();
    let data = pattern(3, 32);
    write(&mut queue, 0, &data);
    for (start, deallocates) in [(1, 0), (3, 1 << 25)] {
        let zeroes = Entry::new(0x08, 1).range(start, 1).dword(12, deallocates);
        assert_eq!(queue.execute(zeroes).status, 0);
    }
    let ranges = [range(5, 2), range(9, 1), range(20, 0)].concat();
    let deallocate = Entry::new(0x09, 1).dword(10, 2);
    assert_eq!(queue.with_data(deallocate.clone(), &ranges).status, 0, "only a hint");
    assert_eq!(read(&mut queue, 5, 1), data[5 * 512..6 * 512]);
    assert_eq!(queue.with_data(deallocate.dword(11, 4), &ranges).status, 0);
    let found = read(&mut queue, 0, 32);
    for (number, block) in found.chunks(512).enumerate() {
        let is_zero = [1, 3, 5, 6, 9].contains(&number);
        let expected = if is_zero { vec![0; 512] } else { data[number * 512..][..512].to_vec() };
        assert_eq!(block, expected, "block {number}");
    }
}

// Copy joins its source ranges, in order, also where they overlap.
#[test]
fn copies_join_their_ranges() {
    let target = Target::new();
    let (_admin, mut queue) = target.queues();
    let data = pattern(4, 8);
    write(&mut queue, 0, &data);
    let ranges = [source(6, 2), source(0, 1), source(0, 3)].concat();
    let copy = Entry::new(0x19, 1).set(40, &100_u64.to_le_bytes()).dword(12, 2);
    assert_eq!(queue.with_data(copy.clone(), &ranges).status, 0);
    let expected = [&data[6 * 512..], &data[..512], &data[..3 * 512]].concat();
    assert_eq!(read(&mut queue, 100, 6), expected);
    let outside = [source(6, 2), source(0, 1), source(BLOCKS, 1)].concat();
    assert_eq!(queue.with_data(copy.clone(), &outside).status, 0x80);
    let long = [source(0, 2048), source(0, 1), source(0, 1)].concat();
    assert_eq!(queue.with_data(copy.clone(), &long).status, 0x183, "more than 1 MiB");
    let beyond = copy.set(40, &(BLOCKS - 5).to_le_bytes());
    assert_eq!(queue.with_data(beyond, &ranges).status, 0x80);
}

// Invalid commands are completed with the status that the specification names, and the next
// command succeeds.
#[test]
fn invalid_commands_are_refused() {
    let target = Target::new();
    let (_admin, mut queue) = target.queues();
    let read = |start, blocks: u32| {
        Entry::new(0x02, 1).range(start, blocks).by_transport(blocks as usize * 512)
    };
    let cases = [
        ("past the end", read(BLOCKS, 1), 0x80),
        ("over the end", read(BLOCKS - 1, 2), 0x80),
        ("an overflow", read(u64::MAX, 2), 0x80),
        ("longer than a transfer", read(0, 2049), 0x02),
        ("namespace 0", read(0, 1).set(4, &[0]), 0x0b),
        ("namespace 2", read(0, 1).set(4, &[2]), 0x0b),
        ("all namespaces", read(0, 1).set(4, &[0xff; 4]), 0x0b),
        ("fused", read(0, 1).set(1, &[0x41]), 0x02),
        ("PRPs", read(0, 1).set(1, &[0x00]), 0x02),
        ("a reserved PSDT", read(0, 1).set(1, &[0xc0]), 0x02),
        ("short data", read(0, 2).by_transport(512), 0x0f),
        ("data in the capsule", read(0, 1).in_capsule(512), 0x11),
        ("a keyed SGL", read(0, 1).set(39, &[0x40]), 0x11),
        ("a directive", Entry::new(0x01, 1).range(0, 1).dword(12, 1 << 20), 0x02),
        ("too many zeroes", Entry::new(0x08, 1).range(0, 16385), 0x02),
        ("write uncorrectable", Entry::new(0x04, 1).range(0, 1), 0x01),
        ("reservation register", Entry::new(0x0d, 1), 0x01),
        ("reservation report", Entry::new(0x0e, 1), 0x01),
        ("reservation acquire", Entry::new(0x11, 1), 0x01),
        ("reservation release", Entry::new(0x15, 1), 0x01),
        ("zone append", Entry::new(0x7d, 1), 0x01),
        ("an unknown opcode", Entry::new(0xff, 1), 0x01),
    ];
    for (name, entry, status) in cases {
        let done = queue.execute(entry);
        assert_eq!((done.status, done.do_not_retry), (status, true), "{name}");
        assert_eq!(queue.execute(Entry::new(0x00, 1)).status, 0, "after {name}");
    }
    // The data do not match their descriptor.
    let write = Entry::new(0x01, 1).range(0, 2);
    let id = queue.submit(write.clone().in_capsule(1024), &[1; 512]);
    let done = queue.done();
    assert_eq!((done.id, done.status), (id, 0x0f));
    assert_eq!(queue.with_data(write.clone(), &[1; 512]).status, 0x0f, "too short");
    let offset = write.in_capsule(1024).set(24, &[8]);
    let id = queue.submit(offset, &[1; 1024]);
    let done = queue.done();
    assert_eq!((done.id, done.status), (id, 0x16));
    let outside = Entry::new(0x09, 1).dword(11, 4);
    assert_eq!(queue.with_data(outside, &range(BLOCKS, 1)).status, 0x80);
}

// Two commands in flight must not share an identifier; the first one is still completed.
#[test]
fn identifiers_in_flight_conflict() {
    let target = Target::new();
    let (_admin, mut queue) = target.queues();
    let write = Entry::new(0x01, 1).range(0, 64).by_transport(64 * 512);
    let id = queue.submit(write, &[]);
    let request = queue.pdu();
    assert_eq!(request.kind, 9);
    let conflict = Entry::new(0x00, 1).set(2, &id.to_le_bytes());
    let pdu = queue.build(4, 0, &conflict.0, &[]);
    queue.send(&pdu);
    let done = queue.done();
    assert_eq!((done.id, done.status), (id, 0x03));
    let data = pattern(5, 64);
    let header = crate::initiator::piece_header(id, id, 0, data.len());
    let pdu = queue.build(6, 4, &header, &data);
    queue.send(&pdu);
    assert_eq!(
        queue.done(),
        crate::initiator::CompletionEntry {
            id,
            status: 0,
            do_not_retry: false,
            result: 0,
            queue_head: 3,
            data: Vec::new(),
        }
    );
    assert_eq!(read(&mut queue, 0, 1), data[..512]);
}

// A read that overlaps writes of another queue returns the data of one of these writes, even if a
// write has many blocks (NAWUN).
#[test]
fn reads_see_each_write_as_a_whole() {
    const LEN: usize = 128 * 1024;
    let target = Target::new();
    let (_admin, mut writer, mut reader) = target.two_queues();
    let write = |fill: u8| vec![fill; LEN];
    assert_eq!(writer.on_request(Entry::new(0x01, 1).range(8, 256), &write(0)).status, 0);
    let thread = std::thread::spawn(move || {
        for fill in 1..=100 {
            let done = writer.on_request(Entry::new(0x01, 1).range(8, 256), &write(fill));
            assert_eq!(done.status, 0);
        }
    });
    while !thread.is_finished() {
        let data = reader.execute(Entry::new(0x02, 1).range(8, 256).by_transport(LEN)).data;
        assert!(data.iter().all(|byte| *byte == data[0]), "a torn read");
    }
    thread.join().unwrap();
}

// A read-only drive refuses every command that changes data, with a status that states the reason.
#[test]
fn a_read_only_drive_refuses_writes() {
    let target = Target::with(false, &SubsystemOptions::default());
    let (mut admin, mut queue) = target.queues();
    let space = admin.execute(Entry::new(0x06, 1).by_transport(4096)).data;
    assert_eq!(space[99] & 1, 1);
    let ranges = range(0, 1);
    for (entry, data) in [
        (Entry::new(0x01, 1).range(0, 1), &[1; 512][..]),
        (Entry::new(0x09, 1).dword(11, 4), &ranges),
    ] {
        assert_eq!(queue.with_data(entry, data).status, 0x20);
    }
    assert_eq!(queue.execute(Entry::new(0x08, 1).range(0, 1)).status, 0x20);
    assert_eq!(admin.execute(Entry::new(0x80, 1)).status, 0x20);
    assert_eq!(admin.execute(Entry::new(0x84, 0).dword(10, 2)).status, 0x20);
    assert_eq!(read(&mut queue, 0, 1), vec![0; 512]);
}
