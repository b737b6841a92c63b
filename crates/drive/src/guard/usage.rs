//! The users of a device or file: mounts, holders, swap and loop devices.

mod loop_device;

use std::fs::{self, File, Metadata};
use std::io;
use std::ops::Range;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};

use loop_device::{backing_file, lies_on};

use super::{DeviceNumber, Identity, Refusal};
use crate::hardware::text;

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
    /// Returns the system described by `proc`, `sys` and `dev` below `root`.
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
    /// of a partition and the partitions that overlap it, and what lies behind a loop device. The
    /// relatives of a device behind a loop device count too.
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

/// Returns true if `path` leads to a file or device for which `same` returns true.
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
mod tests;
