use std::sync::Mutex;
use std::sync::atomic::{AtomicU32, Ordering};

use flashscope_block::{Bytes, PlacementLimits, ZoneLimits};

use super::placement::Events;
use super::plan::Erase;
use super::status::Status;
use crate::attached::Export;
use crate::lock;

/// The identifier of the only namespace.
pub(super) const NAMESPACE: u32 = 1;

/// The identifier that stands for all namespaces.
pub(super) const ALL_NAMESPACES: u32 = u32::MAX;

/// The sizes of logical blocks that a namespace without zones can be formatted with, as powers of
/// two. Their places are the numbers of the LBA formats.
const BLOCK_SHIFTS: [u32; 2] = [9, 12];

/// The identifier of a command set of namespaces (CSI).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum CommandSet {
    /// The NVM command set.
    Nvm = 0,
    /// The zoned namespace command set, which contains the NVM command set.
    Zoned = 2,
}

/// The drive as a namespace: its blocks and what it permits.
#[derive(Debug)]
pub struct Namespace {
    size: Bytes,
    drive_block: Bytes,
    trims: bool,
    writable: bool,
    zones: Option<ZoneLimits>,
    handles: Option<PlacementLimits>,
    events: Mutex<Events>,
    /// The LBA formats: see [`BLOCK_SHIFTS`].
    shifts: Vec<u32>,
    format: AtomicU32,
    erasure: Mutex<Erasure>,
}

/// The state of the last sanitize operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SanitizeState {
    Never,
    /// Bytes that are erased.
    Begun(u64),
    Done,
    Failed,
}

#[derive(Debug)]
struct Erasure {
    is_formatting: bool,
    sanitized: SanitizeState,
    /// Dword 10 of the last Sanitize command.
    options: u32,
    /// True if nothing was written since the last sanitize operation.
    is_empty: bool,
}

impl Namespace {
    /// Returns the namespace of a drive, with blocks of 4096 bytes if the drive takes no smaller
    /// ones, and otherwise of 512 bytes. Zones have the blocks of the drive only, because each write
    /// moves the pointer.
    pub(super) fn new(export: &Export) -> Namespace {
        let (shifts, format) = match export.zones {
            Some(_) => (vec![export.logical_block.0.trailing_zeros()], 0),
            None => (BLOCK_SHIFTS.to_vec(), u32::from(export.logical_block > Bytes(512))),
        };
        Namespace {
            size: export.size,
            drive_block: export.logical_block,
            trims: export.trims,
            writable: export.writable,
            zones: export.zones,
            handles: export.handles,
            events: Mutex::default(),
            shifts,
            format: AtomicU32::new(format),
            erasure: Mutex::new(Erasure {
                is_formatting: false,
                sanitized: SanitizeState::Never,
                options: 0,
                is_empty: false,
            }),
        }
    }

    /// Returns the number of the LBA format in use.
    pub(super) fn format(&self) -> u32 {
        self.format.load(Ordering::Acquire)
    }

    fn shift(&self) -> u32 {
        self.shifts[self.format() as usize]
    }

    /// Returns the LBA formats: the sizes of their blocks as powers of two.
    pub(super) fn shifts(&self) -> &[u32] {
        &self.shifts
    }

    /// Returns the zones and their limits, if the namespace is zoned.
    pub(super) fn zones(&self) -> Option<&ZoneLimits> {
        self.zones.as_ref()
    }

    /// Returns the reclaim unit handles, if hosts can place data.
    pub(super) fn handles(&self) -> Option<&PlacementLimits> {
        self.handles.as_ref()
    }

    /// Calls `with` with the events of data placement.
    pub(super) fn events<T>(&self, with: impl FnOnce(&mut Events) -> T) -> T {
        with(&mut lock(&self.events))
    }

    /// Returns the command set of the namespace.
    pub(super) fn command_set(&self) -> CommandSet {
        match self.zones {
            Some(_) => CommandSet::Zoned,
            None => CommandSet::Nvm,
        }
    }

    /// Returns the size of a logical block in bytes.
    pub(super) fn block(&self) -> Bytes {
        Bytes(1 << self.shift())
    }

    /// Returns the number of logical blocks.
    pub(super) fn blocks(&self) -> u64 {
        self.size.0 >> self.shift()
    }

    pub(super) fn size(&self) -> Bytes {
        self.size
    }

    /// Returns the size in bytes of the blocks in which the drive works.
    pub(super) fn drive_block(&self) -> Bytes {
        self.drive_block
    }

    /// Returns true if the drive can be erased by trims, in a zoned namespace of whole zones.
    pub(super) fn trims(&self) -> bool {
        self.trims
    }

