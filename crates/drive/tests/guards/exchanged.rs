//! What changes under way: another device behind a name between the check and the opening, and a device that shrinks.

use std::os::unix::fs::FileTypeExt;
use std::sync::atomic::{AtomicBool, Ordering};

use flashscope_block::{Completion, Io, Nanos, Op};

use super::*;

/// Openings while a name is exchanged.
const TRIES: usize = 2000;

/// Writes a block of 4 KiB at an offset and waits for the answer.
fn write_at(device: &mut RealDevice, offset: Bytes) -> Completion {
    let (at, data) = (device.now(), Data::Random);
    device.submit(&Io { op: Op::Write, stream: 0, offset, len: Bytes::kib(4), data, at });
    device.complete(Nanos::MAX).expect("an answer")
}

/// Lets two names lead to two places by turns until told to stop, by a rename, which leaves no moment without one.
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

// While a link leads now to an idle device and now to one that bears data, is the latter ever opened for writing, however
// often it is tried; and is the former sometimes, so that this says something?
#[test]
fn a_name_that_is_exchanged_never_leads_to_data() {
    let bears = |file: &File| file.write_all_at(b"XFSB", 0).unwrap();
    let (Some(idle), Some(precious)) = (Loop::new(), Loop::with(&[], bears)) else { return };
    let link = idle.directory.path().join("by-id");
    symlink(&idle.device, &link).unwrap();
    let stop = AtomicBool::new(false);
    let (mut written, mut exchanged) = (0, 0);
    // To look who else has it open takes longer than the moments that are in question.
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
        "of {TRIES} openings {written} were of the idle device; {exchanged} noticed an exchange"
    );
    assert!(written > 0);
    let mut bytes = vec![0; 2 << 20];
    File::open(&precious.image).unwrap().read_exact_at(&mut bytes, 0).unwrap();
    assert!(bytes.starts_with(b"XFSB") && bytes[4..].iter().all(|byte| *byte == 0));
}

// As long as a device is open, can another get its number?
#[test]
fn a_number_stays_with_what_is_open() {
    let Some(device) = Loop::new() else { return };
    let held = File::open(&device.device).unwrap();
    let other = device.directory.path().join("other");
    File::create(&other).unwrap().set_len(Bytes::mib(64).0).unwrap();
    assert!(detach(device.path()));
    // It is only marked for later: the number is taken.
    assert!(!run("losetup", &[device.path(), other.to_str().unwrap()]));
    drop(held);
    assert!(run("losetup", &[device.path(), other.to_str().unwrap()]));
}

/// Opens a loop device of its own for writing by each engine that there is here.
fn by_each_engine(mut look: impl FnMut(&str, &Loop, &mut RealDevice)) {
    for engine in ENGINES.iter().filter(|engine| !engine.name.starts_with("io_uring_")) {
        let Some(device) = Loop::new() else { return };
        let options = OpenOptions { engine: Some(engine.kind), ..writing(&device.device) };
        let Ok(mut open) = open(&options) else { continue };
        look(engine.name, &device, &mut open);
    }
}

// Is a device that becomes smaller while it is measured answered with an error beyond its end, by every engine, and is
// what is left of it written still?
#[test]
fn a_device_that_shrinks_is_noticed() {
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

// Is a device without any bytes left, as a drive has none that was removed, told as gone by every engine, where the kernel
// answers that it is full?
#[test]
fn a_removed_device_was_full() {
    by_each_engine(|engine, device, open| {
        write_at(open, Bytes(0)).result.unwrap();
        device.shrink(Bytes(0));
        let answer = write_at(open, Bytes(0)).result;
        assert_eq!(answer, Err(Errno::ENODEV), "{engine}");
    });
}

// Is a name like those of /dev/disk/by-id, a link with a relative path, confirmed as it was typed and by where it leads,
// and by nothing else?
#[test]
fn a_name_by_id_is_a_name() {
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
