//! The list of block devices agrees with the machine, for fake machines of many kinds.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use flashscope_block::Bytes;
use flashscope_drive::guard::System;
use flashscope_drive::inventory::{
    BlockDevice, Bus, Measurable, Obstacle, PcieLink, WriteCache, devices,
};
use tempfile::TempDir;

/// A fake machine, initially without block devices.
struct Machine(TempDir);

impl Machine {
    fn new() -> Machine {
        let machine = Machine(TempDir::new().unwrap());
        machine.write("proc/self/mountinfo", "22 27 0:21 / /proc rw - proc proc rw\n");
        fs::create_dir_all(machine.path("sys/block")).unwrap();
        fs::create_dir_all(machine.path("sys/dev/block")).unwrap();
        machine
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn write(&self, name: &str, text: impl AsRef<[u8]>) {
        fs::create_dir_all(self.path(name).parent().unwrap()).unwrap();
        fs::write(self.path(name), text).unwrap();
    }

    /// Writes `attributes` to the directory `place` below `/sys/devices`.
    fn attributes(&self, place: &str, attributes: &[(&str, &str)]) {
        for (name, text) in attributes {
            self.write(&format!("sys/devices/{place}/{name}"), format!("{text}\n"));
        }
    }

    /// Adds a disk or partition of 64 MiB without data.
    fn block(&self, place: &str, number: &str, attributes: &[(&str, &str)]) {
        let name = Path::new(place).file_name().unwrap().to_str().unwrap();
        self.attributes(place, &[("dev", number), ("size", "131072")]);
        self.attributes(place, attributes);
        let directory = self.path(&format!("sys/devices/{place}"));
        symlink(&directory, self.path(&format!("sys/dev/block/{number}"))).unwrap();
        if !directory.join("partition").exists() {
            symlink(&directory, self.path(&format!("sys/block/{name}"))).unwrap();
        }
        self.write(&format!("dev/{name}"), vec![0; 1 << 21]);
    }

    /// Links the disk at `disk` to its `device` directory, in the subsystem `subsystem`.
    fn behind(&self, disk: &str, device: &str, subsystem: &str) {
        let device = self.path(&format!("sys/devices/{device}"));
        fs::create_dir_all(&device).unwrap();
        symlink(&device, self.path(&format!("sys/devices/{disk}/device"))).unwrap();
        symlink(format!("../../../bus/{subsystem}"), device.join("subsystem")).unwrap();
    }

    /// Lists the devices, with the queried path in place of the health.
    fn devices(&self) -> Vec<BlockDevice<PathBuf>> {
        let queried = |path: &Path| Some(path.to_path_buf());
        devices(&System::at(self.0.path()), queried).unwrap().devices
    }

    fn only(&self) -> BlockDevice<PathBuf> {
        let devices = self.devices();
        assert_eq!(devices.len(), 1, "{devices:?}");
        devices.into_iter().next().unwrap()
    }
}

const FUNCTION: &str = "pci0000:00/0000:00:01.0/0000:01:00.0";

/// Creates a machine with an NVMe drive behind a port that is slower than the drive.
fn with_nvme() -> Machine {
    let machine = Machine::new();
    let controller = format!("{FUNCTION}/nvme/nvme0");
    let disk = format!("{controller}/nvme0n1");
    machine.attributes(
        FUNCTION,
        &[
            ("current_link_speed", "8.0 GT/s PCIe"),
            ("current_link_width", "4"),
            ("max_link_speed", "16.0 GT/s PCIe"),
            ("max_link_width", "4"),
        ],
    );
    // The port above has another link, which does not count.
    machine.attributes(
        "pci0000:00/0000:00:01.0",
        &[("current_link_speed", "2.5 GT/s PCIe"), ("current_link_width", "1")],
    );
    let identity = [("model", "Flash 9000   "), ("serial", "S4EWNX0R"), ("firmware_rev", "2B2Q")];
    machine.attributes(&controller, &identity);
    machine.attributes(&controller, &[("hwmon3/temp1_input", "35850"), ("hwmon3/name", "nvme")]);
    machine.block(
        &disk,
        "259:0",
        &[
            ("queue/logical_block_size", "512"),
            ("queue/physical_block_size", "4096"),
            ("queue/rotational", "0"),
            ("queue/scheduler", "[none] mq-deadline kyber"),
            ("queue/nr_requests", "1023"),
            ("queue/write_cache", "write back"),
            ("queue/discard_max_bytes", "2199023255040"),
        ],
    );
    machine.behind(&disk, &controller, "nvme");
    machine
}

// The link is that of the drive's own PCI function.
#[test]
fn properties_of_an_nvme_drive_are_found() {
    let text = |text: &str| Some(text.to_string());
    let expected = BlockDevice {
        path: "/dev/nvme0n1".into(),
        partition_of: None,
        capacity_bytes: Bytes::mib(64),
        logical_sector_bytes: Some(Bytes(512)),
        physical_sector_bytes: Some(Bytes(4096)),
        model: text("Flash 9000"),
        serial: text("S4EWNX0R"),
        firmware: text("2B2Q"),
        bus: Bus::Nvme,
        pcie_link: Some(PcieLink {
            gigatransfers_per_s: 8.0,
            lanes: 4,
            max_gigatransfers_per_s: Some(16.0),
            max_lanes: Some(4),
        }),
        rotational: Some(false),
        scheduler: text("none"),
        queue_depth: Some(1023),
        write_cache: Some(WriteCache::Back),
        discard: Some(true),
        temperature_celsius: Some(35.85),
        health: Some("/dev/nvme0n1".into()),
        // No drive behind the node answers commands.
        nvme: None,
        backing_file: None,
        measurable: Measurable::Everything {
            command: "flashscope bench /dev/nvme0n1 --destroy-data-on S4EWNX0R".into(),
        },
    };
    assert_eq!(with_nvme().only(), expected);
}

// The link is that of one path.
#[test]
fn a_multipath_nvme_drive_is_listed_once() {
    let machine = Machine::new();
    let subsystem = "virtual/nvme-subsystem/nvme-subsys0";
    let controller = format!("{FUNCTION}/nvme/nvme0");
    machine.attributes(FUNCTION, &[("current_link_speed", "32.0 GT/s PCIe")]);
    machine.attributes(FUNCTION, &[("current_link_width", "4")]);
    machine.attributes(&controller, &[("hwmon0/temp1_input", "41000")]);
    machine.attributes(subsystem, &[("model", "Flash"), ("serial", "M1")]);
    machine.block(&format!("{controller}/nvme0c0n1"), "259:1", &[("hidden", "1")]);
    let disk = format!("{subsystem}/nvme0n1");
    machine.block(&disk, "259:0", &[("hidden", "0")]);
    machine.behind(&disk, subsystem, "nvme-subsystem");
    let link = machine.path(&format!("sys/devices/{subsystem}/nvme0"));
    symlink(machine.path(&format!("sys/devices/{controller}")), link).unwrap();

    let drive = machine.only();
    assert_eq!((drive.path.as_str(), drive.bus), ("/dev/nvme0n1", Bus::Nvme));
    assert_eq!(drive.serial.as_deref(), Some("M1"));
    assert_eq!(drive.pcie_link.unwrap().gigatransfers_per_s.to_bits(), 32f64.to_bits());
    assert_eq!(drive.temperature_celsius, Some(41.0));
}

/// Creates a machine with a SCSI disk below `host`.
fn with_scsi(host: &str) -> Machine {
    let machine = Machine::new();
    let unit = format!("{host}/target4:0:0/4:0:0:0");
    let disk = format!("{unit}/block/sda");
    machine.attributes(
        "pci0000:00/0000:00:17.0",
        &[("current_link_speed", "8.0 GT/s PCIe"), ("current_link_width", "4")],
    );
    machine.block(
        &disk,
        "8:0",
        &[
            ("queue/rotational", "1"),
            ("queue/scheduler", "none [mq-deadline]"),
            ("queue/nr_requests", "64"),
            ("queue/write_cache", "write through"),
            ("queue/discard_max_bytes", "0"),
        ],
    );
    machine.behind(&disk, &unit, "scsi");
    machine.attributes(&unit, &[("model", "Disk 4T"), ("rev", "A1"), ("queue_depth", "32")]);
    machine
}

// A SCSI disk has no PCIe link: the link of the controller, which several disks share, is not
// reported for a disk.
#[test]
fn scsi_disks_are_distinguished_by_their_bus() {
    let cases = [
        ("pci0000:00/0000:00:17.0/ata5/host4", Bus::Sata),
        ("pci0000:00/0000:00:14.0/usb2/2-3/2-3:1.0/host4", Bus::Usb),
        ("pci0000:00/0000:00:17.0/host4/port-4:0/end_device-4:0", Bus::Scsi),
    ];
    for (host, bus) in cases {
        let drive = with_scsi(host).only();
        assert_eq!((drive.bus, drive.pcie_link, drive.health), (bus, None, None));
        assert_eq!((drive.queue_depth, drive.rotational), (Some(32), Some(true)));
        assert_eq!((drive.write_cache, drive.discard), (Some(WriteCache::Through), Some(false)));
        assert_eq!(drive.scheduler.as_deref(), Some("mq-deadline"));
        assert_eq!(
            (drive.model.as_deref(), drive.firmware.as_deref()),
            (Some("Disk 4T"), Some("A1"))
        );
    }
}

// The sensor lies one directory deeper than that of an NVMe drive.
#[test]
fn the_sensor_of_a_sata_disk_is_found() {
    let host = "pci0000:00/0000:00:17.0/ata5/host4";
    let machine = with_scsi(host);
    assert_eq!(machine.only().temperature_celsius, None);
    let unit = format!("{host}/target4:0:0/4:0:0:0");
    machine.attributes(&unit, &[("hwmon/hwmon2/temp1_input", "29000")]);
    assert_eq!(machine.only().temperature_celsius, Some(29.0));
}

// The path is the confirmation.
#[test]
fn a_device_without_attributes_is_listed() {
    let machine = Machine::new();
    machine.block("virtual/block/nbd0", "43:0", &[]);
    let drive = machine.only();
    assert_eq!((drive.model, drive.serial, drive.bus), (None, None, Bus::Other));
    assert_eq!((drive.logical_sector_bytes, drive.discard, drive.queue_depth), (None, None, None));
    let command = "flashscope bench /dev/nbd0 --destroy-data-on /dev/nbd0".into();
    assert_eq!(drive.measurable, Measurable::Everything { command });
}

// The serial number would need quotes in a shell.
#[test]
fn an_odd_serial_is_not_offered() {
    let machine = with_nvme();
    machine.attributes(&format!("{FUNCTION}/nvme/nvme0"), &[("serial", "S4 $(reboot)")]);
    let command = "flashscope bench /dev/nvme0n1 --destroy-data-on /dev/nvme0n1".into();
    assert_eq!(machine.only().measurable, Measurable::Everything { command });
}

// Two namespaces share the serial number.
#[test]
fn a_shared_serial_is_not_offered() {
    let machine = with_nvme();
    let controller = format!("{FUNCTION}/nvme/nvme0");
    let second = format!("{controller}/nvme0n2");
    machine.block(&second, "259:1", &[]);
    let [controller, link] = [controller, format!("{second}/device")]
        .map(|it| machine.path(&format!("sys/devices/{it}")));
    symlink(controller, link).unwrap();
    let drives = machine.devices();
    assert_eq!(drives.len(), 2);
    for drive in drives {
        assert_eq!(drive.serial.as_deref(), Some("S4EWNX0R"));
        let command = format!("flashscope bench {0} --destroy-data-on {0}", drive.path);
        assert_eq!(drive.measurable, Measurable::Everything { command });
    }
}

/// Returns each path with the obstacle to writing it.
fn obstacles(machine: &Machine) -> Vec<(String, Option<Obstacle>)> {
    let obstacle = |measurable| match measurable {
        Measurable::Everything { .. } => None,
        Measurable::Reads { obstacle, .. } => Some(obstacle),
        Measurable::Nothing { reason, .. } => panic!("{reason}"),
    };
    machine.devices().into_iter().map(|d| (d.path, obstacle(d.measurable))).collect()
}

fn named(expected: [(&str, Option<Obstacle>); 4]) -> Vec<(String, Option<Obstacle>)> {
    expected.map(|(name, obstacle)| (format!("/dev/{name}"), obstacle)).into()
}

// A mounted or held partition affects its drive, but not its siblings.
#[test]
fn partitions_follow_their_drive_with_their_obstacles() {
    let machine = with_nvme();
    let disk = format!("{FUNCTION}/nvme/nvme0/nvme0n1");
    for n in [1, 10, 2] {
        let partition = [("partition", n.to_string())];
        let attributes = partition.each_ref().map(|(name, text)| (*name, text.as_str()));
        let place = format!("{disk}/nvme0n1p{n}");
        machine.attributes(&place, &attributes);
        machine.block(&place, &format!("259:{n}"), &[]);
    }
    let names = |whole, first, second, tenth| {
        let all = ["nvme0n1", "nvme0n1p1", "nvme0n1p2", "nvme0n1p10"];
        let obstacles = [whole, first, second, tenth];
        named(std::array::from_fn(|i| (all[i], obstacles[i])))
    };
    assert_eq!(obstacles(&machine), names(None, None, None, None));

    let mount = "42 27 259:2 / /data rw - ext4 none rw\n";
    machine.write("proc/self/mountinfo", mount);
    let mounted = Some(Obstacle::Mounted);
    assert_eq!(obstacles(&machine), names(mounted, None, mounted, None));

    machine.write("proc/self/mountinfo", "");
    machine.attributes(&format!("{disk}/nvme0n1p10/holders"), &[("dm-0", "")]);
    let held = Some(Obstacle::Held);
    assert_eq!(obstacles(&machine), names(held, None, None, held));

    let partition = &machine.devices()[1];
    assert_eq!(partition.partition_of.as_deref(), Some("/dev/nvme0n1"));
    assert_eq!(partition.model.as_deref(), Some("Flash 9000"));
    assert_eq!(partition.health.as_deref(), Some(Path::new("/dev/nvme0n1")));
    // A serial number stands for the whole drive; a partition is confirmed by its path.
    let command = "flashscope bench /dev/nvme0n1p1 --destroy-data-on /dev/nvme0n1p1".into();
    assert_eq!(partition.measurable, Measurable::Everything { command });
}

// Reading is still possible.
#[test]
fn obstacles_are_the_refusals_of_the_guards() {
    let machine = with_nvme();
    let disk = format!("{FUNCTION}/nvme/nvme0/nvme0n1");
    let mut luks = vec![0; 1 << 21];
    luks[..6].copy_from_slice(b"LUKS\xba\xbe");
    machine.write("dev/nvme0n1", luks);
    let Measurable::Reads { command, obstacle, reason } = machine.only().measurable else {
        panic!("the drive counts as writable");
    };
    assert_eq!(command, "flashscope bench /dev/nvme0n1 --read-only");
    assert_eq!(obstacle, Obstacle::Data);
    assert_eq!(
        reason,
        "`/dev/nvme0n1` contains a LUKS encrypted volume (at byte 0): if its data may be \
             destroyed, `wipefs --all /dev/nvme0n1` first"
    );
    machine.attributes(&disk, &[("ro", "1")]);
    assert!(matches!(
        machine.only().measurable,
        Measurable::Reads { obstacle: Obstacle::ReadOnly, .. }
    ));
    fs::remove_file(machine.path("proc/self/mountinfo")).unwrap();
    machine.attributes(&disk, &[("ro", "0")]);
    assert!(matches!(
        machine.only().measurable,
        Measurable::Reads { obstacle: Obstacle::Unknown, .. }
    ));
}

// The device has no capacity, or no node.
#[test]
fn devices_that_cannot_be_opened_are_not_offered() {
    let reason = |machine: &Machine| match machine.only().measurable {
        Measurable::Nothing { reason, .. } => reason,
        measurable => panic!("{measurable:?}"),
    };
    let machine = with_nvme();
    fs::remove_file(machine.path("dev/nvme0n1")).unwrap();
    assert!(reason(&machine).starts_with("cannot open `/dev/nvme0n1`: No such file"));
    let machine = Machine::new();
    machine.block("virtual/block/loop0", "7:0", &[("size", "0")]);
    assert_eq!(machine.only().bus, Bus::Loop);
    assert!(reason(&machine).starts_with("it has no capacity"));
}

// The mount is reported even if the device cannot be opened.
#[test]
fn the_use_of_an_unreadable_device_is_reported() {
    let machine = with_nvme();
    fs::remove_file(machine.path("dev/nvme0n1")).unwrap();
    machine.write("proc/self/mountinfo", "42 27 259:0 / /data rw - ext4 none rw\n");
    let Measurable::Nothing { obstacle, reason } = machine.only().measurable else {
        panic!("the device counts as measurable");
    };
    assert_eq!(obstacle, Some(Obstacle::Mounted));
    assert!(reason.ends_with("is mounted at `/data`; unmount it first"), "{reason}");
}

// Virtual devices are built on other devices or on memory.
#[test]
fn virtual_devices_are_recognized() {
    let machine = Machine::new();
    for (i, name) in ["dm-0", "md127", "zram0"].into_iter().enumerate() {
        machine.block(&format!("virtual/block/{name}"), &format!("250:{i}"), &[]);
    }
    let buses: Vec<Bus> = machine.devices().iter().map(|device| device.bus).collect();
    assert_eq!(buses, [Bus::DeviceMapper, Bus::Raid, Bus::Memory]);
}

// The result is not an empty list.
#[test]
fn a_missing_sysfs_is_an_error() {
    let nowhere = System::at(TempDir::new().unwrap().path());
    assert!(devices(&nowhere, |_| None::<()>).is_err());
}
