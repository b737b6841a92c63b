//! How a process that has a drive attached tells others of the same user: a Unix socket in a folder
//! that they know, named by the number of the process. Who connects gets one [`Live`] as JSON.

#![cfg_attr(
    lint_writes,
    expect(
        clippy::disallowed_methods,
        reason = "the status socket: in a folder of the user, not through a link; of names only sockets are removed"
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

use crate::live::{Live, Monitor};

/// What the name of a socket ends with, after the number of the process.
const ENDING: &str = ".attached";

/// How long is waited for who is connected.
const PATIENCE: Duration = Duration::from_secs(1);

/// The longest document: one without its samples has a few thousand bytes.
const LONGEST: u64 = 1 << 20;

/// Tells others of an attached drive until it is dropped.
pub struct Told {
    path: PathBuf,
    stopped: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Told {
    /// Begins to tell what `monitor` does. The folder is made where it is not there.
    ///
    /// # Errors
    /// Where the socket cannot be made, or the folder is another user's.
    pub fn start(folder: &Path, monitor: Arc<Monitor>) -> io::Result<Told> {
        DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
        // A link could lead to any folder of this user.
        let found = fs::symlink_metadata(folder)?;
        if !found.is_dir() || found.uid() != fs::metadata("/proc/self")?.uid() {
            let folder = folder.display();
            return Err(io::Error::other(format!("{folder} is another user's, or no folder")));
        }
        let path = folder.join(format!("{}{ENDING}", std::process::id()));
        // An earlier process may have had the same number.
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
                // Who is gone again is told nothing.
                let _ = stream.and_then(|stream| tell(stream, &monitor));
            }
        };
        let thread = thread::Builder::new().name("told".into()).spawn(answer)?;
        Ok(Told { path, stopped, thread: Some(thread) })
    }
}

/// Whether a name is that of a socket: anything else is somebody's, and is not removed.
fn is_socket(path: &Path) -> bool {
    fs::symlink_metadata(path).is_ok_and(|found| found.file_type().is_socket())
}

fn tell(stream: UnixStream, monitor: &Monitor) -> io::Result<()> {
    stream.set_write_timeout(Some(PATIENCE))?;
    let mut out = BufWriter::new(stream);
    serde_json::to_writer(&mut out, &monitor.live(None))?;
    out.flush()
}

impl Drop for Told {
    fn drop(&mut self) {
        self.stopped.store(true, Ordering::SeqCst);
        // The thread looks once someone connects. Without the socket, nobody can, and it ends with
        // the process.
        let woken = UnixStream::connect(&self.path).is_ok();
        let _ = fs::remove_file(&self.path);
        if let Some(thread) = self.thread.take().filter(|_| woken) {
            let _ = thread.join();
        }
    }
}

/// What the processes tell that have drives attached, in the order of their numbers; nothing where
/// there is no such folder. Sockets of processes that are gone are removed.
///
/// # Errors
/// Where the folder cannot be read.
pub fn attached(folder: &Path) -> io::Result<Vec<Live>> {
    let entries = match fs::read_dir(folder) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        entries => entries?,
    };
    let process = |path: &Path| path.file_name()?.to_str()?.strip_suffix(ENDING)?.parse().ok();
    let mut found = Vec::new();
    for entry in entries {
        let path = entry?.path();
        let process: Option<u32> = process(&path);
        found.extend(process.map(|process| (process, path)));
    }
    found.sort_unstable();
    Ok(found.into_iter().filter_map(|(process, path)| ask(process, &path)).collect())
}

/// None of a process that is gone, or does not answer as it should.
fn ask(process: u32, path: &Path) -> Option<Live> {
    let Ok(stream) = UnixStream::connect(path) else {
        if is_socket(path) && !Path::new(&format!("/proc/{process}")).exists() {
            let _ = fs::remove_file(path);
        }
        return None;
    };
    stream.set_read_timeout(Some(PATIENCE)).ok()?;
    let mut text = String::new();
    stream.take(LONGEST).read_to_string(&mut text).ok()?;
    serde_json::from_str(&text).ok()
}

#[cfg(test)]
mod tests {
    use flashscope_block::Bytes;

    use super::*;
    use crate::testing::snapshot;

    // Is who asks told of those that run, also twice, and no more of those that do not?
    #[test]
    fn told_and_gone() {
        let scratch = tempfile::tempdir().unwrap();
        let folder = scratch.path().join("flashscope");
        assert_eq!(attached(&folder).unwrap(), []);
        let monitor = Arc::new(Monitor::of(Bytes::mib(1), snapshot(), || None));
        let told = Told::start(&folder, Arc::clone(&monitor)).unwrap();
        for _ in 0..2 {
            assert_eq!(attached(&folder).unwrap(), [monitor.live(None)]);
        }
        drop(told);
        assert_eq!(attached(&folder).unwrap(), []);
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
            assert_eq!(attached(&folder).unwrap(), []);
            assert!(Told::start(&link, Arc::clone(&monitor)).is_err());
            assert!(
                process != std::process::id()
                    || Told::start(&folder, Arc::clone(&monitor)).is_err()
            );
            assert_eq!(fs::read(&file).unwrap(), b"precious");
        }
    }

    // Is the socket of a process that was killed removed, that of one that lives left alone, and
    // what is none passed over?
    #[test]
    fn leftovers() {
        let scratch = tempfile::tempdir().unwrap();
        let path = |name: &str| scratch.path().join(name);
        let mut child = std::process::Command::new("true").spawn().unwrap();
        child.wait().unwrap();
        let dead = path(&format!("{}{ENDING}", child.id()));
        let alive = path(&format!("{}{ENDING}", std::process::id()));
        drop(UnixListener::bind(&dead).unwrap());
        drop(UnixListener::bind(&alive).unwrap());
        fs::write(path("notes.txt"), "").unwrap();
        assert_eq!(attached(scratch.path()).unwrap(), []);
        assert!(!dead.exists() && alive.exists() && path("notes.txt").exists());
        // What it left is in nobody's way.
        let monitor = Arc::new(Monitor::of(Bytes::mib(1), snapshot(), || None));
        let _told = Told::start(scratch.path(), monitor).unwrap();
        assert_eq!(attached(scratch.path()).unwrap().len(), 1);
    }

    // Is one that tells nonsense, or nothing, passed over?
    #[test]
    fn nonsense() {
        let scratch = tempfile::tempdir().unwrap();
        let listener = UnixListener::bind(scratch.path().join(format!("1{ENDING}"))).unwrap();
        let answers = thread::spawn(move || {
            for text in ["{", "", "{\"process\": 1}"] {
                let (mut stream, _) = listener.accept().unwrap();
                stream.write_all(text.as_bytes()).unwrap();
            }
        });
        for _ in 0..3 {
            assert_eq!(attached(scratch.path()).unwrap(), []);
        }
        answers.join().unwrap();
    }
}
