//! The users of a device or file: mounts, holders, swap and loop devices.

#![allow(unsafe_code, reason = "declares the size of the argument of a loop device ioctl")]

use std::ffi::OsString;
use std::fs::{self, File, Metadata};
use std::io;
use std::ops::Range;
use std::os::unix::ffi::OsStringExt;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};

use super::{DeviceNumber, Identity, Refusal};
use crate::hardware::text;
use crate::ioctl::Request;

/// `LOOP_GET_STATUS64` of `linux/loop.h`, which the C library does not define.
// SAFETY: the ioctl writes a `loop_info64`, which is valid for any bytes; other block devices
// reject it.
const LOOP_GET_STATUS64: Request<LoopStatus> = unsafe { Request::new(0x4C05) };

/// The kernel's `loop_info64`, in which only the fields in use have names.
#[repr(C)]
struct LoopStatus {
    device: u64,
    inode: u64,
    block_device: u64,
    rest: [u64; 26],
}

/// The root of `/proc`, `/sys` and `/dev`, through which the kernel describes the system.
#[derive(Debug, Clone)]
pub struct System {
    root: PathBuf,
}

impl Default for System {
    fn default() -> Self {
        System::at(Path::new("/"))
    }
}

/// The device to be written, or a device related to it: its whole disk or one of its partitions.
#[derive(Debug)]
struct Relative {
    /// Its name below `/dev`.
    name: String,
    number: DeviceNumber,
    directory: PathBuf,
}

/// A mounted file system.
#[derive(Debug, PartialEq, Eq)]
struct Mount {
    number: Option<DeviceNumber>,
    source: String,
    at: String,
}

impl System {
    /// Uses `proc`, `sys` and `dev` below `root`.
    pub fn at(root: &Path) -> System {
        System { root: root.into() }
    }

    /// Returns a path below the root.
    pub(crate) fn path(&self, below: &str) -> PathBuf {
        self.root.join(below)
    }

    /// Returns the sysfs directory of a device.
    pub(crate) fn directory(&self, number: DeviceNumber) -> io::Result<PathBuf> {
        self.root.join(format!("sys/dev/block/{number}")).canonicalize()
    }

    /// Returns the sysfs directory of the whole disk that a device belongs to.
    pub(crate) fn whole_disk(&self, number: DeviceNumber) -> Option<PathBuf> {
        let directory = self.directory(number).ok()?;
        let partition = directory.join("partition").exists();
        if partition { directory.parent().map(Path::to_path_buf) } else { Some(directory) }
    }

    /// Returns the sysfs directories of all whole disks. Hidden paths of multipath drives do not
    /// count.
    pub(crate) fn disks(&self) -> io::Result<Vec<PathBuf>> {
        let mut disks = Vec::new();
        for entry in fs::read_dir(self.path("sys/block"))? {
            if let Ok(directory) = entry?.path().canonicalize() {
                disks.push(directory);
            }
        }
        disks.retain(|disk| text(&disk.join("hidden")).as_deref() != Some("1"));
        Ok(disks)
    }

    /// Checks that `identity` is not in use. For a loop device, also checks that its backing file
    /// or device is not in use. `path` is for the message only.
    pub(crate) fn check_unused(&self, path: &Path, identity: Identity) -> Result<(), Refusal> {
        self.check_layer(path, identity, None)?;
        let unknown = |source| Refusal::Unknown { path: path.into(), source };
        let mut layer = identity;
        while let Identity::Block(number) = layer {
            let Some((top, below)) = self.below(number).map_err(unknown)? else { break };
            self.check_layer(path, below, Some(top))?;
            layer = below;
        }
        Ok(())
    }

    /// Returns all related devices and files: `identity` itself, the partitions of a disk, the disk
    /// of a partition, and the backing files of loop devices.
    pub(crate) fn kin(&self, identity: Identity) -> io::Result<Vec<Identity>> {
        let mut kin = vec![identity];
        let mut layer = identity;
        while let Identity::Block(number) = layer {
            let relatives = self.relatives(number)?;
            kin.extend(relatives.iter().map(|relative| Identity::Block(relative.number)));
            let Some((_, below)) = self.below(number)? else { break };
            kin.push(below);
            layer = below;
        }
        Ok(kin)
    }

