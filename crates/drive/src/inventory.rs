//! The block devices of a machine: their properties, and the benchmarks that may run on them.
//!
//! Properties come from sysfs. The [guards](crate::guard) decide whether a device may be written,
//! and the list agrees with the result of opening the device.

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
use crate::topology::{self, bus_of, name_of, natural, number_at, path_of};
pub use crate::topology::{Bus, PcieLink};

/// The unit of `size` in sysfs, independent of the drive's sector size.
const SIZE_UNIT: u64 = 512;

/// The block devices of a machine in the order of their names, each drive before its partitions.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "Inventory")]
pub struct Inventory<H> {
    /// All devices.
    pub devices: Vec<BlockDevice<H>>,
}

/// A block device: a drive, or a partition of one.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "BlockDevice")]
pub struct BlockDevice<H> {
    /// Its path, such as `/dev/nvme0n1`.
    pub path: String,
    /// The drive that a partition belongs to. All properties below describe that drive, except the
    /// capacity and the benchmarks that may run.
    pub partition_of: Option<String>,
    /// Capacity in bytes.
    pub capacity_bytes: Bytes,
    /// The unit of offsets and lengths of IOs.
    pub logical_sector_bytes: Option<Bytes>,
    /// The unit that the drive writes without a read-modify-write, as the drive reports it.
    pub physical_sector_bytes: Option<Bytes>,
    /// The vendor's model name.
    pub model: Option<String>,
    /// The serial number.
    pub serial: Option<String>,
    /// The firmware revision.
    pub firmware: Option<String>,
    /// The bus that connects it to the machine.
    pub bus: Bus,
    /// Its PCI Express link, for NVMe drives only: other drives share the link of their controller.
    pub pcie_link: Option<PcieLink>,
    /// True if the drive reports that it rotates. Many virtual drives wrongly report this.
    pub rotational: Option<bool>,
    /// The IO scheduler of the kernel: `none`, `mq-deadline`, `kyber` or `bfq`.
    pub scheduler: Option<String>,
    /// The maximum number of IOs in flight: the drive's own depth for SCSI and SATA, the length of
    /// a kernel queue for other drives.
    pub queue_depth: Option<u32>,
    /// Its volatile write cache, as the kernel treats it.
    pub write_cache: Option<WriteCache>,
    /// True if it supports discards (TRIM, Deallocate, UNMAP).
    pub discard: Option<bool>,
    /// Its current temperature in degrees Celsius.
    pub temperature_celsius: Option<f64>,
    /// Its health as the drive reports it: for NVMe drives only, and as root.
    pub health: Option<H>,
    /// Its properties as the drive reports them: for NVMe drives only, and as root.
    pub nvme: Option<Nvme>,
    /// The backing file of a loop device.
    pub backing_file: Option<String>,
    /// The benchmarks that may run on it.
    pub measurable: Measurable,
}

/// The kernel's treatment of a drive's volatile write cache.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum WriteCache {
    /// A write may complete before it is durable; a flush makes it durable.
    Back,
    /// The drive has no cache, or writes pass through it.
    Through,
}

/// The benchmarks that may run on a device.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case", tag = "can")]
pub enum Measurable {
    /// All benchmarks, which destroy its data.
    Everything {
        /// The command to run them.
        command: String,
    },
    /// Read-only benchmarks.
    Reads {
        /// The command to run them.
        command: String,
        /// The obstacle to writing, as one word.
        obstacle: Obstacle,
        /// The obstacle in a sentence, with the remedy.
        reason: String,
    },
    /// No benchmark.
    Nothing {
        /// An additional obstacle to writing, if known.
        obstacle: Option<Obstacle>,
        /// The reason, with the remedy.
        reason: String,
    },
}

/// An obstacle to writing a device.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Obstacle {
    /// A file system on the device, or on a part of it, is mounted.
    Mounted,
    /// Another block device (LVM, RAID or device mapper) uses the device.
    Held,
    /// The system swaps to the device.
    Swap,
    /// A loop device exposes the device.
    LoopBacking,
    /// The device contains data.
    Data,
    /// Another host may be using the device.
    Shared,
    /// The device is read-only.
    ReadOnly,
    /// Another program holds the device exclusively.
    Busy,
    /// The guards could not determine whether the device is in use.
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

/// Lists the block devices of `system`. `health` returns the health of an NVMe drive by its path.
///
/// Writes nothing. Opens each device for reading, and searches unused devices for data. Omits
/// devices that disappear meanwhile.
///
/// # Errors
/// An error if sysfs does not list the devices.
pub fn devices<H: Clone>(
    system: &System,
    health: impl Fn(&Path) -> Option<H>,
) -> io::Result<Inventory<H>> {
    let mut disks = system.disks()?;
    disks.sort_by_key(|disk| natural(&name_of(disk)));
    let mut devices = Vec::new();
    for disk in disks {
        let whole = path_of(&disk);
        let report = if bus_of(&disk) == Bus::Nvme {
            let path = Path::new(&whole);
            DriveReport { health: health(path), nvme: identify(system, path) }
        } else {
            DriveReport { health: None, nvme: None }
        };
        devices.extend(describe(system, &disk, None, report.clone()));
        let partitions = partitions(&disk);
        let describe = |part: &PathBuf| describe(system, part, Some(&whole), report.clone());
        devices.extend(partitions.iter().filter_map(describe));
    }
    Ok(Inventory { devices })
}

/// The sysfs files of a whole drive.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    /// Its directory.
    pub disk: PathBuf,
    /// The file with its temperature, in thousandths of a degree Celsius.
    pub sensor: Option<PathBuf>,
}