    /// Returns true if a host can deallocate blocks. Those of zones are deallocated by a reset.
    pub(super) fn deallocates(&self) -> bool {
        self.trims && self.zones.is_none()
    }

    pub(super) fn is_writable(&self) -> bool {
        self.writable
    }

    /// Returns an error while the namespace is erased.
    pub(super) fn check_erasure(&self) -> Result<(), Status> {
        lock(&self.erasure).check()
    }

    /// Begins to erase the namespace. `options` is dword 10 of the command.
    pub(super) fn begin(&self, erase: Erase, options: u32) -> Result<(), Status> {
        let mut erasure = lock(&self.erasure);
        match (erasure.check(), erase) {
            // Another sanitize operation is the way out of a failed one.
            (Ok(()), _) | (Err(Status::SANITIZE_FAILED), Erase::Sanitize) => {}
            (Err(status), _) => return Err(status),
        }
        match erase {
            Erase::Format(_) => erasure.is_formatting = true,
            Erase::Sanitize => {
                (erasure.sanitized, erasure.options) = (SanitizeState::Begun(0), options);
            }
        }
        Ok(())
    }

    /// Records that everything before the byte `end` is erased.
    pub(super) fn erased_until(&self, end: u64) {
        if let SanitizeState::Begun(erased) = &mut lock(&self.erasure).sanitized {
            *erased = end;
        }
    }

    /// Ends the erasure.
    pub(super) fn end(&self, erase: Erase, is_done: bool) {
        let mut erasure = lock(&self.erasure);
        match erase {
            Erase::Format(format) => {
                if is_done {
                    self.format.store(format, Ordering::Release);
                }
                erasure.is_formatting = false;
            }
            Erase::Sanitize => {
                erasure.sanitized =
                    if is_done { SanitizeState::Done } else { SanitizeState::Failed };
                erasure.is_empty = is_done;
            }
        }
    }

    /// Records that a host changes data.
    pub(super) fn written(&self) {
        lock(&self.erasure).is_empty = false;
    }

    /// Returns the state of the last sanitize operation, dword 10 of its command, and true if
    /// nothing was written since.
    pub(super) fn sanitized(&self) -> (SanitizeState, u32, bool) {
        let erasure = lock(&self.erasure);
        (erasure.sanitized, erasure.options, erasure.is_empty)
    }
}

impl Erasure {
    fn check(&self) -> Result<(), Status> {
        match self.sanitized {
            _ if self.is_formatting => Err(Status::FORMAT_IN_PROGRESS),
            SanitizeState::Begun(_) => Err(Status::SANITIZE_IN_PROGRESS),
            SanitizeState::Failed => Err(Status::SANITIZE_FAILED),
            SanitizeState::Never | SanitizeState::Done => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn namespace(block: u64) -> Namespace {
        let (size, logical_block) = (Bytes::mib(1), Bytes(block));
        Namespace::new(&Export::new("drive", (size, logical_block)))
    }

    // While the drive is erased, all commands are refused with the reason; a failed sanitize
    // operation can only be followed by another one.
    #[test]
    fn one_erasure_excludes_everything_else() {
        let space = namespace(512);
        let (format, sanitize) = (Erase::Format(1), Erase::Sanitize);
        space.begin(format, 0).unwrap();
        assert_eq!(space.check_erasure(), Err(Status::FORMAT_IN_PROGRESS));
        assert_eq!(space.begin(sanitize, 0), Err(Status::FORMAT_IN_PROGRESS));
        space.end(format, false);
        assert_eq!((space.check_erasure(), space.blocks()), (Ok(()), 2048));
        space.begin(format, 0).unwrap();
        space.end(format, true);
        assert_eq!(space.blocks(), 256);
        space.begin(sanitize, 2).unwrap();
        space.erased_until(512 * 1024);
        assert_eq!(space.sanitized(), (SanitizeState::Begun(512 * 1024), 2, false));
        assert_eq!(space.check_erasure(), Err(Status::SANITIZE_IN_PROGRESS));
        space.end(sanitize, false);
        assert_eq!(space.begin(format, 0), Err(Status::SANITIZE_FAILED));
        space.begin(sanitize, 2).unwrap();
        space.end(sanitize, true);
        assert_eq!(space.sanitized(), (SanitizeState::Done, 2, true));
        space.written();
        assert_eq!(space.sanitized(), (SanitizeState::Done, 2, false));
    }

    // The first blocks have the size that the drive takes.
    #[test]
    fn blocks_are_those_of_the_drive() {
        assert_eq!((namespace(512).blocks(), namespace(4096).blocks()), (2048, 256));
    }
}