    /// Opens all related devices and files for reading, as far as their names lead to them: a
    /// container may lack a node of a device, and the name of a backing file may be stale.
    pub(crate) fn open_kin(&self, identity: Identity) -> io::Result<Vec<File>> {
        let mut opened = Vec::new();
        let mut open = |path: &Path, expected: Identity| {
            // Opens only the expected device or file. Opening anything else, such as a FIFO, could
            // block.
            let is_expected = |metadata: Metadata| Identity::from(&metadata) == expected;
            if fs::metadata(path).is_ok_and(is_expected)
                && let Ok(file) = File::open(path)
                && Identity::of(&file)? == expected
            {
                opened.push(file);
            }
            io::Result::Ok(())
        };
        let mut layer = identity;
        while let Identity::Block(number) = layer {
            for relative in self.relatives(number)? {
                open(&self.node(&relative), Identity::Block(relative.number))?;
            }
            let Some((top, below)) = self.below(number)? else { break };
            if let (Identity::File { .. }, Ok(disk)) = (below, self.directory(top))
                && let Some(Ok(backing)) = backing_file(&disk)
            {
                open(&backing, below)?;
            }
            layer = below;
        }
        Ok(opened)
    }

    /// Checks one layer of a stack of loop devices, like [`System::check_unused`]. Its use by the
    /// loop device `top`, which led to this layer, does not count.
    fn check_layer(
        &self,
        path: &Path,
        identity: Identity,
        top: Option<DeviceNumber>,
    ) -> Result<(), Refusal> {
        let unknown = |source| Refusal::Unknown { path: path.into(), source };
        let relatives = match identity {
            Identity::Block(number) => self.relatives(number).map_err(unknown)?,
            Identity::File { .. } => Vec::new(),
        };
        if relatives.first().is_some_and(Relative::is_read_only) {
            return Err(Refusal::ReadOnly { path: path.into() });
        }
        let mounts = self.mounts().map_err(unknown)?;
        for relative in &relatives {
            if let Some(mount) = mounts.iter().find(|mount| mount.is_on(relative.number)) {
                let (device, at) = (relative.path(), mount.at.clone());
                return Err(Refusal::Mounted { path: path.into(), device, at });
            }
            if let Some(holder) = relative.holder().map_err(unknown)? {
                let device = relative.path();
                return Err(Refusal::Held { path: path.into(), device, holder });
            }
        }
        let same = |other: Identity| {
            other == identity
                || relatives.iter().any(|relative| other == Identity::Block(relative.number))
        };
        if let Some(device) = self.swap(same).map_err(unknown)? {
            return Err(Refusal::Swap { path: path.into(), device });
        }
        if let Some((device, number)) = self.loop_over(same, top).map_err(unknown)? {
            let mounted = mounts.iter().find(|mount| mount.is_on(number));
            let mounted = mounted.map(|mount| mount.at.clone());
            return Err(Refusal::LoopBacking { path: path.into(), device, mounted });
        }
        Ok(())
    }

    /// Returns the device itself and, for a whole disk, its partitions. For a partition, returns
    /// its whole disk and the partitions that overlap it: an extended partition contains others,
    /// and tables may be invalid.
    fn relatives(&self, number: DeviceNumber) -> io::Result<Vec<Relative>> {
        let directory = self.directory(number)?;
        let mut relatives = vec![Relative::new(directory.clone())?];
        if directory.join("partition").exists() {
            let whole = directory.parent().expect("below /sys");
            relatives.push(Relative::new(whole.to_path_buf())?);
            for other in partitions(whole)? {
                if other != directory && overlap(&other, &directory) {
                    relatives.push(Relative::new(other)?);
                }
            }
        } else {
            for partition in partitions(&directory)? {
                relatives.push(Relative::new(partition)?);
            }
        }
        Ok(relatives)
    }

    fn mounts(&self) -> io::Result<Vec<Mount>> {
        let text = fs::read_to_string(self.root.join("proc/self/mountinfo"))?;
        Ok(text.lines().filter_map(Mount::parse).collect())
    }

    /// Returns the path of a swap device or file for which `same` returns true.
    fn swap(&self, same: impl Fn(Identity) -> bool) -> io::Result<Option<String>> {
        let text = match fs::read_to_string(self.root.join("proc/swaps")) {
            // The kernel does not support swap.
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            result => result?,
        };
        let spaces = text.lines().skip(1).filter_map(|line| line.split_whitespace().next());
        Ok(spaces.map(unescape).find(|path| leads_to(path, &same)))
    }

