//! Files that keep the data of simulated drives (stores): their header, and opening them through
//! the guards.
//!
//! The header occupies the first [`DATA`] bytes, as text padded with zeros. The program `head`
//! therefore shows which drive a store belongs to. The data follows. After creation, only the state
//! in the header changes. The state takes a few bytes of one sector; a crash therefore cannot leave
//! half a header.

#![cfg_attr(
    lint_writes,
    expect(
        clippy::disallowed_methods,
        reason = "the header and the length of a store: opened by the guards of drives; a file without a header is rejected unless it is empty"
    )
)]

pub(crate) mod header;

use std::fs::{self, File};
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;

use header::{CLOSED, First, HEADER, IN_USE, before_state, first};
pub use header::{StoreError, StoreHeader};

use crate::error::OpenError;
use crate::guard::{GuardedFile, NewFile, OverwriteReason, WriteRequest, open_guarded};
use crate::target::opening::check_is_file;

/// The offset of the data in bytes: one file system block, which keeps the drive's data aligned.
pub const DATA: u64 = 4096;

/// Checks that an open file is the store of `expected`, or an empty regular file that may become
/// this store.
pub(crate) fn check(path: &Path, probe: &File, expected: &StoreHeader) -> Result<(), OpenError> {
    let failed = || OpenError::system("read", path);
    let damaged = |what: &str| StoreError::Damaged { path: path.into(), what: what.into() };
    let (actual, path) = match first(probe).map_err(failed())? {
        First::Empty => return Ok(()),
        First::Other => return Err(StoreError::NoStore(path.into()).into()),
        First::Later => return Err(StoreError::Version(path.into()).into()),
        First::Damaged => return Err(damaged("its header is truncated or changed").into()),
        First::Header(actual, _) => (actual, path),
    };
    if actual != *expected {
        let (actual, expected) = (Box::new(actual), Box::new(expected.clone()));
        return Err(StoreError::OtherDrive { path: path.into(), actual, expected }.into());
    }
    // A store whose creation was interrupted consists of its header alone.
    match probe.metadata().map_err(failed())?.len() {
        DATA => Ok(()),
        len if len == DATA + expected.size.0 => Ok(()),
        len => Err(damaged(&format!("it has {len} bytes")).into()),
    }
}

/// Checks that an open file or device is not a store. Only [`StoreFile::open`] may overwrite a
/// store.
pub(crate) fn check_is_none(path: &Path, probe: &File) -> Result<(), OpenError> {
    let drive = match first(probe).map_err(OpenError::system("read", path))? {
        First::Empty | First::Other => return Ok(()),
        First::Header(header, _) => header.to_string(),
        First::Later | First::Damaged => "named in its unreadable header".into(),
    };
    Err(StoreError::IsStore { path: path.into(), drive }.into())
}

/// An open store, locked until it is dropped.
#[derive(Debug)]
pub struct StoreFile {
    guarded: GuardedFile,
    was_cut: bool,
}

impl StoreFile {
    /// Opens the store at `path`, or creates it if the file is missing or empty.
    /// `ignore_open_by_others` has the meaning of [`crate::OpenOptions`].
    ///
    /// # Errors
    /// [`StoreError`] if the file is neither empty nor a valid store of this drive, and all
    /// refusals of the guards. The file is then unchanged.
    pub fn open(
        path: &Path,
        header: &StoreHeader,
        ignore_open_by_others: bool,
    ) -> Result<StoreFile, OpenError> {
        // A name of several lines would not be read back as it was written.
        let drive = header.drive.replace(['\n', '\r', '\0'], " ");
        let header = &StoreHeader { drive, ..header.clone() };
        let block = header.block()?;
        let open = |reason| {
            let request = WriteRequest { path, reason, flags: 0, ignore_open_by_others };
            StoreFile::prepare(open_guarded(&request)?, path, header, &block)
        };
        match fs::metadata(path) {
            Ok(metadata) => {
                check_is_file(path, &metadata)?;
                open(OverwriteReason::Store(header))
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                let created = NewFile::new(path)?;
                let store = open(OverwriteReason::Created(created.identity()))?;
                created.keep();
                Ok(store)
            }
            Err(source) => Err(OpenError::System { action: "inspect", path: path.into(), source }),
        }
    }

