//! The names of drives, and their connection to the machine, from their position in the device tree
//! of sysfs.

use std::fs;
use std::path::{Path, PathBuf};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::hardware::text;

/// The bus that connects a block device to the machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Bus {
    /// NVM Express, over PCI Express or a network.
    Nvme,
    /// Serial or parallel ATA.
    Sata,
    /// SCSI, SAS, Fibre Channel, iSCSI.
    Scsi,
    /// USB mass storage.
    Usb,
    /// The virtual drive of a virtual machine.
    Virtio,
    /// A memory card or eMMC.
    Mmc,
    /// A file exposed as a block device.
    Loop,
    /// A device mapper target, such as LVM or dm-crypt.
    DeviceMapper,
    /// A Linux MD array.
    Raid,
    /// Main memory exposed as a block device.
    Memory,
    /// Any other bus.
    Other,
}

impl Bus {
    /// Returns its name in JSON.
    pub fn name(self) -> &'static str {
        match self {
            Bus::Nvme => "nvme",
            Bus::Sata => "sata",
            Bus::Scsi => "scsi",
            Bus::Usb => "usb",
            Bus::Virtio => "virtio",
            Bus::Mmc => "mmc",
            Bus::Loop => "loop",
            Bus::DeviceMapper => "device_mapper",
            Bus::Raid => "raid",
            Bus::Memory => "memory",
            Bus::Other => "other",
        }
    }
}

/// A PCI Express link.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PcieLink {
    /// The current speed of a lane in GT/s: 2.5, 5, 8, 16, 32 or 64 for generations 1 to 6.
    pub gigatransfers_per_s: f64,
    /// The current number of lanes.
    pub lanes: u32,
    /// The maximum speed that the drive supports. A slower slot or power saving reduces the current
    /// speed.
    pub max_gigatransfers_per_s: Option<f64>,
    /// The maximum number of lanes that the drive supports.
    pub max_lanes: Option<u32>,
}

/// Drives without a bus, by the start of their names.
const VIRTUAL: [(&str, Bus); 5] = [
    ("loop", Bus::Loop),
    ("dm-", Bus::DeviceMapper),
    ("md", Bus::Raid),
    ("zram", Bus::Memory),
    ("ram", Bus::Memory),
];

/// Returns the name of a device. sysfs writes a slash in a device name as an exclamation mark.
pub(crate) fn name_of(directory: &Path) -> String {
    directory.file_name().unwrap_or_default().to_string_lossy().replace('!', "/")
}

/// Returns the path in `/dev` of the device with the sysfs directory `directory`.
pub(crate) fn path_of(directory: &Path) -> String {
    format!("/dev/{}", name_of(directory))
}

/// Splits a name into digits and other text, which sorts `sd10` after `sd9`.
pub(crate) fn natural(name: &str) -> Vec<(u64, String)> {
    let pieces = name.as_bytes().chunk_by(|a, b| a.is_ascii_digit() == b.is_ascii_digit());
    let piece = |piece: &[u8]| {
        let piece = String::from_utf8_lossy(piece).into_owned();
        (piece.parse().unwrap_or(0), piece)
    };
    pieces.map(piece).collect()
}

/// Returns the bus of the drive with the sysfs directory `disk`.
pub(crate) fn bus_of(disk: &Path) -> Bus {
    bus(&name_of(disk), disk)
}

/// Returns the bus of the drive `name` with the sysfs directory `disk`.
fn bus(name: &str, disk: &Path) -> Bus {
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
pub(crate) fn pcie_link(disk: &Path) -> Option<PcieLink> {
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
pub(crate) fn sensor(disk: &Path) -> Option<PathBuf> {
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

pub(crate) fn number_at<T: std::str::FromStr>(path: &Path) -> Option<T> {
    text(path)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_in_natural_order() {
        let mut names = ["nvme10n1", "nvme2n1", "sdb", "nvme2n10", "sda", "nvme2n2"];
        names.sort_by_key(|name| natural(name));
        assert_eq!(names, ["nvme2n1", "nvme2n2", "nvme2n10", "nvme10n1", "sda", "sdb"]);
    }
}
