//! Files that keep the data of simulated drives: the header by which they are known, and opening them through the guard.
//!
//! The header is the first [`DATA`] bytes, as text that ends with zeros, so that `head` shows whose data it is; the data
//! follow. Of the header only the state changes after the file was made: a few bytes of one sector, so that no crash
//! leaves half a header.

#![cfg_attr(
    lint_writes,
    expect(
        clippy::disallowed_methods,
        reason = "the header and the length of a store: the guard of drives; a file without a header is refused unless it is empty"
    )
)]

use std::fmt;
use std::fs::{self, File};
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use flashscope_block::Bytes;

use crate::error::OpenError;
use crate::guard::{Created, Grounds, Guarded, Writing, open_guarded};
use crate::target::check_is_file;

/// Where the data begin, in bytes: a block of any file system, so that they are aligned as the drive's are.
pub const DATA: u64 = 4096;

/// The length of the header, in bytes.
const HEADER: usize = 4096;

/// How every version of the header begins.
const MAGIC: &str = "flashscope store ";

/// The version that is written, and the only one that is read.
const VERSION: &str = "1";

/// A store that nobody has open, with nothing lost.
const CLOSED: &str = "closed";

/// A store that is open, or was when its process ended. As long as [`CLOSED`].
const IN_USE: &str = "in use";

/// Whose data a store keeps.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoreHeader {
    /// The drive as it was named, such as `sim:demo`.
    pub drive: String,
    /// Its bytes.
    pub size: Bytes,
    /// The seed of what is random in it.
    pub seed: u64,
}

impl fmt::Display for StoreHeader {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let StoreHeader { drive, size, seed } = self;
        // The name may come from a file that anybody made.
        write!(f, "`{}` of {size} ({} bytes) with the seed {seed}", drive.escape_debug(), size.0)
    }
}

/// Why a file is not opened as a store, or not as something else because it is one.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// It is a file with something else in it.
    #[error(
        "`{}` is no store: its first block is not the header of one, so that its content may be \
         anybody's, and stays as it is; name a file that does not exist yet",
        .0.display()
    )]
    NoStore(PathBuf),
    /// It was made for another drive.
    #[error(
        "`{}` is the store of the drive {found}, not of {wanted}: attach the drive that it was \
         made for, or name another file",
        path.display()
    )]
    OtherDrive {
        /// The file.
        path: PathBuf,
        /// The drive that it was made for.
        found: Box<StoreHeader>,
        /// The drive that is to be attached.
        wanted: Box<StoreHeader>,
    },
    /// A later version of this program made it.
    #[error(
        "`{}` is a store of a later version of flashscope than this one: take that one, or name \
         another file", .0.display()
    )]
    Version(PathBuf),
    /// Its header or its length was changed by something else.
    #[error(
        "`{}` begins as a store, but {what}: it is damaged, and stays as it is; name another file",
        path.display()
    )]
    Damaged {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        what: String,
    },
    /// It is a store, and was to be overwritten as something else.
    #[error(
        "`{}` is the store of the drive {drive}, which `flashscope attach --store` made: if its \
         data may go, remove it first, or take another", path.display()
    )]
    IsStore {
        /// The file or device.
        path: PathBuf,
        /// Whose data it keeps, as far as that can be read.
        drive: String,
    },
    /// The name of the drive is too long for the header.
    #[error("the name of the drive is too long to be noted in a store: {0} bytes, of {MOST_NAME}")]
    LongName(usize),
}

/// Bytes of the longest name of a drive.
const MOST_NAME: usize = 3900;

