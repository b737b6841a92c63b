//! The guards before any write: what must not be overwritten, and how that is found out.
//!
//! Everything is decided on the *identity* of an open descriptor (the number of a device, the
//! inode of a file), never on a name, so that neither a symbolic link nor a rename slips past.

mod created;
mod lock;
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

pub use openers::Process;
pub use output::{check_output, create_output};
pub use own::remove_scratch;
use signature::Finding;
pub use signature::{SIGNATURES, Signature};
pub use usage::System;

pub(crate) use created::Created;
#[cfg(test)]
pub(crate) use lock::set;
pub(crate) use lock::{Lock, is_locked};
pub(crate) use open::{
    Grounds, Guarded, Writing, check_unopened, open as open_guarded, open_for_io,
};
pub(crate) use own::Own;
pub(crate) use usage::parse_number;

/// Major and minor number of a block device.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct DeviceNumber {
    /// Which driver.
    pub major: u32,
    /// Which of its devices.
    pub minor: u32,
}

impl DeviceNumber {
    /// From a `dev_t`.
    pub(crate) fn new(number: u64) -> DeviceNumber {
        DeviceNumber { major: libc::major(number), minor: libc::minor(number) }
    }
}

impl fmt::Display for DeviceNumber {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.major, self.minor)
    }
}

/// What a descriptor leads to, whatever it is called.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Identity {
    /// A block device.
    Block(DeviceNumber),
    /// Anything else.
    File {
        /// The device of its file system.
        device: DeviceNumber,
        /// Its number there.
        inode: u64,
    },
}

impl Identity {
    /// What `file` is open on.
    pub(crate) fn of(file: &File) -> io::Result<Identity> {
        Ok(Identity::from(&file.metadata()?))
    }

