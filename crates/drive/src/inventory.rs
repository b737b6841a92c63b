//! The block devices of a machine: what they are, and what may be done to them.
//!
//! What they are is read from sysfs. Whether they may be written is asked of the
//! [guards](crate::guard), so that what is listed here is what an opening will find.

mod hang;

use std::fs::{self, File};
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use flashscope_block::Bytes;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::denied::advice;
use crate::guard::{self, DeviceNumber, Identity, Refusal, System};
use crate::hardware::{Hardware, text};
use crate::identify::{Nvme, identify};

/// The sectors in which `size` of sysfs counts, whatever those of the drive are.
const SIZE_UNIT: u64 = 512;

/// The block devices of a machine, each drive before its partitions, in the order of their names.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "Inventory")]
pub struct Inventory<H> {
    /// Every one.
    pub devices: Vec<BlockDevice<H>>,
}

/// A block device: a drive, or a partition of one.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "BlockDevice")]
pub struct BlockDevice<H> {
    /// Where it is, such as `/dev/nvme0n1`.
    pub path: String,
    /// The drive that it is a partition of. What is said below but for the capacity and what can be
    /// measured is said of that drive.
    pub partition_of: Option<String>,
    /// Addressable bytes.
    pub capacity_bytes: Bytes,
    /// What offsets and lengths of IOs must be multiples of.
    pub logical_sector_bytes: Option<Bytes>,
    /// What the drive says that it writes at once without reading.
    pub physical_sector_bytes: Option<Bytes>,
    /// The maker's name for it.
    pub model: Option<String>,
    /// Serial number.
    pub serial: Option<String>,
    /// Firmware revision.
    pub firmware: Option<String>,
    /// How it hangs on the machine.
    pub bus: Bus,
    /// Its PCI Express link: of NVMe drives alone, as others share that of their controller.
    pub pcie_link: Option<PcieLink>,
    /// Whether it says that it rotates. Virtual drives often say so and do not.
    pub rotational: Option<bool>,
    /// The scheduler of the kernel for it: `none`, `mq-deadline`, `kyber`, `bfq`.
    pub scheduler: Option<String>,
    /// How many IOs the drive is given at once: where it is a SCSI or SATA drive by its own depth,
    /// otherwise by the requests of a queue of the kernel.
    pub queue_depth: Option<u32>,
    /// Its volatile write cache, as the kernel treats it.
    pub write_cache: Option<WriteCache>,
    /// Whether it takes discards (TRIM, Deallocate, UNMAP).
    pub discard: Option<bool>,
    /// Its temperature now, in degrees Celsius.
    pub temperature_celsius: Option<f64>,
    /// What it tells of its own health: of NVMe drives alone, and as root.
    pub health: Option<H>,
    /// What it says that it is and can do: of NVMe drives alone, and as root.
    pub nvme: Option<Nvme>,
    /// The file behind a loop device.
    pub backing_file: Option<String>,
    /// What can be measured on it.
    pub measurable: Measurable,
}

/// How a block device hangs on the machine.
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
    /// The drive of a virtual machine.
    Virtio,
    /// A memory card or eMMC.
    Mmc,
    /// A file that is shown as a device.
    Loop,
    /// Built on others: LVM, dm-crypt and the like.
    DeviceMapper,
    /// Built on others: Linux MD.
    Raid,
    /// Main memory that is shown as a device.
    Memory,
    /// Another one.
    Other,
}

impl Bus {
    /// Its name, as in JSON.
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
    /// Speed of a lane now, in GT/s: 2.5, 5, 8, 16, 32 or 64 for generations 1 to 6.
    pub gigatransfers_per_s: f64,
    /// Lanes now.
    pub lanes: u32,
    /// The fastest that the drive can; a slot that cannot, or saving power, makes it slower.
    pub max_gigatransfers_per_s: Option<f64>,
    /// The most lanes that the drive has.
    pub max_lanes: Option<u32>,
}

/// How the kernel treats the volatile write cache of a drive.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum WriteCache {
    /// A write may be answered before it is durable, and a flush makes it so.
    Back,
    /// There is none, or writes go through it.
    Through,
}