    /// Returns a loop device, other than `top`, for whose backing file or device `same` returns
    /// true.
    fn loop_over(
        &self,
        same: impl Fn(Identity) -> bool,
        top: Option<DeviceNumber>,
    ) -> io::Result<Option<(String, DeviceNumber)>> {
        let devices = match fs::read_dir(self.root.join("sys/block")) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            result => result?,
        };
        for device in devices {
            let directory = device?.path();
            let Some(backing) = backing_file(&directory) else { continue };
            let relative = Relative::new(directory)?;
            if top == Some(relative.number) {
                continue;
            }
            let lies_on = match lies_on(&self.node(&relative)) {
                Some(identity) => same(identity),
                None => leads_to(backing?, &same),
            };
            if lies_on {
                return Ok(Some((relative.path(), relative.number)));
            }
        }
        Ok(None)
    }

    /// Returns the loop device that is `device`, or has `device` as a partition. Also returns the
    /// backing file or device of the loop device.
    fn below(&self, device: DeviceNumber) -> io::Result<Option<(DeviceNumber, Identity)>> {
        let Some(disk) = self.whole_disk(device) else { return Ok(None) };
        let Some(backing) = backing_file(&disk) else { return Ok(None) };
        let relative = Relative::new(disk)?;
        let below = match lies_on(&self.node(&relative)) {
            Some(identity) => identity,
            None => Identity::from(&fs::metadata(backing?)?),
        };
        Ok(Some((relative.number, below)))
    }

    /// Returns the node of a device in `/dev`.
    fn node(&self, device: &Relative) -> PathBuf {
        self.path("dev").join(&device.name)
    }
}

/// Lists the partitions of a whole disk.
fn partitions(disk: &Path) -> io::Result<Vec<PathBuf>> {
    let entries: io::Result<Vec<_>> =
        fs::read_dir(disk)?.map(|entry| entry.map(|entry| entry.path())).collect();
    Ok(entries?.into_iter().filter(|entry| entry.join("partition").exists()).collect())
}

/// Returns true if two partitions of a disk overlap.
fn overlap(one: &Path, other: &Path) -> bool {
    extent(one).zip(extent(other)).is_some_and(|(a, b)| a.start < b.end && b.start < a.end)
}

/// Returns the range of a partition on its disk, in sectors of 512 bytes.
fn extent(partition: &Path) -> Option<Range<u64>> {
    let number = |name| text(&partition.join(name))?.parse::<u64>().ok();
    let start = number("start")?;
    Some(start..start.saturating_add(number("size")?))
}

/// Returns the path of a loop device's backing file, as raw bytes, if the kernel knows it. Returns
/// `None` for a disk that is not a loop device.
fn backing_file(disk: &Path) -> Option<io::Result<PathBuf>> {
    match fs::read(disk.join("loop/backing_file")) {
        // ENODEV means that the loop device is being detached.
        Err(error)
            if error.kind() == io::ErrorKind::NotFound
                || error.raw_os_error() == Some(libc::ENODEV) =>
        {
            None
        }
        Err(error) => Some(Err(error)),
        Ok(mut name) => {
            name.pop_if(|last| *last == b'\n');
            Some(Ok(OsString::from_vec(name).into()))
        }
    }
}

/// Returns the identity of a loop device's backing file or device. Asks the loop device itself,
/// because the path in sysfs may be stale or belong to another mount namespace. Returns `None`
/// without permission for the ioctl.
fn lies_on(device: &Path) -> Option<Identity> {
    let mut status = LoopStatus { device: 0, inode: 0, block_device: 0, rest: [0; 26] };
    LOOP_GET_STATUS64.send(&File::open(device).ok()?, &mut status).ok()?;
    Some(match status.block_device {
        0 => Identity::File { device: DeviceNumber::new(status.device), inode: status.inode },
        number => Identity::Block(DeviceNumber::new(number)),
    })
}

/// Returns true if `path` now leads to a file or device for which `same` returns true.
fn leads_to(path: impl AsRef<Path>, same: impl Fn(Identity) -> bool) -> bool {
    fs::metadata(path).is_ok_and(|metadata| same(Identity::from(&metadata)))
}

impl Relative {
    fn new(directory: PathBuf) -> io::Result<Relative> {
        let text = fs::read_to_string(directory.join("dev"))?;
        let number = parse_number(text.trim())
            .ok_or_else(|| io::Error::other(format!("`{}` is not a device number", text.trim())))?;
        // sysfs writes a slash in a device name as an exclamation mark.
        let name = directory.file_name().unwrap_or_default().to_string_lossy().replace('!', "/");
        Ok(Relative { name, number, directory })
    }

    fn path(&self) -> String {
        format!("/dev/{}", self.name)
    }

