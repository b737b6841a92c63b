use std::fs;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::process::Command;

use crate::machine::{AttachedDrive, Loop, MountedFileSystem, has_fuse, place, run, success};

/// Returns content that no other file has.
fn content(file: u32, len: u32) -> Vec<u8> {
    let word = |i: u32| (file.wrapping_mul(2_654_435_761) ^ i).wrapping_mul(0x9e37_79b9);
    (0..len / 4).flat_map(|i| word(i).to_le_bytes()).collect()
}

#[test]
fn ext4_is_sound_after_writes_trim_and_unmount() {
    if !has_fuse(&["losetup", "mkfs.ext4", "fsck.ext4", "fstrim"]) {
        return;
    }
    let place = place();
    let attached = AttachedDrive::fuse(place.path(), "sim:demo", &["--speed", "max"]);
    let device = Loop::new(&attached.place);
    run("mkfs.ext4", &["-q", &device.0]);
    {
        let mounted = MountedFileSystem::new(&device, place.path());
        let path = |number: u32| mounted.0.join(number.to_string());
        for number in 0..64 {
            fs::write(path(number), content(number, 1 << 20)).unwrap();
        }
        for number in 0..32 {
            fs::remove_file(path(number)).unwrap();
        }
        run("fstrim", &[mounted.0.to_str().unwrap()]);
        let changed = fs::File::options().write(true).open(path(40)).unwrap();
        changed.write_all_at(b"changed", 5000).unwrap();
    }
    run("fsck.ext4", &["-f", "-n", &device.0]);
    let mounted = MountedFileSystem::new(&device, place.path());
    for number in 32..64 {
        let mut expected = content(number, 1 << 20);
        if number == 40 {
            expected[5000..5007].copy_from_slice(b"changed");
        }
        let found = fs::read(mounted.0.join(number.to_string())).unwrap();
        assert!(found == expected, "file {number}");
    }
    assert!(!mounted.0.join("0").exists());
    drop(mounted);
    drop(device);
    assert_eq!(attached.stop(), Some(0));
}

#[test]
fn drive_that_ends_in_use_is_unmounted_with_a_note() {
    if !has_fuse(&["losetup"]) {
        return;
    }
    let place = place();
    let attached = AttachedDrive::fuse(place.path(), "sim:demo", &["--speed", "max"]);
    let (file, device) = (attached.place.clone(), Loop::new(&attached.place));
    let start = [&format!("if={}", device.0), "of=/dev/null", "bs=4k", "count=1"];
    let read = || success(Command::new("dd").args(start).arg("iflag=direct"));
    assert!(read());
    assert_eq!(attached.stop(), Some(1));
    assert!(!Path::new(&file).exists() && !read());
}
