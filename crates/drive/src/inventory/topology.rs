//! The connection of a drive to the machine, from its position in the device tree of sysfs.

use std::fs;
use std::path::{Path, PathBuf};

use super::{Bus, PcieLink, number_at};
use crate::hardware::text;

/// Drives without a bus, by the start of their names.
const VIRTUAL: [(&str, Bus); 5] = [
    ("loop", Bus::Loop),
    ("dm-", Bus::DeviceMapper),
    ("md", Bus::Raid),
    ("zram", Bus::Memory),
    ("ram", Bus::Memory),
];

/// Returns the bus of the drive `name` with the sysfs directory `disk`.
pub(super) fn bus(name: &str, disk: &Path) -> Bus {
    let device = disk.join("device");
    let Ok(subsystem) = fs::read_link(device.join("subsystem")) else {
        let known = VIRTUAL.iter().find(|(beginning, _)| name.starts_with(beginning));
        return known.map_or(Bus::Other, |(_, bus)| *bus);
    };
    match subsystem.file_name().and_then(|name| name.to_str()) {
        Some("nvme" | "nvme-subsystem") => Bus::Nvme,
        Some("virtio") => Bus::Virtio,
        Some("mmc") => Bus::Mmc,
        Some("scsi") => behind_scsi(&device),
        _ => Bus::Other,
    }
}

/// Distinguishes USB and SATA drives, which the kernel presents as SCSI drives, by their path.
fn behind_scsi(device: &Path) -> Bus {
    let path = device.canonicalize().unwrap_or_default();
    let passes = |bus: &str| {
        path.iter()
            .filter_map(|part| part.to_str()?.strip_prefix(bus))
            .any(|number| !number.is_empty() && number.bytes().all(|digit| digit.is_ascii_digit()))
    };
    if passes("usb") {
        Bus::Usb
    } else if passes("ata") {
        Bus::Sata
    } else {
        Bus::Scsi
    }
}

/// Returns the controllers of an NVMe drive: one, or several with the kernel's multipath.
fn controllers(disk: &Path) -> Vec<PathBuf> {
    let Ok(device) = disk.join("device").canonicalize() else { return Vec::new() };
    let is_controller = |path: &Path| {
        let number = path.file_name().and_then(|name| name.to_str()?.strip_prefix("nvme"));
        number.is_some_and(|n| !n.is_empty() && n.bytes().all(|digit| digit.is_ascii_digit()))
    };
    if is_controller(&device) {
        return vec![device];
    }
    let below = fs::read_dir(&device).into_iter().flatten().flatten().map(|entry| entry.path());
    let mut controllers: Vec<_> = below
        .filter(|path| is_controller(path))
        .filter_map(|path| path.canonicalize().ok())
        .collect();
    controllers.sort();
    controllers
}

/// Returns the PCI Express link of an NVMe drive's first controller.
pub(super) fn pcie_link(disk: &Path) -> Option<PcieLink> {
    let controller = controllers(disk).into_iter().next()?;
    let function = controller.ancestors().find(|path| path.join("current_link_speed").exists())?;
    let speed = |name| {
        // The text is like `16.0 GT/s PCIe`.
        text(&function.join(name))?.split(' ').next()?.parse().ok()
    };
    // The kernel shows 0 for a link that is down, and 255 for an unknown width.
    let lanes = |name| number_at(&function.join(name)).filter(|lanes| (1..255).contains(lanes));
    Some(PcieLink {
        gigatransfers_per_s: speed("current_link_speed")?,
        lanes: lanes("current_link_width")?,
        max_gigatransfers_per_s: speed("max_link_speed"),
        max_lanes: lanes("max_link_width"),
    })
}

/// Returns the file of the first temperature sensor of the drive itself, which holds thousandths of
/// a degree Celsius.
///
/// The sensor's directory lies in that of the device, or in `hwmon` below it
/// (`Documentation/hwmon/sysfs-interface.rst`).
pub(super) fn sensor(disk: &Path) -> Option<PathBuf> {
    let device = disk.join("device").canonicalize().ok();
    let holders = controllers(disk).into_iter().chain(device);
    let places = holders.flat_map(|holder| [holder.join("hwmon"), holder]);
    let mut sensors = places.flat_map(|place| {
        let within = fs::read_dir(place).into_iter().flatten().flatten();
        let mut sensors: Vec<_> = within
            .filter(|entry| entry.file_name().to_string_lossy().starts_with("hwmon"))
            .map(|entry| entry.path().join("temp1_input"))
            .collect();
        sensors.sort();
        sensors
    });
    sensors.find(|sensor| number_at::<f64>(sensor).is_some())
}