/// Returns the sysfs files of the drive that is, or holds, the device or file at `path`. Returns
/// `None` if `path` does not lie on a single drive: for example if it lies in memory, on a network
/// or on several drives.
pub fn place(system: &System, path: &Path) -> Option<Place> {
    let disk = system.whole_disk(Identity::from(&fs::metadata(path).ok()?).device())?;
    Some(Place { sensor: topology::sensor(&disk), disk })
}

fn partitions(disk: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(disk).into_iter().flatten().flatten();
    let mut partitions: Vec<_> =
        entries.map(|entry| entry.path()).filter(|path| path.join("partition").exists()).collect();
    partitions.sort_by_key(|partition| natural(&name_of(partition)));
    partitions
}

/// The health and the properties that an NVMe drive reports.
#[derive(Clone)]
struct DriveReport<H> {
    health: Option<H>,
    nvme: Option<Nvme>,
}

/// Describes the device with the sysfs directory `directory`, or returns `None` if it has
/// disappeared.
fn describe<H>(
    system: &System,
    directory: &Path,
    whole: Option<&str>,
    report: DriveReport<H>,
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
        pcie_link: topology::pcie_link(disk),
        rotational: text(&queue.join("rotational")).map(|text| text == "1"),
        scheduler: text(&queue.join("scheduler")).map(|text| active_scheduler(&text)),
        queue_depth: number_at(&disk.join("device/queue_depth"))
            .or_else(|| number_at(&queue.join("nr_requests"))),
        write_cache: text(&queue.join("write_cache")).and_then(|text| match text.as_str() {
            "write back" => Some(WriteCache::Back),
            "write through" => Some(WriteCache::Through),
            _ => None,
        }),
        discard: number_at(&queue.join("discard_max_bytes")).map(|most: u64| most > 0),
        temperature_celsius: topology::sensor(disk)
            .and_then(|sensor| number_at::<f64>(&sensor))
            .map(|millis| millis / 1000.0),
        health: report.health,
        nvme: report.nvme,
        backing_file: text(&disk.join("loop/backing_file")),
        measurable: measurable(system, &path, &node, number, capacity, serial.as_deref()),
        model: hardware.model,
        serial: hardware.serial,
        firmware: hardware.firmware,
        path,
    })
}

/// Returns the scheduler in brackets in a text such as `none [mq-deadline] kyber`.
fn active_scheduler(text: &str) -> String {
    let bracketed = text.split_once('[').and_then(|(_, rest)| rest.split_once(']'));
    bracketed.map_or(text, |(active, _)| active).to_owned()
}

/// Returns the benchmarks that the guards would allow, given a confirmation.
fn measurable(
    system: &System,
    path: &str,
    node: &Path,
    number: DeviceNumber,
    capacity: Bytes,
    serial: Option<&str>,
) -> Measurable {
    if capacity == Bytes(0) {
        let reason = "it has no capacity: no medium is inserted, or no file is attached to it";
        return Measurable::Nothing { obstacle: None, reason: reason.into() };
    }
    let probe = match File::open(node) {
        Ok(probe) => probe,
        Err(source) => return unreadable(system, path, number, &source),
    };
    match writable(system, Path::new(path), node, number, &probe) {
        Ok(()) => {
            let confirmation = serial.filter(|serial| needs_no_quotes(serial)).unwrap_or(path);
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
    if let Identity::Block(opened) = Identity::of(probe).map_err(unknown)? {
        guard::check_same(path, Identity::Block(number), Identity::Block(opened))?;
    }
    system.check_unused(path, Identity::Block(number))?;
    if guard::is_locked(probe).map_err(unknown)? {
        return Err(Refusal::Locked { path: path.into(), process: None });
    }
    guard::check_unopened(system, path, Identity::Block(number))?;
    guard::reservation::check(system, path, probe)?;
    guard::check_unmarked(path, probe)?;
    // Only an opening with O_EXCL detects an exclusive holder that leaves no other trace.
    match fs::OpenOptions::new().read(true).custom_flags(libc::O_EXCL).open(node) {
        Err(error) if error.raw_os_error() == Some(libc::EBUSY) => {
            Err(Refusal::Busy { path: path.into() })
        }
        opened => opened.map(drop).map_err(unknown),
    }
}

/// Describes a device that cannot be opened. Its use can be determined without opening it.
fn unreadable(system: &System, path: &str, number: DeviceNumber, source: &io::Error) -> Measurable {
    let reason = format!("cannot open `{path}`: {source}{}", advice(Path::new(path), source));
    match system.check_unused(Path::new(path), Identity::Block(number)) {
        Ok(()) => Measurable::Nothing { obstacle: None, reason },
        Err(refusal) => Measurable::Nothing {
            obstacle: Some(Obstacle::from(&refusal)),
            reason: format!("{reason}; moreover, {refusal}"),
        },
    }
}

/// Returns true if a shell and the command line accept a serial number without quotes.
fn needs_no_quotes(serial: &str) -> bool {
    let plain = |c: char| c.is_ascii_alphanumeric() || "._-+:".contains(c);
    !serial.starts_with('-') && serial.chars().all(plain)
}

#[cfg(test)]
mod tests {
    use super::*;

    // A shell or the command line would misread other serial numbers.
    #[test]
    fn only_plain_serials_are_offered() {
        assert!(["S4EWNX0R123456", "WD-42", "0x5000c500:1"].into_iter().all(needs_no_quotes));
        let odd = ["-rf", "a b", "$(reboot)", "x;y", "a'b", "é"];
        assert!(odd.into_iter().all(|serial| !needs_no_quotes(serial)));
    }
}
