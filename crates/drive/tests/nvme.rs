//! Does every engine do on an NVMe drive what a device owes its caller?
//!
//! On the emulated drive of `make test-nvme` alone, in its virtual machine: anywhere else these tests
//! find none and say so.

#![allow(clippy::print_stdout, reason = "says what is passed by, and why")]

use std::fs::{self, File};
use std::os::unix::fs::FileExt;
use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard, PoisonError};

use flashscope_block::{Bytes, Completion, Data, Device, Errno, Io, Nanos, Op, contract};
use flashscope_drive::{
    Access, ENGINES, EngineKind, Location, OpenError, OpenOptions, RealDevice, open,
};

/// The serial number that `scripts/test-nvme` gives the drive of these tests.
const SERIAL: &str = "FLASH-CONTRACT";

/// One test at a time has the drive.
static DRIVE: Mutex<()> = Mutex::new(());

/// The drive, if this is the virtual machine.
struct Emulated {
    path: PathBuf,
    _alone: MutexGuard<'static, ()>,
}

impl Emulated {
    fn find() -> Option<Emulated> {
        let is = |path: &PathBuf, name: &str, expected: &str| {
            let text = fs::read_to_string(path.join("device").join(name)).unwrap_or_default();
            text.trim() == expected
        };
        let disks = fs::read_dir("/sys/block").ok()?.flatten().map(|entry| entry.path());
        let disk = disks
            .filter(|disk| is(disk, "model", "QEMU NVMe Ctrl"))
            .find(|disk| is(disk, "serial", SERIAL));
        let Some(disk) = disk else {
            println!("passed by: this is not the virtual machine of `make test-nvme`");
            return None;
        };
        let path = PathBuf::from("/dev").join(disk.file_name()?);
        let alone = DRIVE.lock().unwrap_or_else(PoisonError::into_inner);
        Some(Emulated { path, _alone: alone })
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

    /// What is on the first 64 KiB.
    fn content(&self) -> Vec<u8> {
        let mut content = vec![0; 64 << 10];
        File::open(&self.path).unwrap().read_exact_at(&mut content, 0).unwrap();
        content
    }
}

fn one(device: &mut RealDevice, op: Op, offset: u64, len: Bytes) -> Completion {
    let (offset, at) = (Bytes(offset), device.now());
    device.submit(&Io { op, stream: 0, offset, len, at, data: Data::Random });
    device.complete(Nanos::MAX).expect("it is in flight")
}

// Does every engine, polled queues and passthrough too, keep the contract, for writing and reading?
#[test]
fn every_engine_keeps_the_contract() {
    let Some(drive) = Emulated::find() else { return };
    for entry in ENGINES {
        for depth in [1, 4, 32] {
            let options = drive.options(entry.kind, depth);
            contract::check(&mut open(&options).unwrap(), true);
            let reading = OpenOptions { access: Access::ReadOnly, ..options };
            contract::check(&mut open(&reading).unwrap(), false);
        }
    }
}

// Does every engine write where it is told, trim what it is told, and nothing beside it?
#[test]
fn data_are_in_place() {
    let Some(drive) = Emulated::find() else { return };
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

// Is a deadline met with an IO in flight, and the IO answered afterwards?
#[test]
fn deadlines_lose_nothing() {
    let Some(drive) = Emulated::find() else { return };
    for entry in ENGINES {
        let mut device = open(&drive.options(entry.kind, 4)).unwrap();
        for round in 0..20u64 {
            let at = device.now();
            let io = |stream: u16| {
                let offset = Bytes((round * 4 + u64::from(stream)) * 4096);
                Io { op: Op::Write, stream, offset, len: Bytes(4096), at, data: Data::Random }
            };
            (0..4).for_each(|stream| device.submit(&io(stream)));
            let mut answered = 0;
            while answered < 4 {
                let soon = device.now() + Nanos::micros(round % 5);
                match device.complete(soon) {
                    Some(done) => {
                        assert_eq!(done.result, Ok(()), "{}", entry.name);
                        answered += 1;
                    }
                    None => assert!(device.now() >= soon, "returned before the deadline"),
                }
            }
            assert_eq!(device.complete(Nanos::MAX), None);
        }
    }
}

// Is an IO that does not fit in one command refused by the engines for which nothing splits it when
// the drive is opened, and split by the kernel for the others?
#[test]
fn long_ios() {
    let Some(drive) = Emulated::find() else { return };
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
                assert!(says.contains("IOs of 8 MiB do not fit in one command"), "{says}");
            }
            Err(error) => panic!("{error}"),
        }
    }
}

// Is a write through the character device answered as one that was opened for reading alone?
#[test]
fn reading_alone_writes_nothing() {
    let Some(drive) = Emulated::find() else { return };
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
