//! Commands whose data arrive after the namespace was erased, or after the controller was reset
//! (Base Specification 2.1, "Format NVM command", "Sanitize Operations" and "Controller Reset").

use crate::initiator::{ENABLED, Entry, Initiator, piece_header, property_set};
use crate::served::Target;

const WRITE: u8 = 0x01;
const COMPARE: u8 = 0x05;
const FORMAT_IN_PROGRESS: u16 = 0x84;
const SANITIZE_IN_PROGRESS: u16 = 0x1d;

/// Sends a command for 8 blocks, and receives the request for its data. Returns the PDU with the
/// data.
fn begin(queue: &mut Initiator, opcode: u8, namespace: u32) -> Vec<u8> {
    let entry = Entry::new(opcode, namespace).range(8, 8).by_transport(4096);
    let id = queue.submit(entry, &[]);
    let request = queue.pdu();
    assert_eq!((request.kind, request.u16(8)), (9, id));
    let header = piece_header(id, request.u16(10), 0, 4096);
    queue.build(6, 4, &header, &[0xa5; 4096])
}

fn format(namespace: u32, number: u32) -> Entry {
    Entry::new(0x80, namespace).dword(10, number)
}

// A format during the transfer fails the command, also if the format of the blocks is the same as
// before. The host may retry the command.
#[test]
fn a_format_fails_commands_whose_data_arrive_later() {
    for opcode in [WRITE, COMPARE] {
        for number in [0, 1] {
            let target = Target::new();
            let (mut admin, mut queue) = target.queues();
            let data = begin(&mut queue, opcode, 1);
            assert_eq!(admin.execute(format(1, number)).status, 0);
            queue.send(&data);
            let done = queue.done();
            assert_eq!((done.status, done.do_not_retry), (FORMAT_IN_PROGRESS, false));
            let block = 512 << (3 * number);
            let read = Entry::new(0x02, 1).range(8, 1).by_transport(block);
            assert_eq!(queue.execute(read).data, vec![0; block], "nothing was written");
        }
    }
}

// A format of another namespace changes nothing, and one of all namespaces includes the namespace.
#[test]
fn a_format_fails_commands_of_its_namespace_only() {
    let target = Target::divided(&["8MiB", "4MiB"]);
    let (mut admin, mut queue) = target.queues();
    for (formatted, expected) in [(1, 0), (2, FORMAT_IN_PROGRESS), (u32::MAX, FORMAT_IN_PROGRESS)] {
        let data = begin(&mut queue, WRITE, 2);
        assert_eq!(admin.execute(format(formatted, 0)).status, 0);
        queue.send(&data);
        assert_eq!(queue.done().status, expected, "namespace {formatted:#x}");
    }
}

// A sanitize operation fails the command, whether or not the operation has ended.
#[test]
fn a_sanitize_operation_fails_commands_whose_data_arrive_later() {
    let target = Target::new();
    let (mut admin, mut queue) = target.queues();
    let data = begin(&mut queue, WRITE, 1);
    let event = admin.submit(Entry::new(0x0c, 0), &[]);
    let sanitize = admin.submit(Entry::new(0x84, 0).dword(10, 2), &[]);
    let ids = [admin.done().id, admin.done().id];
    assert!(ids.contains(&event) && ids.contains(&sanitize), "{ids:?}");
    queue.send(&data);
    let done = queue.done();
    assert_eq!((done.status, done.do_not_retry), (SANITIZE_IN_PROGRESS, false));
    let read = Entry::new(0x02, 1).range(8, 1).by_transport(512);
    assert_eq!(queue.execute(read).data, vec![0; 512], "nothing was written");
}

// A reset ends the queue without a completion, and the data are not written.
#[test]
fn a_reset_ends_commands_whose_data_arrive_later() {
    let target = Target::new();
    let (mut admin, id) = target.admin();
    let mut queue = Initiator::new(target.address);
    let host = crate::initiator::HOST_NQN;
    assert_eq!(queue.connect_as(host, &target.nqn, 1, id).status, 0);
    let _data = begin(&mut queue, WRITE, 1);
    assert_eq!(admin.execute(property_set(0x14, 0)).status, 0);
    assert!(queue.is_closed());
    assert_eq!(admin.execute(property_set(0x14, ENABLED)).status, 0);
    let mut queue = Initiator::new(target.address);
    while queue.connect_as(host, &target.nqn, 1, id).status != 0 {
        // The target may still end the previous queue.
        queue = Initiator::new(target.address);
    }
    let read = Entry::new(0x02, 1).range(8, 8).by_transport(4096);
    assert_eq!(queue.execute(read).data, vec![0; 4096]);
}
