//! Exclusive locks of both kinds that Linux has, since who uses one kind does not see the other: QEMU and other users of
//! virtual disks take locks of open file descriptions (OFD, `fcntl(2)`), udev, systemd and the partitioning tools take
//! `flock(2)` on block devices.
//!
//! Everything that flashscope writes exclusively takes both and respects either. Locks belong to an inode: a hard link, a
//! bind mount or `/proc/self/fd/N` leads to the same ones; another device node of the same device, and a file through
//! an overlay file system, to others.

#![allow(unsafe_code, reason = "locks of open file descriptions, which no library of ours knows")]

use std::fs::{File, TryLockError};
use std::io;
use std::os::fd::AsRawFd;
use std::time::Duration;

/// How often `flock` is tried on a block device: udev holds it for as long as it probes a device that was just closed.
const TRIES: u32 = 20;

/// The time between two tries.
const BETWEEN_TRIES: Duration = Duration::from_millis(50);

/// Both locks on a file or device, until it is dropped. A ring that was closed may keep the descriptor open for a while, so
/// dropping unlocks rather than leaving it to the close.
#[derive(Debug, Default)]
pub(crate) struct Lock {
    held: Vec<File>,
}

impl Lock {
    /// Locks what `file` is open on for writing.
    ///
    /// # Errors
    /// [`io::ErrorKind::WouldBlock`] if another open file description holds a lock of either kind, be it shared. A file
    /// system without locks has none to respect.
    pub(crate) fn take(file: &File, is_device: bool) -> io::Result<Lock> {
        let mut lock = Lock::default();
        lock.add(file.try_clone()?, libc::F_WRLCK, is_device)?;
        Ok(lock)
    }

    /// Locks the whole disk that a device is a partition of too, as systemd and udev ask for. `disk` is open for reading
    /// alone, so that closing it does not make udev probe it; its OFD lock is therefore one of reading, which keeps
    /// writers away.
    ///
    /// # Errors
    /// As [`Lock::take`].
    pub(crate) fn add_disk(&mut self, disk: File) -> io::Result<()> {
        if is_ofd_locked(&disk)? {
            return Err(io::ErrorKind::WouldBlock.into());
        }
        self.add(disk, libc::F_RDLCK, true)
    }

    fn add(&mut self, file: File, kind: libc::c_int, is_device: bool) -> io::Result<()> {
        match set(&file, kind) {
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Err(error),
            _ => {}
        }
        // Unlocked by dropping from here on.
        self.held.push(file);
        let file = &self.held[self.held.len() - 1];
        let tries = if is_device { TRIES } else { 1 };
        for tried in 1..=tries {
            match file.try_lock() {
                Err(TryLockError::WouldBlock) if tried == tries => {
                    return Err(io::ErrorKind::WouldBlock.into());
                }
                Err(TryLockError::WouldBlock) => std::thread::sleep(BETWEEN_TRIES),
                Ok(()) | Err(TryLockError::Error(_)) => break,
            }
        }
        Ok(())
    }
}

impl Drop for Lock {
    fn drop(&mut self) {
        for file in &self.held {
            // There may be none, on a file system without locks.
            let _ = set(file, libc::F_UNLCK);
            let _ = file.unlock();
        }
    }
}

/// Returns true if another open file description holds a lock of either kind on what `file` is open on, be it shared.
///
/// # Errors
/// What the kernel says.
pub(crate) fn is_locked(file: &File) -> io::Result<bool> {
    if is_ofd_locked(file)? {
        return Ok(true);
    }
    // The trial is over at once; a shared one would pass beside a reader's.
    match file.try_lock() {
        Err(TryLockError::WouldBlock) => Ok(true),
        Ok(()) => file.unlock().map(|()| false),
        Err(TryLockError::Error(_)) => Ok(false),
    }
}

/// Returns true if another open file description, or another process by `fcntl`, has locked any byte.
fn is_ofd_locked(file: &File) -> io::Result<bool> {
    let mut lock = whole(libc::F_WRLCK);
    match fcntl(file, libc::F_OFD_GETLK, &mut lock) {
        Ok(()) => Ok(libc::c_int::from(lock.l_type) != libc::F_UNLCK),
        // A file system without locks.
        Err(_) => Ok(false),
    }
}