/// What can be measured on a device.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case", tag = "can")]
pub enum Measurable {
    /// Everything, and that destroys what is on it.
    Everything {
        /// What to type for it.
        command: String,
    },
    /// What only reads.
    Reads {
        /// What to type for it.
        command: String,
        /// What keeps it from being written, in a word.
        obstacle: Obstacle,
        /// The same in a sentence, and what to do about it.
        reason: String,
    },
    /// Nothing.
    Nothing {
        /// What would keep it from being written besides, as far as that is known.
        obstacle: Option<Obstacle>,
        /// Why, and what to do about it.
        reason: String,
    },
}

/// What keeps a device from being written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Obstacle {
    /// A file system on it or on a part of it is mounted.
    Mounted,
    /// Another device is built on it.
    Held,
    /// The system swaps to it.
    Swap,
    /// A loop device shows it.
    LoopBacking,
    /// There is something on it that looks like data.
    Data,
    /// Another host may be using it.
    Shared,
    /// It is read-only.
    ReadOnly,
    /// Somebody holds it exclusively.
    Busy,
    /// Whether it is in use could not be found out.
    Unknown,
}

impl From<&Refusal> for Obstacle {
    fn from(refusal: &Refusal) -> Obstacle {
        match refusal {
            Refusal::Mounted { .. } => Obstacle::Mounted,
            Refusal::Held { .. } => Obstacle::Held,
            Refusal::Swap { .. } => Obstacle::Swap,
            Refusal::LoopBacking { .. } => Obstacle::LoopBacking,
            Refusal::Signature { .. } => Obstacle::Data,
            Refusal::SharedStorage { .. } | Refusal::Reserved { .. } => Obstacle::Shared,
            Refusal::ReadOnly { .. } => Obstacle::ReadOnly,
            Refusal::Busy { .. } | Refusal::Locked { .. } | Refusal::OpenByOthers { .. } => {
                Obstacle::Busy
            }
            Refusal::Unknown { .. }
            | Refusal::Changed { .. }
            | Refusal::Unconfirmed { .. }
            | Refusal::WrongConfirmation { .. } => Obstacle::Unknown,
        }
    }
}

/// Every block device of `system`, with what `health` finds of the health of an NVMe drive by its
/// path.
///
/// Nothing is written. A drive that nobody uses is opened for reading, to see whether it bears data;
/// one that goes away meanwhile is left out.
///
/// # Errors
/// Where sysfs does not list the devices.
pub fn devices<H: Clone>(
    system: &System,
    health: impl Fn(&Path) -> Option<H>,
) -> io::Result<Inventory<H>> {
    let mut disks = system.disks()?;
    disks.sort_by_key(|disk| natural(&name_of(disk)));
    let mut devices = Vec::new();
    for disk in disks {
        let whole = path_of(&disk);
        let told = if bus_of(&disk) == Bus::Nvme {
            let path = Path::new(&whole);
            Told { health: health(path), nvme: identify(system, path) }
        } else {
            Told { health: None, nvme: None }
        };
        devices.extend(describe(system, &disk, None, told.clone()));
        let partitions = partitions(&disk);
        let describe = |part: &PathBuf| describe(system, part, Some(&whole), told.clone());
        devices.extend(partitions.iter().filter_map(describe));
    }
    Ok(Inventory { devices })
}

/// Where sysfs tells of a whole drive.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    /// Its directory.
    pub disk: PathBuf,
    /// The file that holds its temperature, in thousandths of a degree Celsius.
    pub sensor: Option<PathBuf>,
}

/// Of the drive that is, or holds, the device or file at `path`; `None` where it lies on none, as
/// in memory, on a network, or on several drives.
pub fn place(system: &System, path: &Path) -> Option<Place> {
    let disk = system.whole_disk(Identity::from(&fs::metadata(path).ok()?).device())?;
    Some(Place { sensor: hang::sensor(&disk), disk })
}

