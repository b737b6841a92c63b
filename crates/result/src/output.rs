//! Outputs that the user named: files, pipes and terminals.

#![cfg_attr(
    lint_writes,
    expect(
        clippy::disallowed_methods,
        reason = "pipes, terminals, and the descriptors that the caller passed: only after a check that the opened file is a stream; never a disk or another device"
    )
)]

use std::fs::{self, File, Metadata, OpenOptions};
use std::io::{self, Write};
use std::path::Path;

use crate::files::write_text_beside_others;
use crate::{Error, system};

/// Writes an output that the user named: a file atomically, and a pipe, a terminal or an open
/// descriptor (`/dev/stdout`) directly. Never overwrites a disk.
///
/// # Errors
/// The output cannot be written, or is a disk, another device or a folder.
pub fn write_output(path: &Path, text: &str) -> Result<(), Error> {
    let descriptor = system::own_descriptor(path);
    match fs::metadata(path) {
        Ok(found) if descriptor.is_some() || !found.is_file() => {
            let is_output = |found: &Metadata| {
                system::is_stream(found) || descriptor.is_some() && found.is_file()
            };
            if !is_output(&found) {
                return Err(Error::NoFile(path.into()));
            }
            let mut file = open(path, descriptor).map_err(Error::io("write", path))?;
            // Since the first check, another file may have taken the name.
            if !is_output(&file.metadata().map_err(Error::io("write", path))?) {
                return Err(Error::NoFile(path.into()));
            }
            file.write_all(text.as_bytes()).map_err(Error::io("write", path))
        }
        _ if system::is_system_link(path) => Err(Error::NoFile(path.into())),
        _ => write_text_beside_others(path, text),
    }
}

/// Opens a stream or a descriptor.
fn open(path: &Path, descriptor: Option<u32>) -> io::Result<File> {
    match descriptor.and_then(standard) {
        Some(standard) => standard,
        None => OpenOptions::new().write(true).open(path),
    }
}

/// Returns standard output or standard error by its number. Text that is printed later appears
/// after the text written to the returned file.
#[cfg(unix)]
#[allow(
    clippy::disallowed_methods,
    reason = "only clones the descriptors: an output is written to a stream unescaped, as to a file"
)]
fn standard(descriptor: u32) -> Option<io::Result<File>> {
    use std::os::fd::AsFd;
    let cloned = match descriptor {
        1 => io::stdout().as_fd().try_clone_to_owned(),
        2 => io::stderr().as_fd().try_clone_to_owned(),
        _ => return None,
    };
    Some(cloned.map(File::from))
}

#[cfg(not(unix))]
fn standard(_: u32) -> Option<io::Result<File>> {
    None
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use std::os::fd::AsRawFd;
    use std::path::PathBuf;

    use super::*;

    // Writes follow a system link to an open file. Only root could replace the link.
    #[test]
    fn a_link_to_standard_output_stays() {
        let place = tempfile::tempdir().unwrap();
        let page = File::create(place.path().join("page")).unwrap();
        let path = PathBuf::from(format!("/proc/self/fd/{}", page.as_raw_fd()));
        write_output(&path, "one").unwrap();
        assert_eq!(fs::read(place.path().join("page")).unwrap(), b"one");
    }

    // Hardware behind a character device is no terminal: `/dev/mem`, `/dev/mtd0`, `/dev/st0`.
    #[test]
    fn only_terminals_and_the_null_device_are_streams() {
        let stream = |path: &str| fs::metadata(path).map(|found| system::is_stream(&found));
        assert!(stream("/dev/null").unwrap());
        for path in ["/dev/mem", "/dev/kmsg", "/dev/loop-control", "/dev/fuse", "/dev/loop0"] {
            assert!(!stream(path).unwrap_or(false), "{path}");
        }
        for path in ["/dev/tty", "/dev/ptmx", "/dev/console"] {
            assert!(stream(path).unwrap_or(true), "{path}");
        }
    }

    #[test]
    fn an_output_removes_no_other_file_of_the_folder() {
        let place = tempfile::tempdir().unwrap();
        let at = |name: &str| place.path().join(name);
        fs::write(at("page.unfinished"), "precious").unwrap();
        write_output(&at("page.html"), "page").unwrap();
        assert_eq!(fs::read(at("page.unfinished")).unwrap(), b"precious");
        assert_eq!(fs::read(at("page.html")).unwrap(), b"page");
        assert_eq!(fs::read_dir(place.path()).unwrap().count(), 2);
    }

    #[test]
    fn links_of_the_system_other_than_descriptors_are_refused() {
        for path in ["/proc/self/exe", "/proc/self/cwd", "/proc/self/root"] {
            let refused = write_output(Path::new(path), "page");
            assert!(matches!(refused, Err(Error::NoFile(_))), "{path}: {refused:?}");
        }
    }
}
