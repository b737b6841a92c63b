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

use std::fmt;
use std::fs::{self, File};
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use flashscope_block::Bytes;

use crate::error::OpenError;
use crate::guard::{GuardedFile, NewFile, OverwriteReason, WriteRequest, open_guarded};
use crate::target::check_is_file;

/// The offset of the data in bytes: one file system block, which keeps the drive's data aligned.
pub const DATA: u64 = 4096;

/// The length of the header, in bytes.
const HEADER: usize = 4096;

/// The start of the header in every version.
const MAGIC: &str = "flashscope store ";

/// The version that this program writes, and the only one it reads.
const VERSION: &str = "1";

/// The state of a store that was closed completely.
const CLOSED: &str = "closed";

/// The state of a store that is open, or was open when its process ended. It has the length of
/// [`CLOSED`].
const IN_USE: &str = "in use";

/// The drive that a store belongs to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoreHeader {
    /// The name of the drive, such as `sim:demo`.
    pub drive: String,
    /// Its capacity in bytes.
    pub size: Bytes,
    /// Its random seed.
    pub seed: u64,
}

impl fmt::Display for StoreHeader {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let StoreHeader { drive, size, seed } = self;
        // The name may come from an untrusted file.
        write!(f, "`{}` of {size} ({} bytes) with the seed {seed}", drive.escape_debug(), size.0)
    }
}

/// The reason why a file cannot be opened as a store, or must not be overwritten because it is one.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// The file contains something else.
    #[error(
        "`{}` is not a store: it does not begin with a store's header, and its content is \
         unchanged; name a file that does not exist yet",
        .0.display()
    )]
    NoStore(PathBuf),
    /// The store belongs to another drive.
    #[error(
        "`{}` is the store of the drive {actual}, not of {expected}: attach the drive it belongs \
         to, or name another file",
        path.display()
    )]
    OtherDrive {
        /// The file.
        path: PathBuf,
        /// The drive that it belongs to.
        actual: Box<StoreHeader>,
        /// The drive to be attached.
        expected: Box<StoreHeader>,
    },
    /// A later version of this program created it.
    #[error(
        "`{}` is a store of a later flashscope version: use that version, or name another \
         file", .0.display()
    )]
    Version(PathBuf),
    /// Its header or its length is invalid.
    #[error(
        "`{}` begins like a store, but {what}: it is damaged; its content is \
         unchanged; name another file",
        path.display()
    )]
    Damaged {
        /// The file.
        path: PathBuf,
        /// The problem.
        what: String,
    },
    /// The file to overwrite is a store.
    #[error(
        "`{}` is the store of the drive {drive}, created by `flashscope attach --store`: remove it \
         first if its data may be destroyed, or choose another file", path.display()
    )]
    IsStore {
        /// The file or device.
        path: PathBuf,
        /// The drive it belongs to, as far as its header can be read.
        drive: String,
    },
    /// The drive's name does not fit into the header.
    #[error("the drive's name is too long for a store: {0} bytes, more than {MAX_NAME}")]
    LongName(usize),
}

/// The maximum length of a drive's name in bytes.
const MAX_NAME: usize = 3900;

/// The content of a file's first block.
enum First {
    /// The file is empty.
    Empty,
    /// Something other than a header.
    Other,
    /// A header; true if its state is [`CLOSED`].
    Header(StoreHeader, bool),
    /// A header of a later version.
    Later,
    /// A damaged header.
    Damaged,
}

fn first(probe: &File) -> io::Result<First> {
    let mut block = [0; HEADER];
    let mut filled = 0;
    while filled < HEADER {
        match probe.read_at(&mut block[filled..], filled as u64)? {
            0 => break,
            read => filled += read,
        }
    }
    let Some(rest) = block.strip_prefix(MAGIC.as_bytes()) else {
        return Ok(if filled == 0 { First::Empty } else { First::Other });
    };
    let text = rest.split(|byte| *byte == 0).next().unwrap_or_default();
    let text = std::str::from_utf8(text).unwrap_or_default();
    let Some((version, fields)) = text.split_once('\n') else { return Ok(First::Damaged) };
    if version != VERSION {
        return Ok(First::Later);
    }
    Ok(match parse(fields) {
        Some((header, is_closed)) if filled == HEADER => First::Header(header, is_closed),
        _ => First::Damaged,
    })
}

fn parse(fields: &str) -> Option<(StoreHeader, bool)> {
    let mut lines = fields.lines();
    let mut field = |name: &str| lines.next()?.strip_prefix(name);
    let state = field("state: ")?;
    let size = Bytes(field("bytes: ")?.parse().ok()?);
    let seed = field("seed: ")?.parse().ok()?;
    let drive = field("drive: ")?.to_owned();
    let is_closed = match state {
        CLOSED => true,
        IN_USE => false,
        _ => return None,
    };
    Some((StoreHeader { drive, size, seed }, is_closed))
}

/// Returns the text before the state. Its length is fixed, and therefore also the offset of the
/// state.
fn before_state() -> String {
    format!("{MAGIC}{VERSION}\nstate: ")
}

impl StoreHeader {
    fn block(&self) -> Result<[u8; HEADER], StoreError> {
        let StoreHeader { drive, size, seed } = self;
        if drive.len() > MAX_NAME {
            return Err(StoreError::LongName(drive.len()));
        }
        let begin = before_state();
        let text = format!("{begin}{IN_USE}\nbytes: {}\nseed: {seed}\ndrive: {drive}\n", size.0);
        let mut block = [0; HEADER];
        block[..text.len()].copy_from_slice(text.as_bytes());
        Ok(block)
    }
}

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
    /// [`StoreError`] if the file is something else, and all refusals of the guards. The file is
    /// then unchanged.
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

    // A virtual machine locks single bytes of its file.
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
