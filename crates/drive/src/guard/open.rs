//! The one way in which something that was there before is opened for writing: drives and stores alike.

#![cfg_attr(
    lint_writes,
    expect(
        clippy::disallowed_methods,
        reason = "opens drives and stores: THE guard: confirmation, use, locks, other writers, content; compared by identity, and checked again when it is locked"
    )
)]

use std::fs::{self, File};
use std::io;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::Path;
use std::time::Duration;

use super::lock::{self, Lock};
use super::openers::{Process, serves};
use super::{
    DeviceNumber, Identity, Own, Refusal, System, check_confirmation, check_same, check_unmarked,
    reservation,
};
use crate::error::OpenError;
use crate::hardware::Hardware;
use crate::store::{self, StoreHeader};

/// How often it is looked who has something open or locked: tools such as `losetup --find` and udev do so for an instant.
const TRIES: u32 = 20;

/// The time between two looks.
const BETWEEN_TRIES: Duration = Duration::from_millis(25);

/// Why something may be overwritten. There is no other reason.
#[derive(Clone, Copy)]
pub(crate) enum Grounds<'a> {
    /// This process made the file a moment ago, under a name that nothing had.
    Created(Identity),
    /// The owner typed its path or serial number again; an empty regular file needs no such word, nor one that this program
    /// made and nobody changed since.
    Confirmed(Option<&'a str>),
    /// It is a store of this drive; an empty regular file becomes one.
    Store(&'a StoreHeader),
}

/// What is to be opened for writing.
pub(crate) struct Writing<'a> {
    pub path: &'a Path,
    pub grounds: Grounds<'a>,
    /// `O_DIRECT` and `O_EXCL`, where they apply.
    pub flags: libc::c_int,
    /// Whether another process may have it open for writing, if that holds no lock.
    pub ignore_open_by_others: bool,
}

/// A device or file that is open for reading and writing, and locked until it is dropped.
#[derive(Debug)]
pub(crate) struct Guarded {
    pub file: File,
    pub identity: Identity,
    pub lock: Lock,
}

/// Opens what `writing` says for writing, if every guard agrees: before it is opened, and once more when it is locked, since
/// others had a moment in between.
///
/// # Errors
/// [`Refusal`]s, and what the system says.
pub(crate) fn open(writing: &Writing) -> Result<Guarded, OpenError> {
    let path = writing.path;
    let look = || OpenError::system("look at", path);
    let system = System::default();
    // As long as it is open, no other device or file can get its number.
    let probe = File::open(path).map_err(OpenError::system("open", path))?;
    let checked = Identity::of(&probe).map_err(look())?;
    if let Grounds::Created(created) = writing.grounds {
        check_same(path, created, checked)?;
    }
    check(&system, writing, &probe, checked, Locked::ByNobody)?;
    let file = open_for_io(path, true, writing.flags)?;
    let lock = locks(&system, &file, checked).map_err(|error| match error.kind() {
        io::ErrorKind::WouldBlock => OpenError::from(locked(&system, path, checked)),
        _ => OpenError::System { action: "lock", path: path.into(), source: error },
    })?;
    let identity = Identity::of(&file).map_err(look())?;
    check_same(path, checked, identity)?;
    check(&system, writing, &probe, checked, Locked::ByUs)?;
    Ok(Guarded { file, identity, lock })
}

/// The state of the locks that [`check`] expects.
#[derive(PartialEq, Eq)]
enum Locked {
    ByNobody,
    ByUs,
}

/// Asks every guard. A refusal that the owner can answer comes before those that only another program can lift.
fn check(
    system: &System,
    writing: &Writing,
    probe: &File,
    identity: Identity,
    expected: Locked,
) -> Result<(), OpenError> {
    let path = writing.path;
    check_word(system, writing, probe, identity)?;
    system.check_unused(path, identity)?;
    reservation::check(system, path, probe)?;
    if expected == Locked::ByNobody
        && stays_locked(probe).map_err(OpenError::system("look at", path))?
    {
        return Err(locked(system, path, identity).into());
    }
    check_others(system, writing, identity)?;
    check_content(writing, probe)
}

/// Whether somebody has it locked for longer than udev takes to probe a device that was just closed.
fn stays_locked(probe: &File) -> io::Result<bool> {
    for _ in 1..TRIES {
        if !lock::is_locked(probe)? {
            return Ok(false);
        }
        std::thread::sleep(BETWEEN_TRIES);
    }
    lock::is_locked(probe)
}

