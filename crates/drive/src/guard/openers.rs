//! Other processes that have a device or file open, from `/proc`.
//!
//! Limits: without root or ptrace permission, the files of other users' processes are invisible.
//! Also invisible are processes in PID namespaces that this `/proc` does not show, files open
//! through an overlay file system, and block devices that are mapped but no longer open.

use std::fmt;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, CWD, FileType, Statx, StatxFlags, statx};

use super::{DeviceNumber, Identity, System};

/// A process.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Process {
    /// Its process ID.
    pub id: u32,
    /// Its command name: the first 15 bytes of the program's name.
    pub name: String,
}

impl fmt::Display for Process {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} (process {})", self.name.escape_debug(), self.id)
    }
}

/// A device or file that another process has open.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Opener {
    pub process: Process,
    pub identity: Identity,
    /// True if the process can write, through the descriptor or mapped memory.
    pub writes: bool,
}

impl System {
    /// Lists other processes that have a matching device or file open. Skips processes and
    /// descriptors that disappear during the listing, or that this user is not permitted to read.
    ///
    /// # Errors
    /// An error if `/proc` is missing.
    pub(crate) fn openers(&self, matches: impl Fn(Identity) -> bool) -> io::Result<Vec<Opener>> {
        let proc = self.path("proc");
        // The ID of this process as `/proc` shows it, which may be an ID of another PID namespace.
        let ours = fs::read_link(proc.join("self")).ok();
        let mut openers = Vec::new();
        for entry in fs::read_dir(&proc)? {
            let Ok(entry) = entry else { continue };
            let name = entry.file_name();
            let Some(id) = name.to_str().and_then(|name| name.parse().ok()) else { continue };
            if ours.as_deref() == Some(Path::new(&name)) {
                continue;
            }
            let mut of_process = opened(&entry.path(), &matches);
            of_process.extend(mapped(&entry.path(), &matches));
            if let Some((identity, writes)) =
                of_process.into_iter().max_by_key(|(_, writes)| *writes)
            {
                let process = Process { id, name: name_of(&entry.path()) };
                openers.push(Opener { process, identity, writes });
            }
        }
        Ok(openers)
    }
}

fn name_of(process: &Path) -> String {
    let name = fs::read(process.join("comm")).unwrap_or_default();
    String::from_utf8_lossy(&name).trim_end().to_string()
}

/// Lists the matching devices and files that a process has open, with true for write access.
fn opened(process: &Path, matches: &impl Fn(Identity) -> bool) -> Vec<(Identity, bool)> {
    let Ok(entries) = fs::read_dir(process.join("fd")) else { return Vec::new() };
    let mut opened = Vec::new();
    for entry in entries.flatten() {
        let Some(identity) = identity_at(&entry.path()).filter(|identity| matches(*identity))
        else {
            continue;
        };
        let about = process.join("fdinfo").join(entry.file_name());
        if let Some(flags) = fs::read_to_string(about).ok().as_deref().and_then(flags) {
            // With `O_PATH`, a process holds the path only.
            if flags & libc::O_PATH == 0 {
                let access = flags & libc::O_ACCMODE;
                opened.push((identity, access == libc::O_WRONLY || access == libc::O_RDWR));
            }
        }
    }
    opened
}

/// Parses the flags in `/proc/PID/fdinfo/FD`, which are octal.
fn flags(text: &str) -> Option<libc::c_int> {
    let flags = text.lines().find_map(|line| line.strip_prefix("flags:"))?;
    libc::c_int::from_str_radix(flags.trim(), 8).ok()
}

/// Returns the identity of a path's target. Does not wait for a file server.
fn identity_at(path: &Path) -> Option<Identity> {
    let fields = StatxFlags::TYPE | StatxFlags::INO;
    let status = statx(CWD, path, AtFlags::STATX_DONT_SYNC, fields).ok()?;
    Some(identity_of(&status))
}

fn identity_of(status: &Statx) -> Identity {
    let number = |major, minor| DeviceNumber { major, minor };
    match FileType::from_raw_mode(status.stx_mode.into()) {
        FileType::BlockDevice => {
            Identity::Block(number(status.stx_rdev_major, status.stx_rdev_minor))
        }
        _ => Identity::File {
            device: number(status.stx_dev_major, status.stx_dev_minor),
            inode: status.stx_ino,
        },
    }
}

/// Lists the matching files that a process has mapped shared and writable, even if their
/// descriptors are closed.
fn mapped(process: &Path, matches: &impl Fn(Identity) -> bool) -> Vec<(Identity, bool)> {
    let Ok(text) = fs::read(process.join("maps")) else { return Vec::new() };
    let text = String::from_utf8_lossy(&text);
    let mapped = text.lines().filter_map(mapping);
    mapped.filter(|identity| matches(*identity)).map(|identity| (identity, true)).collect()
}