    /// Writes or updates the header, and extends the file to its full length.
    fn prepare(
        guarded: GuardedFile,
        path: &Path,
        header: &StoreHeader,
        block: &[u8; HEADER],
    ) -> Result<StoreFile, OpenError> {
        let failed = || OpenError::system("keep data in", path);
        let file = &guarded.file;
        let block_content = first(file).map_err(failed())?;
        let was_cut = matches!(block_content, First::Header(_, false));
        let is_whole = file.metadata().map_err(failed())?.len() > DATA;
        if matches!(block_content, First::Empty) {
            // A kernel file, such as one in /proc, accepts no length. It would interpret the header
            // as a command.
            file.set_len(DATA).map_err(failed())?;
            if file.metadata().map_err(failed())?.len() != DATA {
                return Err(StoreError::NoStore(path.into()).into());
            }
            file.write_all_at(block, 0).map_err(failed())?;
            file.sync_all().map_err(failed())?;
        }
        let store = StoreFile { guarded, was_cut: was_cut && is_whole };
        store.set_state(IN_USE).map_err(failed())?;
        if !is_whole {
            store.file().set_len(DATA + header.size.0).map_err(failed())?;
        }
        Ok(store)
    }

    /// Returns the open file, whose data begins at [`DATA`].
    pub fn file(&self) -> &File {
        &self.guarded.file
    }

    /// Returns true if the last process that had the store open ended without [`StoreFile::close`],
    /// which counts as a power cut of the drive.
    pub fn was_cut(&self) -> bool {
        self.was_cut
    }

    /// Marks the store as closed: the drive was detached properly, without data loss.
    ///
    /// # Errors
    /// The error of the system.
    pub fn close(&self) -> io::Result<()> {
        self.set_state(CLOSED)
    }

    fn set_state(&self, state: &str) -> io::Result<()> {
        self.file().write_all_at(state.as_bytes(), before_state().len() as u64)
    }
}

#[cfg(test)]
mod tests {
    use flashscope_block::Bytes;

    use super::header::MAX_NAME;
    use super::*;
    use crate::guard::{Refusal, set};

    const SIZE: u64 = 1 << 20;

    fn header() -> StoreHeader {
        StoreHeader { drive: "sim:demo?cache.kind=lru".into(), size: Bytes(SIZE), seed: 7 }
    }

    fn open(path: &Path) -> Result<StoreFile, OpenError> {
        StoreFile::open(path, &header(), false)
    }

    fn refused(path: &Path) -> OpenError {
        open(path).expect_err("the store was opened")
    }

