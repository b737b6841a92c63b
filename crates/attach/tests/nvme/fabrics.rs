//! Fabrics commands: queues, properties, and the hosts that may connect (Base Specification 2.1,
//! "Fabrics Command Set").

use flashscope_attach::nvme::SubsystemOptions;

use crate::initiator::{
    DISCOVERY, ENABLED, Entry, HOST_NQN, Initiator, connect_data, connect_entry, property_get,
    property_set,
};
use crate::served::Target;

const CONNECT_INVALID_PARAMETERS: u16 = 0x182;

// The first command must be Connect, and Connect must come once.
#[test]
fn a_queue_begins_with_connect() {
    let target = Target::new();
    let mut host = Initiator::new(target.address);
    assert_eq!(host.execute(Entry::new(0x06, 0).dword(10, 1).by_transport(4096)).status, 0x0c);
    assert_eq!(host.execute(property_get(0x14, 4)).status, 0x0c);
    assert_eq!(host.connect_as(HOST_NQN, &target.nqn, 0, u16::MAX).status, 0);
    assert_eq!(host.connect_as(HOST_NQN, &target.nqn, 0, u16::MAX).status, 0x0c);
}

// An invalid parameter of Connect is refused with its offset. Bit 16 distinguishes the data from
// the command.
#[test]
fn invalid_parameters_of_connect_are_named() {
    let target = Target::new();
    let (_admin, id) = target.admin();
    let mut host = Initiator::new(target.address);
    let mut refused = |entry: Entry, data: &[u8]| {
        let done = host.with_data(entry, data);
        (done.status, done.result)
    };
    let data = |subsystem: &str, controller| connect_data(HOST_NQN, subsystem, controller);
    let good = data(&target.nqn, u16::MAX);
    let invalid = |place| (CONNECT_INVALID_PARAMETERS, place);
    assert_eq!(refused(connect_entry(0, 0), &good), invalid(44), "a queue of one entry");
    assert_eq!(refused(connect_entry(0, 128), &good), invalid(44), "too many entries");
    assert_eq!(
        refused(connect_entry(0, 31), &data("nqn.2026-11.org.other:x", u16::MAX)),
        invalid(0x1_0100)
    );
    assert_eq!(refused(connect_entry(0, 31), &data(&target.nqn, 5)), invalid(0x1_0010), "static");
    assert_eq!(
        refused(connect_entry(1, 31), &data(&target.nqn, 999)),
        invalid(0x1_0010),
        "unknown"
    );
    assert_eq!(
        refused(connect_entry(65, 31), &data(&target.nqn, id)),
        invalid(42),
        "too many queues"
    );
    assert_eq!(refused(connect_entry(1, 31), &data(DISCOVERY, id)), invalid(42), "no I/O queues");
    let mut other = data(&target.nqn, id);
    other[0] = 8;
    assert_eq!(refused(connect_entry(1, 31), &other), invalid(0x1_0000), "another host");
    let other = connect_data("nqn.2026-11.org.example:other", &target.nqn, id);
    assert_eq!(refused(connect_entry(1, 31), &other), invalid(0x1_0200), "another host name");
    let mut unterminated = good.clone();
    unterminated[256..512].fill(b'a');
    assert_eq!(refused(connect_entry(0, 31), &unterminated), invalid(0x1_0100));
    let format = connect_entry(0, 31).set(40, &1_u16.to_le_bytes());
    assert_eq!(refused(format, &good).0, 0x180, "the format of the record");
    assert_eq!(refused(connect_entry(0, 31), &good).0, 0, "after all, the queue can be connected");
}

