//! The status socket of a process: a Unix socket in a folder of the user. The ID of the process and
//! the kind of the status form its name. Each connection receives the status as JSON. Clients are
//! processes of the same user.

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

use serde::Serialize;
use serde::de::DeserializeOwned;

/// The timeout for a read or a write on a connection.
const IO_TIMEOUT: Duration = Duration::from_secs(1);

/// The maximum length of a document in bytes; most have a few thousand bytes.
const MAX_LENGTH: u64 = 16 << 20;

/// A server that reports the status of this process until it is dropped.
pub struct StatusSocket {
    path: PathBuf,
    stopped: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl StatusSocket {
    /// Starts a server that sends the return value of `status` to each client, as a status of this
    /// kind. Creates the folder if it does not exist.
    ///
    /// # Errors
    /// Returns an error if the socket cannot be created, or if the folder belongs to another user.
    pub fn start<T: Serialize>(
        folder: &Path,
        kind: &str,
        status: impl Fn() -> T + Send + 'static,
    ) -> io::Result<StatusSocket> {
        DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
        // Rejects links, because a link could lead to any folder of this user.
        let metadata = fs::symlink_metadata(folder)?;
        if !metadata.is_dir() || metadata.uid() != fs::metadata("/proc/self")?.uid() {
            let folder = folder.display();
            return Err(io::Error::other(format!(
                "{folder} belongs to another user, or is not a folder"
            )));
        }
        let path = folder.join(name(std::process::id(), kind));
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
                let _ = stream.and_then(|stream| send_status(stream, &status()));
            }
        };
        let thread = thread::Builder::new().name("status".into()).spawn(answer)?;
        Ok(StatusSocket { path, stopped, thread: Some(thread) })
    }
}

/// Returns the name of a socket.
fn name(process: u32, kind: &str) -> String {
    format!("{process}.{kind}")
}

/// Returns true if the path is a socket; other files may be someone's data and are not removed.
fn is_socket(path: &Path) -> bool {
    fs::symlink_metadata(path).is_ok_and(|metadata| metadata.file_type().is_socket())
}

fn send_status(stream: UnixStream, status: &impl Serialize) -> io::Result<()> {
    stream.set_write_timeout(Some(IO_TIMEOUT))?;
    let mut out = BufWriter::new(stream);
    serde_json::to_writer(&mut out, status)?;
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

/// Returns the statuses of this kind with the IDs of their processes, in the order of the IDs. The
/// list is empty if the folder does not exist. Removes the sockets of processes that have ended.
///
/// # Errors
/// Returns an error if the folder cannot be read.
pub fn statuses<T: DeserializeOwned>(folder: &Path, kind: &str) -> io::Result<Vec<(u32, T)>> {
    let entries = match fs::read_dir(folder) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        entries => entries?,
    };
    let process = |path: &Path| {
        let (process, ending) = path.file_name()?.to_str()?.split_once('.')?;
        process.parse().ok().filter(|_| ending == kind)
    };
    let mut sockets = Vec::new();
    for entry in entries {
        let path = entry?.path();
        let process: Option<u32> = process(&path);
        sockets.extend(process.map(|process| (process, path)));
    }
    sockets.sort_unstable();
    let status = |(process, path): (u32, PathBuf)| Some((process, request(process, &path)?));
    Ok(sockets.into_iter().filter_map(status).collect())
}

/// Returns the status of this kind of one process; `None` if the process has ended or its reply is
/// invalid.
pub fn status_of<T: DeserializeOwned>(folder: &Path, kind: &str, process: u32) -> Option<T> {
    request(process, &folder.join(name(process, kind)))
}

fn request<T: DeserializeOwned>(process: u32, path: &Path) -> Option<T> {
    let Ok(stream) = UnixStream::connect(path) else {
        if is_socket(path) && !Path::new(&format!("/proc/{process}")).exists() {
            let _ = fs::remove_file(path);
        }
        return None;
    };
    stream.set_read_timeout(Some(IO_TIMEOUT)).ok()?;
    let mut text = String::new();
    stream.take(MAX_LENGTH).read_to_string(&mut text).ok()?;
    serde_json::from_str(&text).ok()
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicU32;

    use super::*;

    const KIND: &str = "counted";

    fn statuses_in(folder: &Path) -> Vec<(u32, u32)> {
        statuses(folder, KIND).unwrap()
    }

    // Clients receive the status of a running server, repeatedly, and nothing after its end.
    #[test]
    fn a_status_is_served_until_the_server_is_dropped() {
        let scratch = tempfile::tempdir().unwrap();
        let folder = scratch.path().join("flashscope");
        assert_eq!(statuses_in(&folder), []);
        let count = Arc::new(AtomicU32::new(0));
        let counted = Arc::clone(&count);
        let status = move || counted.fetch_add(1, Ordering::SeqCst);
        let socket = StatusSocket::start(&folder, KIND, status).unwrap();
        let process = std::process::id();
        for expected in 0..2 {
            assert_eq!(statuses_in(&folder), [(process, expected)]);
        }
        assert_eq!(status_of(&folder, KIND, process), Some(2));
        assert_eq!(statuses::<u32>(&folder, "other").unwrap(), []);
        drop(socket);
        assert_eq!(statuses_in(&folder), []);
        assert_eq!(status_of::<u32>(&folder, KIND, process), None);
        assert_eq!(fs::read_dir(&folder).unwrap().count(), 0);
        assert_eq!(Arc::strong_count(&count), 1, "the thread has ended");
    }

    #[test]
    fn only_sockets_are_removed_and_only_in_a_folder_that_is_no_link() {
        let scratch = tempfile::tempdir().unwrap();
        let [folder, link] = ["folder", "link"].map(|name| scratch.path().join(name));
        fs::create_dir(&folder).unwrap();
        std::os::unix::fs::symlink(&folder, &link).unwrap();
        let mut child = std::process::Command::new("true").spawn().unwrap();
        child.wait().unwrap();
        for process in [child.id(), std::process::id()] {
            let file = folder.join(name(process, KIND));
            fs::write(&file, "precious").unwrap();
            assert_eq!(statuses_in(&folder), []);
            assert!(StatusSocket::start(&link, KIND, || 1).is_err());
            assert!(
                process != std::process::id() || StatusSocket::start(&folder, KIND, || 1).is_err()
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
        let dead = path(&name(child.id(), KIND));
        let alive = path(&name(std::process::id(), KIND));
        drop(UnixListener::bind(&dead).unwrap());
        drop(UnixListener::bind(&alive).unwrap());
        fs::write(path("notes.txt"), "").unwrap();
        assert_eq!(statuses_in(scratch.path()), []);
        assert!(!dead.exists() && alive.exists() && path("notes.txt").exists());
        // A socket left by an earlier process of the same ID is replaced.
        let _socket = StatusSocket::start(scratch.path(), KIND, || 1).unwrap();
        assert_eq!(statuses_in(scratch.path()).len(), 1);
    }

    // Invalid and empty replies are ignored.
    #[test]
    fn invalid_replies_are_ignored() {
        let scratch = tempfile::tempdir().unwrap();
        let listener = UnixListener::bind(scratch.path().join(name(1, KIND))).unwrap();
        let answers = thread::spawn(move || {
            for text in ["{", "", "{\"process\": 1}"] {
                let (mut stream, _) = listener.accept().unwrap();
                stream.write_all(text.as_bytes()).unwrap();
            }
        });
        for _ in 0..3 {
            assert_eq!(statuses_in(scratch.path()), []);
        }
        answers.join().unwrap();
    }
}
