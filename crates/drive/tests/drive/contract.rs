//! Every engine fulfils the duties of a device, on every kind of file.

#![allow(clippy::print_stdout, reason = "names skipped cases and the reason")]

use std::collections::HashSet;
use std::fs::{self, File};
use std::os::unix::fs::FileExt;
use std::path::Path;

use flashscope_block::{
    Bytes, Completion, Data, Device, DeviceKind, Errno, Io, Nanos, Op, contract,
};
use flashscope_drive::{
    Access, ENGINES, EngineKind, Location, OpenError, OpenOptions, RealDevice, open,
};
use tempfile::TempDir;

/// A folder for files, and true if it supports direct IO.
struct Place {
    directory: TempDir,
    direct: bool,
}

/// Returns a folder on disk with direct IO, and one in memory without.
fn places() -> Vec<Place> {
    let mut places = Vec::new();
    for (parent, direct) in [(env!("CARGO_TARGET_TMPDIR"), true), ("/dev/shm", false)] {
        match TempDir::new_in(parent) {
            Ok(directory) => places.push(Place { directory, direct }),
            Err(error) => println!("skipped: no files in {parent}: {error}"),
        }
    }
    assert!(!places.is_empty(), "no folder for files");
    places
}

impl Place {
    /// Returns options for writing a file of 1 MiB in this folder.
    fn file(&self, name: &str) -> OpenOptions {
        let path = self.directory.path().join(name);
        OpenOptions {
            access: Access::Write { confirmation: path.to_str().map(str::to_owned) },
            direct: self.direct,
            size: Some(Bytes::MIB),
            max_io: Bytes::kib(64),
            ..OpenOptions::new(Location::File(path))
        }
    }
}

/// Opens a drive with an engine, or returns `None` if this machine does not permit it.
fn open_with(engine: EngineKind, depth: u32, options: &OpenOptions) -> Option<RealDevice> {
    let options = OpenOptions { engine: Some(engine), queue_depth: depth, ..options.clone() };
    match open(&options) {
        Ok(device) => Some(device),
        Err(error @ (OpenError::Engine { .. } | OpenError::DirectRefused { .. })) => {
            println!("skipped: {error}");
            None
        }
        Err(error) => panic!("{error}"),
    }
}

/// Runs a test with each engine at queue depths 1 and 4, on a new file in each folder.
fn each(mut test: impl FnMut(&OpenOptions, EngineKind, u32)) {
    for place in places() {
        for entry in ENGINES {
            for depth in [1, 4] {
                let name = format!("{}-{depth}", entry.name);
                test(&place.file(&name), entry.kind, depth);
            }
        }
    }
}

fn io(device: &RealDevice, op: Op, offset: u64, len: Bytes) -> Io {
    Io { op, stream: 0, offset: Bytes(offset), len, at: device.now(), data: Data::Random }
}

fn one(device: &mut RealDevice, op: Op, offset: u64, len: Bytes) -> Completion {
    let io = io(device, op, offset, len);
    device.submit(&io);
    device.complete(Nanos::MAX).expect("an IO is in flight")
}

#[test]
fn every_engine_fulfils_the_contract() {
    each(|options, engine, depth| {
        let Some(mut device) = open_with(engine, depth, options) else { return };
        assert_eq!(device.info().kind, DeviceKind::File);
        assert_eq!(device.info().capacity, Bytes::MIB);
        let name = format!("{}: requested by the caller", engine.entry().name);
        assert!(device.info().engine.as_ref().unwrap().starts_with(&name));
        contract::check(&mut device, true);
    });
}

// The file does not change.
#[test]
fn every_engine_fulfils_the_contract_read_only() {
    each(|options, engine, depth| {
        let Some(mut device) = open_with(engine, depth, options) else { return };
        one(&mut device, Op::Write, 4096, Bytes::kib(64));
        drop(device);
        let path = options.location.path();
        let before = fs::read(path).unwrap();
        let options = OpenOptions { access: Access::ReadOnly, size: None, ..options.clone() };
        let mut device = open_with(engine, depth, &options).unwrap();
        contract::check(&mut device, false);
        assert_eq!(one(&mut device, Op::Trim, 0, Bytes(4096)).result, Err(Errno::EROFS));
        drop(device);
        assert!(before == fs::read(path).unwrap(), "the file changed");
    });
}

