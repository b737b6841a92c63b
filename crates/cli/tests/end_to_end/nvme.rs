//! Tests of a drive that is attached over NVMe/TCP, with the host of the tests of the protocol.

use std::io::{BufRead, BufReader};

use super::*;

#[path = "../../../attach/tests/nvme/digest.rs"]
mod digest;
#[path = "../../../attach/tests/nvme/initiator.rs"]
#[allow(dead_code)] // only the tests of the protocol use all of it
mod initiator;

use initiator::{ENABLED, Entry, HOST_NQN, Initiator, property_set};

/// An attached drive, with a connection for each of its two queues. Dropping it cuts its power.
struct AttachedDrive {
    program: Child,
    admin: Initiator,
    queue: Initiator,
}

impl AttachedDrive {
    fn new(place: &Scratch) -> AttachedDrive {
        AttachedDrive::open(place, "sim:demo?cache.kind=lru", ENABLED)
    }

    /// Attaches a drive, whose controller is enabled with the configuration `enabled`.
    fn open(place: &Scratch, drive: &str, enabled: u32) -> AttachedDrive {
        AttachedDrive::open_with(place, drive, enabled, &[])
    }

    /// Attaches a drive with further options.
    fn open_with(place: &Scratch, drive: &str, enabled: u32, options: &[&str]) -> AttachedDrive {
        let way = ["--size", "64MiB", "--speed", "max", "--store", "data", "--json"];
        let arguments = ["attach", drive, "--nvme-tcp", "127.0.0.1:0"];
        let mut command = place.command(&[&arguments[..], &way, options].concat());
        let mut program = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(program.stdout.as_mut().unwrap()).read_line(&mut line).unwrap();
        let attached: serde_json::Value = serde_json::from_str(&line).unwrap();
        assert_eq!(attached["way"], "nvme_tcp");
        let uri = attached["place"].as_str().unwrap().strip_prefix("nvme+tcp://").unwrap();
        let (address, nqn) = uri.split_once('/').unwrap();
        let address = address.parse().unwrap();
        let mut admin = Initiator::new(address);
        let done = admin.connect_as(HOST_NQN, nqn, 0, u16::MAX);
        assert_eq!(done.status, 0);
        assert_eq!(admin.execute(property_set(0x14, enabled)).status, 0);
        let mut queue = Initiator::new(address);
        let id = u16::try_from(done.result).unwrap();
        assert_eq!(queue.connect_as(HOST_NQN, nqn, 1, id).status, 0);
        AttachedDrive { program, admin, queue }
    }

    fn write(&mut self, block: u64, fill: u8, options: u32) {
        let write = Entry::new(0x01, 1).range(8 * block, 8);
        let write = write.dword(12, 7 | options);
        assert_eq!(self.queue.with_data(write, &[fill; 4096]).status, 0);
    }

    fn read(&mut self, block: u64) -> Vec<u8> {
        let done = self.queue.execute(Entry::new(0x02, 1).range(8 * block, 8).by_transport(4096));
        assert_eq!(done.status, 0);
        done.data
    }
}

impl Drop for AttachedDrive {
    /// Kills the process, which simulates a power cut.
    fn drop(&mut self) {
        let _ = self.program.kill();
        let _ = self.program.wait();
    }
}

// A power cut loses data that was only in the write buffer, but no data that was flushed or written
// with forced unit access.
#[test]
fn a_power_cut_keeps_what_was_flushed() {
    let place = Scratch::on_disk();
    let mut drive = AttachedDrive::new(&place);
    drive.write(0, 1, 0);
    assert_eq!(drive.queue.execute(Entry::new(0x00, 1)).status, 0);
    drive.write(1, 2, 0);
    drive.write(2, 3, 1 << 30);
    drive.write(3, 4, 0);
    let before: Vec<_> = (0..4).map(|block| drive.read(block)).collect();
    assert_eq!(before, [1, 2, 3, 4].map(|fill| vec![fill; 4096]));
    drop(drive);
    let mut drive = AttachedDrive::new(&place);
    assert_eq!(drive.read(0), [1; 4096], "flushed");
    assert_eq!(drive.read(2), [3; 4096], "forced unit access");
    assert_eq!(drive.read(3), [0; 4096], "only in the buffer");
}