/// Parses a line of `/proc/PID/maps` (`proc_pid_maps(5)`) and returns the file if it is mapped
/// shared and writable.
fn mapping(line: &str) -> Option<Identity> {
    let mut fields = line.split_ascii_whitespace();
    let permissions = fields.nth(1)?.as_bytes();
    if permissions.get(1) != Some(&b'w') || permissions.get(3) != Some(&b's') {
        return None;
    }
    let (major, minor) = fields.nth(1)?.split_once(':')?;
    let number = |text| u32::from_str_radix(text, 16).ok();
    let device = DeviceNumber { major: number(major)?, minor: number(minor)? };
    let inode = fields.next()?.parse().ok()?;
    (inode != 0).then_some(Identity::File { device, inode })
}

/// Returns the ID of the process that serves a network block device and keeps the device open, as
/// older versions of `nbd-client` do.
pub(super) fn serves(disk: &Path) -> Option<u32> {
    let pid: PathBuf = disk.join("pid");
    fs::read_to_string(pid).ok()?.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    /// A fake `/proc` with process 77, and this process as 88.
    struct Proc(tempfile::TempDir);

    impl Proc {
        fn new() -> Proc {
            let proc = Proc(tempfile::tempdir().unwrap());
            for process in ["77", "88"] {
                proc.write(&format!("{process}/comm"), "qemu-system-x86\n");
                proc.write(&format!("{process}/maps"), "");
                fs::create_dir_all(proc.path(&format!("{process}/fd"))).unwrap();
            }
            proc.write("file", "");
            symlink("88", proc.path("self")).unwrap();
            proc
        }

        fn path(&self, name: &str) -> PathBuf {
            self.0.path().join("proc").join(name)
        }

        fn write(&self, name: &str, text: &str) {
            fs::create_dir_all(self.path(name).parent().unwrap()).unwrap();
            fs::write(self.path(name), text).unwrap();
        }

        /// Adds an open descriptor of the file, with flags as the kernel shows them.
        fn open(&self, process: u32, descriptor: u32, flags: &str) {
            let text = format!("pos:\t0\nflags:\t{flags}\nmnt_id:\t27\n");
            self.write(&format!("{process}/fdinfo/{descriptor}"), &text);
            symlink(self.path("file"), self.path(&format!("{process}/fd/{descriptor}"))).unwrap();
        }

        fn file(&self) -> Identity {
            Identity::from(&fs::metadata(self.path("file")).unwrap())
        }

        /// Returns the process that has the file open, and true if it can write.
        fn opener(&self) -> Option<(Process, bool)> {
            let (system, file) = (System::at(self.0.path()), self.file());
            let openers = system.openers(|identity| identity == file).unwrap();
            assert!(openers.len() <= 1, "{openers:?}");
            openers.into_iter().next().map(|opener| (opener.process, opener.writes))
        }
    }

    #[test]
    fn writers_differ_from_readers_and_this_process() {
        let proc = Proc::new();
        assert_eq!(proc.opener(), None);
        proc.open(88, 3, "0100002");
        assert_eq!(proc.opener(), None, "this process does not count");
        proc.open(77, 3, "012100002");
        assert_eq!(proc.opener(), None, "a path descriptor does not count");
        proc.open(77, 4, "0100000");
        let qemu = Process { id: 77, name: "qemu-system-x86".into() };
        assert_eq!(proc.opener(), Some((qemu.clone(), false)));
        for (descriptor, flags) in [(5, "0100001"), (6, "02140002")] {
            proc.open(77, descriptor, flags);
            assert_eq!(proc.opener(), Some((qemu.clone(), true)), "{flags}");
            fs::remove_file(proc.path(&format!("77/fd/{descriptor}"))).unwrap();
        }
        assert_eq!(qemu.to_string(), "qemu-system-x86 (process 77)");
    }

    #[test]
    fn writable_shared_mappings_count_as_open() {
        let proc = Proc::new();
        let Identity::File { device: DeviceNumber { major, minor }, inode } = proc.file() else {
            panic!("not a file")
        };
        let line = |permissions: &str| {
            format!(
                "7f0-7f1 {permissions} 00000000 {major:02x}:{minor:02x} {inode}   /a b (deleted)\n"
            )
        };
        for (permissions, expected) in [("rw-s", true), ("r--s", false), ("rw-p", false)] {
            proc.write(
                "77/maps",
                &format!("7e0-7e1 rw-p 00000000 00:00 0 [heap]\n{}", line(permissions)),
            );
            assert_eq!(proc.opener().is_some_and(|(_, writes)| writes), expected, "{permissions}");
        }
    }

    #[test]
    fn a_missing_proc_is_an_error() {
        let empty = tempfile::tempdir().unwrap();
        assert!(System::at(empty.path()).openers(|_| true).is_err());
    }
}
