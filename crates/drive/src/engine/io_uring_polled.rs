//! io_uring over polled queues: the drive raises no interrupt, and whoever waits looks for the
//! answer in the drive's completion queue.
//!
//! What is saved is the interrupt and the change to another thread and back, at the price of a core
//! that does nothing else while it waits.

use std::io;
use std::path::PathBuf;

use flashscope_block::{Io, Op};
use io_uring::{IoUring, cqueue, squeue};

use super::io_uring::transfer;
use super::queued::Queued;
use super::ring::{Dialect, Ring, check_length, unsupported};
use super::{Engine, Setup};
use crate::guard::{DeviceNumber, System};
use crate::hardware::text;
use crate::inventory::path_of;

/// Reads and writes, which alone are polled for.
struct Polled;

pub(super) fn start(setup: &Setup) -> io::Result<Box<dyn Engine>> {
    let disk = polled_disk(&System::default(), setup.target.identity().device())?;
    // Of an IO that the kernel splits, Linux 6.1 may never see the end.
    check_length(&disk, "max_sectors_kb", setup.max_io as u64)?;
    let build = |entries| IoUring::builder().setup_iopoll().build(entries);
    let (mut ring, buffers) = Ring::new(setup, setup.target.file(), Polled, build)?;
    ring.try_read(setup, &buffers).map_err(|error| match error.raw_os_error() {
        Some(libc::EOPNOTSUPP) => {
            unsupported("its file system, or the page cache, takes no polled IO")
        }
        _ => error,
    })?;
    Ok(Box::new(Queued::new(ring, buffers, setup)))
}

/// The directory in sysfs of the drive that a device is or is a partition of, if its driver polls.
fn polled_disk(system: &System, number: DeviceNumber) -> io::Result<PathBuf> {
    let disk =
        system.whole_disk(number).ok_or_else(|| unsupported("it lies on no single drive"))?;
    if text(&disk.join("queue/io_poll")).as_deref() == Some("1") {
        return Ok(disk);
    }
    Err(unsupported(format!(
        "the kernel has no polled queues for `{}`: NVMe drives get them by the kernel parameter \
         `nvme.poll_queues=N` (N of them), and few other drives can have any",
        path_of(&disk)
    )))
}

impl Dialect for Polled {
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
        let entry = transfer(io, buffer, registered).expect("nothing else is taken");
        entry.user_data(slot as u64)
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use super::*;

    // Is a drive taken only where the kernel polls, by the queue of the whole drive, and is it said
    // what to do where it does not?
    #[test]
    fn polled_queues_are_looked_for() {
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
            if let Some(says) = without {
                fs::write(disk.join("queue/io_poll"), says).unwrap();
            }
            for minor in [0, 1] {
                let says = check(minor).unwrap_err().to_string();
                assert!(says.contains("no polled queues for `/dev/nvme0n1`"), "{says}");
                assert!(says.contains("`nvme.poll_queues=N`"), "{says}");
            }
        }
        fs::write(disk.join("queue/io_poll"), "1\n").unwrap();
        assert!(check(0).is_ok() && check(1).is_ok());
        assert!(check(2).unwrap_err().to_string().contains("no single drive"));
    }
}
