//! PDUs: digests, requests for data, and errors that end a connection (TCP Transport Specification
//! 1.1).

use crate::digest::crc32c;
use crate::initiator::{
    Entry, HOST_NQN, Initiator, connect_data, connect_entry, ic_req, piece_header,
};
use crate::served::Target;

fn pattern(len: usize) -> Vec<u8> {
    (0..len).map(|at| u8::try_from(at * 7 % 251).unwrap()).collect()
}

// With every choice of digests, data of all lengths come back as written: in the capsule, on
// request in several PDUs, and on request in one.
#[test]
fn data_come_back_with_and_without_digests() {
    let target = Target::new();
    for (header, data) in [(false, false), (true, false), (false, true), (true, true)] {
        let mut admin = Initiator::with_digests(target.address, header, data);
        let id = target.admin_on(&mut admin);
        let mut queue = Initiator::with_digests(target.address, header, data);
        assert_eq!(queue.connect_as(HOST_NQN, &target.nqn, 1, id).status, 0);
        for (number, blocks) in [1, 8, 32, 33, 600, 2048].into_iter().enumerate() {
            let bytes = pattern(blocks as usize * 512 + number)[number..].to_vec();
            let write = Entry::new(0x01, 1).range(100, blocks);
            let done = match blocks {
                0..=32 => queue.with_data(write, &bytes),
                _ => queue.on_request(write, &bytes),
            };
            assert_eq!(done.status, 0, "{blocks} blocks");
            let read = Entry::new(0x02, 1).range(100, blocks).by_transport(bytes.len());
            let done = queue.execute(read);
            assert_eq!((done.status, done.data == bytes), (0, true), "{blocks} blocks");
        }
    }
}

// The target aligns data as the host requests.
#[test]
fn data_are_aligned_for_the_host() {
    let target = Target::new();
    let mut admin = Initiator::raw(target.address);
    // 16 dwords.
    admin.send(&ic_req(15, 0));
    assert_eq!(admin.pdu().kind, 1);
    target.admin_on(&mut admin);
    admin.submit(Entry::new(0x06, 0).dword(10, 1).by_transport(4096), &[]);
    let data = admin.pdu();
    assert_eq!((data.kind, data.head[3], data.data.len()), (7, 64, 4096));
}

// A fatal error in a PDU ends the connection, with the status and the offset that the specification
// requires.
#[test]
fn invalid_headers_terminate_the_connection() {
    let target = Target::new();
    let changed = |at: usize, to: u8| {
        let mut pdu = ic_req(0, 0);
        pdu[at] = to;
        pdu
    };
    // Each case changes the type, flags, a length, the version or the alignment of ICReq.
    for (pdu, expected) in [
        (changed(0, 4), (2, 0)),
        (changed(1, 1), (1, 1)),
        (changed(2, 127), (1, 2)),
        (changed(4, 129), (1, 4)),
        (changed(8, 1), (6, 8)),
        (changed(10, 32), (1, 10)),
    ] {
        let mut host = Initiator::raw(target.address);
        host.send(&pdu);
        assert_eq!(host.terminated(), expected, "{:?}", &pdu[..12]);
    }
    let connect = |host: &Initiator| {
        let data = connect_data(HOST_NQN, &target.nqn, u16::MAX);
        host.build(4, 0, &connect_entry(0, 31).in_capsule(1024).0, &data)
    };
    // The first three edits cause a second ICReq, an unknown type, and a header digest that was not
    // agreed. The others cause a wrong header length, an offset inside the header, and a PDU
    // shorter than its header.
    type Edit = fn(&mut Vec<u8>);
    let edits: [(Edit, (u16, u32)); 6] = [
        (|pdu| *pdu = ic_req(0, 0), (2, 0)),
        (|pdu| pdu[0] = 0x0b, (1, 0)),
        (|pdu| pdu[1] = 1, (1, 1)),
        (|pdu| pdu[2] = 71, (1, 2)),
        (|pdu| pdu[3] = 68, (1, 3)),
        (|pdu| pdu[4..8].copy_from_slice(&[71, 0, 0, 0]), (1, 4)),
    ];
    for (number, (edit, expected)) in edits.into_iter().enumerate() {
        let mut host = Initiator::new(target.address);
        let mut pdu = connect(&host);
        edit(&mut pdu);
        host.send(&pdu);
        assert_eq!(host.terminated(), expected, "edit {number}");
    }
}

// A wrong header digest ends the connection.
#[test]
fn a_wrong_header_digest_terminates_the_connection() {
    let target = Target::new();
    let mut host = Initiator::with_digests(target.address, true, false);
    let mut pdu = host.build(4, 0, &connect_entry(0, 31).in_capsule(0).0, &[]);
    pdu[75] ^= 1;
    host.send(&pdu);
    assert_eq!(host.terminated(), (3, 0));
}

