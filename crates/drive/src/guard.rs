//! Guards that run before any write: they detect data that must not be overwritten.
//!
//! All decisions are made on the *identity* of an open descriptor (the number of a device, the
//! inode of a file), never on a name. Symbolic links and renames therefore cannot bypass them.

mod created;
mod lock;
mod medium;
mod open;
mod openers;
mod output;
mod own;
pub mod reservation;
mod signature;
mod usage;

use std::fmt;
use std::fs::{File, Metadata};
use std::io;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};

pub use medium::{Medium, medium_of};
pub use openers::Process;
pub use output::{check_output, create_output};
pub use own::remove_scratch;
use signature::Finding;
pub use signature::{SIGNATURES, Signature};
pub use usage::System;

pub(crate) use created::NewFile;
#[cfg(test)]
pub(crate) use lock::set;
pub(crate) use lock::{Lock, is_locked};
pub(crate) use open::{
    GuardedFile, OverwriteReason, WriteRequest, check_unopened, open as open_guarded, open_for_io,
};
pub(crate) use own::FileMark;
pub(crate) use usage::parse_number;

/// Major and minor number of a block device.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct DeviceNumber {
    /// The number of the driver.
    pub major: u32,
    /// The number of the device within the driver.
    pub minor: u32,
}

impl DeviceNumber {
    /// Splits a `dev_t`.
    pub(crate) fn new(number: u64) -> DeviceNumber {
        DeviceNumber { major: libc::major(number), minor: libc::minor(number) }
    }
}

impl fmt::Display for DeviceNumber {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.major, self.minor)
    }
}

/// The identity of an open device or file, independent of its name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Identity {
    /// A block device.
    Block(DeviceNumber),
    /// Anything else.
    File {
        /// The device of the file system.
        device: DeviceNumber,
        /// The inode number in the file system.
        inode: u64,
    },
}

impl Identity {
    /// Returns the identity of an open file.
    pub(crate) fn of(file: &File) -> io::Result<Identity> {
        Ok(Identity::from(&file.metadata()?))
    }

    /// Returns the block device itself, or the one that holds the file's file system.
    pub(crate) fn device(self) -> DeviceNumber {
        match self {
            Identity::Block(number) | Identity::File { device: number, .. } => number,
        }
    }
}

impl From<&Metadata> for Identity {
    fn from(metadata: &Metadata) -> Identity {
        if metadata.file_type().is_block_device() {
            Identity::Block(DeviceNumber::new(metadata.rdev()))
        } else {
            Identity::File { device: DeviceNumber::new(metadata.dev()), inode: metadata.ino() }
        }
    }
}

