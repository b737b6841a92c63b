//! Changes during an operation: a name that leads to another device between the check and the
//! opening, and a device that shrinks.

use std::os::unix::fs::FileTypeExt;
use std::sync::atomic::{AtomicBool, Ordering};

use flashscope_block::{Completion, Io, Nanos, Op};

use super::*;

/// The number of openings while a name is being exchanged.
const TRIES: usize = 2000;

/// Writes a block of 4 KiB at an offset and waits for its completion.
fn write_at(device: &mut RealDevice, offset: Bytes) -> Completion {
    let (at, data) = (device.now(), Data::Random);
    device.submit(&Io { op: Op::Write, stream: 0, offset, len: Bytes::kib(4), data, at });
    device.complete(Nanos::MAX).expect("the IO completes")
}

/// Makes a link lead to two targets in turn until `stop` is set. Uses renames, which never leave
/// the link missing.
fn exchange(link: &Path, places: [&Path; 2], stop: &AtomicBool) {
    let other = link.with_extension("other");
    for place in places.into_iter().cycle() {
        symlink(place, &other).unwrap();
        fs::rename(&other, link).unwrap();
        if stop.load(Ordering::Relaxed) {
            return;
        }
    }
}

// A link leads in turn to an idle device and to a device with data. The idle device is opened at
// least sometimes.
#[test]
fn a_name_that_is_exchanged_never_leads_to_data() {
    let write_xfs = |file: &File| file.write_all_at(b"XFSB", 0).unwrap();
    let (Some(idle), Some(precious)) = (Loop::new(), Loop::with(&[], write_xfs)) else { return };
    let link = idle.directory.path().join("by-id");
    symlink(&idle.device, &link).unwrap();
    let stop = AtomicBool::new(false);
    let (mut written, mut exchanged) = (0, 0);
    // Skips the check for processes that have the device open, because it takes longer than the
    // link leads to one device.
    let options = OpenOptions { ignore_open_by_others: true, ..writing(&link) };
    std::thread::scope(|scope| {
        scope.spawn(|| exchange(&link, [&precious.device, &idle.device], &stop));
        for _ in 0..TRIES {
            match open(&options) {
                Ok(mut device) => {
                    write_at(&mut device, Bytes::mib(1)).result.unwrap();
                    written += 1;
                }
                Err(OpenError::Refused(Refusal::Changed { .. })) => exchanged += 1,
                Err(OpenError::Refused(Refusal::Signature { .. } | Refusal::Busy { .. })) => {}
                Err(error) => panic!("{error}"),
            }
        }
        stop.store(true, Ordering::Relaxed);
    });
    println!(
        "{written} of {TRIES} openings reached the idle device; {exchanged} detected an exchange"
    );
    assert!(written > 0);
    let mut bytes = vec![0; 2 << 20];
    File::open(&precious.image).unwrap().read_exact_at(&mut bytes, 0).unwrap();
    assert!(bytes.starts_with(b"XFSB") && bytes[4..].iter().all(|byte| *byte == 0));
}

#[test]
fn an_open_device_keeps_its_number() {
    let Some(device) = Loop::new() else { return };
    let held = File::open(&device.device).unwrap();
    let other = device.directory.path().join("other");
    File::create(&other).unwrap().set_len(Bytes::mib(64).0).unwrap();
    assert!(run("losetup", &["--detach", device.path()]));
    // The kernel detaches an open device only when it is closed. Until then, the number is in use.
    assert!(!run("losetup", &[device.path(), other.to_str().unwrap()]));
    drop(held);
    assert!(run("losetup", &[device.path(), other.to_str().unwrap()]));
}

/// Opens a new loop device for writing with each available engine that supports loop devices.
fn by_each_engine(mut look: impl FnMut(&str, &Loop, &mut RealDevice)) {
    for engine in ENGINES.iter().filter(|engine| !engine.name.starts_with("io_uring_")) {
        let Some(device) = Loop::new() else { return };
        let options = OpenOptions { engine: Some(engine.kind), ..writing(&device.device) };
        let Ok(mut open) = open(&options) else { continue };
        look(engine.name, &device, &mut open);
    }
}

// The error concerns writes beyond the new end. Writes before it still succeed.
#[test]
fn shrinking_devices_return_errors() {
    by_each_engine(|engine, device, open| {
        let last = Bytes(open.info().capacity.0 - Bytes::kib(4).0);
        write_at(open, last).result.unwrap();
        device.shrink(Bytes::mib(32));
        let answer = write_at(open, last).result;
        assert!(answer.is_err(), "{engine}: {answer:?}");
        write_at(open, Bytes(0)).result.unwrap();
        assert_eq!(fs::metadata(&device.image).unwrap().len(), Bytes::mib(32).0);
    });
}

// The kernel reports a device of size 0, such as a removed drive, as full.
#[test]
fn removed_devices_are_reported_as_gone() {
    by_each_engine(|engine, device, open| {
        write_at(open, Bytes(0)).result.unwrap();
        device.shrink(Bytes(0));
        let answer = write_at(open, Bytes(0)).result;
        assert_eq!(answer, Err(Errno::ENODEV), "{engine}");
    });
}

// The link is relative, like those in /dev/disk/by-id. Only the path of the link as typed, and the
// path of the device that it leads to, are accepted as confirmations.
#[test]
fn a_link_confirms_by_its_name_and_target() {
    let Some(device) = Loop::new() else { return };
    let folder = device.directory.path().join("dev/disk/by-id");
    fs::create_dir_all(&folder).unwrap();
    symlink(&device.device, device.directory.path().join("dev/loop")).unwrap();
    let name = folder.join("nvme-FLASH_S1");
    symlink("../../loop", &name).unwrap();
    assert!(fs::metadata(&name).unwrap().file_type().is_block_device());
    let confirmed = |given: &str| OpenOptions {
        access: Access::Write { confirmation: Some(given.into()) },
        ..writing(&name)
    };
    opened(&confirmed(name.to_str().unwrap()));
    opened(&confirmed(device.path()));
    for given in ["nvme-FLASH_S1", "../../loop", "S1"] {
        assert!(matches!(refusal(&confirmed(given)), Refusal::WrongConfirmation { .. }), "{given}");
    }
}