    /// The block device that it is, or that the file system of the file lies on.
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

/// Why something must not be written, and what to do about it.
#[derive(Debug, thiserror::Error)]
pub enum Refusal {
    /// Nobody confirmed that the data of the device may go.
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
    /// Something else was confirmed.
    #[error(
        "`{given}` was confirmed to be destroyed, but the drive to be written is `{}`{}: give its \
         path or its serial number exactly",
        path.display(),
        serial.as_ref().map(|serial| format!(" with the serial number `{serial}`"))
            .unwrap_or_default()
    )]
    WrongConfirmation {
        /// What was typed.
        given: String,
        /// The device.
        path: PathBuf,
        /// Its serial number.
        serial: Option<String>,
    },
    /// It cannot be written.
    #[error(
        "`{}` is read-only: choose a read-only benchmark, or make it writable (`blockdev --setrw`)",
        path.display()
    )]
    ReadOnly {
        /// The device.
        path: PathBuf,
    },
    /// A file system on it, or on a part of it, is mounted.
    #[error("`{}` is in use: {device} is mounted at `{at}`; unmount it first", path.display())]
    Mounted {
        /// The drive.
        path: PathBuf,
        /// The device that is mounted: the drive, one of its partitions, or its whole disk.
        device: String,
        /// Where.
        at: String,
    },
    /// Another device is built on it: LVM, RAID, device mapper.
    #[error(
        "`{}` is in use: {device} is part of {holder} (LVM, RAID or device mapper); take it out \
         of there first (`lsblk` shows how they hang together)",
        path.display()
    )]
    Held {
        /// The drive.
        path: PathBuf,
        /// The device that is held: the drive, one of its partitions, or its whole disk.
        device: String,
        /// By what.
        holder: String,
    },
    /// It is swap space.
    #[error(
        "`{}` is in use: the system swaps to {device}; `swapoff {device}` first",
        path.display()
    )]
    Swap {
        /// The drive.
        path: PathBuf,
        /// The swap space.
        device: String,
    },
    /// A loop device shows its content as a block device; where it is a loop device itself, another one.
    #[error(
        "`{}` is in use: what it holds is behind the loop device {device}{}; \
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
        /// Where the loop device is mounted.
        mounted: Option<String>,
    },
    /// There is something on it that looks like data.
    #[error(
        "`{}` bears {found}{}: if its data may go, {erasing} first",
        path.display(),
        at_byte(*offset)
    )]
    Signature {
        /// The drive.
        path: PathBuf,
        /// What was found.
        found: String,
        /// Where, as far as that is known.
        offset: Option<u64>,
        /// The commands that erase it, each in backticks.
        erasing: String,
    },
    /// It bears storage that several hosts may have in use at once.
    #[error(
        "`{}` bears {found}{}, which several hosts may share: another host may be using it at this moment, which cannot be \
         seen from here; unmount it on every host, and remove it with its own tools there",
        path.display(),
        at_byte(*offset)
    )]
    SharedStorage {
        /// The drive.
        path: PathBuf,
        /// What was found.
        found: String,
        /// Where, as far as that is known.
        offset: Option<u64>,
    },
    /// A host has reserved it, or registered to.
    #[error(
        "`{}` is {state}: another host may be using it; release it there (`{}` shows who)",
        path.display(),
        shown_by
    )]
    Reserved {
        /// The drive.
        path: PathBuf,
        /// How, as in "is ...".
        state: String,
        /// The command that shows who.
        shown_by: String,
    },
    /// The kernel says that somebody has it, and nothing says who.
    #[error(
        "`{}` is in use by another program or another part of the system, which holds it \
         exclusively: `lsblk` and `fuser -v` may show which",
        path.display()
    )]
    Busy {
        /// The drive.
        path: PathBuf,
    },
    /// Somebody has locked it.
    #[error(
        "`{}` is locked by another program{}, as virtual machines, partitioning tools and other runs \
         of flashscope lock what they use: end that first",
        path.display(),
        process.as_ref().map(|process| format!(" ({process} has it open)")).unwrap_or_default()
    )]
    Locked {
        /// The drive.
        path: PathBuf,
        /// A process that has it open, as far as `/proc` tells; one that writes comes first.
        process: Option<Process>,
    },
    /// Another process has it open for writing, without a lock.
    #[error(
        "`{}` is open for writing by {process}: end that first, or say `--ignore-open-by-others` if \
         it does not write meanwhile",
        path.display()
    )]
    OpenByOthers {
        /// The drive.
        path: PathBuf,
        /// The process.
        process: Process,
    },
    /// Between the checks and the opening, the path came to lead elsewhere.
    #[error(
        "`{}` leads to something else than a moment ago, when it was checked: nothing was \
         written; see who renames it, and try again",
        path.display()
    )]
    Changed {
        /// The path.
        path: PathBuf,
    },
    /// The guards could not find out.
    #[error("cannot find out whether `{}` is in use: {source}", path.display())]
    Unknown {
        /// The drive.
        path: PathBuf,
        /// What went wrong.
        source: io::Error,
    },
}

/// The place of a mark in a sentence.
fn at_byte(offset: Option<u64>) -> String {
    offset.map(|offset| format!(" (at byte {offset})")).unwrap_or_default()
}

/// Whether `opened` is what was `checked`: the last guard, after the opening.
///
/// # Errors
/// [`Refusal::Changed`] where it is not.
pub fn check_same(path: &Path, checked: Identity, opened: Identity) -> Result<(), Refusal> {
    if checked == opened { Ok(()) } else { Err(Refusal::Changed { path: path.into() }) }
}

/// Whether the owner of a device or file agreed that its data may go: `confirmation` must be its
/// serial number, if it has one that no other has, or its path as it was given or with all symbolic links resolved.
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

/// Whether what `probe` is open on bears nothing that looks like data.
pub(crate) fn check_unmarked(path: &Path, probe: &File) -> Result<(), Refusal> {
    let unknown = |source| Refusal::Unknown { path: path.into(), source };
    let Some(finding) = signature::find(probe).map_err(unknown)? else { return Ok(()) };
    let (path, erasing) = (path.to_path_buf(), finding.erasing(path));
    let Finding { name: found, offset, .. } = finding;
    Err(match finding.shared {
        true => Refusal::SharedStorage { path, found, offset },
        false => Refusal::Signature { path, found, offset, erasing },
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    // Does only the serial number or the path confirm, and never an empty text?
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

    // Is an exchange between check and opening noticed: another inode, another file system, a
    // device in place of a file, another device?
    #[test]
    fn an_exchange_is_noticed() {
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

    // Is the identity that of what a link leads to, and does it change when a file is replaced
    // by another under the same name?
    #[test]
    fn identity_follows_what_is_open() {
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
