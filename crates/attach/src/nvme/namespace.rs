use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};

use flashscope_block::{Bytes, PlacementLimits, ZoneLimits};

use super::erasure::Erasures;
use super::placement::Events;
use super::status::Status;
use crate::attached::Export;
use crate::lock;

/// The identifier of the first namespace, and of the only one of a drive with zones or handles.
pub(super) const NAMESPACE: u32 = 1;

/// The identifier that stands for all namespaces.
pub(super) const ALL_NAMESPACES: u32 = u32::MAX;

/// The sizes of logical blocks that a namespace without zones can be formatted with, as powers of
/// two. Their places are the numbers of the LBA formats.
pub(super) const BLOCK_SHIFTS: [u32; 2] = [9, 12];

/// A command set of namespaces: its identifier (CSI).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum CommandSet {
    /// The NVM command set.
    Nvm = 0,
    /// The zoned namespace command set, which contains the NVM command set.
    Zoned = 2,
}

/// The part of a drive that a namespace takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Part {
    pub(super) id: u32,
    /// The first byte on the drive.
    pub(super) start: Bytes,
    /// The size in bytes.
    pub(super) size: Bytes,
    /// The size of its first logical blocks in bytes; `None` for that of the drive.
    pub(super) block: Option<Bytes>,
}

/// A namespace: a drive or a part of it, its blocks and what it permits.
#[derive(Debug)]
pub struct Namespace {
    id: u32,
    start: Bytes,
    size: Bytes,
    drive_block: Bytes,
    atomic_unit: Option<Bytes>,
    trims: bool,
    writable: bool,
    zones: Option<ZoneLimits>,
    handles: Option<PlacementLimits>,
    events: Mutex<Events>,
    /// The LBA formats: see [`BLOCK_SHIFTS`].
    shifts: Vec<u32>,
    format: AtomicU32,
    erasures: Arc<Erasures>,
}

impl Namespace {
    /// Returns a namespace of a drive, with blocks of 4096 bytes if the drive takes no smaller
    /// ones, and otherwise of 512 bytes, unless the part names others. Zones have the blocks of the
    /// drive only, because each write moves the pointer.
    pub(super) fn new(export: &Export, part: Part, erasures: &Arc<Erasures>) -> Namespace {
        let first = part.block.unwrap_or(export.logical_block);
        let (shifts, format) = match export.zones {
            Some(_) => (vec![export.logical_block.0.trailing_zeros()], 0),
            None => (BLOCK_SHIFTS.to_vec(), u32::from(first > Bytes(512))),
        };
        Namespace {
            id: part.id,
            start: part.start,
            size: part.size,
            drive_block: export.logical_block,
            atomic_unit: export.atomic_unit,
            trims: export.trims,
            writable: export.writable,
            zones: export.zones,
            handles: export.handles,
            events: Mutex::default(),
            shifts,
            format: AtomicU32::new(format),
            erasures: Arc::clone(erasures),
        }
    }

    /// Returns the identifier.
    pub(super) fn id(&self) -> u32 {
        self.id
    }

    /// Returns the first byte on the drive.
    pub(super) fn start(&self) -> Bytes {
        self.start
    }

    /// Changes the LBA format.
    pub(super) fn set_format(&self, format: u32) {
        self.format.store(format, Ordering::Release);
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

    /// Returns the unit in bytes that a power cut never tears, if the drive guarantees one. It also
    /// applies each write as a whole.
    pub(super) fn atomic_unit(&self) -> Option<Bytes> {
        self.atomic_unit
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
        self.erasures.check(self.id)
    }

    /// Records that a host changes data.
    pub(super) fn written(&self) {
        self.erasures.written();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn namespace(drive_block: u64, block: Option<Bytes>) -> Namespace {
        let part = Part { id: NAMESPACE, start: Bytes(0), size: Bytes::mib(1), block };
        let export = Export::new("drive", (part.size, Bytes(drive_block)));
        Namespace::new(&export, part, &Arc::default())
    }

    // The first blocks have the size that the drive takes, or that the user chose.
    #[test]
    fn blocks_are_those_of_the_drive() {
        let blocks = |drive_block, block| namespace(drive_block, block).blocks();
        assert_eq!((blocks(512, None), blocks(4096, None)), (2048, 256));
        assert_eq!((blocks(512, Some(Bytes(4096))), blocks(4096, Some(Bytes(512)))), (256, 2048));
    }
}