fn partitions(disk: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(disk).into_iter().flatten().flatten();
    let mut partitions: Vec<_> =
        entries.map(|entry| entry.path()).filter(|path| path.join("partition").exists()).collect();
    partitions.sort_by_key(|partition| natural(&name_of(partition)));
    partitions
}

/// In sysfs a slash within a device's name is an exclamation mark.
fn name_of(directory: &Path) -> String {
    directory.file_name().unwrap_or_default().to_string_lossy().replace('!', "/")
}

/// The path in `/dev` of the device whose directory in sysfs is `directory`.
pub(crate) fn path_of(directory: &Path) -> String {
    format!("/dev/{}", name_of(directory))
}

/// The bus of the drive whose directory in sysfs is `disk`.
pub(crate) fn bus_of(disk: &Path) -> Bus {
    hang::bus(&name_of(disk), disk)
}

/// Splits a name where digits begin or end, so that `sd10` comes after `sd9`.
fn natural(name: &str) -> Vec<(u64, String)> {
    let pieces = name.as_bytes().chunk_by(|a, b| a.is_ascii_digit() == b.is_ascii_digit());
    let piece = |piece: &[u8]| {
        let piece = String::from_utf8_lossy(piece).into_owned();
        (piece.parse().unwrap_or(0), piece)
    };
    pieces.map(piece).collect()
}

/// What a drive answers when it is asked.
#[derive(Clone)]
struct Told<H> {
    health: Option<H>,
    nvme: Option<Nvme>,
}

/// The device whose directory in sysfs is `directory`; `None` where it is gone.
fn describe<H>(
    system: &System,
    directory: &Path,
    whole: Option<&str>,
    told: Told<H>,
) -> Option<BlockDevice<H>> {
    let disk = if whole.is_some() { directory.parent()? } else { directory };
    let number = guard::parse_number(&text(&directory.join("dev"))?)?;
    let sectors: u64 = number_at(&directory.join("size"))?;
    let capacity = Bytes(sectors.saturating_mul(SIZE_UNIT));
    let hardware = Hardware::of_device(system, number);
    let queue = disk.join("queue");
    let path = path_of(directory);
    let serial = Hardware::own_serial(system, Identity::Block(number));
    let node = system.path(path.trim_start_matches('/'));
    Some(BlockDevice {
        partition_of: whole.map(str::to_owned),
        capacity_bytes: capacity,
        logical_sector_bytes: number_at(&queue.join("logical_block_size")).map(Bytes),
        physical_sector_bytes: number_at(&queue.join("physical_block_size")).map(Bytes),
        bus: bus_of(disk),
        pcie_link: hang::pcie_link(disk),
        rotational: text(&queue.join("rotational")).map(|text| text == "1"),
        scheduler: text(&queue.join("scheduler")).map(|text| chosen(&text)),
        queue_depth: number_at(&disk.join("device/queue_depth"))
            .or_else(|| number_at(&queue.join("nr_requests"))),
        write_cache: text(&queue.join("write_cache")).and_then(|text| match text.as_str() {
            "write back" => Some(WriteCache::Back),
            "write through" => Some(WriteCache::Through),
            _ => None,
        }),
        discard: number_at(&queue.join("discard_max_bytes")).map(|most: u64| most > 0),
        temperature_celsius: hang::sensor(disk)
            .and_then(|sensor| number_at::<f64>(&sensor))
            .map(|millis| millis / 1000.0),
        health: told.health,
        nvme: told.nvme,
        backing_file: text(&disk.join("loop/backing_file")),
        measurable: measurable(system, &path, &node, number, capacity, serial.as_deref()),
        model: hardware.model,
        serial: hardware.serial,
        firmware: hardware.firmware,
        path,
    })
}

fn number_at<T: std::str::FromStr>(path: &Path) -> Option<T> {
    text(path)?.parse().ok()
}

/// The one in brackets of `none [mq-deadline] kyber`.
fn chosen(text: &str) -> String {
    let bracketed = text.split_once('[').and_then(|(_, rest)| rest.split_once(']'));
    bracketed.map_or(text, |(chosen, _)| chosen).to_owned()
}