// The error is EINVAL, and the file is never extended.
#[test]
fn invalid_ios_are_rejected() {
    each(|options, engine, depth| {
        let Some(mut device) = open_with(engine, depth, options) else { return };
        let end = Bytes::MIB.0;
        let wrong = [
            (end, Bytes(4096)),
            (end - 4096, Bytes(8192)),
            (u64::MAX - 4095, Bytes(4096)),
            (0, Bytes(0)),
            (0, Bytes(100)),
            (100, Bytes(4096)),
            (0, Bytes::kib(128)),
        ];
        for op in [Op::Read, Op::Write] {
            for (offset, len) in wrong {
                let done = one(&mut device, op, offset, len);
                assert_eq!(done.result, Err(Errno::EINVAL), "{:?}", done.io);
            }
            assert_eq!(one(&mut device, op, end - 4096, Bytes(4096)).result, Ok(()));
        }
        drop(device);
        assert_eq!(fs::metadata(options.location.path()).unwrap().len(), end);
    });
}

// The error is ENODATA, also for a read across the end. The device continues to work.
#[test]
fn reads_of_a_truncated_file_fail() {
    each(|options, engine, depth| {
        let Some(mut device) = open_with(engine, depth, options) else { return };
        let half = Bytes::MIB.0 / 2;
        let file = File::options().write(true).open(options.location.path()).unwrap();
        file.set_len(half).unwrap();
        for offset in [half, half - 4096] {
            let done = one(&mut device, Op::Read, offset, Bytes(8192));
            assert_eq!(done.result, Err(Errno::ENODATA), "{}", engine.entry().name);
        }
        assert_eq!(one(&mut device, Op::Read, half - 8192, Bytes(8192)).result, Ok(()));
    });
}

// All written sectors differ, even when a file is overwritten.
#[test]
fn written_data_is_unique_and_in_place() {
    each(|options, engine, depth| {
        let Some(mut device) = open_with(engine, depth, options) else { return };
        let path = options.location.path();
        let mut seen = HashSet::new();
        for _ in 0..2 {
            for offset in (0..Bytes::MIB.0).step_by(32 << 10) {
                assert_eq!(one(&mut device, Op::Write, offset, Bytes::kib(32)).result, Ok(()));
            }
            let data = fs::read(path).unwrap();
            assert!(data.chunks(512).all(|sector| seen.insert(sector.to_vec())));
        }
        let before = fs::read(path).unwrap();
        one(&mut device, Op::Write, 40960, Bytes(4096));
        let after = fs::read(path).unwrap();
        for (i, (before, after)) in before.chunks(4096).zip(after.chunks(4096)).enumerate() {
            assert_eq!(before != after, i == 10, "page {i}");
        }
    });
}

// The offsets may lie in holes.
#[test]
fn offsets_beyond_4_gib_are_reached() {
    let place = &places()[0];
    let far = 5 << 30;
    for entry in ENGINES {
        let options = OpenOptions { size: None, ..place.file(entry.name) };
        let path = options.location.path();
        File::create(path).unwrap().set_len(far + (1 << 20)).unwrap();
        let opened = open(&OpenOptions { engine: Some(entry.kind), ..options.clone() });
        let device = match opened {
            Err(OpenError::NoSpace { .. }) => None,
            opened => {
                // The file cannot be opened for writing twice at the same time.
                drop(opened);
                open_with(entry.kind, 1, &options)
            }
        };
        let Some(mut device) = device else {
            println!("skipped: no space or no {}", entry.name);
            continue;
        };
        for offset in [0, (4 << 30) - 4096, 4 << 30, far] {
            assert_eq!(one(&mut device, Op::Read, offset, Bytes(4096)).result, Ok(()));
        }
        assert_eq!(one(&mut device, Op::Write, far, Bytes(4096)).result, Ok(()));
        let file = File::open(path).unwrap();
        let mut sector = [0; 512];
        file.read_exact_at(&mut sector, far).unwrap();
        assert_ne!(sector, [0; 512]);
        file.read_exact_at(&mut sector, far & 0xffff_ffff).unwrap();
        assert_eq!(sector, [0; 512], "written at an offset 4 GiB too low");
        drop(device);
        fs::remove_file(path).unwrap();
    }
}