/// Opens `path` for IO.
///
/// # Errors
/// [`OpenError::DirectRefused`], [`Refusal::Busy`], [`Refusal::ReadOnly`], and what else the system says.
pub(crate) fn open_for_io(
    path: &Path,
    writes: bool,
    flags: libc::c_int,
) -> Result<File, OpenError> {
    let opened = fs::OpenOptions::new().read(true).write(writes).custom_flags(flags).open(path);
    opened.map_err(|source| match source.raw_os_error() {
        Some(libc::EINVAL) if flags & libc::O_DIRECT != 0 => {
            OpenError::DirectRefused { path: path.into() }
        }
        Some(libc::EBUSY) => Refusal::Busy { path: path.into() }.into(),
        Some(libc::EROFS) => Refusal::ReadOnly { path: path.into() }.into(),
        _ => OpenError::System { action: "open", path: path.into(), source },
    })
}

/// The owner's word, where one is needed.
fn check_word(
    system: &System,
    writing: &Writing,
    probe: &File,
    identity: Identity,
) -> Result<(), Refusal> {
    let path = writing.path;
    let Grounds::Confirmed(given) = writing.grounds else { return Ok(()) };
    if let Identity::Block(_) = identity {
        return check_confirmation(path, Hardware::own_serial(system, identity), given);
    }
    let unknown = |source| Refusal::Unknown { path: path.into(), source };
    if probe.metadata().map_err(unknown)?.len() == 0 || Own::of(probe).is_some() {
        return Ok(());
    }
    check_confirmation(path, None, given)
}

/// What it holds: nothing that looks like data, or a store of the drive.
fn check_content(writing: &Writing, probe: &File) -> Result<(), OpenError> {
    match writing.grounds {
        Grounds::Store(wanted) => store::check(writing.path, probe, wanted),
        Grounds::Created(_) | Grounds::Confirmed(_) => {
            store::check_is_none(writing.path, probe)?;
            Ok(check_unmarked(writing.path, probe)?)
        }
    }
}

/// Whether no other process has it open for writing, nor a device that stands or falls with it.
fn check_others(system: &System, writing: &Writing, identity: Identity) -> Result<(), Refusal> {
    if writing.ignore_open_by_others {
        return Ok(());
    }
    for _ in 1..TRIES {
        match check_unopened(system, writing.path, identity) {
            Err(Refusal::OpenByOthers { .. }) => std::thread::sleep(BETWEEN_TRIES),
            result => return result,
        }
    }
    check_unopened(system, writing.path, identity)
}

/// Whether no other process has `identity` open for writing, nor a device that stands or falls with it, as far as `/proc`
/// tells; `path` is only for the message.
pub(crate) fn check_unopened(
    system: &System,
    path: &Path,
    identity: Identity,
) -> Result<(), Refusal> {
    let unknown = |source| Refusal::Unknown { path: path.into(), source };
    let kin = system.kin(identity).map_err(unknown)?;
    let openers = system.openers(|other| kin.contains(&other)).map_err(unknown)?;
    let server = match identity {
        Identity::Block(number) => system.whole_disk(number).as_deref().and_then(serves),
        Identity::File { .. } => None,
    };
    let mut writers = openers.into_iter().filter(|opener| opener.writes);
    match writers.find(|opener| Some(opener.process.id) != server) {
        Some(opener) => Err(Refusal::OpenByOthers { path: path.into(), process: opener.process }),
        None => Ok(()),
    }
}

/// The refusal of what somebody has locked, with who that may be.
fn locked(system: &System, path: &Path, identity: Identity) -> Refusal {
    let kin = system.kin(identity).unwrap_or_else(|_| vec![identity]);
    let openers = system.openers(|other| kin.contains(&other)).unwrap_or_default();
    let process: Option<Process> =
        openers.into_iter().max_by_key(|opener| opener.writes).map(|opener| opener.process);
    Refusal::Locked { path: path.into(), process }
}

/// Takes the locks of what `file` is open on: of a block device by each of its names that differ, and of the whole disk that
/// it is a partition of.
fn locks(system: &System, file: &File, identity: Identity) -> io::Result<Lock> {
    let Identity::Block(number) = identity else { return Lock::take(file, false) };
    let mut lock = Lock::take(file, true)?;
    let opened = file.metadata()?;
    let mut directories: Vec<_> = system.directory(number).ok().into_iter().collect();
    directories.extend(system.whole_disk(number).filter(|disk| !directories.contains(disk)));
    for directory in directories {
        let Some((name, device)) = named(&directory) else { continue };
        // A container may not have it.
        let Ok(node) = File::open(system.path("dev").join(name)) else { continue };
        let found = node.metadata()?;
        let is_opened = (found.dev(), found.ino()) == (opened.dev(), opened.ino());
        if !is_opened && Identity::from(&found) == Identity::Block(device) {
            lock.add_disk(node)?;
        }
    }
    Ok(lock)
}

/// The name below `/dev` and the number of the device whose directory in sysfs this is.
fn named(directory: &Path) -> Option<(String, DeviceNumber)> {
    let number = crate::hardware::text(&directory.join("dev"))?;
    let name = directory.file_name()?.to_string_lossy().replace('!', "/");
    Some((name, super::parse_number(&number)?))
}
