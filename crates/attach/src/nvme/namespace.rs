use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};

use flashscope_block::{Bytes, PlacementLimits, ZoneLimits};

use super::erasure::Erasures;
use super::placement::Events;
use super::protection::Protection;
use super::status::Status;
use crate::attached::Export;
use crate::lock;

/// The identifier of the first namespace. A drive with zones or handles has no other namespace.
pub(super) const NAMESPACE: u32 = 1;

/// The identifier that stands for all namespaces.
pub(super) const ALL_NAMESPACES: u32 = u32::MAX;

/// The sizes of logical blocks that a namespace without zones can be formatted with, as powers of
/// two. Their indexes are the numbers of the LBA formats. Formats with metadata have the next
/// numbers.
pub(super) const BLOCK_SHIFTS: [u32; 2] = [9, 12];

/// The fields of dword 10 of Format NVM that describe a format: its number, extended blocks, and
/// the type and position of protection information.
const FORMAT_SETTINGS: u32 = 0x3 << 12 | 0x1FF;

/// Returns the format, as dword 10 of Format NVM encodes it, that adds protection information to
/// the blocks of the format `plain`.
fn protected_format(plain: u32, kind: u8) -> u32 {
    let count = u32::try_from(BLOCK_SHIFTS.len()).expect("few formats");
    (plain + count) | 1 << 4 | u32::from(kind) << 5
}

/// Returns the number of an LBA format in dword 10 of Format NVM.
fn number_of(options: u32) -> usize {
    (options >> 12 & 0x3) as usize * 16 + (options & 0xF) as usize
}

/// The identifier of a command set of namespaces (CSI).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum CommandSet {
    /// The NVM command set.
    Nvm = 0,
    /// The zoned namespace command set, which contains the NVM command set.
    Zoned = 2,
}

/// The part of a drive that a namespace occupies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Part {
    pub(super) id: u32,
    /// The first byte on the drive.
    pub(super) start: Bytes,
    /// The size in bytes.
    pub(super) size: Bytes,
    /// The initial size of a logical block in bytes; `None` for the block size of the drive.
    pub(super) block: Option<Bytes>,
    /// The initial type of protection information.
    pub(super) protection: Option<u8>,
}

/// An LBA format: blocks with or without metadata.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct LbaFormat {
    /// The size of the data of a block, as a power of two.
    pub(super) shift: u32,
    /// True if each block has [`METADATA_LEN`](crate::METADATA_LEN) bytes of metadata, which follow
    /// its data.
    pub(super) has_metadata: bool,
}

/// A namespace: a drive or a part of it, with its blocks and permissions.
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
    formats: Vec<LbaFormat>,
    /// The number of the LBA format and its settings, as in dword 10 of Format NVM.
    format: AtomicU32,
    erasures: Arc<Erasures>,
}

impl Namespace {
    /// Returns a namespace of a drive. Its blocks have the size that the part states, by default
    /// 512 bytes, or 4096 if the blocks of the drive are larger than 512. A zoned namespace always
    /// has the blocks of the drive, because each write moves the write pointer.
    pub(super) fn new(export: &Export, part: Part, erasures: &Arc<Erasures>) -> Namespace {
        let first = part.block.unwrap_or(export.logical_block);
        let plain = |shift| LbaFormat { shift, has_metadata: false };
        let (mut formats, format) = match export.zones {
            Some(_) => (vec![plain(export.logical_block.0.trailing_zeros())], 0),
            None => (BLOCK_SHIFTS.map(plain).to_vec(), u32::from(first > Bytes(512))),
        };
        let format = part.protection.map_or(format, |kind| protected_format(format, kind));
        if export.keeps_metadata && export.zones.is_none() {
            formats.extend(BLOCK_SHIFTS.map(|shift| LbaFormat { shift, has_metadata: true }));
        }
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
            formats,
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

    /// Changes the LBA format: its number and settings, as in dword 10 of Format NVM.
    pub(super) fn set_format(&self, format: u32) {
        self.format.store(format, Ordering::Release);
    }

    /// Returns the LBA format in use: its number and settings, as in dword 10 of Format NVM.
    pub(super) fn format(&self) -> u32 {
        self.format.load(Ordering::Acquire)
    }

    fn lba_format(&self) -> LbaFormat {
        self.formats[number_of(self.format())]
    }

    fn shift(&self) -> u32 {
        self.lba_format().shift
    }

    /// Returns the LBA formats. The index of a format is its number.
    pub(super) fn formats(&self) -> &[LbaFormat] {
        &self.formats
    }

    /// Returns true if blocks have metadata.
    pub(super) fn has_metadata(&self) -> bool {
        self.lba_format().has_metadata
    }

    /// Returns the type of protection information, if the metadata are protection information.
    pub(super) fn protection(&self) -> Option<Protection> {
        Protection::of(self.format() >> 5 & 0x7).filter(|_| self.has_metadata())
    }

    /// Checks the format and the settings that dword 10 of Format NVM requests, and returns them.
    pub(super) fn requested_format(&self, options: u32) -> Result<u32, Status> {
        let invalid = || Status::INVALID_FORMAT;
        let format = self.formats.get(number_of(options)).ok_or_else(invalid)?;
        let (is_extended, protection) = (options >> 4 & 1 == 1, options >> 5 & 0x7);
        let is_valid = match format.has_metadata {
            // NVMe over Fabrics transfers metadata only together with the data of their blocks.
            true => is_extended && protection <= 3,
            false => options >> 4 & 0x1F == 0,
        };
        is_valid.then_some(options & FORMAT_SETTINGS).ok_or_else(invalid)
    }

    /// Returns the limits of the zones, if the namespace is zoned.
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

    /// Returns the logical block size of the drive in bytes.
    pub(super) fn drive_block(&self) -> Bytes {
        self.drive_block
    }

    /// Returns the unit in bytes of atomic writes in a power cut, if the drive guarantees one. In
    /// operation, reads return each write to such a drive completely or not at all.
    pub(super) fn atomic_unit(&self) -> Option<Bytes> {
        self.atomic_unit
    }

    /// Returns true if the drive can be erased by trims. In a zoned namespace, a trim must cover
    /// complete zones.
    pub(super) fn trims(&self) -> bool {
        self.trims
    }

    /// Returns true if a host can deallocate blocks. Only a reset deallocates the blocks of zones.
    pub(super) fn deallocates(&self) -> bool {
        self.trims && self.zones.is_none()
    }

    pub(super) fn is_writable(&self) -> bool {
        self.writable
    }

    /// Returns an error while the namespace is being erased, and after a failed sanitize operation.
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
        let part =
            Part { id: NAMESPACE, start: Bytes(0), size: Bytes::mib(1), block, protection: None };
        let export = Export::new("drive", (part.size, Bytes(drive_block)));
        Namespace::new(&export, part, &Arc::default())
    }

    // The initial block size is that of the drive, or the size that the user chose.
    #[test]
    fn blocks_are_those_of_the_drive() {
        let blocks = |drive_block, block| namespace(drive_block, block).blocks();
        assert_eq!((blocks(512, None), blocks(4096, None)), (2048, 256));
        assert_eq!((blocks(512, Some(Bytes(4096))), blocks(4096, Some(Bytes(512)))), (256, 2048));
    }
}
