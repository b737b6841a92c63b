//! The identity of the drive behind a block device or file, from sysfs.

use std::fs;
use std::path::Path;

use crate::guard::{DeviceNumber, Identity, System};

/// The identity of a drive, as far as the kernel knows it.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Hardware {
    pub(crate) model: Option<String>,
    pub(crate) serial: Option<String>,
    pub(crate) firmware: Option<String>,
}

impl Hardware {
    /// Reads the identity of a block device, or of the device that holds a file.
    pub(crate) fn of(identity: Identity) -> Hardware {
        Hardware::of_device(&System::default(), identity.device())
    }

    /// Returns the serial number of a device if it is unique on this machine. Only a unique serial
    /// number can confirm that the device may be written. A partition shares the serial number of
    /// its drive, and namespaces share the serial number of their controller.
    pub(crate) fn own_serial(system: &System, identity: Identity) -> Option<String> {
        let Identity::Block(number) = identity else {
            return None;
        };
        let directory = system.directory(number).ok()?;
        if directory.join("partition").exists() {
            return None;
        }
        let serial = serial_of(&directory)?;
        // If the disks cannot be listed, another disk may have the same serial number.
        let others = system.disks().ok()?.into_iter().filter(|disk| *disk != directory);
        let shared = others.filter_map(|disk| serial_of(&disk)).any(|other| other == serial);
        (!shared).then_some(serial)
    }

    /// Reads the identity of the whole drive that a device belongs to.
    pub(crate) fn of_device(system: &System, number: DeviceNumber) -> Hardware {
        let Some(directory) = system.whole_disk(number) else {
            return Hardware::default();
        };
        Hardware {
            model: first(&directory, &["device/model"]),
            serial: serial_of(&directory),
            firmware: first(&directory, &["device/firmware_rev", "device/rev"]),
        }
    }
}

/// Returns the first non-empty attribute.
fn first(directory: &Path, names: &[&str]) -> Option<String> {
    names.iter().find_map(|name| text(&directory.join(name)))
}

/// Returns the serial number of the drive with the sysfs directory `disk`.
fn serial_of(disk: &Path) -> Option<String> {
    first(disk, &["device/serial", "serial"]).or_else(|| scsi_serial(&disk.join("device/vpd_pg80")))
}

/// Returns the trimmed text of a sysfs attribute, or `None` if it is missing or empty.
pub(crate) fn text(path: &Path) -> Option<String> {
    let text = fs::read_to_string(path).ok()?;
    let text = text.trim_matches(|c: char| c.is_whitespace() || c == '\0');
    (!text.is_empty()).then(|| text.to_owned())
}

/// Reads the SCSI unit serial number page (SPC-4, section 7.8.15): a header of four bytes, then
/// text.
fn scsi_serial(path: &Path) -> Option<String> {
    let page = fs::read(path).ok()?;
    let serial = String::from_utf8_lossy(page.get(4..)?);
    let serial = serial.trim_matches(|c: char| c.is_whitespace() || c == '\0');
    (!serial.is_empty()).then(|| serial.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Creates a sysfs with one drive, number 8:0, that has `files`, and a partition 8:1.
    fn drive(files: &[(&str, &[u8])]) -> (tempfile::TempDir, System) {
        let root = tempfile::tempdir().unwrap();
        let sys = root.path().join("sys");
        let disk = sys.join("devices/host0/block/sda");
        fs::create_dir_all(disk.join("sda1")).unwrap();
        fs::write(disk.join("sda1/partition"), "1\n").unwrap();
        for (name, content) in files {
            let path = disk.join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, content).unwrap();
        }
        fs::create_dir_all(sys.join("dev/block")).unwrap();
        for (number, place) in [("8:0", "sda"), ("8:1", "sda/sda1")] {
            let place = format!("../../devices/host0/block/{place}");
            std::os::unix::fs::symlink(place, sys.join("dev/block").join(number)).unwrap();
        }
        let system = System::at(root.path());
        (root, system)
    }

    /// Adds the drive sda and `others`, with their files, to `sys/block`.
    fn list(root: &Path, others: &[(&str, &[(&str, &str)])]) {
        let blocks = root.join("sys/devices/host0/block");
        for (disk, files) in others {
            for (name, content) in *files {
                let path = blocks.join(disk).join(name);
                fs::create_dir_all(path.parent().unwrap()).unwrap();
                fs::write(path, content).unwrap();
            }
        }
        let listed = root.join("sys/block");
        fs::create_dir_all(&listed).unwrap();
        for disk in others.iter().map(|(disk, _)| *disk).chain(["sda"]) {
            std::os::unix::fs::symlink(blocks.join(disk), listed.join(disk)).unwrap();
        }
    }

    // A serial number counts only for a whole drive, and only if no other drive has it. Hidden
    // paths of the same drive do not count.
    #[test]
    fn a_serial_counts_only_if_it_is_unique() {
        let own = |others: &[(&str, &[(&str, &str)])], minor| {
            let (root, system) = drive(&[("device/serial", b"S123\n")]);
            list(root.path(), others);
            Hardware::own_serial(&system, Identity::Block(DeviceNumber { major: 8, minor }))
        };
        let other: &[(&str, &str)] = &[("device/serial", "S124")];
        let same: &[(&str, &str)] = &[("device/serial", "S123")];
        let hidden: &[(&str, &str)] = &[("device/serial", "S123"), ("hidden", "1\n")];
        let s123 = Some("S123".to_owned());
        assert_eq!(own(&[], 0), s123);
        assert_eq!(own(&[("sdb", other), ("sdc", hidden)], 0), s123);
        assert_eq!(own(&[("sdb", other), ("sdc", same)], 0), None);
        assert_eq!(own(&[], 1), None, "a partition");

        let (_root, unlisted) = drive(&[("device/serial", b"S123\n")]);
        let disk = DeviceNumber { major: 8, minor: 0 };
        assert_eq!(Hardware::own_serial(&unlisted, Identity::Block(disk)), None);
        let file = Identity::File { device: disk, inode: 1 };
        assert_eq!(Hardware::own_serial(&unlisted, file), None);
    }

    #[test]
    fn identities_are_read_from_sysfs() {
        let nvme: &[(&str, &[u8])] = &[
            ("device/model", b"Flash 9000        \n"),
            ("device/serial", b"S123\n"),
            ("device/firmware_rev", b"1.0\n"),
        ];
        let scsi: &[(&str, &[u8])] =
            &[("device/rev", b"A2 \n"), ("device/vpd_pg80", b"\0\x80\0\x08  WD-42\0")];
        let virtio: &[(&str, &[u8])] = &[("serial", b"disk-7")];
        let cases = [
            (nvme, [Some("Flash 9000"), Some("S123"), Some("1.0")]),
            (scsi, [None, Some("WD-42"), Some("A2")]),
            (virtio, [None, Some("disk-7"), None]),
            (&[], [None, None, None]),
        ];
        for (files, expected) in cases {
            let (_root, system) = drive(files);
            for minor in [0, 1] {
                let hardware = Hardware::of_device(&system, DeviceNumber { major: 8, minor });
                let [model, serial, firmware] = expected.map(|text| text.map(str::to_owned));
                assert_eq!(hardware, Hardware { model, serial, firmware });
            }
        }
    }
}