/// The reason why a device or file must not be written, and the remedy.
#[derive(Debug, thiserror::Error)]
pub enum Refusal {
    /// Nobody has confirmed that the data on the device may be destroyed.
    #[error(
        "writing to `{}` destroys everything on it: confirm it with `--destroy-data-on {}`{}",
        path.display(),
        path.display(),
        serial.as_ref().map(|serial| format!(" or `--destroy-data-on {serial}` (its serial number)"))
            .unwrap_or_default()
    )]
    Unconfirmed {
        /// The device.
        path: PathBuf,
        /// Its serial number.
        serial: Option<String>,
    },
    /// The confirmation names another device.
    #[error(
        "`{given}` was confirmed to be destroyed, but the drive to be written is `{}`{}: give its \
         path or its serial number exactly",
        path.display(),
        serial.as_ref().map(|serial| format!(" with the serial number `{serial}`"))
            .unwrap_or_default()
    )]
    WrongConfirmation {
        /// The text of the confirmation.
        given: String,
        /// The device.
        path: PathBuf,
        /// Its serial number.
        serial: Option<String>,
    },
    /// The device is read-only.
    #[error(
        "`{}` is read-only: choose a read-only benchmark, or make it writable (`blockdev --setrw`)",
        path.display()
    )]
    ReadOnly {
        /// The device.
        path: PathBuf,
    },
    /// A file system on the drive, or on a part of it, is mounted.
    #[error("`{}` is in use: {device} is mounted at `{at}`; unmount it first", path.display())]
    Mounted {
        /// The drive.
        path: PathBuf,
        /// The mounted device: the drive, one of its partitions, or its whole disk.
        device: String,
        /// The mount point.
        at: String,
    },
    /// Another device uses the drive: LVM, RAID or device mapper.
    #[error(
        "`{}` is in use: {device} is part of {holder} (LVM, RAID or device mapper); remove it from \
         there first (`lsblk` shows the hierarchy)",
        path.display()
    )]
    Held {
        /// The drive.
        path: PathBuf,
        /// The device in use: the drive, one of its partitions, or its whole disk.
        device: String,
        /// The device that uses it.
        holder: String,
    },
    /// The system swaps to the drive.
    #[error(
        "`{}` is in use: the system swaps to {device}; `swapoff {device}` first",
        path.display()
    )]
    Swap {
        /// The drive.
        path: PathBuf,
        /// The swap device.
        device: String,
    },
    /// A loop device exposes the content of `path` as a block device. If `path` is itself a loop
    /// device, the device that exposes it is another loop device.
    #[error(
        "`{}` is in use: the loop device {device} exposes its content{}; \
         {}`losetup --detach {device}` first",
        path.display(),
        mounted.as_ref().map(|at| format!(", mounted at `{at}`")).unwrap_or_default(),
        if mounted.is_some() { "unmount it, and " } else { "" }
    )]
    LoopBacking {
        /// The file or device.
        path: PathBuf,
        /// The loop device.
        device: String,
        /// The mount point of the loop device, if it is mounted.
        mounted: Option<String>,
    },
    /// The drive contains data.
    #[error(
        "`{}` contains {signature}{}: if its data may be destroyed, {erasing} first",
        path.display(),
        at_byte(*offset)
    )]
    Signature {
        /// The drive.
        path: PathBuf,
        /// The kind of data, as in "contains ...".
        signature: String,
        /// Its offset in bytes, if known.
        offset: Option<u64>,
        /// The commands that erase it, each in backticks.
        erasing: String,
    },
    /// The drive contains storage that several hosts may use at once.
    #[error(
        "`{}` contains {signature}{}, which several hosts may share: another host may be using it \
         right now, which this host cannot detect; unmount it on every host, and remove it there \
         with its own tools",
        path.display(),
        at_byte(*offset)
    )]
    SharedStorage {
        /// The drive.
        path: PathBuf,
        /// The kind of storage, as in "contains ...".
        signature: String,
        /// Its offset in bytes, if known.
        offset: Option<u64>,
    },
    /// A host has reserved the drive, or registered for reservations.
    #[error(
        "`{}` is {state}: another host may be using it; release it there (`{}` shows the host)",
        path.display(),
        shown_by
    )]
    Reserved {
        /// The drive.
        path: PathBuf,
        /// The state, as in "is ...".
        state: String,
        /// The command that shows the host.
        shown_by: String,
    },
    /// Another program, or another part of the system, holds the drive exclusively. The system does
    /// not report which one.
    #[error(
        "`{}` is in use by another program or another part of the system, which holds it \
         exclusively: `lsblk` and `fuser -v` may show which",
        path.display()
    )]
    Busy {
        /// The drive.
        path: PathBuf,
    },
    /// Another program has locked the drive.
    #[error(
        "`{}` is locked by another program{}; virtual machines, partitioning tools and other \
         flashscope runs lock the drives they use: end that program first",
        path.display(),
        process.as_ref().map(|process| format!(" ({process} has it open)")).unwrap_or_default()
    )]
    Locked {
        /// The drive.
        path: PathBuf,
        /// A process that has the drive open, if `/proc` shows one; a process that can write is
        /// preferred.
        process: Option<Process>,
    },
    /// Another process has the drive open for writing, without a lock.
    #[error(
        "`{}` is open for writing by {process}: end that process first, or pass \
         `--ignore-open-by-others` if it does not write during the run",
        path.display()
    )]
    OpenByOthers {
        /// The drive.
        path: PathBuf,
        /// The process.
        process: Process,
    },
    /// The path leads to another device or file than it did during the checks.
    #[error(
        "`{}` was replaced by something else while it was being checked: nothing was written; find \
         the program that renames it, and try again",
        path.display()
    )]
    Changed {
        /// The path.
        path: PathBuf,
    },
    /// The guards could not determine whether the drive is in use.
    #[error("cannot determine whether `{}` is in use: {source}", path.display())]
    Unknown {
        /// The drive.
        path: PathBuf,
        /// The cause.
        source: io::Error,
    },
}

/// Formats the offset of a signature for a message.
fn at_byte(offset: Option<u64>) -> String {
    offset.map(|offset| format!(" (at byte {offset})")).unwrap_or_default()
}

/// Checks that the opened device or file is the one checked before.
///
/// # Errors
/// [`Refusal::Changed`] if it is not.
pub(crate) fn check_same(path: &Path, checked: Identity, opened: Identity) -> Result<(), Refusal> {
    if checked == opened { Ok(()) } else { Err(Refusal::Changed { path: path.into() }) }
}

