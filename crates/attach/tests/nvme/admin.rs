//! Admin commands: Identify, features, log pages, events, format (Base Specification 2.1, "Admin
//! Command Set").

use crate::initiator::{Entry, Initiator, u16_at, u32_at, u64_at};
use crate::served::{SIZE, Target};

fn identify(admin: &mut Initiator, selector: u32, namespace: u32) -> (u16, Vec<u8>) {
    let entry = Entry::new(0x06, namespace).dword(10, selector).by_transport(4096);
    let done = admin.execute(entry);
    (done.status, done.data)
}

/// Reads `len` bytes of a log page.
fn log(admin: &mut Initiator, page: u32, len: usize) -> (u16, Vec<u8>) {
    let dwords = u32::try_from(len / 4 - 1).unwrap();
    let entry = Entry::new(0x02, 0).dword(10, page | dwords << 16).by_transport(len);
    let done = admin.execute(entry);
    (done.status, done.data)
}

fn set_feature(admin: &mut Initiator, feature: u32, value: u32) -> (u16, u64) {
    let done = admin.execute(Entry::new(0x09, 0).dword(10, feature).dword(11, value));
    (done.status, done.result)
}

fn get_feature(admin: &mut Initiator, feature: u32) -> (u16, u64) {
    let done = admin.execute(Entry::new(0x0a, 0).dword(10, feature));
    (done.status, done.result)
}

// The fields that Linux requires: drivers/nvme/host/core.c, function nvme_init_identify, and
// fabrics.c.
#[test]
fn identify_has_the_fields_that_linux_checks() {
    let target = Target::new();
    let (mut admin, id) = target.admin();
    let (status, data) = identify(&mut admin, 1, 0);
    assert_eq!(status, 0);
    assert_eq!(u16_at(&data, 78), id, "CNTLID is that of Connect");
    assert_eq!(data[111], 1, "CNTRLTYPE: an I/O controller");
    assert_ne!(u16_at(&data, 320), 0, "KAS");
    assert!(u32_at(&data, 1792) >= 4, "IOCCSZ");
    assert!(u32_at(&data, 1796) >= 1, "IORCSZ");
    assert_eq!(u16_at(&data, 1800), 0, "ICDOFF");
    assert_eq!(u32_at(&data, 536) & 3, 1, "SGLS: supported");
    assert_ne!(u32_at(&data, 536) & 1 << 20, 0, "SGLS: offsets");
    assert_ne!(u32_at(&data, 536) & 1 << 21, 0, "SGLS: transport");
    assert_ne!(u16_at(&data, 514), 0, "MAXCMD");
    assert_eq!(u32_at(&data, 80), 0x2_0100, "VER");
    assert_eq!((data[512], data[513]), (0x66, 0x44), "SQES and CQES");
    assert_eq!(u32_at(&data, 516), 1, "NN");
    assert_eq!(data[77], 8, "MDTS: 1 MiB");
    assert!(data[768..].starts_with(target.nqn.as_bytes()), "SUBNQN");
    assert!(data[24..].starts_with(b"flashscope fixed "), "MN is padded with spaces");
    assert_ne!(data[261] & 1 << 1, 0, "LPA: the effects log");
    // The effects log names every command that the controller executes.
    let (status, effects) = log(&mut admin, 5, 4096);
    assert_eq!(status, 0);
    let supported: Vec<usize> =
        (0..256).filter(|opcode| u32_at(&effects, 1024 + 4 * opcode) & 1 == 1).collect();
    assert_eq!(supported, [0x00, 0x01, 0x02, 0x05, 0x08, 0x09, 0x0c, 0x19]);
    let supported: Vec<usize> =
        (0..256).filter(|opcode| u32_at(&effects, 4 * opcode) & 1 == 1).collect();
    assert_eq!(supported, [0x02, 0x06, 0x08, 0x09, 0x0a, 0x0c, 0x18, 0x80, 0x84]);
}