    fn is_read_only(&self) -> bool {
        fs::read_to_string(self.directory.join("ro")).is_ok_and(|text| text.trim() == "1")
    }

    /// Returns a device that uses this device, if any.
    fn holder(&self) -> io::Result<Option<String>> {
        match fs::read_dir(self.directory.join("holders")) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
            Ok(mut holders) => holders
                .next()
                .map(|holder| Ok(format!("/dev/{}", holder?.file_name().to_string_lossy())))
                .transpose(),
        }
    }
}

impl Mount {
    /// Parses a line of `/proc/self/mountinfo` (`proc_pid_mountinfo(5)`).
    fn parse(line: &str) -> Option<Mount> {
        let (before, after) = line.split_once(" - ")?;
        let mut fields = before.split(' ').skip(2);
        let number = parse_number(fields.next()?);
        let at = unescape(fields.nth(1)?);
        let source = unescape(after.split(' ').nth(1)?);
        Some(Mount { number, source, at })
    }

    /// Returns true if the file system lies on a device. Compares the number in the kernel's table
    /// and the number of the source device, because btrfs and other file systems show an anonymous
    /// number in the table.
    fn is_on(&self, number: DeviceNumber) -> bool {
        self.number == Some(number)
            || fs::metadata(&self.source).is_ok_and(|metadata| {
                metadata.file_type().is_block_device()
                    && DeviceNumber::new(metadata.rdev()) == number
            })
    }
}

/// Parses a device number as in sysfs: `259:0`.
pub(crate) fn parse_number(text: &str) -> Option<DeviceNumber> {
    let (major, minor) = text.split_once(':')?;
    Some(DeviceNumber { major: major.parse().ok()?, minor: minor.parse().ok()? })
}

/// Decodes the octal escapes (`\040` for a space) of the kernel's tables.
fn unescape(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((&byte, tail)) = rest.split_first() {
        let octal = tail.get(..3).filter(|_| byte == b'\\');
        let code = octal.and_then(|digits| std::str::from_utf8(digits).ok());
        match code.and_then(|digits| u8::from_str_radix(digits, 8).ok()) {
            Some(code) => {
                bytes.push(code);
                rest = &tail[3..];
            }
            None => {
                bytes.push(byte);
                rest = tail;
            }
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
mod tests {
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

    // Are all devices free on an idle machine? Otherwise, the other tests would prove nothing.
    #[test]
    fn devices_of_an_idle_machine_are_free() {
        assert_eq!(Machine::new().writable(), [true; 3]);
    }

    // Does a mounted partition protect itself and its disk, but not its sibling? Does a mounted
    // disk protect all its partitions?
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

    // Is a read-only device refused, and a writable one accepted?
    #[test]
    fn read_only_devices_are_refused() {
        let machine = Machine::new();
        machine.write("sys/devices/block/sda/sda1/ro", "1\n");
        machine.write("sys/devices/block/sda/sda2/ro", "0\n");
        assert_eq!(machine.writable(), [true, false, true]);
        let refusal = machine.check(Identity::Block(SDA1)).unwrap_err();
        assert!(matches!(refusal, Refusal::ReadOnly { .. }));
    }

    // Do holders (LVM, RAID, device mapper) protect related devices?
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

    // Is a file refused while it serves as swap or backs a loop device? Links and names with spaces
    // lead to the same file.
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

    // Is a backing file refused even if its name is not UTF-8? Is it an error if the kernel's
    // attribute with the name is unreadable?
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

    // Is a loop device refused if another loop device has the same backing file, or if that file
    // serves as swap?
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

    // Do overlapping partitions protect each other, such as an extended one and its content, but
    // not adjacent ones?
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

    // Is a device refused if the kernel gives no information about it?
    #[test]
    fn unknown_devices_are_refused() {
        let machine = Machine::new();
        let unknown = Identity::Block(DeviceNumber { major: 99, minor: 0 });
        assert!(matches!(machine.check(unknown), Err(Refusal::Unknown { .. })));
        fs::remove_file(machine.path("proc/self/mountinfo")).unwrap();
        assert!(matches!(machine.check(Identity::Block(SDA)), Err(Refusal::Unknown { .. })));
    }

    // Are the kernel's escapes decoded, and other backslashes kept?
    #[test]
    fn escapes_are_decoded() {
        assert_eq!(unescape(r"a\040b\134c"), r"a b\c");
        assert_eq!(unescape(r"a\04"), r"a\04");
        assert_eq!(unescape(r"\999"), r"\999");
    }
}