/// Checks that the owner agreed to the loss of the data. `confirmation` must be the serial number,
/// if the device has a unique one, or the path, as given or with all symbolic links resolved.
pub(crate) fn check_confirmation(
    path: &Path,
    serial: Option<String>,
    confirmation: Option<&str>,
) -> Result<(), Refusal> {
    let path = path.to_path_buf();
    let Some(given) = confirmation else {
        return Err(Refusal::Unconfirmed { path, serial });
    };
    let is_serial = serial.as_deref() == Some(given);
    let is_path = Path::new(given) == path
        || path.canonicalize().is_ok_and(|canonical| Path::new(given) == canonical);
    if is_serial || is_path {
        Ok(())
    } else {
        Err(Refusal::WrongConfirmation { given: given.into(), path, serial })
    }
}

/// Checks that an open device or file has no signature of data.
pub(crate) fn check_unmarked(path: &Path, probe: &File) -> Result<(), Refusal> {
    let unknown = |source| Refusal::Unknown { path: path.into(), source };
    let Some(finding) = signature::find(probe).map_err(unknown)? else { return Ok(()) };
    let (path, erasing) = (path.to_path_buf(), finding.erasing(path));
    let Finding { name: signature, offset, .. } = finding;
    Err(match finding.shared {
        true => Refusal::SharedStorage { path, signature, offset },
        false => Refusal::Signature { path, signature, offset, erasing },
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    // Only the exact serial number or path confirms; an empty text does not.
    #[test]
    fn confirmation_is_serial_or_path() {
        let directory = tempfile::tempdir().unwrap();
        let device = directory.path().canonicalize().unwrap().join("device");
        let link = directory.path().join("link");
        std::fs::write(&device, "").unwrap();
        std::os::unix::fs::symlink(&device, &link).unwrap();
        let check = |path: &Path, serial: Option<&str>, given: Option<&str>| {
            check_confirmation(path, serial.map(str::to_owned), given)
        };

        assert!(check(&link, Some("S1"), Some("S1")).is_ok());
        assert!(check(&link, None, Some(link.to_str().unwrap())).is_ok());
        assert!(check(&link, None, Some(device.to_str().unwrap())).is_ok());

        assert!(matches!(check(&link, Some("S1"), None), Err(Refusal::Unconfirmed { .. })));
        let wrong = [
            (None, ""),
            (Some("S1"), ""),
            (Some("S1"), "S"),
            (Some("S1"), "s1"),
            (None, "yes"),
            (None, "device"),
        ];
        for (serial, given) in wrong {
            let answer = check(&device, serial, Some(given));
            assert!(matches!(answer, Err(Refusal::WrongConfirmation { .. })), "{given}");
        }
        let message = check(&device, Some("S1"), None).unwrap_err().to_string();
        assert!(message.contains("`--destroy-data-on S1`"), "{message}");
    }

    // The replacement may be another inode, file system or device, or a device in place of a file.
    #[test]
    fn an_exchange_is_detected() {
        let number = |major, minor| DeviceNumber { major, minor };
        let file = |minor, inode| Identity::File { device: number(8, minor), inode };
        let all = [
            file(1, 11),
            file(1, 12),
            file(2, 11),
            Identity::Block(number(8, 1)),
            Identity::Block(number(8, 2)),
            Identity::Block(number(9, 1)),
        ];
        for (i, checked) in all.into_iter().enumerate() {
            for (j, opened) in all.into_iter().enumerate() {
                let answer = check_same(Path::new("x"), checked, opened);
                assert_eq!(answer.is_ok(), i == j, "{checked:?} {opened:?}");
            }
        }
    }

    // A link has the identity of its target. The identity changes if another file gets the name.
    #[test]
    fn identity_is_that_of_the_open_file() {
        let directory = tempfile::tempdir().unwrap();
        let [file, link, other] = ["file", "link", "other"].map(|name| directory.path().join(name));
        std::fs::write(&file, "").unwrap();
        std::fs::write(&other, "").unwrap();
        std::os::unix::fs::symlink(&file, &link).unwrap();
        let open = |path: &Path| Identity::of(&File::open(path).unwrap()).unwrap();
        let checked = open(&link);
        assert_eq!(checked, open(&file));
        std::fs::rename(&other, &file).unwrap();
        assert!(check_same(&link, checked, open(&link)).is_err());
    }
}