// A trim creates a hole in exactly its range.
#[test]
fn trim_frees_the_range() {
    each(|options, engine, depth| {
        let Some(mut device) = open_with(engine, depth, options) else { return };
        one(&mut device, Op::Write, 0, Bytes::kib(64));
        match one(&mut device, Op::Trim, 8192, Bytes(4096)).result {
            Err(Errno::EOPNOTSUPP) => return println!("skipped: no holes here"),
            result => assert_eq!(result, Ok(())),
        }
        let data = fs::read(options.location.path()).unwrap();
        for (i, page) in data[..64 << 10].chunks(4096).enumerate() {
            assert_eq!(page == [0; 4096], i == 2, "page {i}");
        }
    });
}

// Every IO completes exactly once, even if a deadline passes while IOs are in flight.
#[test]
fn deadlines_lose_nothing() {
    each(|options, engine, depth| {
        let Some(mut device) = open_with(engine, depth, options) else { return };
        for round in 0..50u64 {
            let mut missing: HashSet<u16> = (0..u16::try_from(depth).unwrap()).collect();
            for stream in missing.clone() {
                let offset = Bytes((round + u64::from(stream)) * 4096);
                let io = Io { stream, offset, ..io(&device, Op::Write, 0, Bytes(4096)) };
                device.submit(&io);
            }
            while !missing.is_empty() {
                let soon = device.now() + Nanos::micros(round % 3);
                let Some(done) = device.complete(soon) else {
                    assert!(device.now() >= soon, "returned before the deadline");
                    continue;
                };
                assert_eq!(done.result, Ok(()));
                assert!(missing.remove(&done.io.stream), "completed twice");
            }
        }
        assert_eq!(device.complete(Nanos::MAX), None);
    });
}

// The drop waits until the kernel no longer uses the buffers of queued and submitted IOs.
#[test]
fn devices_can_be_dropped_with_ios_in_flight() {
    each(|options, engine, depth| {
        let Some(mut device) = open_with(engine, depth, options) else { return };
        for i in 0..u64::from(depth) {
            device.submit(&io(&device, Op::Write, i * 4096, Bytes(4096)));
        }
        if engine != EngineKind::Psync {
            let _ = device.complete(Nanos(0));
        }
        drop(device);
    });
}

// Rejections come between other completions.
#[test]
fn rejections_stay_in_order() {
    each(|options, engine, depth| {
        let Some(mut device) = open_with(engine, depth, options) else { return };
        let mut last = Nanos(0);
        for _ in 0..20 {
            for i in 0..depth {
                let offset = if i % 2 == 0 { 0 } else { u64::MAX - 4095 };
                device.submit(&io(&device, Op::Read, offset, Bytes(4096)));
            }
            for _ in 0..depth {
                let done = device.complete(Nanos::MAX).unwrap();
                assert_eq!(done.result.is_ok(), done.io.offset == Bytes(0));
                assert!(last <= done.completed && done.submitted <= done.completed);
                last = done.completed;
            }
        }
    });
}

// The chosen engine works.
#[test]
fn the_choice_of_the_engine_is_explained() {
    for place in places() {
        for depth in [1, 4] {
            let options = OpenOptions { queue_depth: depth, ..place.file("chosen") };
            let device = match open(&options) {
                Err(OpenError::DirectRefused { .. }) => continue,
                device => device.unwrap(),
            };
            let text = device.info().engine.clone().unwrap();
            let (name, reason) = text.split_once(": ").unwrap();
            let kind: EngineKind = name.parse().unwrap();
            assert!(!reason.is_empty());
            assert_eq!(depth == 1, reason.contains("queue depth 1"), "{text}");
            assert!(depth == 1 || kind != EngineKind::IoUring || !reason.contains("RWF_NOWAIT"));
        }
    }
}

fn error_of(options: &OpenOptions) -> OpenError {
    open(options).err().expect("opening must fail")
}

