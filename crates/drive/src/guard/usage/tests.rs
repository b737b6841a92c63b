use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::symlink;

use super::*;

/// A fake machine with the disk sda (8:0), its partitions sda1 (8:1) and sda2 (8:2), and the
/// empty disk loop0 (7:0), none of them in use.
struct Machine {
    root: tempfile::TempDir,
}

const SDA: DeviceNumber = DeviceNumber { major: 8, minor: 0 };
const SDA1: DeviceNumber = DeviceNumber { major: 8, minor: 1 };
const SDA2: DeviceNumber = DeviceNumber { major: 8, minor: 2 };

impl Machine {
    fn new() -> Machine {
        let machine = Machine { root: tempfile::tempdir().unwrap() };
        machine.write("proc/self/mountinfo", "22 27 0:21 / /proc rw - proc proc rw\n");
        machine.write("proc/swaps", "Filename Type Size Used Priority\n");
        fs::create_dir_all(machine.path("sys/dev/block")).unwrap();
        fs::create_dir_all(machine.path("sys/block")).unwrap();
        for (number, place) in
            [("8:0", "sda"), ("8:1", "sda/sda1"), ("8:2", "sda/sda2"), ("7:0", "loop0")]
        {
            let directory = format!("sys/devices/block/{place}");
            machine.write(&format!("{directory}/dev"), &format!("{number}\n"));
            fs::create_dir_all(machine.path(&directory).join("holders")).unwrap();
            if place.contains('/') {
                machine.write(&format!("{directory}/partition"), "1\n");
            } else {
                let link = machine.path(&format!("sys/block/{place}"));
                symlink(machine.path(&directory), link).unwrap();
            }
            let link = machine.path(&format!("sys/dev/block/{number}"));
            symlink(machine.path(&directory), link).unwrap();
        }
        machine
    }

    /// Adds a disk.
    fn disk(&self, name: &str, number: &str) {
        let directory = self.path(&format!("sys/devices/block/{name}"));
        self.write(&format!("sys/devices/block/{name}/dev"), number);
        symlink(&directory, self.path(&format!("sys/block/{name}"))).unwrap();
        symlink(&directory, self.path(&format!("sys/dev/block/{number}"))).unwrap();
    }

    fn path(&self, name: &str) -> PathBuf {
        self.root.path().join(name)
    }

    fn write(&self, name: &str, text: &str) {
        fs::create_dir_all(self.path(name).parent().unwrap()).unwrap();
        fs::write(self.path(name), text).unwrap();
    }

    fn check(&self, identity: Identity) -> Result<(), Refusal> {
        System::at(self.root.path()).check_unused(Path::new("drive"), identity)
    }

    /// Returns true for each of sda, sda1 and sda2 that may be written.
    fn writable(&self) -> [bool; 3] {
        [SDA, SDA1, SDA2].map(|number| self.check(Identity::Block(number)).is_ok())
    }
}

// The other tests prove nothing unless the devices of an idle machine are free.
#[test]
fn devices_of_an_idle_machine_are_free() {
    assert_eq!(Machine::new().writable(), [true; 3]);
}

// A mounted partition protects itself and its disk, but not its sibling. A mounted disk protects
// all its partitions.
#[test]
fn mounts_protect_relatives() {
    let machine = Machine::new();
    let mounted = |number: &str| {
        let line = format!("42 27 {number} / /mnt/my\\040data rw shared:1 - ext4 none rw\n");
        machine.write("proc/self/mountinfo", &line);
    };
    mounted("8:1");
    assert_eq!(machine.writable(), [false, false, true]);
    let refusal = machine.check(Identity::Block(SDA)).unwrap_err();
    assert_eq!(
        refusal.to_string(),
        "`drive` is in use: /dev/sda1 is mounted at `/mnt/my data`; unmount it first"
    );
    mounted("8:0");
    assert_eq!(machine.writable(), [false; 3]);
    mounted("9:0");
    assert_eq!(machine.writable(), [true; 3]);
}

#[test]
fn read_only_devices_are_refused() {
    let machine = Machine::new();
    machine.write("sys/devices/block/sda/sda1/ro", "1\n");
    machine.write("sys/devices/block/sda/sda2/ro", "0\n");
    assert_eq!(machine.writable(), [true, false, true]);
    let refusal = machine.check(Identity::Block(SDA1)).unwrap_err();
    assert!(matches!(refusal, Refusal::ReadOnly { .. }));
}

// Holders are LVM, RAID and device mapper.
#[test]
fn holders_protect_relatives() {
    let machine = Machine::new();
    machine.write("sys/devices/block/sda/sda2/holders/dm-0", "");
    assert_eq!(machine.writable(), [false, true, false]);
    let refusal = machine.check(Identity::Block(SDA)).unwrap_err();
    assert!(matches!(refusal, Refusal::Held { .. }));
    assert!(refusal.to_string().contains("/dev/sda2 is part of /dev/dm-0"), "{refusal}");

    let machine = Machine::new();
    machine.write("sys/devices/block/sda/holders/md0", "");
    assert_eq!(machine.writable(), [false; 3]);
}

