//! Tests of a drive that is attached over NVMe/TCP, with the host of the tests of the protocol.

use std::io::{BufRead, BufReader};

use super::*;

#[path = "../../../attach/tests/nvme/digest.rs"]
mod digest;
#[path = "../../../attach/tests/nvme/initiator.rs"]
#[allow(dead_code)] // only the tests of the protocol use all of it
mod initiator;

use initiator::{ENABLED, Entry, HOST_NQN, Initiator, property_set};

/// A drive whose write buffer loses its data in a power cut, with its two queues.
struct AttachedDrive {
    program: Child,
    _admin: Initiator,
    queue: Initiator,
}

impl AttachedDrive {
    fn new(place: &Scratch) -> AttachedDrive {
        let way = ["--size", "64MiB", "--speed", "max", "--store", "data", "--json"];
        let arguments = ["attach", "sim:demo?cache.kind=lru", "--nvme-tcp", "127.0.0.1:0"];
        let mut command = place.command(&[&arguments[..], &way].concat());
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
        assert_eq!(admin.execute(property_set(0x14, ENABLED)).status, 0);
        let mut queue = Initiator::new(address);
        let id = u16::try_from(done.result).unwrap();
        assert_eq!(queue.connect_as(HOST_NQN, nqn, 1, id).status, 0);
        AttachedDrive { program, _admin: admin, queue }
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
    /// Cuts the power.
    fn drop(&mut self) {
        let _ = self.program.kill();
        let _ = self.program.wait();
    }
}

// A power cut loses what was only in the write buffer, and nothing that was flushed or written with
// forced unit access.
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