// A queue number is used once, needs an enabled controller, and is free again after Disconnect.
#[test]
fn io_queues_follow_their_controller() {
    let target = Target::new();
    let mut admin = Initiator::new(target.address);
    let id = admin.connect_as(HOST_NQN, &target.nqn, 0, u16::MAX).result;
    let id = u16::try_from(id).unwrap();
    let connect = |number| {
        let mut queue = Initiator::new(target.address);
        let status = queue.connect_as(HOST_NQN, &target.nqn, number, id).status;
        (queue, status)
    };
    assert_eq!(connect(1).1, 0x0c, "the controller is not enabled");
    assert_eq!(admin.execute(property_set(0x14, ENABLED)).status, 0);
    let (mut first, status) = connect(1);
    assert_eq!(status, 0);
    assert_eq!(connect(1).1, 0x0c, "the number is in use");
    assert_eq!(first.execute(property_get(0x14, 4)).status, 0x185, "for the admin queue only");
    assert_eq!(admin.execute(Entry::fabrics(8)).status, 0x185, "for I/O queues only");
    assert_eq!(first.execute(Entry::fabrics(8)).status, 0);
    assert!(first.is_closed());
    // The target removes the queue when it closes the connection.
    let again = (0..100).find_map(|_| {
        let (queue, status) = connect(1);
        if status != 0 {
            std::thread::sleep(std::time::Duration::from_millis(20));
        }
        (status == 0).then_some(queue)
    });
    let mut again = again.expect("the number is free");
    assert_eq!(again.execute(Entry::new(0x00, 1)).status, 0);
    drop(admin);
    assert!(again.is_closed(), "an I/O queue ends with its admin queue");
}

// The properties are the capabilities, the version, the configuration and the status.
#[test]
fn properties_describe_the_controller() {
    let target = Target::new();
    let mut admin = Initiator::new(target.address);
    admin.connect_as(HOST_NQN, &target.nqn, 0, u16::MAX);
    let capabilities = admin.execute(property_get(0, 8)).result;
    assert_eq!(capabilities & 0xffff, 127, "entries of a queue, less one");
    assert_eq!(capabilities >> 16 & 1, 1, "contiguous queues");
    assert!(capabilities >> 24 & 0xff > 0, "a time to become ready");
    assert_eq!(capabilities >> 37 & 0xff, 1, "the NVM command set alone");
    assert_eq!(capabilities >> 48 & 0xff, 0, "pages of 4 KiB");
    assert_eq!(admin.execute(property_get(0x08, 4)).result, 0x2_0100);
    assert_eq!(admin.execute(property_get(0x1c, 4)).result, 0, "not ready");
    assert_eq!(admin.execute(Entry::new(0x06, 0).dword(10, 1).by_transport(4096)).status, 0x0c);
    assert_eq!(admin.execute(property_set(0x14, ENABLED)).status, 0);
    assert_eq!(admin.execute(property_get(0x14, 4)).result, u64::from(ENABLED));
    assert_eq!(admin.execute(property_get(0x1c, 4)).result, 1, "ready");
    // Normal shutdown completes.
    assert_eq!(admin.execute(property_set(0x14, ENABLED | 1 << 14)).status, 0);
    assert_eq!(admin.execute(property_get(0x1c, 4)).result, 1 | 2 << 2);
    assert_eq!(admin.execute(property_set(0x14, 0)).status, 0);
    assert_eq!(admin.execute(property_get(0x1c, 4)).result, 0, "a reset");
    for (offset, size) in [(0, 4), (0x08, 8), (0x1c, 8), (0x30, 4), (0xffff_fffc, 4)] {
        assert_eq!(admin.execute(property_get(offset, size)).status, 0x02, "{offset} {size}");
    }
    assert_eq!(admin.execute(property_set(0x1c, 0)).status, 0x02, "the status is read-only");
    let reserved = property_get(0, 8).set(40, &[5]);
    assert_eq!(admin.execute(reserved).status, 0x02, "the size");
}

// A reset drops the event requests, without completing them (NVM Express Base Specification 2.1,
// "Controller Level Reset"). They do not fill the queue.
#[test]
fn a_reset_drops_the_event_requests() {
    let target = Target::new();
    let (mut admin, _) = target.admin();
    for _ in 0..200 {
        admin.submit(Entry::new(0x0c, 0), &[]);
        assert_eq!(admin.execute(property_set(0x14, 0)).status, 0);
        assert_eq!(admin.execute(property_set(0x14, ENABLED)).status, 0);
    }
}