// A wrong data digest fails only its command, in a capsule and on request; nothing is written.
#[test]
fn a_wrong_data_digest_fails_only_its_command() {
    let target = Target::new();
    let (_admin, id) = target.admin();
    let mut queue = Initiator::with_digests(target.address, false, true);
    assert_eq!(queue.connect_as(HOST_NQN, &target.nqn, 1, id).status, 0);
    let write = Entry::new(0x01, 1).range(0, 1).in_capsule(512).set(2, &9_u16.to_le_bytes());
    let mut pdu = queue.build(4, 0, &write.0, &pattern(512));
    *pdu.last_mut().unwrap() ^= 0x80;
    queue.send(&pdu);
    let done = queue.done();
    assert_eq!((done.id, done.status, done.do_not_retry), (9, 0x22, false));
    // Of two PDUs with data, the first is damaged.
    let len = queue.max_data + 512;
    let blocks = u32::try_from(len / 512).unwrap();
    let id = queue.submit(Entry::new(0x01, 1).range(0, blocks).by_transport(len), &[]);
    let request = queue.pdu();
    assert_eq!(request.kind, 9);
    let data = pattern(len);
    for (at, end, is_last) in [(0, queue.max_data, 0), (queue.max_data, len, 4)] {
        let header = piece_header(id, request.u16(10), at, end - at);
        let mut pdu = queue.build(6, is_last, &header, &data[at..end]);
        if at == 0 {
            *pdu.last_mut().unwrap() ^= 1;
        }
        queue.send(&pdu);
    }
    let done = queue.done();
    assert_eq!((done.id, done.status), (id, 0x22));
    let read = queue.execute(Entry::new(0x02, 1).range(0, 1).by_transport(512));
    assert_eq!((read.status, read.data), (0, vec![0; 512]));
}

// Data that were not requested, that repeat or leave a gap, or that exceed the limit end the
// connection.
#[test]
fn data_outside_a_request_terminate_the_connection() {
    let target = Target::new();
    let most = Initiator::new(target.address).max_data;
    // The changes to a correct PDU: command, tag, offset, length, flags.
    for (command, tag, at, len, last, expected) in [
        (0_u16, 1_u16, 0, 512, 0, (1, 10)),
        (1, 0, 0, 512, 0, (1, 8)),
        (0, 0, 512, 512, 0, (4, 0)),
        (0, 0, 0, 512, 4, (1, 1)),
        (0, 0, 0, most + 512, 0, (5, 0)),
        (0, 0, 0, 0, 0, (1, 16)),
    ] {
        let (_admin, mut queue) = target.queues();
        let total = most + 1024;
        let write = Entry::new(0x01, 1).range(0, u32::try_from(total / 512).unwrap());
        let id = queue.submit(write.by_transport(total), &[]);
        let request = queue.pdu();
        let header = piece_header(id + command, request.u16(10) + tag, at, len);
        let data = vec![1; len];
        let pdu = queue.build(6, last, &header, &data);
        queue.send(&pdu);
        assert_eq!(queue.terminated(), expected, "{command} {tag} {at} {len} {last}");
    }
}

// A digest in the header of a PDU covers the header only. A capsule with padding is therefore
// accepted.
#[test]
fn a_capsule_may_have_padding() {
    let target = Target::new();
    let mut host = Initiator::with_digests(target.address, true, true);
    let data = connect_data(HOST_NQN, &target.nqn, u16::MAX);
    let mut pdu = host.build(4, 0, &connect_entry(0, 31).in_capsule(1024).0, &data);
    pdu.splice(76..76, [0; 52]);
    pdu[3] = 128;
    let total = u32::try_from(pdu.len()).unwrap();
    pdu[4..8].copy_from_slice(&total.to_le_bytes());
    let digest = crc32c(&pdu[..72]);
    pdu[72..76].copy_from_slice(&digest);
    host.send(&pdu);
    assert_eq!(host.done().status, 0);
}

// A host that sends more commands than its queue has entries is disconnected. Commands that wait
// for data count.
#[test]
fn more_commands_than_entries_terminate_the_connection() {
    let target = Target::new();
    let (_admin, mut queue) = target.queues();
    for number in 0..33_u16 {
        let write = Entry::new(0x01, 1).range(0, 64).by_transport(64 * 512);
        let entry = write.set(2, &number.to_le_bytes());
        let pdu = queue.build(4, 0, &entry.0, &[]);
        queue.send(&pdu);
    }
    for _ in 0..32 {
        assert_eq!(queue.pdu().kind, 9);
    }
    assert_eq!(queue.terminated(), (2, 0));
}

// The host's request to terminate ends only its connection.
#[test]
fn a_host_may_terminate_its_connection() {
    let target = Target::new();
    let (mut admin, mut queue) = target.queues();
    let pdu = queue.build(2, 0, &[1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0], &[]);
    queue.send(&pdu);
    assert!(queue.is_closed());
    assert_eq!(admin.execute(Entry::new(0x18, 0)).status, 0, "keep alive on the admin queue");
}
