//! Exclusive locks. Linux has two kinds, and a lock of one kind does not conflict with a lock of
//! the other. QEMU and other users of virtual disks take locks of open file descriptions (OFD,
//! `fcntl(2)`). udev, systemd and the partitioning tools take `flock(2)` on block devices.
//!
//! For everything it writes exclusively, flashscope takes a lock of each kind. It refuses to write
//! if another program holds a lock of either kind. Locks belong to an inode: a hard link, a bind
//! mount or `/proc/self/fd/N` leads to the same locks. Another node of the same device, or a file
//! through an overlay file system, leads to other locks.

#![allow(
    unsafe_code,
    reason = "locks of open file descriptions, which none of our libraries supports"
)]

use std::fs::{File, TryLockError};
use std::io;
use std::os::fd::AsRawFd;
use std::time::Duration;

/// The number of `flock` attempts on a block device. udev holds a lock while it probes a device
/// that was just closed.
const TRIES: u32 = 20;

/// The time between two attempts.
const BETWEEN_TRIES: Duration = Duration::from_millis(50);

/// Both locks on a file or device, held until the value is dropped. Dropping unlocks explicitly,
/// because the kernel may keep the descriptor in a closed ring for a while.
#[derive(Debug, Default)]
pub(crate) struct Lock {
    held: Vec<File>,
}

impl Lock {
    /// Takes both locks for writing on an open file or device.
    ///
    /// # Errors
    /// [`io::ErrorKind::WouldBlock`] if another open file description holds a lock of either kind,
    /// even a shared one. On a file system without locks, taking them always succeeds.
    pub(crate) fn take(file: &File, is_device: bool) -> io::Result<Lock> {
        let mut lock = Lock::default();
        lock.add(file.try_clone()?, libc::F_WRLCK, is_device)?;
        Ok(lock)
    }

    /// Also locks a related device or file: the whole disk of a partition (as systemd and udev
    /// expect), or the file behind a loop device. `related` must be open for reading only, because
    /// closing a writable descriptor makes udev probe a device. Its OFD lock is therefore a read
    /// lock, which keeps writers away.
    ///
    /// # Errors
    /// The errors of [`Lock::take`].
    pub(crate) fn add_related(&mut self, related: File) -> io::Result<()> {
        if is_ofd_locked(&related)? {
            return Err(io::ErrorKind::WouldBlock.into());
        }
        self.add(related, libc::F_RDLCK, true)
    }

    fn add(&mut self, file: File, kind: libc::c_int, is_device: bool) -> io::Result<()> {
        match set(&file, kind) {
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Err(error),
            _ => {}
        }
        // From here on, dropping the [`Lock`] unlocks the file.
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
            // A file system without locks returns errors.
            let _ = set(file, libc::F_UNLCK);
            let _ = file.unlock();
        }
    }
}

/// Returns true if another open file description holds a lock of either kind on an open file, even
/// a shared one.
///
/// # Errors
/// The error of the kernel.
pub(crate) fn is_locked(file: &File) -> io::Result<bool> {
    if is_ofd_locked(file)? {
        return Ok(true);
    }
    // Tests with an exclusive lock, because a shared lock would succeed beside a reader's shared
    // lock.
    match file.try_lock() {
        Err(TryLockError::WouldBlock) => Ok(true),
        Ok(()) => file.unlock().map(|()| false),
        Err(TryLockError::Error(_)) => Ok(false),
    }
}

/// Returns true if another open file description (OFD lock) or another process (traditional `fcntl`
/// lock) holds a lock on any byte.
fn is_ofd_locked(file: &File) -> io::Result<bool> {
    let mut lock = whole(libc::F_WRLCK);
    match fcntl(file, libc::F_OFD_GETLK, &mut lock) {
        Ok(()) => Ok(libc::c_int::from(lock.l_type) != libc::F_UNLCK),
        // The file system does not support locks.
        Err(_) => Ok(false),
    }
}

/// Sets the OFD lock on a whole file or device, or removes it.
pub(crate) fn set(file: &File, kind: libc::c_int) -> io::Result<()> {
    fcntl(file, libc::F_OFD_SETLK, &mut whole(kind))
}

/// Describes a lock on all bytes.
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
    // SAFETY: the descriptor is open, and the lock outlives the call.
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
    fn locks_of_others_are_respected_even_shared_ones() {
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
    fn a_failed_attempt_leaves_no_lock() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let (ours, theirs) = (open(&file), open(&file));
        theirs.try_lock().unwrap();
        assert!(is_refused(Lock::take(&ours, false)));
        set(&theirs, libc::F_WRLCK).unwrap();
    }

    #[test]
    fn dropping_releases_both_locks_while_a_descriptor_is_open() {
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
    fn a_read_only_disk_is_locked_against_writers() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let theirs = open(&file);
        let mut lock = Lock::default();
        lock.add_related(File::open(file.path()).unwrap()).unwrap();
        assert!(set(&theirs, libc::F_WRLCK).is_err());
        assert!(is_locked(&theirs).unwrap());
        let mut second = Lock::default();
        assert!(second.add_related(File::open(file.path()).unwrap()).is_err());
        drop(lock);
        set(&theirs, libc::F_WRLCK).unwrap();
    }

    #[test]
    fn a_descriptor_inherited_by_a_child_does_not_keep_the_lock() {
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
