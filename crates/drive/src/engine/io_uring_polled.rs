//! io_uring over polled queues: the drive raises no interrupts, and the waiting thread polls the
//! drive's completion queue.
//!
//! This saves the interrupt and two context switches, but keeps a core busy during the wait.

use std::io;
use std::path::PathBuf;

use flashscope_block::{Io, Op};
use io_uring::{IoUring, cqueue, squeue};

use super::io_uring::transfer;
use super::queued::QueuedEngine;
use super::ring::{Dialect, Ring, check_length, unsupported};
use super::{Engine, Setup};
use crate::guard::{DeviceNumber, System};
use crate::hardware::text;
use crate::topology::path_of;

/// Reads and writes, the only operations that can be polled for.
struct PolledDialect;

pub(super) fn start(setup: &Setup) -> io::Result<Box<dyn Engine>> {
    let disk = polled_disk(&System::default(), setup.target.identity().device())?;
    // If the kernel splits an IO, Linux 6.1 may never complete it.
    check_length(&disk, "max_sectors_kb", setup.max_io as u64)?;
    let build = |entries| IoUring::builder().setup_iopoll().build(entries);
    let (mut ring, buffers) = Ring::new(setup, setup.target.file(), PolledDialect, build)?;
    ring.try_read(setup, &buffers).map_err(|error| match error.raw_os_error() {
        Some(libc::EOPNOTSUPP) => {
            unsupported("its file system or the page cache does not support polled IO")
        }
        _ => error,
    })?;
    Ok(Box::new(QueuedEngine::new(ring, buffers, setup)))
}

/// Returns the sysfs directory of a device's whole drive, if the drive has polled queues.
fn polled_disk(system: &System, number: DeviceNumber) -> io::Result<PathBuf> {
    let disk = system
        .whole_disk(number)
        .ok_or_else(|| unsupported("it does not lie on a single drive"))?;
    if text(&disk.join("queue/io_poll")).as_deref() == Some("1") {
        return Ok(disk);
    }
    Err(unsupported(format!(
        "the kernel has no polled queues for `{}`: enable N of them for NVMe drives with the \
         kernel parameter `nvme.poll_queues=N`; few other drives support polling",
        path_of(&disk)
    )))
}

impl Dialect for PolledDialect {
    type Entry = squeue::Entry;
    type Answer = cqueue::Entry;

    fn takes(&self, op: Op) -> bool {
        matches!(op, Op::Read | Op::Write)
    }

    fn entry(
        &mut self,
        slot: usize,
        io: &Io,
        buffer: *mut u8,
        registered: Option<u16>,
    ) -> squeue::Entry {
        let entry = transfer(io, buffer, registered).expect("takes() excludes other operations");
        entry.user_data(slot as u64)
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use super::*;

    // The kernel must poll the queue of the whole disk. The error states the remedy.
    #[test]
    fn drives_without_polled_queues_are_rejected() {
        let root = tempfile::tempdir().unwrap();
        let disk = root.path().join("sys/devices/nvme0/nvme0n1");
        fs::create_dir_all(disk.join("queue")).unwrap();
        fs::create_dir_all(disk.join("nvme0n1p1")).unwrap();
        fs::write(disk.join("nvme0n1p1/partition"), "1\n").unwrap();
        let numbers = root.path().join("sys/dev/block");
        fs::create_dir_all(&numbers).unwrap();
        symlink(&disk, numbers.join("259:0")).unwrap();
        symlink(disk.join("nvme0n1p1"), numbers.join("259:1")).unwrap();
        let system = System::at(root.path());
        let check = |minor| polled_disk(&system, DeviceNumber { major: 259, minor });
        for without in [None, Some("0\n")] {
            if let Some(message) = without {
                fs::write(disk.join("queue/io_poll"), message).unwrap();
            }
            for minor in [0, 1] {
                let message = check(minor).unwrap_err().to_string();
                assert!(message.contains("no polled queues for `/dev/nvme0n1`"), "{message}");
                assert!(message.contains("`nvme.poll_queues=N`"), "{message}");
            }
        }
        fs::write(disk.join("queue/io_poll"), "1\n").unwrap();
        assert!(check(0).is_ok() && check(1).is_ok());
        assert!(check(2).unwrap_err().to_string().contains("single drive"));
    }
}
