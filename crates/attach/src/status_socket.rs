//! The status socket of an attached drive: a Unix socket in a folder of the user, named by the ID
//! of the process that has attached the drive. Each connection receives one [`DriveStatus`] as
//! JSON.

#![cfg_attr(
    lint_writes,
    expect(
        clippy::disallowed_methods,
        reason = "the status socket: in a folder of the user, not through a link; of existing files only sockets are removed"
    )
)]

use std::fs::{self, DirBuilder};
use std::io::{self, BufWriter, Read, Write};
use std::os::unix::fs::{DirBuilderExt, FileTypeExt, MetadataExt};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use crate::live::{DriveStatus, Monitor};

/// The end of a socket's name, after the ID of the process.
const ENDING: &str = ".attached";

/// The timeout for the other end of a connection.
const IO_TIMEOUT: Duration = Duration::from_secs(1);

/// The maximum length of a document in bytes; without samples it has a few thousand bytes.
const LONGEST: u64 = 1 << 20;

/// A server that reports the status of an attached drive until it is dropped.
pub struct StatusSocket {
    path: PathBuf,
    stopped: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl StatusSocket {
    /// Starts to serve the status from `monitor`. A missing folder is created.
    ///
    /// # Errors
    /// Returns an error if the socket cannot be created, or if the folder belongs to another user.
    pub fn start(folder: &Path, monitor: Arc<Monitor>) -> io::Result<StatusSocket> {
        DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
        // A link could lead to any folder of this user, so links are rejected.
        let metadata = fs::symlink_metadata(folder)?;
        if !metadata.is_dir() || metadata.uid() != fs::metadata("/proc/self")?.uid() {
            let folder = folder.display();
            return Err(io::Error::other(format!(
                "{folder} belongs to another user, or is not a folder"
            )));
        }
        let path = folder.join(format!("{}{ENDING}", std::process::id()));
        // An earlier process may have had the same ID.
        if is_socket(&path) {
            fs::remove_file(&path)?;
        }
        let listener = UnixListener::bind(&path)?;
        let stopped = Arc::new(AtomicBool::new(false));
        let stop = Arc::clone(&stopped);
        let answer = move || {
            for stream in listener.incoming() {
                if stop.load(Ordering::SeqCst) {
                    return;
                }
                // A client that has disconnected receives nothing.
                let _ = stream.and_then(|stream| send_status(stream, &monitor));
            }
        };
        let thread = thread::Builder::new().name("status".into()).spawn(answer)?;
        Ok(StatusSocket { path, stopped, thread: Some(thread) })
    }
}

/// Returns true if the path is a socket; other files may be someone's data and are not removed.
fn is_socket(path: &Path) -> bool {
    fs::symlink_metadata(path).is_ok_and(|metadata| metadata.file_type().is_socket())
}

fn send_status(stream: UnixStream, monitor: &Monitor) -> io::Result<()> {
    stream.set_write_timeout(Some(IO_TIMEOUT))?;
    let mut out = BufWriter::new(stream);
    serde_json::to_writer(&mut out, &monitor.status(None))?;
    out.flush()
}

impl Drop for StatusSocket {
    fn drop(&mut self) {
        self.stopped.store(true, Ordering::SeqCst);
        // The connection wakes the thread, which then checks the flag. If the socket's file is
        // gone, the thread runs until the process ends.
        let woken = UnixStream::connect(&self.path).is_ok();
        let _ = fs::remove_file(&self.path);
        if let Some(thread) = self.thread.take().filter(|_| woken) {
            let _ = thread.join();
        }
    }
}

/// Returns the status of each attached drive, ordered by process ID; the list is empty if the
/// folder does not exist. Sockets of processes that have ended are removed.
///
/// # Errors
/// Returns an error if the folder cannot be read.
pub fn attached_drives(folder: &Path) -> io::Result<Vec<DriveStatus>> {
    let entries = match fs::read_dir(folder) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        entries => entries?,
    };
    let process = |path: &Path| path.file_name()?.to_str()?.strip_suffix(ENDING)?.parse().ok();
    let mut sockets = Vec::new();
    for entry in entries {
        let path = entry?.path();
        let process: Option<u32> = process(&path);
        sockets.extend(process.map(|process| (process, path)));
    }
    sockets.sort_unstable();
    Ok(sockets.into_iter().filter_map(|(process, path)| request_status(process, &path)).collect())
}