// Every data structure that Linux requests exists; the others are refused.
#[test]
fn identify_returns_the_namespace() {
    let target = Target::new();
    let (mut admin, _) = target.admin();
    let (_, space) = identify(&mut admin, 0, 1);
    assert_eq!((u64_at(&space, 0), u64_at(&space, 8)), (SIZE.0 / 512, SIZE.0 / 512));
    assert_eq!((space[25], space[26]), (3, 0), "four formats, of which the first is used");
    assert_eq!((space[130], space[134]), (9, 12), "512 and 4096 bytes");
    assert_eq!(space[33] & 7, 1, "deallocated blocks read as zeros");
    let (_, list) = identify(&mut admin, 2, 0);
    assert_eq!((u32_at(&list, 0), u32_at(&list, 4)), (1, 0));
    assert_eq!(u32_at(&identify(&mut admin, 2, 1).1, 0), 0, "none above 1");
    assert_eq!(identify(&mut admin, 2, u32::MAX).0, 0x0b);
    let (_, descriptors) = identify(&mut admin, 3, 1);
    assert_eq!(descriptors[..2], [2, 16], "NGUID");
    assert_eq!(descriptors[4..20], space[104..120]);
    assert_eq!(descriptors[20..22], [3, 16], "UUID");
    assert_eq!(descriptors[30] >> 4, 8, "of version 8");
    assert_eq!(descriptors[40..45], [4, 1, 0, 0, 0], "the NVM command set");
    for (selector, namespace) in [(5, 1), (6, 0), (7, 0), (8, 1), (0x1c, 0)] {
        assert_eq!(identify(&mut admin, selector, namespace).0, 0, "{selector:#x}");
    }
    for (selector, namespace, status) in [
        (0, 0, 0x0b),
        (0, 2, 0x0b),
        (3, u32::MAX, 0x0b),
        (8, 2, 0x0b),
        (0x04, 0, 0x02),
        (0xff, 0, 0x02),
    ] {
        assert_eq!(identify(&mut admin, selector, namespace).0, status, "{selector:#x}");
    }
    let zoned = Entry::new(0x06, 1).dword(10, 5).dword(11, 2 << 24).by_transport(4096);
    assert_eq!(admin.execute(zoned).status, 0x02, "no other command set");
    // Two drives have different names and identifiers.
    let second = Target::new();
    let (mut other, _) = second.admin();
    assert_ne!(identify(&mut other, 0, 1).1[104..120], space[104..120]);
}

// In operation, each command is atomic. In a power cut, each unit of 4 KiB is atomic. Both hold for
// blocks of 512 and of 4096 bytes.
#[test]
fn identify_states_the_atomic_units() {
    let target = Target::new();
    let (mut admin, _) = target.admin();
    let (_, controller) = identify(&mut admin, 1, 0);
    assert_eq!(u16_at(&controller, 526), 255, "AWUN: 1 MiB of blocks of 4096 bytes");
    assert_eq!(u16_at(&controller, 528), 0, "AWUPF: a block of any format");
    assert_eq!(u16_at(&controller, 532), 0, "ACWU: no fused commands");
    for (format, normal, power_fail) in [(0, 2047, 7), (1, 255, 0)] {
        assert_eq!(admin.execute(Entry::new(0x80, 1).dword(10, format)).status, 0);
        let (_, space) = identify(&mut admin, 0, 1);
        assert_eq!(space[24] & 2, 2, "NSFEAT: the units of the namespace are valid");
        assert_eq!((u16_at(&space, 34), u16_at(&space, 36)), (normal, power_fail), "NAWUN, NAWUPF");
        assert_eq!(u16_at(&space, 38), 0, "NACWU");
        assert_eq!((u16_at(&space, 40), u16_at(&space, 42)), (0, 0), "NABSN, NABO");
        assert_eq!(u16_at(&space, 44), power_fail, "NABSPF: a power cut may tear between units");
    }
}

// Features keep the values that the host sets, and refuse unsupported values.
#[test]
fn features_keep_their_values() {
    let target = Target::new();
    let (mut admin, id) = target.admin();
    assert_eq!(set_feature(&mut admin, 7, 3 | 5 << 16), (0, 3 | 3 << 16), "the fewer queues");
    assert_eq!(get_feature(&mut admin, 7), (0, 3 | 3 << 16));
    assert_eq!(set_feature(&mut admin, 7, 0xffff).0, 0x02);
    assert_eq!(set_feature(&mut admin, 0x0f, 12_345), (0, 0));
    assert_eq!(get_feature(&mut admin, 0x0f), (0, 13_000), "whole seconds");
    assert_eq!(get_feature(&mut admin, 6), (0, 1), "the write cache is on");
    assert_eq!(set_feature(&mut admin, 6, 0), (0, 0));
    assert_eq!(get_feature(&mut admin, 6), (0, 0));
    for feature in [1, 2, 4, 5, 0x0a, 0x0b] {
        assert_eq!(get_feature(&mut admin, feature).0, 0, "{feature:#x}");
        assert_eq!(set_feature(&mut admin, feature, 0).0, 0, "{feature:#x}");
    }
    assert_eq!(set_feature(&mut admin, 2, 1).0, 0x02, "there is one power state");
    assert_eq!(set_feature(&mut admin, 5, 1 << 16).0, 0x02, "no errors of deallocated blocks");
    assert_eq!(get_feature(&mut admin, 0x03).0, 0x02);
    assert_eq!(set_feature(&mut admin, 0xff, 0).0, 0x02);
    assert_eq!(set_feature(&mut admin, 6 | 1 << 31, 0).0, 0x10d, "nothing is saved");
    let host = Entry::new(0x0a, 0).dword(10, 0x81).dword(11, 1).by_transport(16);
    assert_eq!(admin.execute(host).data, [7; 16], "the host's identifier");
    let mut behavior = vec![0; 512];
    behavior[0] = 1;
    assert_eq!(admin.with_data(Entry::new(0x09, 0).dword(10, 0x16), &behavior).status, 0);
    let get = Entry::new(0x0a, 0).dword(10, 0x16).by_transport(512);
    assert_eq!(admin.execute(get).data, behavior);
    // The number of queues can be set only before the first queue exists.
    let mut queue = Initiator::new(target.address);
    let refused = queue.connect_as(crate::initiator::HOST_NQN, &target.nqn, 5, id);
    assert_eq!((refused.status, refused.result), (0x182, 42), "four were granted");
    assert_eq!(queue.connect_as(crate::initiator::HOST_NQN, &target.nqn, 4, id).status, 0);
    assert_eq!(set_feature(&mut admin, 7, 3 | 3 << 16).0, 0x0c);
}