// The file is fully allocated. A read-only benchmark of a missing file gets a hint.
#[test]
fn files_are_created_on_request() {
    use std::os::unix::fs::MetadataExt;
    for place in places() {
        let options = place.file("new");
        let path = options.location.path();
        let reading = OpenOptions { access: Access::ReadOnly, ..options.clone() };
        assert!(matches!(error_of(&reading), OpenError::Missing { .. }));
        let unsized_file = OpenOptions { size: None, ..options.clone() };
        assert!(error_of(&unsized_file).to_string().contains("?size="));
        assert!(!path.exists());
        match open(&options) {
            Err(OpenError::DirectRefused { .. }) => continue,
            device => drop(device.unwrap()),
        }
        let metadata = fs::metadata(path).unwrap();
        assert_eq!(metadata.len(), Bytes::MIB.0);
        assert!(metadata.blocks() * 512 >= Bytes::MIB.0, "not fully allocated");

        let used = |size| {
            let options = OpenOptions { size: Some(size), ..options.clone() };
            open(&options).unwrap().info().capacity
        };
        assert_eq!(used(Bytes::mib(2)), Bytes::mib(2));
        assert_eq!(used(Bytes::MIB), Bytes::MIB);
        assert_eq!(fs::metadata(path).unwrap().len(), Bytes::mib(2).0, "the file was truncated");
        let too_much = OpenOptions { size: Some(Bytes::mib(3)), ..reading };
        assert!(matches!(error_of(&too_much), OpenError::Option { .. }));
    }
}

// No file is left behind.
#[test]
fn file_systems_are_not_filled() {
    for place in places() {
        let options = OpenOptions { size: Some(Bytes::gib(1 << 20)), ..place.file("huge") };
        assert!(matches!(error_of(&options), OpenError::NoSpace { .. }));
        assert!(!options.location.path().exists(), "a file was left behind");
        // Writing a sparse file would fill the file system too.
        let path = options.location.path();
        let sparse = File::create(path).unwrap();
        if sparse.set_len(Bytes::gib(1 << 12).0).is_err() {
            println!("skipped: no sparse files of that size here");
            continue;
        }
        let options = OpenOptions { size: None, ..options };
        assert!(matches!(error_of(&options), OpenError::NoSpace { .. }));
    }
}

// The error states the kind.
#[test]
fn other_kinds_are_refused() {
    let message = |location| error_of(&OpenOptions::new(location)).to_string();
    let directory = TempDir::new().unwrap();
    let file = directory.path().join("file");
    fs::write(&file, "").unwrap();
    assert!(message(Location::File(directory.path().into())).contains("is a directory"));
    assert!(message(Location::File("/dev/null".into())).contains("is a character device"));
    let of_file = message(Location::BlockDevice(file.clone()));
    assert!(of_file.contains(&format!("write `file:{}`", file.display())), "{of_file}");
    assert!(message(Location::File(file)).contains("not even one block"));
    assert!(message(Location::BlockDevice("/nowhere".into())).contains("does not exist"));
    let place = &places()[0];
    let odd = OpenOptions { max_io: Bytes(1000), ..place.file("odd") };
    assert!(error_of(&odd).to_string().contains("not multiples of its logical block size"));
}

// The suggested remedy works.
#[test]
fn file_systems_without_direct_io_are_refused() {
    let directory = TempDir::new_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let mount = |path: &Path| {
        let mut command = std::process::Command::new("mount");
        command.args(["-t", "ramfs", "ramfs"]).arg(path);
        command.output().is_ok_and(|output| output.status.success())
    };
    if !mount(directory.path()) {
        return println!("skipped: no ramfs can be mounted");
    }
    let result = std::panic::catch_unwind(|| {
        let path = directory.path().join("file");
        fs::write(&path, vec![1; 1 << 20]).unwrap();
        let options = OpenOptions::new(Location::File(path));
        let refused = error_of(&options);
        assert!(matches!(refused, OpenError::DirectRefused { .. }), "{refused}");
        assert!(refused.to_string().contains("?direct=false"));
        let buffered = OpenOptions { direct: false, ..options };
        contract::check(&mut open(&buffered).unwrap(), false);
    });
    let unmounted = std::process::Command::new("umount").arg(directory.path()).status().unwrap();
    assert!(unmounted.success());
    result.unwrap();
}
