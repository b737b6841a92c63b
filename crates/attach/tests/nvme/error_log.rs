//! The error information log page (Base Specification 2.1, "Error Information").

use crate::initiator::{Entry, Initiator, connect_entry, property_get, u16_at, u32_at, u64_at};
use crate::served::{SIZE, Target};

const BLOCKS: u64 = SIZE.0 / 512;

/// Reads the newest `count` entries.
fn newest(admin: &mut Initiator, count: usize) -> Vec<Vec<u8>> {
    let len = 64 * count;
    let dwords = u32::try_from(len / 4 - 1).unwrap();
    let done = admin.execute(Entry::new(0x02, 0).dword(10, 1 | dwords << 16).by_transport(len));
    assert_eq!(done.status, 0);
    done.data.chunks(64).map(<[u8]>::to_vec).collect()
}

/// Returns the status of an entry without the phase and DNR.
fn status(entry: &[u8]) -> u16 {
    u16_at(entry, 12) >> 1 & 0x7ff
}

// An entry names the queue, the command, the first block that failed, the namespace, the command
// set and the opcode.
#[test]
fn entries_name_the_block_and_the_namespace() {
    let target = Target::divided(&["8MiB", "4MiB"]);
    let (mut admin, mut queue) = target.queues();
    let read = |start, blocks: u32| {
        Entry::new(0x02, 2).range(start, blocks).by_transport(blocks as usize * 512)
    };
    let data = [vec![0; 3 * 512], vec![1; 512]].concat();
    let last = 8192;
    let cases = [
        (read(last, 1), &[][..], 0x80, last),
        (read(last - 2, 4), &[], 0x80, last),
        (read(u64::MAX, 1), &[], 0x80, u64::MAX),
        (Entry::new(0x05, 2).range(40, 4).in_capsule(2048), &data, 0x285, 43),
        (Entry::new(0x04, 2).range(7, 1), &[], 0x01, 0),
    ];
    for (number, (entry, data, expected, block)) in (1..).zip(cases) {
        let opcode = entry.0[0];
        let id = queue.submit(entry, data);
        assert_eq!(queue.done().status, expected);
        let entry = &newest(&mut admin, 1)[0];
        assert_eq!((u64_at(entry, 0), u16_at(entry, 8), u16_at(entry, 10)), (number, 1, id));
        assert_eq!((status(entry), u16_at(entry, 14)), (expected, u16::MAX));
        assert_eq!((u64_at(entry, 16), u32_at(entry, 24)), (block, 2), "status {expected:#x}");
        assert_eq!((entry[29], entry[30], entry[31], entry[63]), (0, 0, opcode, 1));
    }
}

// Admin commands have no block, and Fabrics commands have no namespace either.
#[test]
fn entries_of_admin_commands_have_no_block() {
    let target = Target::new();
    let (mut admin, mut queue) = target.queues();
    let format = Entry::new(0x80, 1).dword(10, 9);
    assert_eq!(admin.execute(format).status, 0x10a);
    assert_eq!(admin.execute(property_get(0x2, 4)).status, 0x02);
    assert_eq!(queue.with_data(connect_entry(1, 31), &[0; 1024]).status, 0x0c);
    let entries = newest(&mut admin, 3);
    let fields = |entry: &[u8]| (u16_at(entry, 8), entry[31], u64_at(entry, 16), u32_at(entry, 24));
    assert_eq!(fields(&entries[0]), (1, 0x7f, 0, 0));
    assert_eq!(fields(&entries[1]), (0, 0x7f, 0, 0));
    assert_eq!(fields(&entries[2]), (0, 0x80, 0, 1));
}

// The entry of a command whose data arrived damaged names the transport TCP.
#[test]
fn transport_errors_name_the_transport() {
    let target = Target::new();
    let (mut admin, id) = target.admin();
    let mut queue = Initiator::with_digests(target.address, false, true);
    let host = crate::initiator::HOST_NQN;
    assert_eq!(queue.connect_as(host, &target.nqn, 1, id).status, 0);
    let write = Entry::new(0x01, 1).range(5, 1).in_capsule(512);
    let mut pdu = queue.build(4, 0, &write.0, &[1; 512]);
    *pdu.last_mut().unwrap() ^= 1;
    queue.send(&pdu);
    assert_eq!(queue.done().status, 0x22);
    let entry = &newest(&mut admin, 1)[0];
    assert_eq!((status(entry), u64_at(entry, 16), u32_at(entry, 24), entry[29]), (0x22, 5, 1, 3));
}

// The log has as many entries as Identify states, the newest first. SMART counts all errors.
#[test]
fn the_log_keeps_the_newest_entries() {
    let target = Target::new();
    let (mut admin, mut queue) = target.queues();
    let identify = Entry::new(0x06, 0).dword(10, 1).by_transport(4096);
    let entries = usize::from(admin.execute(identify).data[262]) + 1;
    let errors = u64::try_from(entries).unwrap() + 6;
    for block in 0..errors {
        let read = Entry::new(0x02, 1).range(BLOCKS + block, 1).by_transport(512);
        assert_eq!(queue.execute(read).status, 0x80);
    }
    let log = newest(&mut admin, entries + 1);
    for (place, entry) in (0..).zip(&log[..entries]) {
        let number = errors - place;
        assert_eq!((u64_at(entry, 0), u64_at(entry, 16)), (number, BLOCKS + number - 1));
    }
    assert_eq!(log[entries], [0; 64], "beyond the end of the page");
    let smart = Entry::new(0x02, 0).dword(10, 2 | 127 << 16).by_transport(512);
    assert_eq!(u64_at(&admin.execute(smart).data, 176), errors);
}