/// A simulated drive with zones of 2 MiB, two of which may be active.
const ZONED: &str = "sim:demo?zones.blocks=1&zones.open=1&zones.active=2&persistence.map=nv-ram&\
                     background_cleaning=false&interface.logical_block=4KiB";

/// The number of blocks of 4 KiB in a zone.
const ZONE: u64 = 512;

/// Appends a block with the byte `fill` to a zone. Returns the status and the logical block address
/// of the data.
fn append(drive: &mut AttachedDrive, zone: u64, fill: u8) -> (u16, u64) {
    let append = Entry::new(0x7d, 1).range(zone * ZONE, 1);
    let done = drive.queue.with_data(append, &[fill; 4096]);
    (done.status, done.result)
}

fn manage(drive: &mut AttachedDrive, zone: u64, action: u32) -> u16 {
    let entry = Entry::new(0x79, 1).set(40, &(zone * ZONE).to_le_bytes()).dword(13, action);
    drive.queue.execute(entry).status
}

/// Returns the states of the first five zones, and the blocks before their write pointers.
fn zones(drive: &mut AttachedDrive) -> Vec<(u8, u64)> {
    let report = Entry::new(0x7a, 1).dword(12, 6 * 16 - 1).dword(13, 1 << 16);
    let done = drive.queue.execute(report.by_transport(6 * 64));
    assert_eq!((done.status, done.data[0]), (0, 5));
    let u64_at = |at: usize| u64::from_le_bytes(done.data[at..at + 8].try_into().unwrap());
    let zone = |at: usize| {
        let written = u64_at(at + 24).wrapping_sub(u64_at(at + 16));
        (done.data[at + 1] >> 4, if done.data[at + 1] >> 4 == 0xe { ZONE } else { written })
    };
    (64..6 * 64).step_by(64).map(zone).collect()
}

// A simulated drive with zones is a zoned namespace. A power cut closes its zones and keeps their
// pointers and the acknowledged data.
#[test]
fn a_power_cut_keeps_the_zones() {
    let place = Scratch::on_disk();
    let mut drive = AttachedDrive::open(&place, ZONED, ENABLED | 6 << 4);
    assert_eq!([append(&mut drive, 1, 1), append(&mut drive, 1, 2)], [(0, 512), (0, 513)]);
    assert_eq!(append(&mut drive, 3, 3), (0, 1536));
    assert_eq!(append(&mut drive, 0, 9), (0x1bd, 0), "too many active zones");
    assert_eq!(manage(&mut drive, 1, 3), 0, "open");
    assert_eq!(append(&mut drive, 3, 9), (0x1be, 0), "too many open zones");
    assert_eq!(manage(&mut drive, 3, 2), 0, "finish");
    assert_eq!(append(&mut drive, 3, 9), (0x1b9, 0), "a full zone");
    assert_eq!((manage(&mut drive, 1, 1), manage(&mut drive, 3, 1)), (0, 0x1bf), "close");
    assert_eq!(append(&mut drive, 0, 4), (0, 0));
    assert_eq!(manage(&mut drive, 0, 4), 0, "reset");
    assert_eq!(append(&mut drive, 2, 5), (0, 1024));
    assert_eq!(zones(&mut drive), [(1, 0), (4, 2), (2, 1), (0xe, ZONE), (1, 0)]);
    drop(drive);
    let mut drive = AttachedDrive::open(&place, ZONED, ENABLED | 6 << 4);
    assert_eq!(zones(&mut drive), [(1, 0), (4, 2), (4, 1), (0xe, ZONE), (1, 0)]);
    let mut read = |block: u64| {
        let read = Entry::new(0x02, 1).range(block, 1).by_transport(4096);
        let done = drive.queue.execute(read);
        assert_eq!(done.status, 0);
        done.data[0]
    };
    assert_eq!([0, 512, 513, 514, 1024, 1536, 1537].map(&mut read), [0, 1, 2, 0, 5, 3, 0]);
    assert_eq!(append(&mut drive, 1, 6), (0, 514));
}