// The pages that the controller lists can be read; others and wrong offsets are refused.
#[test]
fn log_pages_can_be_read() {
    let target = Target::new();
    let (mut admin, _) = target.admin();
    let (_, supported) = log(&mut admin, 0, 1024);
    let pages: Vec<u32> =
        (0..256).filter(|page| u32_at(&supported, 4 * *page as usize) & 1 == 1).collect();
    assert_eq!(pages, [0, 1, 2, 3, 4, 5, 0x12, 0x81, 0xc0]);
    for page in 0..256 {
        let expected = if pages.contains(&page) { 0 } else { 0x109 };
        assert_eq!(log(&mut admin, page, 512).0, expected, "{page:#x}");
    }
    let (_, smart) = log(&mut admin, 2, 512);
    assert_eq!(smart[3], 100, "all spare");
    assert_eq!(log(&mut admin, 3, 512).1[0], 1, "the first firmware slot is active");
    // An offset, an invalid offset, and more than a page.
    let at = |offset: u32| Entry::new(0x02, 0).dword(10, 3 | 1 << 16).dword(12, offset);
    let slots = admin.execute(at(8).by_transport(8)).data;
    assert_eq!(slots, format!("{:8}", env!("CARGO_PKG_VERSION")).as_bytes());
    assert_eq!(admin.execute(at(2).by_transport(8)).status, 0x02);
    assert_eq!(admin.execute(at(516).by_transport(8)).status, 0x02);
    assert_eq!(log(&mut admin, 3, 1024).1[512..], [0; 512], "zeros follow the page");
    let long = Entry::new(0x02, 0).dword(10, 3 | 0xffff << 16).dword(11, 8).by_transport(4096);
    assert_eq!(admin.execute(long).status, 0x02);
}

// Failed commands appear in the error log, the latest first.
#[test]
fn failed_commands_are_logged() {
    let target = Target::new();
    let (mut admin, mut queue) = target.queues();
    let read = Entry::new(0x02, 1).range(SIZE.0 / 512, 1).by_transport(512);
    let id = queue.submit(read, &[]);
    assert_eq!(queue.done().status, 0x80);
    assert_eq!(admin.execute(Entry::new(0xff, 0)).status, 0x01);
    let (_, errors) = log(&mut admin, 1, 128);
    assert_eq!((u64_at(&errors, 0), u16_at(&errors, 8)), (2, 0));
    assert_eq!((u64_at(&errors, 64), u16_at(&errors, 72), u16_at(&errors, 74)), (1, 1, id));
    assert_eq!(u16_at(&errors, 76) >> 1 & 0x7ff, 0x80);
}

