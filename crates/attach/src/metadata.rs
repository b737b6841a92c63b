//! The metadata of logical blocks, which a store in memory keeps in addition to the data.

#![cfg_attr(
    lint_writes,
    expect(
        clippy::disallowed_methods,
        reason = "memory, and holes in it: an anonymous file of this process"
    )
)]

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

use flashscope_block::{Bytes, Errno};
use rustix::fs::{FallocateFlags, MemfdFlags, fallocate, memfd_create};

/// The length of the metadata of a block in bytes.
pub(crate) const METADATA_LEN: usize = 8;

/// The metadata of the logical blocks of a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Metadata {
    /// The size of a block in bytes, without its metadata.
    pub block: Bytes,
    /// The value of each byte of metadata that was never written.
    pub unwritten: u8,
    /// The metadata of the blocks, in order: those to write or, after a read, those that were read.
    pub bytes: Vec<u8>,
}

/// The size in bytes of the smallest logical block, which determines the offsets of metadata.
const UNIT: u64 = 512;

/// The written metadata, in a sparse file in memory: one entry for each [`UNIT`] of the drive, in
/// order. A larger block uses the entry of its first unit.
///
/// Each byte is stored as its exclusive or with the value of unwritten metadata. Holes in the file
/// are therefore unwritten metadata, and a trim of metadata is as fast as a trim of data.
#[derive(Debug)]
pub(crate) struct BlockMetadata {
    file: File,
    /// True if metadata were ever written; if not, there is nothing to discard.
    is_used: bool,
}

impl BlockMetadata {
    /// Creates the metadata of a drive of `capacity` bytes, all of them unwritten.
    pub(crate) fn new(capacity: Bytes) -> io::Result<BlockMetadata> {
        let file = File::from(memfd_create("flashscope-metadata", MemfdFlags::CLOEXEC)?);
        file.set_len(place_of(capacity.0))?;
        Ok(BlockMetadata { file, is_used: false })
    }

    /// Reads the metadata of `len` bytes from `offset`.
    pub(crate) fn read(
        &self,
        offset: Bytes,
        len: usize,
        metadata: &mut Metadata,
    ) -> Result<(), Errno> {
        let (from, end) = (place_of(offset.0), place_of(offset.0 + len as u64));
        let mut found = vec![0; index(end - from)];
        if self.is_used {
            self.file.read_exact_at(&mut found, from).map_err(Errno::from)?;
        }
        metadata.bytes.clear();
        for place in found.chunks(stride_of(metadata)) {
            let bytes = place[..METADATA_LEN].iter().map(|byte| byte ^ metadata.unwritten);
            metadata.bytes.extend(bytes);
        }
        Ok(())
    }

    /// Replaces the metadata of `len` bytes from `offset`; `None` discards them, and they count as
    /// unwritten.
    pub(crate) fn write(
        &mut self,
        offset: Bytes,
        len: Bytes,
        metadata: Option<&Metadata>,
    ) -> Result<(), Errno> {
        let (from, end) = (place_of(offset.0), place_of(offset.0 + len.0));
        let Some(metadata) = metadata else { return self.discard(from, end) };
        let mut places = vec![0; index(end - from)];
        let blocks = metadata.bytes.chunks_exact(METADATA_LEN);
        for (place, bytes) in places.chunks_mut(stride_of(metadata)).zip(blocks) {
            for (kept, byte) in place.iter_mut().zip(bytes) {
                *kept = byte ^ metadata.unwritten;
            }
        }
        self.is_used = true;
        self.file.write_all_at(&places, from).map_err(Errno::from)
    }

    fn discard(&self, from: u64, end: u64) -> Result<(), Errno> {
        if !self.is_used || from == end {
            return Ok(());
        }
        let mode = FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE;
        fallocate(&self.file, mode, from, end - from).map_err(io::Error::from)?;
        Ok(())
    }
}

/// Returns the offset in the file of the metadata of the first unit at or after the byte `offset`
/// of the drive.
fn place_of(offset: u64) -> u64 {
    offset.div_ceil(UNIT) * METADATA_LEN as u64
}

/// Returns the distance in bytes between the metadata of two blocks in the file.
fn stride_of(metadata: &Metadata) -> usize {
    index(metadata.block.0 / UNIT) * METADATA_LEN
}

fn index(bytes: u64) -> usize {
    usize::try_from(bytes).expect("a request fits in memory")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn metadata(bytes: Vec<u8>) -> Metadata {
        Metadata { block: Bytes(512), unwritten: 0xFF, bytes }
    }

    fn kept() -> BlockMetadata {
        BlockMetadata::new(Bytes::mib(4)).unwrap()
    }

    /// Returns the first byte of the metadata of each block. The blocks have `block` bytes and fill
    /// the first 2048 bytes.
    fn first_bytes(kept: &BlockMetadata, block: u64) -> Vec<u8> {
        let mut found = Metadata { block: Bytes(block), ..metadata(Vec::new()) };
        kept.read(Bytes(0), 4 * 512, &mut found).unwrap();
        found.bytes.chunks(METADATA_LEN).map(|bytes| bytes[0]).collect()
    }

    // A read returns the written metadata, and the value of unwritten metadata elsewhere. A write
    // without metadata discards them.
    #[test]
    fn the_last_metadata_are_read() {
        let mut kept = kept();
        let mut write = |offset, len, bytes: Option<Vec<u8>>| {
            kept.write(Bytes(offset), Bytes(len), bytes.map(metadata).as_ref()).unwrap();
            first_bytes(&kept, 512)
        };
        assert_eq!(write(0, 2048, None), [0xFF; 4]);
        assert_eq!(write(512, 1024, Some([[1; 8], [2; 8]].concat())), [0xFF, 1, 2, 0xFF]);
        assert_eq!(write(1024, 1024, Some([[3; 8], [4; 8]].concat())), [0xFF, 1, 3, 4]);
        assert_eq!(write(1024, 512, None), [0xFF, 1, 0xFF, 4]);
        // A write that begins within a block leaves the metadata of that block.
        assert_eq!(write(513, 1023, None), [0xFF, 1, 0xFF, 4]);
        assert_eq!(write(1535, 2, None), [0xFF, 1, 0xFF, 0xFF]);
    }

    // Discarding the metadata of a block leaves those of its neighbour, also with larger blocks.
    #[test]
    fn blocks_of_several_sizes_have_places() {
        let mut kept = kept();
        let pair = Metadata { block: Bytes(1024), ..metadata([[5; 8], [6; 8]].concat()) };
        kept.write(Bytes(0), Bytes(2048), Some(&pair)).unwrap();
        assert_eq!(first_bytes(&kept, 1024), [5, 6]);
        kept.write(Bytes(1024), Bytes(1024), None).unwrap();
        assert_eq!(first_bytes(&kept, 1024), [5, 0xFF]);
    }

    // A trim releases the memory of metadata, as it does that of data.
    #[test]
    fn discarded_metadata_take_no_memory() {
        use std::os::unix::fs::MetadataExt;
        let mut kept = kept();
        let memory = |kept: &BlockMetadata| kept.file.metadata().unwrap().blocks() * 512;
        let all = metadata(vec![1; 8192 * METADATA_LEN]);
        kept.write(Bytes(0), Bytes::mib(4), Some(&all)).unwrap();
        assert_eq!(memory(&kept), 64 * 1024);
        kept.write(Bytes(0), Bytes::mib(4), None).unwrap();
        assert_eq!((memory(&kept), first_bytes(&kept, 512)), (0, vec![0xFF; 4]));
    }
}