    #[test]
    fn a_store_has_a_readable_header() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("store");
        let text = |path: &Path| {
            let content = fs::read(path).unwrap();
            assert_eq!(content.len() as u64, DATA + SIZE);
            let text = content.split(|byte| *byte == 0).next().unwrap();
            String::from_utf8(text.to_vec()).unwrap()
        };
        let store = open(&path).unwrap();
        let rest = "bytes: 1048576\nseed: 7\ndrive: sim:demo?cache.kind=lru\n";
        assert_eq!(text(&path), format!("flashscope store 1\nstate: in use\n{rest}"));
        store.close().unwrap();
        assert_eq!(text(&path), format!("flashscope store 1\nstate: closed\n{rest}"));
        drop(store);
        assert!(!open(&path).unwrap().was_cut());
        assert!(open(&path).unwrap().was_cut());
    }

    #[test]
    fn other_first_blocks_are_rejected_and_kept() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("store");
        drop(open(&path).unwrap());
        let good = fs::read(&path).unwrap();
        let changed = |from: &str, to: &str| {
            let text = String::from_utf8(good[..100].to_vec()).unwrap().replace(from, to);
            assert_ne!(text.as_bytes(), &good[..100]);
            let mut changed = text.into_bytes();
            changed.extend(&good[changed.len()..]);
            changed
        };
        let no_store = |error: &StoreError| matches!(error, StoreError::NoStore(_));
        let damaged = |error: &StoreError| matches!(error, StoreError::Damaged { .. });
        let version = |error: &StoreError| matches!(error, StoreError::Version(_));
        let other = |error: &StoreError| matches!(error, StoreError::OtherDrive { .. });
        type ErrorCheck<'a> = &'a dyn Fn(&StoreError) -> bool;
        let cases: [(Vec<u8>, ErrorCheck); 10] = [
            (vec![0; 4096], &no_store),
            (b"x".to_vec(), &no_store),
            (changed("flashscope", "flashscopf"), &no_store),
            (changed("store 1", "store 2"), &version),
            (changed("in use", "in uso"), &damaged),
            (changed("seed: 7", "seed: -"), &damaged),
            (good[..50].to_vec(), &damaged),
            (good[..8192].to_vec(), &damaged),
            (changed("seed: 7", "seed: 8"), &other),
            (changed("cache", "cachf"), &other),
        ];
        for (content, expected) in cases {
            fs::write(&path, &content).unwrap();
            let OpenError::Store(error) = refused(&path) else { panic!("not a store error") };
            assert!(expected(&error), "{error}");
            assert!(fs::read(&path).unwrap() == content);
        }
        // A header alone: the process ended before it extended the file.
        fs::write(&path, &good[..4096]).unwrap();
        assert!(!open(&path).unwrap().was_cut());
        assert_eq!(fs::metadata(&path).unwrap().len(), DATA + SIZE);
    }

    // The other program holds an OFD lock, as a virtual machine does, or a shared `flock`.
    #[test]
    fn a_locked_store_is_rejected() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("store");
        drop(open(&path).unwrap());
        for content in [fs::read(&path).unwrap(), Vec::new()] {
            fs::write(&path, &content).unwrap();
            let machine = fs::OpenOptions::new().read(true).write(true).open(&path).unwrap();
            set(&machine, libc::F_RDLCK).unwrap();
            assert!(matches!(refused(&path), OpenError::Refused(Refusal::Locked { .. })));
            set(&machine, libc::F_UNLCK).unwrap();
            machine.lock_shared().unwrap();
            assert!(matches!(refused(&path), OpenError::Refused(Refusal::Locked { .. })));
            assert!(fs::read(&path).unwrap() == content);
            drop(machine);
            open(&path).unwrap();
        }
    }

    // A kernel file appears empty.
    #[test]
    fn a_kernel_file_does_not_become_a_store() {
        for path in ["/proc/self/comm", "/proc/self/oom_score_adj", "/proc/self/clear_refs"] {
            let before = fs::read(path).ok();
            open(Path::new(path)).expect_err("a kernel file became a store");
            assert_eq!(fs::read(path).ok(), before);
        }
    }

    #[test]
    fn a_drive_name_cannot_add_lines_to_the_header() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("store");
        let odd = StoreHeader { drive: "a\nseed: 9\0\u{202e}".into(), ..header() };
        drop(StoreFile::open(&path, &odd, false).unwrap());
        drop(StoreFile::open(&path, &odd, false).unwrap());
        let message = refused(&path).to_string();
        assert!(message.contains("`a seed: 9 \\u{202e}`"), "{message}");
        let long = StoreHeader { drive: "x".repeat(MAX_NAME + 1), ..header() };
        let error = StoreFile::open(&folder.path().join("other"), &long, false).unwrap_err();
        assert!(matches!(error, OpenError::Store(StoreError::LongName(_))));
        assert!(!folder.path().join("other").exists());
    }
}
