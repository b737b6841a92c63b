//! The only function that opens an existing drive or store for writing.

#![cfg_attr(
    lint_writes,
    expect(
        clippy::disallowed_methods,
        reason = "opens drives and stores: the guard itself: it checks the confirmation, uses, locks, other writers and content, compares identities, and checks again after locking"
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
    FileMark, Identity, Refusal, System, check_confirmation, check_same, check_unmarked,
    reservation,
};
use crate::error::OpenError;
use crate::hardware::Hardware;
use crate::store::{self, StoreHeader};

/// The number of checks for writers and locks. Tools like `losetup --find` and udev hold a device
/// for an instant.
const TRIES: u32 = 20;

/// The time between two checks.
const BETWEEN_TRIES: Duration = Duration::from_millis(25);

/// The reason why a device or file may be overwritten. No other reason is valid.
#[derive(Clone, Copy)]
pub(crate) enum OverwriteReason<'a> {
    /// This process has just created the file, under an unused name.
    Created(Identity),
    /// The owner confirmed the path or the serial number. No confirmation is needed for an empty
    /// regular file, or for one that this program created and that has not changed since.
    Confirmed(Option<&'a str>),
    /// The file is the store of this drive, or an empty regular file that becomes its store.
    Store(&'a StoreHeader),
}

/// A request to open a device or file for writing.
pub(crate) struct WriteRequest<'a> {
    pub path: &'a Path,
    pub reason: OverwriteReason<'a>,
    /// `O_DIRECT` and `O_EXCL`, where they apply.
    pub flags: libc::c_int,
    /// True if another process may have the device or file open for writing without a lock.
    pub ignore_open_by_others: bool,
}

/// A device or file that is open for reading and writing, and locked until this value is dropped.
#[derive(Debug)]
pub(crate) struct GuardedFile {
    pub file: File,
    pub identity: Identity,
    pub lock: Lock,
}

/// Opens a device or file for writing if every guard agrees. The guards run before the opening, and
/// again after locking, because another process may have interfered in between.
///
/// # Errors
/// A [`Refusal`], or the error of the system.
pub(crate) fn open(request: &WriteRequest) -> Result<GuardedFile, OpenError> {
    let path = request.path;
    let look = || OpenError::system("inspect", path);
    let system = System::default();
    // While `probe` is open, no other device or file can get its device or inode number.
    let probe = File::open(path).map_err(OpenError::system("open", path))?;
    let checked = Identity::of(&probe).map_err(look())?;
    if let OverwriteReason::Created(created) = request.reason {
        check_same(path, created, checked)?;
    }
    check(&system, request, &probe, checked, LockState::Unlocked)?;
    let file = open_for_io(path, true, request.flags)?;
    let lock = locks(&system, &file, checked).map_err(|error| match error.kind() {
        io::ErrorKind::WouldBlock => OpenError::from(locked(&system, path, checked)),
        _ => OpenError::System { action: "lock", path: path.into(), source: error },
    })?;
    let identity = Identity::of(&file).map_err(look())?;
    check_same(path, checked, identity)?;
    check(&system, request, &probe, checked, LockState::LockedByUs)?;
    Ok(GuardedFile { file, identity, lock })
}

/// The state of the locks that [`check`] expects.
#[derive(PartialEq, Eq)]
enum LockState {
    Unlocked,
    LockedByUs,
}

/// Runs every guard, the confirmation first and the content last. Looks for locks of other programs
/// only while this process holds none.
fn check(
    system: &System,
    request: &WriteRequest,
    probe: &File,
    identity: Identity,
    expected: LockState,
) -> Result<(), OpenError> {
    let path = request.path;
    check_owner_agreed(system, request, probe, identity)?;
    system.check_unused(path, identity)?;
    reservation::check(system, path, probe)?;
    if expected == LockState::Unlocked
        && stays_locked(probe).map_err(OpenError::system("inspect", path))?
    {
        return Err(locked(system, path, identity).into());
    }
    check_no_writer(system, request, identity)?;
    check_content(request, probe)
}

/// Returns true if a lock is held for longer than udev takes to probe a device that was just
/// closed.
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
/// [`OpenError::DirectRefused`], [`Refusal::Busy`], [`Refusal::ReadOnly`], or another error of the
/// system.
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

/// Checks that the owner agreed to the loss of the data, if an agreement is needed.
fn check_owner_agreed(
    system: &System,
    request: &WriteRequest,
    probe: &File,
    identity: Identity,
) -> Result<(), Refusal> {
    let path = request.path;
    let OverwriteReason::Confirmed(given) = request.reason else { return Ok(()) };
    if let Identity::Block(_) = identity {
        return check_confirmation(path, Hardware::own_serial(system, identity), given);
    }
    let unknown = |source| Refusal::Unknown { path: path.into(), source };
    if probe.metadata().map_err(unknown)?.len() == 0 || FileMark::of(probe).is_some() {
        return Ok(());
    }
    check_confirmation(path, None, given)
}

/// Checks the content: it must be the expected store, or else neither a store nor data with a known
/// signature.
fn check_content(request: &WriteRequest, probe: &File) -> Result<(), OpenError> {
    match request.reason {
        OverwriteReason::Store(expected) => store::check(request.path, probe, expected),
        OverwriteReason::Created(_) | OverwriteReason::Confirmed(_) => {
            store::check_is_none(request.path, probe)?;
            Ok(check_unmarked(request.path, probe)?)
        }
    }
}

/// Checks that no other process has the device or file, or a related one, open for writing.
fn check_no_writer(
    system: &System,
    request: &WriteRequest,
    identity: Identity,
) -> Result<(), Refusal> {
    if request.ignore_open_by_others {
        return Ok(());
    }
    for _ in 1..TRIES {
        match check_unopened(system, request.path, identity) {
            Err(Refusal::OpenByOthers { .. }) => std::thread::sleep(BETWEEN_TRIES),
            result => return result,
        }
    }
    check_unopened(system, request.path, identity)
}

/// Checks that `/proc` shows no other process that has `identity` or a related device open for
/// writing. The process that serves a network block device does not count. `path` is for the
/// message only.
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

/// Returns the refusal for a locked device or file, with a process that may hold the lock.
fn locked(system: &System, path: &Path, identity: Identity) -> Refusal {
    let kin = system.kin(identity).unwrap_or_else(|_| vec![identity]);
    let openers = system.openers(|other| kin.contains(&other)).unwrap_or_default();
    let process: Option<Process> =
        openers.into_iter().max_by_key(|opener| opener.writes).map(|opener| opener.process);
    Refusal::Locked { path: path.into(), process }
}

/// Takes the locks of an open device or file. For a block device, also locks its other device
/// node, its partitions or the whole disk of a partition, and the file behind a loop device.
fn locks(system: &System, file: &File, identity: Identity) -> io::Result<Lock> {
    let Identity::Block(_) = identity else { return Lock::take(file, false) };
    let inode = |file: &File| file.metadata().map(|metadata| (metadata.dev(), metadata.ino()));
    let mut lock = Lock::take(file, true)?;
    let mut locked = vec![inode(file)?];
    for related in system.open_kin(identity)? {
        let inode = inode(&related)?;
        if !locked.contains(&inode) {
            locked.push(inode);
            lock.add_related(related)?;
        }
    }
    Ok(lock)
}
