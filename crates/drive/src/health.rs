//! Log pages with the health of an NVMe drive.
//!
//! For other drives (ATA SMART, SCSI log pages), nothing is read. The only command sent is Get Log
//! Page, on a descriptor that is open for reading. This module does not decode the pages, which
//! have a published format.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use crate::guard::{DeviceNumber, Identity, System, parse_number};
use crate::hardware::{Hardware, text};
use crate::nvme::{Admin, CommandError, Controller};
use crate::topology::{Bus, bus_of, natural, path_of};

/// The length of each log page in bytes.
const PAGE_LEN: usize = 512;

/// The statuses of a drive without a log page: Invalid Log Page, and Invalid Field in Command (NVM
/// Express Base Specification).
const UNSUPPORTED: [u32; 2] = [0x109, 0x002];

/// The raw content of a log page.
pub type LogPage = [u8; PAGE_LEN];

/// The health log pages of a drive.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LogPages {
    /// SMART / Health Information, log identifier 02h (NVM Express Base Specification).
    pub smart: LogPage,
    /// The log page C0h, if the drive has one. For drives that follow the OCP Datacenter NVMe SSD
    /// Specification, it is the extended SMART page. Other vendors may use the identifier
    /// differently; the GUID in the page identifies its format.
    pub extended: Option<LogPage>,
    /// True if the drive stated that it has no log page C0h. Other failures may be temporary.
    pub lacks_extended: bool,
}

/// The reason why the health of a drive could not be read.
#[derive(Debug, thiserror::Error)]
pub enum HealthError {
    /// The path does not exist: the drive may have been removed.
    #[error("`{}` is gone: {source}", path.display())]
    Gone {
        /// The path.
        path: PathBuf,
        /// The error of the system.
        source: io::Error,
    },
    /// The path does not lie on a single drive.
    #[error("`{}` does not lie on a single drive: its health cannot be read", .0.display())]
    NoDrive(PathBuf),
    /// The drive is not an NVMe drive.
    #[error("`{0}` is not an NVMe drive: the health of other drives is not supported")]
    NotNvme(String),
    /// The operating system returned an error.
    #[error("cannot read the health of `{drive}`: {source}{}", advice(source))]
    System {
        /// The drive.
        drive: String,
        /// The error of the system.
        source: io::Error,
    },
    /// The drive rejected the command.
    #[error("`{drive}` does not report its health: it returned the NVMe status {status:#x}")]
    Refused {
        /// The drive.
        drive: String,
        /// Status code type (bits 8 to 10) and status code (bits 0 to 7) of the completion.
        status: u32,
    },
}

impl HealthError {
    /// Returns true if the drive stated that it does not have the log page.
    pub fn is_unsupported(&self) -> bool {
        matches!(self, HealthError::Refused { status, .. } if UNSUPPORTED.contains(status))
    }
}

/// Returns advice for a permission error.
fn advice(source: &io::Error) -> &'static str {
    match source.raw_os_error() {
        Some(libc::EACCES) => " (this requires root)",
        Some(libc::EPERM) => " (this requires root, and a container or sandbox may prevent it)",
        _ => "",
    }
}

/// Reads both health log pages of the drive that is, or holds, the device or file at `path`.
///
/// A drive without the extended page counts the query as a rejected command in its error log.
/// [`read_smart_log`] does not send that query.
///
/// # Errors
/// An error if there is no such drive, if it is not an NVMe drive, or if the system or the drive
/// rejects the command.
pub fn log_pages(system: &System, path: &Path) -> Result<LogPages, HealthError> {
    query(system, path, open, |drive| both(&drive))
}

/// Reads the SMART / Health Information page of the drive that is, or holds, the device or file at
/// `path`.
///
/// # Errors
/// The errors of [`log_pages`].
pub fn read_smart_log(system: &System, path: &Path) -> Result<LogPage, HealthError> {
    query(system, path, open, |drive| page(&drive, LogId::Smart))
}

/// Reads the log page C3h of the drive that is, or holds, the device or file at `path`. For drives
/// that follow the OCP Datacenter NVMe SSD Specification, it is the latency monitor.
///
/// A drive without the page counts the query as a rejected command in its error log.
///
/// # Errors
/// The errors of [`log_pages`].
pub fn latency_monitor(system: &System, path: &Path) -> Result<LogPage, HealthError> {
    query(system, path, open, |drive| page(&drive, LogId::LatencyMonitor))
}

/// An NVMe drive of this machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NvmeDrive {
    /// Its path, such as `/dev/nvme0n1`.
    pub path: PathBuf,
    /// The vendor's model name.
    pub model: Option<String>,
    /// The serial number.
    pub serial: Option<String>,
}