// A drive with zones refuses options that it does not support, and each message states a remedy.
#[test]
fn options_without_zones_are_refused() {
    let message = |options: &str| {
        let place = Scratch::on_disk();
        let (drive, options) = options.split_once(' ').unwrap_or((options, ""));
        let arguments = [&["attach", drive][..], &options.split_whitespace().collect::<Vec<_>>()];
        place.run(&arguments.concat()).message(2, &place).replace(ZONED, "ZONED")
    };
    insta::assert_snapshot!(message(ZONED), @"flashscope: `ZONED` has zones, which NBD, FUSE and ublk do not support: serve it with --nvme-tcp 127.0.0.1:4420, or attach it without zones, with zones.blocks=0");
    insta::assert_snapshot!(message(&format!("{ZONED} --nbd 127.0.0.1:0")), @"flashscope: `ZONED` has zones, which NBD, FUSE and ublk do not support: serve it with --nvme-tcp 127.0.0.1:4420, or attach it without zones, with zones.blocks=0");
    insta::assert_snapshot!(message(&format!("{ZONED} --nvme-tcp 127.0.0.1:0 --fill random")), @"flashscope: --fill is for drives without zones: the zones of `ZONED` begin empty; write them after you attach it");
    insta::assert_snapshot!(message(&format!("{ZONED} --nvme-tcp 127.0.0.1:0 --size 3MiB")), @"flashscope: --size 3145728 B must be a positive multiple of the size of a zone, 2 MiB");
    let uneven = ZONED.replace("zones.blocks=1", "zones.blocks=3");
    insta::assert_snapshot!(message(&format!("{uneven} --nvme-tcp 127.0.0.1:0")).replace(&uneven, "UNEVEN"), @"flashscope: the zones of `UNEVEN` have 6291456 bytes, and Linux accepts only powers of two: set zones.size=8388608, whose end stays unwritten, or choose other zones.blocks or zones.lanes");
}

// Namespaces divide a drive. The flushed data of each namespace survives a power cut.
#[test]
fn a_power_cut_keeps_all_namespaces() {
    let place = Scratch::on_disk();
    let options = ["--namespace", "16MiB", "--namespace", "32MiB,lba=4096"];
    let attach = || AttachedDrive::open_with(&place, "sim:demo?cache.kind=lru", ENABLED, &options);
    let mut drive = attach();
    for (namespace, fill, blocks) in [(1, 1, 8), (2, 2, 1)] {
        let write = Entry::new(0x01, namespace).range(0, blocks);
        assert_eq!(drive.queue.with_data(write, &[fill; 4096]).status, 0);
    }
    assert_eq!(drive.queue.execute(Entry::new(0x00, 1)).status, 0);
    drop(drive);
    let mut drive = attach();
    for (namespace, fill, blocks) in [(1, 1, 8), (2, 2, 1)] {
        let read = Entry::new(0x02, namespace).range(0, blocks).by_transport(4096);
        assert_eq!(drive.queue.execute(read).data, [fill; 4096], "{namespace}");
    }
}

/// The number of writes in flight, and the number of units that they overwrite.
const IN_FLIGHT: u64 = 24;
const UNITS: u64 = 64;

// After a power cut during writes, each unit that the drive states to be atomic (NAWUPF) has the
// data of one write. Flushes
// between the writes program some units before the cut.
#[test]
fn a_power_cut_tears_no_atomic_unit() {
    let place = Scratch::on_disk();
    let attach = || AttachedDrive::new(&place);
    let unit = |fill: u8| [fill; 4096];
    for round in 1..=6 {
        let mut drive = attach();
        let identify = Entry::new(0x06, 1).by_transport(4096);
        let space = drive.admin.execute(identify).data;
        assert_eq!((space[26], &space[36..38], &space[44..46]), (0, &[7, 0][..], &[7, 0][..]));
        let submit = |queue: &mut Initiator, number: u64| {
            let entry = Entry::new(0x01, 1).range(number * 7 % UNITS * 8, 8).in_capsule(4096);
            queue.submit(entry, &unit(u8::try_from(number % 251).unwrap()));
        };
        for number in 0..IN_FLIGHT {
            submit(&mut drive.queue, number);
        }
        for number in IN_FLIGHT..300 * round {
            assert_eq!(drive.queue.done().status, 0);
            submit(&mut drive.queue, number);
            if number % 50 == 0 {
                drive.queue.submit(Entry::new(0x00, 1), &[]);
                assert_eq!(drive.queue.done().status, 0);
            }
        }
        // The cut comes with writes in flight.
        drop(drive);
        let mut drive = attach();
        let units: Vec<_> = (0..UNITS).map(|number| drive.read(number)).collect();
        for (number, found) in units.iter().enumerate() {
            assert_eq!(found[..], unit(found[0]), "unit {number} after cut {round}");
        }
        assert!(units.iter().any(|found| found[0] > 0), "something was written out");
    }
}

