//! The header of a store, and the reasons to reject one.

use std::fmt;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::PathBuf;

use flashscope_block::Bytes;

/// The length of the header, in bytes.
pub(super) const HEADER: usize = 4096;

/// The start of the header in every version.
const MAGIC: &str = "flashscope store ";

/// The version that this program writes, and the only one it reads.
const VERSION: &str = "1";

/// The state of a store that was closed completely.
pub(super) const CLOSED: &str = "closed";

/// The state of a store that is open, or was open when its process ended. It has the length of
/// [`CLOSED`].
pub(super) const IN_USE: &str = "in use";

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
    /// The file contains something other than a store.
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
pub(super) const MAX_NAME: usize = 3900;

/// The content of a file's first block.
pub(super) enum First {
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

pub(super) fn first(probe: &File) -> io::Result<First> {
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
pub(super) fn before_state() -> String {
    format!("{MAGIC}{VERSION}\nstate: ")
}

impl StoreHeader {
    pub(super) fn block(&self) -> Result<[u8; HEADER], StoreError> {
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