/// Asks the guards, in the order in which an opening asks them.
fn measurable(
    system: &System,
    path: &str,
    node: &Path,
    number: DeviceNumber,
    capacity: Bytes,
    serial: Option<&str>,
) -> Measurable {
    if capacity == Bytes(0) {
        let reason = "it holds nothing: no medium is in it, or nothing is attached to it";
        return Measurable::Nothing { obstacle: None, reason: reason.into() };
    }
    let probe = match File::open(node) {
        Ok(probe) => probe,
        Err(source) => return unreadable(system, path, number, &source),
    };
    match writable(system, Path::new(path), node, number, &probe) {
        Ok(()) => {
            let confirmation = serial.filter(|serial| can_be_typed(serial)).unwrap_or(path);
            let command = format!("flashscope bench {path} --destroy-data-on {confirmation}");
            Measurable::Everything { command }
        }
        Err(refusal) => Measurable::Reads {
            command: format!("flashscope bench {path} --read-only"),
            obstacle: Obstacle::from(&refusal),
            reason: refusal.to_string(),
        },
    }
}

fn writable(
    system: &System,
    path: &Path,
    node: &Path,
    number: DeviceNumber,
    probe: &File,
) -> Result<(), Refusal> {
    let unknown = |source| Refusal::Unknown { path: path.into(), source };
    if let Identity::Block(found) = Identity::of(probe).map_err(unknown)? {
        guard::check_same(path, Identity::Block(number), Identity::Block(found))?;
    }
    system.check_unused(path, Identity::Block(number))?;
    if guard::is_locked(probe).map_err(unknown)? {
        return Err(Refusal::Locked { path: path.into(), process: None });
    }
    guard::check_unopened(system, path, Identity::Block(number))?;
    guard::reservation::check(system, path, probe)?;
    guard::check_unmarked(path, probe)?;
    // What is left is who holds it exclusively without a word, which opening it likewise tells.
    match fs::OpenOptions::new().read(true).custom_flags(libc::O_EXCL).open(node) {
        Err(error) if error.raw_os_error() == Some(libc::EBUSY) => {
            Err(Refusal::Busy { path: path.into() })
        }
        opened => opened.map(drop).map_err(unknown),
    }
}

/// A device that cannot be opened; whether it is in use can be told without that.
fn unreadable(system: &System, path: &str, number: DeviceNumber, source: &io::Error) -> Measurable {
    let reason = format!("cannot open `{path}`: {source}{}", advice(Path::new(path), source));
    match system.check_unused(Path::new(path), Identity::Block(number)) {
        Ok(()) => Measurable::Nothing { obstacle: None, reason },
        Err(refusal) => Measurable::Nothing {
            obstacle: Some(Obstacle::from(&refusal)),
            reason: format!("{reason}; besides, {refusal}"),
        },
    }
}

/// Whether a shell, and the command line behind it, take a serial number as it stands.
fn can_be_typed(serial: &str) -> bool {
    let plain = |c: char| c.is_ascii_alphanumeric() || "._-+:".contains(c);
    !serial.starts_with('-') && serial.chars().all(plain)
}

#[cfg(test)]
mod tests {
    use super::*;

    // Do numbers in names count as numbers?
    #[test]
    fn names_are_in_natural_order() {
        let mut names = ["nvme10n1", "nvme2n1", "sdb", "nvme2n10", "sda", "nvme2n2"];
        names.sort_by_key(|name| natural(name));
        assert_eq!(names, ["nvme2n1", "nvme2n2", "nvme2n10", "nvme10n1", "sda", "sdb"]);
    }

    // Is a serial number that a shell or the command line would take for something else not offered?
    #[test]
    fn only_plain_serials_are_offered() {
        assert!(["S4EWNX0R123456", "WD-42", "0x5000c500:1"].into_iter().all(can_be_typed));
        let odd = ["-rf", "a b", "$(reboot)", "x;y", "a'b", "é"];
        assert!(odd.into_iter().all(|serial| !can_be_typed(serial)));
    }
}
