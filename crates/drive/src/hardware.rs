//! What sysfs knows of the drive behind a block device or a file.

use std::fs;
use std::path::Path;

use crate::guard::{DeviceNumber, Identity, System};

/// The identity of a drive, as far as the kernel was told one.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Hardware {
    pub(crate) model: Option<String>,
    pub(crate) serial: Option<String>,
    pub(crate) firmware: Option<String>,
}

impl Hardware {
    /// Of a block device, or of the one that the file system of a file lies on.
    pub(crate) fn of(identity: Identity) -> Hardware {
        Hardware::of_device(&System::default(), identity.device())
    }

    /// The serial number of a device that no other device of the machine has, so that it can confirm that one: a partition
    /// has that of its drive, a namespace that of its controller.
    pub(crate) fn own_serial(system: &System, identity: Identity) -> Option<String> {
        let Identity::Block(number) = identity else {
            return None;
        };
        let directory = system.directory(number).ok()?;
        if directory.join("partition").exists() {
            return None;
        }
        let serial = serial_of(&directory)?;
        // What cannot be listed may have it as well.
        let others = system.disks().ok()?.into_iter().filter(|disk| *disk != directory);
        let shared = others.filter_map(|disk| serial_of(&disk)).any(|other| other == serial);
        (!shared).then_some(serial)
    }

    /// Of the whole drive that the device `number` is, or is a partition of.
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

/// The first attribute that says anything.
fn first(directory: &Path, names: &[&str]) -> Option<String> {
    names.iter().find_map(|name| text(&directory.join(name)))
}

/// The serial number of the drive whose directory in sysfs is `disk`.
fn serial_of(disk: &Path) -> Option<String> {
    first(disk, &["device/serial", "serial"]).or_else(|| scsi_serial(&disk.join("device/vpd_pg80")))
}

/// What an attribute of sysfs says, if it says anything.
pub(crate) fn text(path: &Path) -> Option<String> {
    let text = fs::read_to_string(path).ok()?;
    let text = text.trim_matches(|c: char| c.is_whitespace() || c == '\0');
    (!text.is_empty()).then(|| text.to_owned())
}

/// The unit serial number page of SCSI (SPC-4, section 7.8.15): four bytes of header, then text.
fn scsi_serial(path: &Path) -> Option<String> {
    let page = fs::read(path).ok()?;
    let serial = String::from_utf8_lossy(page.get(4..)?);
    let serial = serial.trim_matches(|c: char| c.is_whitespace() || c == '\0');
    (!serial.is_empty()).then(|| serial.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A sysfs with one drive of the number 8:0, which has `files`, and a partition 8:1.
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

    /// Lists the drive sda, and more of them with files of their own, below `sys/block`.
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

    // Does a serial number stand for a whole drive alone, and for none where another device has the same, as namespaces of
    // a controller have; not counting the hidden paths of the same drive, or what cannot be asked?
    #[test]
    fn one_serial_stood_for_every_partition_and_namespace() {
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

    // Are the names found where NVMe, SCSI and virtio keep them, through a partition too?
    #[test]
    fn finds_the_identity() {
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
                let found = Hardware::of_device(&system, DeviceNumber { major: 8, minor });
                let [model, serial, firmware] = expected.map(|text| text.map(str::to_owned));
                assert_eq!(found, Hardware { model, serial, firmware });
            }
        }
    }
}