// A configuration that is not supported makes the controller fail, until it is reset.
#[test]
fn unsupported_configurations_are_fatal() {
    let target = Target::new();
    let mut admin = Initiator::new(target.address);
    admin.connect_as(HOST_NQN, &target.nqn, 0, u16::MAX);
    // They request entries of other sizes, larger pages, another command set, or weighted
    // arbitration.
    for wrong in [1, 1 | 7 << 16 | 4 << 20, ENABLED | 1 << 7, ENABLED | 1 << 4, ENABLED | 1 << 11] {
        assert_eq!(admin.execute(property_set(0x14, wrong)).status, 0);
        assert_eq!(admin.execute(property_get(0x1c, 4)).result, 2, "{wrong:#x}");
        admin.execute(property_set(0x14, 0));
    }
    admin.execute(property_set(0x14, ENABLED));
    assert_eq!(admin.execute(property_get(0x1c, 4)).result, 1);
}

// Only allowed hosts connect to the drive; all may discover it.
#[test]
fn other_hosts_are_refused() {
    let hosts = vec![HOST_NQN.parse().unwrap()];
    let nqn = "nqn.2026-11.org.example:drive";
    let options =
        SubsystemOptions { nqn: Some(nqn.parse().unwrap()), hosts, ..SubsystemOptions::default() };
    let target = Target::with(true, &options);
    assert_eq!(target.nqn, nqn);
    let mut host = Initiator::new(target.address);
    let other = "nqn.2026-11.org.example:other";
    assert_eq!(host.connect_as(other, nqn, 0, u16::MAX).status, 0x184);
    assert_eq!(host.connect_as(HOST_NQN, nqn, 0, u16::MAX).status, 0);
    let mut discovers = Initiator::new(target.address);
    assert_eq!(discovers.connect_as(other, DISCOVERY, 0, u16::MAX).status, 0);
}

// The discovery log has one record: the drive, with its address.
#[test]
fn the_drive_can_be_discovered() {
    let target = Target::new();
    let mut host = Initiator::new(target.address);
    assert_eq!(host.connect_as(HOST_NQN, DISCOVERY, 0, u16::MAX).status, 0);
    assert_eq!(host.execute(property_set(0x14, ENABLED)).status, 0);
    let identity = host.execute(Entry::new(0x06, 0).dword(10, 1).by_transport(4096)).data;
    assert_eq!(identity[111], 2, "a discovery controller");
    assert!(identity[768..].starts_with(DISCOVERY.as_bytes()));
    let page = Entry::new(0x02, 0).dword(10, 0x70 | 511 << 16).by_transport(2048);
    let page = host.execute(page).data;
    assert_eq!(page[8..16], 1_u64.to_le_bytes(), "the number of records");
    let record = &page[1024..];
    assert_eq!(record[..3], [3, 1, 2], "TCP, IPv4, an NVM subsystem");
    assert!(record[32..].starts_with(target.address.port().to_string().as_bytes()));
    assert!(record[256..].starts_with(target.nqn.as_bytes()));
    assert!(record[512..].starts_with(b"127.0.0.1 "));
    // No other data structure, command or log page exists.
    assert_eq!(host.execute(Entry::new(0x06, 1).by_transport(4096)).status, 0x02);
    assert_eq!(host.execute(Entry::new(0x80, 1)).status, 0x01);
    let smart = Entry::new(0x02, 0).dword(10, 0x02 | 127 << 16).by_transport(512);
    assert_eq!(host.execute(smart).status, 0x109);
}

// The head of the submission queue advances with each command, unless the host turned off flow
// control; reads are then completed without a capsule.
#[test]
fn flow_control_can_be_turned_off() {
    let target = Target::new();
    let (mut admin, id) = target.admin();
    let before = admin.execute(Entry::new(0x18, 0)).queue_head;
    for step in 1..70 {
        let head = admin.execute(Entry::new(0x18, 0)).queue_head;
        assert_eq!(head, (before + step) % 32);
    }
    let mut queue = Initiator::new(target.address);
    let entry = connect_entry(1, 31).set(46, &[1 << 2]);
    let done = queue.with_data(entry, &connect_data(HOST_NQN, &target.nqn, id));
    assert_eq!((done.status, done.queue_head), (0, u16::MAX));
    let id = queue.submit(Entry::new(0x02, 1).range(0, 1).by_transport(512), &[]);
    let data = queue.pdu();
    assert_eq!((data.kind, data.u16(8), data.flags), (7, id, 4 | 8));
    assert_eq!(queue.execute(Entry::new(0x00, 1)).status, 0, "nothing else was sent");
}