/// Returns the NVMe drive that is, or holds, the device or file at `path`. Opens nothing.
///
/// # Errors
/// An error if there is no such drive, or if it is not an NVMe drive.
pub fn drive(system: &System, path: &Path) -> Result<NvmeDrive, HealthError> {
    Ok(NvmeDrive::of(system, find(system, path)?))
}

/// Returns the NVMe drives of this machine in the order of their names, one for each serial number:
/// the namespaces of a drive share its health. Opens nothing.
///
/// # Errors
/// An error if sysfs does not list the devices.
pub fn drives(system: &System) -> io::Result<Vec<NvmeDrive>> {
    let mut disks = system.disks()?;
    disks.retain(|disk| bus_of(disk) == Bus::Nvme);
    disks.sort_by_key(|disk| natural(&path_of(disk)));
    let of_disk = |disk: &PathBuf| Some(NvmeDrive::of(system, Drive::of(system, disk)?));
    let mut drives: Vec<NvmeDrive> = Vec::new();
    for drive in disks.iter().filter_map(of_disk) {
        let is_known =
            drive.serial.is_some() && drives.iter().any(|one| one.serial == drive.serial);
        if !is_known {
            drives.push(drive);
        }
    }
    Ok(drives)
}

impl NvmeDrive {
    fn of(system: &System, drive: Drive) -> NvmeDrive {
        let Hardware { model, serial, .. } = Hardware::of_device(system, drive.number);
        NvmeDrive { path: drive.path.into(), model, serial }
    }
}

/// Log identifiers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum LogId {
    Smart = 0x02,
    Extended = 0xC0,
    LatencyMonitor = 0xC3,
}

/// A whole drive.
#[derive(Debug)]
pub(crate) struct Drive {
    /// Its path, such as `/dev/nvme0n1`.
    path: String,
    node: PathBuf,
    number: DeviceNumber,
}

impl Drive {
    /// Returns the drive with the sysfs directory `disk`, or `None` if it has disappeared.
    fn of(system: &System, disk: &Path) -> Option<Drive> {
        let path = path_of(disk);
        let number = parse_number(&text(&disk.join("dev"))?)?;
        Some(Drive { node: system.path(path.trim_start_matches('/')), path, number })
    }
}

fn page(drive: &impl Controller, log: LogId) -> Result<LogPage, CommandError> {
    let mut page = [0; PAGE_LEN];
    drive.send(Admin::GetLogPage { log: log as u8 }, &mut page)?;
    Ok(page)
}

fn both(drive: &impl Controller) -> Result<LogPages, CommandError> {
    let smart = page(drive, LogId::Smart)?;
    let extended = page(drive, LogId::Extended);
    let lacks_extended =
        matches!(&extended, Err(CommandError::Status(status)) if UNSUPPORTED.contains(status));
    Ok(LogPages { smart, extended: extended.ok(), lacks_extended })
}

/// Finds the drive, opens it and reads from it.
pub(crate) fn query<O, T>(
    system: &System,
    path: &Path,
    open: impl FnOnce(&Drive) -> io::Result<O>,
    read: impl FnOnce(&O) -> Result<T, CommandError>,
) -> Result<T, HealthError> {
    let drive = find(system, path)?;
    let answer = open(&drive).map_err(CommandError::System).and_then(|opened| read(&opened));
    let drive = drive.path;
    answer.map_err(|error| match error {
        CommandError::System(source) => HealthError::System { drive, source },
        CommandError::Status(status) => HealthError::Refused { drive, status },
    })
}

/// Opens a drive for reading. Fails if its node leads to another device.
pub(crate) fn open(drive: &Drive) -> io::Result<File> {
    let file = File::open(&drive.node)?;
    if Identity::of(&file)? != Identity::Block(drive.number) {
        return Err(io::Error::other("its node in /dev leads to another device"));
    }
    Ok(file)
}

/// Returns the NVMe drive that is, or holds, the device or file at `path`.
fn find(system: &System, path: &Path) -> Result<Drive, HealthError> {
    let none = || HealthError::NoDrive(path.into());
    let gone = |source| HealthError::Gone { path: path.into(), source };
    let number = Identity::from(&fs::metadata(path).map_err(gone)?).device();
    let disk = system.whole_disk(number).ok_or_else(none)?;
    if bus_of(&disk) != Bus::Nvme {
        return Err(HealthError::NotNvme(path_of(&disk)));
    }
    Drive::of(system, &disk).ok_or_else(none)
}

#[cfg(test)]
mod tests;
