//! The log pages in which a drive tells of its own health.
//!
//! NVMe drives alone: of others (ATA's SMART, SCSI's log pages) nothing is read. The one command
//! that is ever sent is Get Log Page, on a descriptor that is open for reading. What the pages say
//! is not decoded here: they are a published format, which whoever records them reads.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use crate::guard::{DeviceNumber, Identity, System, parse_number};
use crate::hardware::text;
use crate::inventory::{Bus, bus_of, path_of};
use crate::nvme::{Admin, Controller, Failed};

/// Bytes of each of the two pages.
const PAGE_LEN: usize = 512;

/// A log page as the drive gave it.
pub type LogPage = [u8; PAGE_LEN];

/// What a drive tells of its health.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LogPages {
    /// SMART / Health Information, log identifier 02h (NVM Express Base Specification).
    pub smart: LogPage,
    /// What the drive has at log identifier C0h: of drives that follow the OCP Datacenter NVMe SSD
    /// Specification its extended SMART page. The identifier is for any vendor to use, so that only
    /// the GUID in the page tells whether it is that one. Absent where the drive has none.
    pub extended: Option<LogPage>,
}

/// Why the health of a drive could not be read.
#[derive(Debug, thiserror::Error)]
pub enum Unreadable {
    /// There is no single drive to ask.
    #[error("`{}` lies on no drive, or on several: there is none to ask for its health", .0.display())]
    NoDrive(PathBuf),
    /// It is not an NVMe drive.
    #[error("`{0}` is not an NVMe drive: the health of others is not read")]
    NotNvme(String),
    /// The operating system did not let it be asked.
    #[error("cannot read the health of `{drive}`: {source}{}", advice(source))]
    System {
        /// The drive.
        drive: String,
        /// The answer of the system.
        source: io::Error,
    },
    /// The drive refused.
    #[error("`{drive}` does not tell its health: it answered with the NVMe status {status:#x}")]
    Refused {
        /// The drive.
        drive: String,
        /// Status code type and status code of the completion, as in its bits 8 to 10 and 0 to 7.
        status: u32,
    },
}

fn advice(source: &io::Error) -> &'static str {
    match source.raw_os_error() {
        Some(libc::EACCES) => " (it takes root)",
        Some(libc::EPERM) => " (it takes root, and this container or sandbox may not let it)",
        _ => "",
    }
}

/// The log pages of health that there are of the drive that is, or holds, the device or file at
/// `path`.
///
/// A drive that lacks the extended page counts the question as a rejected command among the entries
/// of its error log; [`smart`] does not ask it.
///
/// # Errors
/// Where there is no such drive or it is not an NVMe drive, and where the system or the drive
/// refuses.
pub fn log_pages(system: &System, path: &Path) -> Result<LogPages, Unreadable> {
    ask(system, path, open, |drive| both(&drive))
}

/// The SMART / Health Information page alone of the drive that is, or holds, the device or file at
/// `path`.
///
/// # Errors
/// As of [`log_pages`].
pub fn smart(system: &System, path: &Path) -> Result<LogPage, Unreadable> {
    ask(system, path, open, |drive| page(&drive, LogId::Smart))
}

/// Log identifiers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum LogId {
    Smart = 0x02,
    Extended = 0xC0,
}

/// A whole drive.
#[derive(Debug)]
pub(crate) struct Drive {
    /// As below `/dev`.
    path: String,
    node: PathBuf,
    number: DeviceNumber,
}

fn page(drive: &impl Controller, log: LogId) -> Result<LogPage, Failed> {
    let mut page = [0; PAGE_LEN];
    drive.send(Admin::GetLogPage { log: log as u8 }, &mut page)?;
    Ok(page)
}

fn both(drive: &impl Controller) -> Result<LogPages, Failed> {
    let smart = page(drive, LogId::Smart)?;
    Ok(LogPages { smart, extended: page(drive, LogId::Extended).ok() })
}

/// Finds the drive, opens it and reads from it.
pub(crate) fn ask<O, T>(
    system: &System,
    path: &Path,
    open: impl FnOnce(&Drive) -> io::Result<O>,
    read: impl FnOnce(&O) -> Result<T, Failed>,
) -> Result<T, Unreadable> {
    let drive = find(system, path)?;
    let answer = open(&drive).map_err(Failed::System).and_then(|opened| read(&opened));
    let drive = drive.path;
    answer.map_err(|failed| match failed {
        Failed::System(source) => Unreadable::System { drive, source },
        Failed::Status(status) => Unreadable::Refused { drive, status },
    })
}

/// Opens a drive for reading; fails where its node leads to something else.
pub(crate) fn open(drive: &Drive) -> io::Result<File> {
    let file = File::open(&drive.node)?;
    if Identity::of(&file)? != Identity::Block(drive.number) {
        return Err(io::Error::other("its node in /dev leads to something else"));
    }
    Ok(file)
}

/// The NVMe drive that is, or holds, what is at `path`.
fn find(system: &System, path: &Path) -> Result<Drive, Unreadable> {
    let none = || Unreadable::NoDrive(path.into());
    let number = Identity::from(&fs::metadata(path).map_err(|_| none())?).device();
    let disk = system.whole_disk(number).ok_or_else(none)?;
    let path = path_of(&disk);
    if bus_of(&disk) != Bus::Nvme {
        return Err(Unreadable::NotNvme(path));
    }
    let number = text(&disk.join("dev")).and_then(|number| parse_number(&number));
    let node = system.path(path.trim_start_matches('/'));
    Ok(Drive { path, node, number: number.ok_or_else(none)? })
}

#[cfg(test)]
mod tests;