/// Locks or unlocks a whole file or device for all who have it open by themselves.
pub(crate) fn set(file: &File, kind: libc::c_int) -> io::Result<()> {
    fcntl(file, libc::F_OFD_SETLK, &mut whole(kind))
}

/// A lock of all bytes.
fn whole(kind: libc::c_int) -> libc::flock64 {
    #[allow(clippy::cast_possible_truncation, reason = "constants of the C library, which fit")]
    libc::flock64 {
        l_type: kind as libc::c_short,
        l_whence: libc::SEEK_SET as libc::c_short,
        l_start: 0,
        l_len: 0,
        l_pid: 0,
    }
}

fn fcntl(file: &File, command: libc::c_int, lock: &mut libc::flock64) -> io::Result<()> {
    // SAFETY: the descriptor is open, and the lock is live for the call.
    let done = unsafe { libc::fcntl(file.as_raw_fd(), command, std::ptr::from_mut(lock)) };
    if done < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use std::process::{Command, Stdio};

    use super::*;

    fn open(file: &tempfile::NamedTempFile) -> File {
        File::options().read(true).write(true).open(file.path()).unwrap()
    }

    fn is_refused(result: io::Result<Lock>) -> bool {
        result.is_err_and(|error| error.kind() == io::ErrorKind::WouldBlock)
    }

    #[test]
    fn either_lock_of_another_is_respected_also_a_shared_one() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let (ours, theirs) = (open(&file), open(&file));
        let take = || Lock::take(&ours, false);
        for kind in [libc::F_RDLCK, libc::F_WRLCK] {
            set(&theirs, kind).unwrap();
            assert!(is_locked(&ours).unwrap() && is_refused(take()));
            set(&theirs, libc::F_UNLCK).unwrap();
        }
        theirs.try_lock().unwrap();
        assert!(is_locked(&ours).unwrap() && is_refused(take()));
        theirs.unlock().unwrap();
        theirs.try_lock_shared().unwrap();
        assert!(is_locked(&ours).unwrap() && is_refused(take()));
        theirs.unlock().unwrap();
        assert!(!is_locked(&ours).unwrap());
        take().unwrap();
    }

    #[test]
    fn a_refused_lock_leaves_none_of_the_other_kind() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let (ours, theirs) = (open(&file), open(&file));
        theirs.try_lock().unwrap();
        assert!(is_refused(Lock::take(&ours, false)));
        set(&theirs, libc::F_WRLCK).unwrap();
    }

    #[test]
    fn both_locks_are_taken_and_released_although_a_descriptor_stays_open() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let (ours, theirs) = (open(&file), open(&file));
        let lock = Lock::take(&ours, false).unwrap();
        assert!(set(&theirs, libc::F_RDLCK).is_err());
        assert!(matches!(theirs.try_lock_shared(), Err(TryLockError::WouldBlock)));
        drop(lock);
        set(&theirs, libc::F_WRLCK).unwrap();
        theirs.try_lock().unwrap();
    }

    #[test]
    fn a_disk_open_for_reading_is_locked_against_writers() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let theirs = open(&file);
        let mut lock = Lock::default();
        lock.add_disk(File::open(file.path()).unwrap()).unwrap();
        assert!(set(&theirs, libc::F_WRLCK).is_err());
        assert!(is_locked(&theirs).unwrap());
        let mut second = Lock::default();
        assert!(second.add_disk(File::open(file.path()).unwrap()).is_err());
        drop(lock);
        set(&theirs, libc::F_WRLCK).unwrap();
    }

    #[test]
    fn a_descriptor_that_a_child_inherits_does_not_keep_the_lock() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let (ours, theirs) = (open(&file), open(&file));
        let lock = Lock::take(&ours, false).unwrap();
        let inherited = Stdio::from(ours.try_clone().unwrap());
        let mut cat = Command::new("cat");
        let mut child = cat.stdin(Stdio::piped()).stdout(inherited).spawn().unwrap();
        drop(lock);
        theirs.try_lock().unwrap();
        set(&theirs, libc::F_WRLCK).unwrap();
        drop(child.stdin.take());
        child.wait().unwrap();
    }
}
