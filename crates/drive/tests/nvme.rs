//! Every engine fulfils the duties of a device on an NVMe drive.
//!
//! The tests run on the emulated drive of `make test-nvme`, in its virtual machine. On any other
//! machine, they print a message and are skipped.

#![allow(clippy::print_stdout, reason = "names skipped cases and the reason")]

use std::fs::{self, File};
use std::os::unix::fs::FileExt;
use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard, PoisonError};

use flashscope_block::{Bytes, Completion, Data, Device, Errno, Io, Nanos, Op, contract};
use flashscope_drive::{
    Access, ENGINES, EngineKind, Location, OpenError, OpenOptions, RealDevice, open,
};

/// The serial number of the test drive in `scripts/test-nvme`.
const SERIAL: &str = "FLASH-CONTRACT";

/// Lets one test at a time use the drive.
static DRIVE: Mutex<()> = Mutex::new(());

/// The emulated drive, reserved for one test.
struct EmulatedDrive {
    path: PathBuf,
    _alone: MutexGuard<'static, ()>,
}

impl EmulatedDrive {
    fn find() -> Option<EmulatedDrive> {
        let is = |path: &PathBuf, name: &str, expected: &str| {
            let text = fs::read_to_string(path.join("device").join(name)).unwrap_or_default();
            text.trim() == expected
        };
        let disks = fs::read_dir("/sys/block").ok()?.flatten().map(|entry| entry.path());
        let disk = disks
            .filter(|disk| is(disk, "model", "QEMU NVMe Ctrl"))
            .find(|disk| is(disk, "serial", SERIAL));
        let Some(disk) = disk else {
            println!("skipped: this is not the virtual machine of `make test-nvme`");
            return None;
        };
        let path = PathBuf::from("/dev").join(disk.file_name()?);
        let alone = DRIVE.lock().unwrap_or_else(PoisonError::into_inner);
        Some(EmulatedDrive { path, _alone: alone })
    }

    fn options(&self, engine: EngineKind, queue_depth: u32) -> OpenOptions {
        OpenOptions {
            access: Access::Write { confirmation: Some(SERIAL.into()) },
            engine: Some(engine),
            queue_depth,
            max_io: Bytes::kib(128),
            ..OpenOptions::new(Location::BlockDevice(self.path.clone()))
        }
    }

    /// Returns the first 64 KiB of the drive.
    fn content(&self) -> Vec<u8> {
        let mut content = vec![0; 64 << 10];
        File::open(&self.path).unwrap().read_exact_at(&mut content, 0).unwrap();
        content
    }
}

fn one(device: &mut RealDevice, op: Op, offset: u64, len: Bytes) -> Completion {
    let (offset, at) = (Bytes(offset), device.now());
    device.submit(&Io { op, stream: 0, offset, len, at, data: Data::Random });
    device.complete(Nanos::MAX).expect("an IO is in flight")
}

// The engines include polled queues and passthrough.
#[test]
fn every_engine_fulfils_the_contract() {
    let Some(drive) = EmulatedDrive::find() else { return };
    for entry in ENGINES {
        for depth in [1, 4, 32] {
            let options = drive.options(entry.kind, depth);
            contract::check(&mut open(&options).unwrap(), true);
            let reading = OpenOptions { access: Access::ReadOnly, ..options };
            contract::check(&mut open(&reading).unwrap(), false);
        }
    }
}

#[test]
fn writes_and_trims_affect_their_ranges_only() {
    let Some(drive) = EmulatedDrive::find() else { return };
    for entry in ENGINES {
        let mut device = open(&drive.options(entry.kind, 4)).unwrap();
        assert_eq!(one(&mut device, Op::Trim, 0, Bytes::kib(64)).result, Ok(()));
        drop(device);
        assert!(drive.content().iter().all(|byte| *byte == 0), "{}", entry.name);

        let mut device = open(&drive.options(entry.kind, 4)).unwrap();
        assert_eq!(one(&mut device, Op::Write, 4096, Bytes::kib(56)).result, Ok(()));
        assert_eq!(one(&mut device, Op::Flush, 0, Bytes(0)).result, Ok(()));
        assert_eq!(one(&mut device, Op::Trim, 8192, Bytes(4096)).result, Ok(()));
        assert_eq!(one(&mut device, Op::Read, 8192, Bytes(4096)).result, Ok(()));
        drop(device);
        for (page, bytes) in drive.content().chunks(4096).enumerate() {
            let empty = [0, 2, 15].contains(&page);
            assert_eq!(bytes.iter().all(|byte| *byte == 0), empty, "{}: {page}", entry.name);
        }
    }
}

// A deadline passes with IOs in flight, and each IO completes exactly once.
#[test]
fn deadlines_lose_nothing() {
    let Some(drive) = EmulatedDrive::find() else { return };
    for entry in ENGINES {
        let mut device = open(&drive.options(entry.kind, 4)).unwrap();
        for round in 0..20u64 {
            let at = device.now();
            let io = |stream: u16| {
                let offset = Bytes((round * 4 + u64::from(stream)) * 4096);
                Io { op: Op::Write, stream, offset, len: Bytes(4096), at, data: Data::Random }
            };
            (0..4).for_each(|stream| device.submit(&io(stream)));
            let mut completed = 0;
            while completed < 4 {
                let soon = device.now() + Nanos::micros(round % 5);
                match device.complete(soon) {
                    Some(done) => {
                        assert_eq!(done.result, Ok(()), "{}", entry.name);
                        completed += 1;
                    }
                    None => assert!(device.now() >= soon, "returned before the deadline"),
                }
            }
            assert_eq!(device.complete(Nanos::MAX), None);
        }
    }
}

// If the longest IO does not fit into one command, engines that cannot split it reject the drive.
// For other engines, the kernel splits IOs.
#[test]
fn long_ios_are_split_or_rejected() {
    let Some(drive) = EmulatedDrive::find() else { return };
    let whole = [EngineKind::IoUringCmd, EngineKind::IoUringPolled];
    for entry in ENGINES {
        let options = OpenOptions { max_io: Bytes::mib(8), ..drive.options(entry.kind, 1) };
        match open(&options) {
            Ok(mut device) => {
                assert!(!whole.contains(&entry.kind));
                assert_eq!(one(&mut device, Op::Write, 0, Bytes::mib(8)).result, Ok(()));
            }
            Err(error @ OpenError::Engine { .. }) => {
                assert!(whole.contains(&entry.kind));
                let says = error.to_string();
                assert!(says.contains("IOs of 8 MiB do not fit into one command"), "{says}");
            }
            Err(error) => panic!("{error}"),
        }
    }
}

// The character device is open for reading only.
#[test]
fn read_only_drives_are_never_written() {
    let Some(drive) = EmulatedDrive::find() else { return };
    let before = drive.content();
    let path = drive.path.to_str().unwrap().replace("nvme", "ng");
    let options = OpenOptions { max_io: Bytes(4096), ..OpenOptions::parse(&path).unwrap() };
    let mut device = open(&options).unwrap();
    assert!(device.info().engine.as_ref().unwrap().starts_with("io_uring_cmd"));
    for op in [Op::Write, Op::Trim] {
        assert_eq!(one(&mut device, op, 0, Bytes(4096)).result, Err(Errno::EROFS));
    }
    assert_eq!(one(&mut device, Op::Read, 0, Bytes(4096)).result, Ok(()));
    drop(device);
    assert!(before == drive.content(), "the drive changed");
}
