//! The metadata of logical blocks, which a store in memory keeps beside their data.

use std::collections::BTreeMap;

use flashscope_block::Bytes;

/// The length of the metadata of a block in bytes.
pub const METADATA_LEN: usize = 8;

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

/// The metadata that were written, by the offset of their block on the drive in bytes.
#[derive(Debug, Default)]
pub(crate) struct BlockMetadata(BTreeMap<u64, [u8; METADATA_LEN]>);

impl BlockMetadata {
    /// Reads the metadata of `len` bytes from `offset`.
    pub(crate) fn read(&self, offset: Bytes, len: usize, metadata: &mut Metadata) {
        metadata.bytes.clear();
        for at in (offset.0..offset.0 + len as u64).step_by(step_of(metadata)) {
            let unwritten = [metadata.unwritten; METADATA_LEN];
            metadata.bytes.extend(self.0.get(&at).unwrap_or(&unwritten));
        }
    }

    /// Replaces the metadata of `len` bytes from `offset`; without new ones, they count as unwritten.
    pub(crate) fn write(&mut self, offset: Bytes, len: Bytes, metadata: Option<&Metadata>) {
        let range = offset.0..offset.0 + len.0;
        let Some(metadata) = metadata else {
            let kept: Vec<u64> = self.0.range(range).map(|(at, _)| *at).collect();
            for at in kept {
                self.0.remove(&at);
            }
            return;
        };
        let blocks = range.step_by(step_of(metadata));
        for (at, bytes) in blocks.zip(metadata.bytes.chunks_exact(METADATA_LEN)) {
            self.0.insert(at, bytes.try_into().expect("a chunk of this length"));
        }
    }
}

fn step_of(metadata: &Metadata) -> usize {
    usize::try_from(metadata.block.0).expect("a block fits in memory")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn metadata(bytes: Vec<u8>) -> Metadata {
        Metadata { block: Bytes(512), unwritten: 0xFF, bytes }
    }

    // Written metadata are read, all others have the value of unwritten ones, and data without metadata replace them.
    #[test]
    fn the_last_metadata_are_read() {
        let mut kept = BlockMetadata::default();
        let read = |kept: &BlockMetadata| {
            let mut found = metadata(Vec::new());
            kept.read(Bytes(0), 4 * 512, &mut found);
            found.bytes.chunks(METADATA_LEN).map(|bytes| bytes[0]).collect::<Vec<_>>()
        };
        kept.write(Bytes(512), Bytes(1024), Some(&metadata([[1; 8], [2; 8]].concat())));
        assert_eq!(read(&kept), [0xFF, 1, 2, 0xFF]);
        kept.write(Bytes(1024), Bytes(1024), Some(&metadata([[3; 8], [4; 8]].concat())));
        assert_eq!(read(&kept), [0xFF, 1, 3, 4]);
        kept.write(Bytes(1024), Bytes(512), None);
        assert_eq!(read(&kept), [0xFF, 1, 0xFF, 4]);
    }
}