// Format erases the drive and changes its blocks. An event reports this to the host once, until the
// host reads the log page.
#[test]
fn format_erases_and_reports() {
    let target = Target::new();
    let (mut admin, mut queue) = target.queues();
    let data = vec![0xa5; 512];
    assert_eq!(queue.with_data(Entry::new(0x01, 1).range(0, 1), &data).status, 0);
    assert_eq!(set_feature(&mut admin, 0x0b, 1 << 8).0, 0);
    let event = admin.submit(Entry::new(0x0c, 0), &[]);
    let format = admin.submit(Entry::new(0x80, 1).dword(10, 1), &[]);
    let mut done = [admin.done(), admin.done()];
    done.sort_by_key(|done| done.id);
    assert_eq!((done[0].id, done[0].status, done[0].result), (event, 0, 0x0004_0002));
    assert_eq!((done[1].id, done[1].status), (format, 0));
    let (_, space) = identify(&mut admin, 0, 1);
    assert_eq!((space[26], u64_at(&space, 0)), (1, SIZE.0 / 4096));
    let read = Entry::new(0x02, 1).range(0, 1).by_transport(4096);
    assert_eq!(queue.execute(read).data, vec![0; 4096]);
    // A second change is not reported until the host has read the log page.
    let event = admin.submit(Entry::new(0x0c, 0), &[]);
    assert_eq!(admin.execute(Entry::new(0x80, 1)).status, 0);
    let (_, changed) = log(&mut admin, 4 | 1 << 15, 4096);
    assert_eq!((u32_at(&changed, 0), u32_at(&changed, 4)), (1, 0), "retained");
    assert_eq!(u32_at(&log(&mut admin, 4, 4096).1, 0), 1);
    assert_eq!(u32_at(&log(&mut admin, 4, 4096).1, 0), 0, "cleared");
    let format = admin.submit(Entry::new(0x80, u32::MAX).dword(10, 1), &[]);
    let ids = [admin.done().id, admin.done().id];
    assert!(ids.contains(&event) && ids.contains(&format), "{ids:?}");
    for (options, status) in
        [(4, 0x10a), (1 << 12, 0x10a), (1 << 4, 0x10a), (1 << 5, 0x10a), (2 << 9, 0x02)]
    {
        assert_eq!(
            admin.execute(Entry::new(0x80, 1).dword(10, options)).status,
            status,
            "{options:#x}"
        );
    }
    assert_eq!(admin.execute(Entry::new(0x80, 2)).status, 0x0b);
}

// Sanitize erases the drive after its command. An event and the log page report the end to the
// host.
#[test]
fn sanitize_erases_and_reports() {
    let target = Target::new();
    let (mut admin, mut queue) = target.queues();
    let status = |admin: &mut Initiator| {
        let (status, page) = log(admin, 0x81, 512);
        assert_eq!(status, 0);
        (u16_at(&page, 0), u16_at(&page, 2), u32_at(&page, 4))
    };
    assert_eq!(status(&mut admin), (0xffff, 0, 0), "never sanitized");
    let (write, data) = (Entry::new(0x01, 1).range(5, 1), [0xa5; 512]);
    assert_eq!(queue.with_data(write.clone(), &data).status, 0);
    for action in [0, 1, 3, 4, 5] {
        assert_eq!(admin.execute(Entry::new(0x84, 0).dword(10, action)).status, 0x02, "{action}");
    }
    let event = admin.submit(Entry::new(0x0c, 0), &[]);
    let sanitize = admin.submit(Entry::new(0x84, 0).dword(10, 2 | 1 << 3), &[]);
    let done = admin.done();
    assert_eq!((done.id, done.status), (sanitize, 0), "completed when it begins");
    let done = admin.done();
    assert_eq!((done.id, done.status, done.result), (event, 0, 0x0081_0106));
    assert_eq!(status(&mut admin), (0xffff, 1 | 1 << 8, 2 | 1 << 3), "done, and all is erased");
    let read = Entry::new(0x02, 1).range(5, 1).by_transport(512);
    assert_eq!(queue.execute(read).data, [0; 512]);
    assert_eq!(queue.with_data(write, &data).status, 0);
    assert_eq!(status(&mut admin).1, 1, "something is written again");
}

// Five requests for events exceed the limit of four. An aborted request is completed as aborted.
#[test]
fn event_requests_are_limited_and_can_be_aborted() {
    let target = Target::new();
    let (mut admin, _) = target.admin();
    let held: Vec<u16> = (0..4).map(|_| admin.submit(Entry::new(0x0c, 0), &[])).collect();
    assert_eq!(admin.execute(Entry::new(0x0c, 0)).status, 0x105);
    let abort = |queue: u32, id: u16| Entry::new(0x08, 0).dword(10, queue | u32::from(id) << 16);
    assert_eq!(admin.execute(abort(1, held[2])).result, 1, "not in another queue");
    assert_eq!(admin.execute(abort(0, 999)).result, 1, "unknown");
    let id = admin.submit(abort(0, held[2]), &[]);
    let mut done = [admin.done(), admin.done()];
    done.sort_by_key(|done| done.id);
    assert_eq!((done[0].id, done[0].status), (held[2], 0x07));
    assert_eq!((done[1].id, done[1].result), (id, 0), "aborted");
    admin.submit(Entry::new(0x0c, 0), &[]);
    assert_eq!(admin.execute(Entry::new(0x18, 0)).status, 0, "there is room again");
}

// Commands that NVMe over Fabrics does not have are refused.
#[test]
fn commands_of_other_transports_are_refused() {
    let target = Target::new();
    let (mut admin, _) = target.admin();
    for opcode in [0x00, 0x01, 0x04, 0x05, 0x0d, 0x10, 0x11, 0x14, 0x7c, 0xff] {
        assert_eq!(admin.execute(Entry::new(opcode, 0)).status, 0x01, "{opcode:#x}");
    }
}