// The file serves as swap or backs a loop device. Links and names with spaces lead to the same
// file.
#[test]
fn files_in_use_are_refused() {
    let machine = Machine::new();
    machine.write("my file", "");
    machine.write("other", "");
    let [file, link, other] = ["my file", "link", "other"].map(|name| machine.path(name));
    symlink(&file, &link).unwrap();
    let check = |path: &Path| machine.check(Identity::from(&fs::metadata(path).unwrap()));

    let escaped = file.to_str().unwrap().replace(' ', "\\040");
    machine.write("proc/swaps", &format!("Filename Type\n{escaped} file 1 0 -2\n"));
    assert!(matches!(check(&link), Err(Refusal::Swap { .. })));
    assert!(check(&other).is_ok());

    machine.write("proc/swaps", "Filename Type\n");
    assert!(check(&file).is_ok());
    let backing = format!("{}\n", link.display());
    machine.write("sys/devices/block/loop0/loop/backing_file", &backing);
    let refusal = check(&file).unwrap_err().to_string();
    assert!(
        refusal.contains("the loop device /dev/loop0 exposes its content; `losetup"),
        "{refusal}"
    );
    machine.write("proc/self/mountinfo", "42 27 7:0 / /mnt rw - ext4 none rw\n");
    let refusal = check(&file).unwrap_err().to_string();
    assert!(
        refusal.contains("exposes its content, mounted at `/mnt`; unmount it, and"),
        "{refusal}"
    );
    assert!(check(&other).is_ok());
}

// The name of the backing file is not UTF-8. If the attribute with the name is unreadable, the
// check fails.
#[test]
fn backing_files_with_odd_names_are_refused() {
    let machine = Machine::new();
    let odd = machine.root.path().join(OsStr::from_bytes(b"caf\xe9"));
    fs::write(&odd, "").unwrap();
    let name = [odd.as_os_str().as_bytes(), b"\n"].concat();
    let attribute = "sys/devices/block/loop0/loop/backing_file";
    machine.write(attribute, "");
    fs::write(machine.path(attribute), name).unwrap();
    let file = Identity::from(&fs::metadata(&odd).unwrap());
    assert!(matches!(machine.check(file), Err(Refusal::LoopBacking { .. })));

    // Reading the attribute fails here because it is a directory. The kernel's attribute cannot
    // be read if the name is too long.
    fs::remove_file(machine.path(attribute)).unwrap();
    fs::create_dir(machine.path(attribute)).unwrap();
    assert!(matches!(machine.check(file), Err(Refusal::Unknown { .. })));
}

// Another loop device has the same backing file, or that file serves as swap.
#[test]
fn loop_devices_over_files_in_use_are_refused() {
    let machine = Machine::new();
    machine.disk("loop1", "7:1");
    let [image, link, other] = ["image", "link", "other"].map(|name| machine.path(name));
    machine.write("image", "");
    machine.write("other", "");
    symlink(&image, &link).unwrap();
    let attach = |name: &str, file: &Path| {
        let attribute = format!("sys/devices/block/{name}/loop/backing_file");
        machine.write(&attribute, &format!("{}\n", file.display()));
    };
    let loops = [0, 1].map(|minor| Identity::Block(DeviceNumber { major: 7, minor }));
    let free = || loops.map(|device| machine.check(device).is_ok());
    attach("loop0", &image);
    attach("loop1", &other);
    assert_eq!(free(), [true; 2]);
    attach("loop1", &link);
    assert_eq!(free(), [false; 2]);
    let refusal = machine.check(loops[0]).unwrap_err().to_string();
    assert!(
        refusal.contains("the loop device /dev/loop1 exposes its content; `losetup"),
        "{refusal}"
    );

    attach("loop1", &other);
    let swap = format!("Filename Type\n{} file 1 0 -2\n", image.display());
    machine.write("proc/swaps", &swap);
    assert_eq!(free(), [false, true]);
    machine.write("proc/swaps", "");
    attach("loop1", &machine.path("gone"));
    assert!(matches!(machine.check(loops[1]), Err(Refusal::Unknown { .. })));
}

// An extended partition overlaps the partitions that it contains. Adjacent partitions do not
// overlap.
#[test]
fn overlapping_partitions_protect_each_other() {
    let machine = Machine::new();
    let place = |name: &str, start: u64, size: u64| {
        machine.write(&format!("sys/devices/block/sda/{name}/start"), &format!("{start}\n"));
        machine.write(&format!("sys/devices/block/sda/{name}/size"), &format!("{size}\n"));
    };
    machine.write("proc/self/mountinfo", "42 27 8:1 / /mnt rw - ext4 none rw\n");
    place("sda1", 4096, 2048);
    for (start, size, free) in [
        (2048, 2048, true),
        (6144, 2048, true),
        (2048, 2049, false),
        (6143, 1, false),
        (4097, 10, false),
        (0, u64::MAX, false),
    ] {
        place("sda2", start, size);
        assert_eq!(machine.writable(), [false, false, free], "{start} {size}");
    }
}

// The kernel gives no information about the device.
#[test]
fn unknown_devices_are_refused() {
    let machine = Machine::new();
    let unknown = Identity::Block(DeviceNumber { major: 99, minor: 0 });
    assert!(matches!(machine.check(unknown), Err(Refusal::Unknown { .. })));
    fs::remove_file(machine.path("proc/self/mountinfo")).unwrap();
    assert!(matches!(machine.check(Identity::Block(SDA)), Err(Refusal::Unknown { .. })));
}

// Other backslashes stay unchanged.
#[test]
fn escapes_are_decoded() {
    assert_eq!(unescape(r"a\040b\134c"), r"a b\c");
    assert_eq!(unescape(r"a\04"), r"a\04");
    assert_eq!(unescape(r"\999"), r"\999");
}