// Drives that cannot be divided, and namespaces that do not fit, are refused with the remedy.
#[test]
fn namespaces_that_are_impossible_are_refused() {
    let message = |drive: &str, sizes: &[&str]| {
        let place = Scratch::on_disk();
        let mut arguments = vec!["attach", drive, "--nvme-tcp", "127.0.0.1:0", "--size", "64MiB"];
        sizes.iter().for_each(|size| arguments.extend(["--namespace", size]));
        place.run(&arguments).message(2, &place).replace(ZONED, "ZONED")
    };
    insta::assert_snapshot!(message(ZONED, &["32MiB"]), @"flashscope: `ZONED` has zones, which belong to one namespace: attach it without --namespace, or without zones, with zones.blocks=0");
    insta::assert_snapshot!(message("sim:demo?placement.handles=3", &["32MiB"]), @"flashscope: `sim:demo?placement.handles=3` has placement handles, which belong to one namespace: attach it without --namespace, or without handles, with placement.handles=1 and placement.groups=1");
    insta::assert_snapshot!(message("sim:demo", &["32MiB", "48MiB"]), @"flashscope: the namespaces are larger than `sim:demo`, which has 67108864 B: choose smaller ones, or a larger drive");
    insta::assert_snapshot!(message("sim:demo", &["5KiB"]), @"flashscope: --namespace 5120 B is not a positive multiple of 4 KiB, the largest block of the drive and its formats: the next one is --namespace 8192");
    let unknown = message("sim:demo", &["1MiB,lba=1024"]);
    assert!(unknown.contains("lba=512 or lba=4096 for its blocks"), "{unknown}");
}

// Impossible namespaces are refused before the drive is filled, and leave no file behind.
#[test]
fn refused_namespaces_leave_nothing() {
    let place = Scratch::on_disk();
    let store = ["--store", "new.data"];
    for (drive, more) in [("sim:demo", store), ("null:", store), ("sim:demo", ["--fill", "random"])]
    {
        let arguments = ["attach", drive, "--nvme-tcp", "127.0.0.1:0", "--size", "64MiB"];
        let arguments = [&arguments[..], &["--namespace", "5KiB"], &more].concat();
        let message = place.run(&arguments).message(2, &place);
        assert!(message.contains("--namespace 5120 B"), "{message}");
        assert!(!message.contains("filling"), "{message}");
        assert_eq!(place.names(), [""; 0]);
    }
}

// A simulated drive with placement handles is served with flexible data placement: writes fill the
// reclaim unit of their handle, and an update starts an empty one.
#[test]
fn placement_handles_are_those_of_the_drive() {
    let place = Scratch::on_disk();
    let mut drive = AttachedDrive::open(&place, "sim:demo?placement.handles=3", ENABLED);
    let rooms = |queue: &mut Initiator| {
        let entry = Entry::new(0x12, 1).dword(10, 1).dword(11, 27);
        let done = queue.execute(entry.by_transport(16 + 3 * 32));
        assert_eq!((done.status, done.data[14]), (0, 3));
        [16, 48, 80].map(|at| u64::from_le_bytes(done.data[at + 8..at + 16].try_into().unwrap()))
    };
    let queue = &mut drive.queue;
    // A reclaim unit in logical blocks of 512 bytes: a flash block of 256 KiB, less a page for the
    // drive's map.
    let unit = 504;
    assert_eq!(rooms(queue), [unit; 3]);
    for handle in [1, 2, 2] {
        let write = Entry::new(0x01, 1).range(0, 8).dword(12, 7 | 2 << 20);
        assert_eq!(queue.with_data(write.set(54, &[handle, 0]), &[1; 4096]).status, 0);
    }
    let [none, one, two] = rooms(queue);
    assert_eq!((none, one), (unit, unit - 8));
    assert!(two < unit, "{two}");
    let update = Entry::new(0x1d, 1).dword(10, 1);
    assert_eq!(queue.with_data(update, &[1, 0]).status, 0);
    assert_eq!(rooms(queue), [unit, unit, two]);
}