/// Returns the status from one socket, or `None` if the process has ended or its reply is invalid.
fn request_status(process: u32, path: &Path) -> Option<DriveStatus> {
    let Ok(stream) = UnixStream::connect(path) else {
        if is_socket(path) && !Path::new(&format!("/proc/{process}")).exists() {
            let _ = fs::remove_file(path);
        }
        return None;
    };
    stream.set_read_timeout(Some(IO_TIMEOUT)).ok()?;
    let mut text = String::new();
    stream.take(LONGEST).read_to_string(&mut text).ok()?;
    serde_json::from_str(&text).ok()
}

#[cfg(test)]
mod tests {
    use flashscope_block::Bytes;

    use super::*;
    use crate::testing::snapshot;

    // Clients receive the status of a running server, repeatedly, and nothing after its end.
    #[test]
    fn a_status_is_served_until_the_server_is_dropped() {
        let scratch = tempfile::tempdir().unwrap();
        let folder = scratch.path().join("flashscope");
        assert_eq!(attached_drives(&folder).unwrap(), []);
        let monitor = Arc::new(Monitor::of(Bytes::mib(1), snapshot(), || None));
        let socket = StatusSocket::start(&folder, Arc::clone(&monitor)).unwrap();
        for _ in 0..2 {
            assert_eq!(attached_drives(&folder).unwrap(), [monitor.status(None)]);
        }
        drop(socket);
        assert_eq!(attached_drives(&folder).unwrap(), []);
        assert_eq!(fs::read_dir(&folder).unwrap().count(), 0);
        assert_eq!(Arc::strong_count(&monitor), 1, "the thread has ended");
    }

    #[test]
    fn only_sockets_are_removed_and_only_in_a_folder_that_is_no_link() {
        let scratch = tempfile::tempdir().unwrap();
        let [folder, link] = ["folder", "link"].map(|name| scratch.path().join(name));
        fs::create_dir(&folder).unwrap();
        std::os::unix::fs::symlink(&folder, &link).unwrap();
        let mut child = std::process::Command::new("true").spawn().unwrap();
        child.wait().unwrap();
        let monitor = Arc::new(Monitor::of(Bytes::mib(1), snapshot(), || None));
        for process in [child.id(), std::process::id()] {
            let file = folder.join(format!("{process}{ENDING}"));
            fs::write(&file, "precious").unwrap();
            assert_eq!(attached_drives(&folder).unwrap(), []);
            assert!(StatusSocket::start(&link, Arc::clone(&monitor)).is_err());
            assert!(
                process != std::process::id()
                    || StatusSocket::start(&folder, Arc::clone(&monitor)).is_err()
            );
            assert_eq!(fs::read(&file).unwrap(), b"precious");
        }
    }

    // The socket of a killed process is removed, that of a running process is not, and other files
    // are ignored.
    #[test]
    fn sockets_of_ended_processes_are_removed() {
        let scratch = tempfile::tempdir().unwrap();
        let path = |name: &str| scratch.path().join(name);
        let mut child = std::process::Command::new("true").spawn().unwrap();
        child.wait().unwrap();
        let dead = path(&format!("{}{ENDING}", child.id()));
        let alive = path(&format!("{}{ENDING}", std::process::id()));
        drop(UnixListener::bind(&dead).unwrap());
        drop(UnixListener::bind(&alive).unwrap());
        fs::write(path("notes.txt"), "").unwrap();
        assert_eq!(attached_drives(scratch.path()).unwrap(), []);
        assert!(!dead.exists() && alive.exists() && path("notes.txt").exists());
        // A socket left by an earlier process of the same ID is replaced.
        let monitor = Arc::new(Monitor::of(Bytes::mib(1), snapshot(), || None));
        let _socket = StatusSocket::start(scratch.path(), monitor).unwrap();
        assert_eq!(attached_drives(scratch.path()).unwrap().len(), 1);
    }

    // Invalid and empty replies are ignored.
    #[test]
    fn invalid_replies_are_ignored() {
        let scratch = tempfile::tempdir().unwrap();
        let listener = UnixListener::bind(scratch.path().join(format!("1{ENDING}"))).unwrap();
        let answers = thread::spawn(move || {
            for text in ["{", "", "{\"process\": 1}"] {
                let (mut stream, _) = listener.accept().unwrap();
                stream.write_all(text.as_bytes()).unwrap();
            }
        });
        for _ in 0..3 {
            assert_eq!(attached_drives(scratch.path()).unwrap(), []);
        }
        answers.join().unwrap();
    }
}