/// What the first block of a file says.
enum First {
    /// Nothing: the file has no bytes.
    Empty,
    /// Something else than a header.
    Other,
    /// A header, with its state.
    Header(StoreHeader, bool),
    /// A header of another version.
    Later,
    /// A header in part.
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

/// What stands before the state, whose place therefore never changes.
fn before_state() -> String {
    format!("{MAGIC}{VERSION}\nstate: ")
}

impl StoreHeader {
    fn block(&self) -> Result<[u8; HEADER], StoreError> {
        let StoreHeader { drive, size, seed } = self;
        if drive.len() > MOST_NAME {
            return Err(StoreError::LongName(drive.len()));
        }
        let begin = before_state();
        let text = format!("{begin}{IN_USE}\nbytes: {}\nseed: {seed}\ndrive: {drive}\n", size.0);
        let mut block = [0; HEADER];
        block[..text.len()].copy_from_slice(text.as_bytes());
        Ok(block)
    }
}

/// Whether what `probe` is open on may be opened as the store of `wanted`: it is one, or an empty regular file.
pub(crate) fn check(path: &Path, probe: &File, wanted: &StoreHeader) -> Result<(), OpenError> {
    let failed = || OpenError::system("read", path);
    let damaged = |what: &str| StoreError::Damaged { path: path.into(), what: what.into() };
    let (found, path) = match first(probe).map_err(failed())? {
        First::Empty => return Ok(()),
        First::Other => return Err(StoreError::NoStore(path.into()).into()),
        First::Later => return Err(StoreError::Version(path.into()).into()),
        First::Damaged => return Err(damaged("its header is cut off or changed").into()),
        First::Header(found, _) => (found, path),
    };
    if found != *wanted {
        let (found, wanted) = (Box::new(found), Box::new(wanted.clone()));
        return Err(StoreError::OtherDrive { path: path.into(), found, wanted }.into());
    }
    // One that was about to be made has its header alone.
    match probe.metadata().map_err(failed())?.len() {
        DATA => Ok(()),
        len if len == DATA + wanted.size.0 => Ok(()),
        len => Err(damaged(&format!("it has {len} bytes")).into()),
    }
}

/// Whether what `probe` is open on is no store, so that nothing else overwrites one.
pub(crate) fn check_is_none(path: &Path, probe: &File) -> Result<(), OpenError> {
    let drive = match first(probe).map_err(OpenError::system("read", path))? {
        First::Empty | First::Other => return Ok(()),
        First::Header(found, _) => found.to_string(),
        First::Later | First::Damaged => "that its header does not tell".into(),
    };
    Err(StoreError::IsStore { path: path.into(), drive }.into())
}

/// A store that is open, and locked against all others until it is dropped.
#[derive(Debug)]
pub struct StoreFile {
    guarded: Guarded,
    was_cut: bool,
}

impl StoreFile {
    /// Opens the store at `path`, or makes it where nothing has that name or the file is empty. `ignore_open_by_others` is as
    /// in [`crate::OpenOptions`].
    ///
    /// # Errors
    /// [`StoreError`] where the file is something else, and all refusals of the guard. Nothing is changed then.
    pub fn open(
        path: &Path,
        header: &StoreHeader,
        ignore_open_by_others: bool,
    ) -> Result<StoreFile, OpenError> {
        // A name of several lines would not be read as it was written.
        let drive = header.drive.replace(['\n', '\r', '\0'], " ");
        let header = &StoreHeader { drive, ..header.clone() };
        let block = header.block()?;
        let open = |grounds| {
            let writing = Writing { path, grounds, flags: 0, ignore_open_by_others };
            StoreFile::prepare(open_guarded(&writing)?, path, header, &block)
        };
        match fs::metadata(path) {
            Ok(metadata) => {
                check_is_file(path, &metadata)?;
                open(Grounds::Store(header))
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                let created = Created::new(path)?;
                let store = open(Grounds::Created(created.identity()))?;
                created.keep();
                Ok(store)
            }
            Err(source) => Err(OpenError::System { action: "look at", path: path.into(), source }),
        }
    }

    /// Writes or changes the header, and gives the file its length.
    fn prepare(
        guarded: Guarded,
        path: &Path,
        header: &StoreHeader,
        block: &[u8; HEADER],
    ) -> Result<StoreFile, OpenError> {
        let failed = || OpenError::system("keep data in", path);
        let file = &guarded.file;
        let found = first(file).map_err(failed())?;
        let was_cut = matches!(found, First::Header(_, false));
        let is_whole = file.metadata().map_err(failed())?.len() > DATA;
        if matches!(found, First::Empty) {
            // A file of the kernel's own takes no length, and would take the header for a command.
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

    /// The open file, whose data begin at [`DATA`].
    pub fn file(&self) -> &File {
        &self.guarded.file
    }

    /// Returns true if the process that had it open before ended without [`StoreFile::close`]: the power of the drive
    /// was cut.
    pub fn was_cut(&self) -> bool {
        self.was_cut
    }

    /// Notes that the drive was detached in order, with nothing lost.
    ///
    /// # Errors
    /// What the system says.
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
        open(path).expect_err("it was opened")
    }

    #[test]
    fn a_store_is_known_by_its_header_which_can_be_read_by_people() {
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
    fn every_other_first_block_is_refused_and_stays() {
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
        type Expected<'a> = &'a dyn Fn(&StoreError) -> bool;
        let cases: [(Vec<u8>, Expected); 10] = [
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
            let OpenError::Store(error) = refused(&path) else { panic!("it is no refusal") };
            assert!(expected(&error), "{error}");
            assert!(fs::read(&path).unwrap() == content);
        }
        // The header alone: the process ended before it gave the file its length.
        fs::write(&path, &good[..4096]).unwrap();
        assert!(!open(&path).unwrap().was_cut());
        assert_eq!(fs::metadata(&path).unwrap().len(), DATA + SIZE);
    }

    // Is a store refused whose file a virtual machine has, which locks single bytes of it, and a file that it has?
    #[test]
    fn a_locked_store_is_refused() {
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

    // Is a file of the kernel's own, which looks empty, left alone?
    #[test]
    fn a_file_of_the_kernel_is_no_store() {
        for path in ["/proc/self/comm", "/proc/self/oom_score_adj", "/proc/self/clear_refs"] {
            let before = fs::read(path).ok();
            open(Path::new(path)).expect_err("it was taken for a store");
            assert_eq!(fs::read(path).ok(), before);
        }
    }

    #[test]
    fn a_name_cannot_write_lines_into_the_header() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("store");
        let odd = StoreHeader { drive: "a\nseed: 9\0\u{202e}".into(), ..header() };
        drop(StoreFile::open(&path, &odd, false).unwrap());
        drop(StoreFile::open(&path, &odd, false).unwrap());
        let message = refused(&path).to_string();
        assert!(message.contains("`a seed: 9 \\u{202e}`"), "{message}");
        let long = StoreHeader { drive: "x".repeat(MOST_NAME + 1), ..header() };
        let error = StoreFile::open(&folder.path().join("other"), &long, false).unwrap_err();
        assert!(matches!(error, OpenError::Store(StoreError::LongName(_))));
        assert!(!folder.path().join("other").exists());
    }
}
