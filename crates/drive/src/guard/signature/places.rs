//! The offsets of signatures.

/// The offsets of a magic number, relative to the start or the end of a drive or file.
#[derive(Debug, Clone, Copy)]
pub(super) enum Place {
    /// An offset from the start.
    Start(u64),
    /// An offset from the end.
    End(u64),
    /// An offset from the end of the last whole sector of 512 bytes.
    EndOfSectors(u64),
    /// The MD 0.90 superblock: at the last multiple of 64 KiB that lies at least 64 KiB before the
    /// end.
    Md090,
    /// The MD 1.0 superblock: at least 8 KiB before the end, aligned to 4 KiB.
    Md10,
    /// The uberblock arrays of ZFS: every 1 KiB of the array in each of the four labels, two at
    /// either end.
    ZfsUberblocks,
    /// Every sector in which an external XFS log may begin.
    XfsLog,
    /// The magics of the copies of ext2, ext3 and ext4 superblocks, for every block size.
    ExtCopies,
    /// The copies of the XFS superblock, for the default sizes of allocation groups of `mkfs.xfs`.
    XfsCopies,
    /// The metadata of Promise controllers, whose offset depends on the geometry that a controller
    /// assumes.
    Promise,
}

/// Offsets from the end in sectors: `sectors` in libblkid's `promise_raid.c`.
const PROMISE: [u64; 13] = [63, 255, 256, 16, 399, 591, 675, 735, 911, 974, 991, 951, 3087];

/// The size of a ZFS label in bytes.
const ZFS_LABEL: u64 = 256 << 10;

/// The size of allocation groups of a large XFS (`XFS_AG_MAX_BYTES`), less one block.
const XFS_LARGEST_GROUP: u64 = (1 << 40) - XFS_BLOCK;

/// The default block size of `mkfs.xfs`.
const XFS_BLOCK: u64 = 4096;

impl Place {
    /// Returns the offsets in a drive or file of `size` bytes.
    pub(super) fn offsets(self, size: u64) -> Vec<u64> {
        let one = |offset: Option<u64>| offset.into_iter().collect();
        match self {
            Place::Start(offset) => vec![offset],
            Place::End(offset) => one(size.checked_sub(offset)),
            Place::EndOfSectors(offset) => one((size & !511).checked_sub(offset)),
            Place::Md090 => one((size & !0xffff).checked_sub(0x10000)),
            Place::Md10 => one(size.checked_sub(0x2000).map(|offset| offset & !0xfff)),
            Place::ZfsUberblocks => uberblocks(size),
            Place::XfsLog => (0..512).map(|sector| sector * 512).collect(),
            Place::ExtCopies => ext_copies(size),
            Place::XfsCopies => xfs_copies(size),
            Place::Promise => {
                let sectors = size / 512;
                let from_end = |back: u64| sectors.checked_sub(back).map(|sector| sector * 512);
                PROMISE.into_iter().filter_map(from_end).collect()
            }
        }
    }
}

fn uberblocks(size: u64) -> Vec<u64> {
    let whole = size - size % ZFS_LABEL;
    let ends = [2, 1].map(|labels| whole.checked_sub(labels * ZFS_LABEL));
    let mut labels: Vec<u64> =
        [Some(0), Some(ZFS_LABEL)].into_iter().chain(ends).flatten().collect();
    labels.sort_unstable();
    labels.dedup();
    let array = |label: u64| (0..128).map(move |i| label + (128 << 10) + (i << 10));
    labels.into_iter().flat_map(array).collect()
}

/// Returns the size in bytes of an ext block group with blocks of `1024 << log` bytes. A group has
/// as many blocks as a block has bits.
pub(super) fn ext_group(log: u32) -> u64 {
    let block = 1024u64 << log;
    8 * block * block
}

/// Returns the offset of the superblock copy in a group. With blocks of 1 KiB, the first group
/// begins at block 1.
pub(super) fn ext_copy(log: u32, group: u64) -> Option<u64> {
    group.checked_mul(ext_group(log))?.checked_add(if log == 0 { 1024 } else { 0 })
}

/// Returns the offsets of the magics of ext superblock copies: in group 1 and in the groups whose
/// numbers are powers of 3, 5 and 7 (`sparse_super`), or in group 1 and the last group
/// (`sparse_super2`).
fn ext_copies(size: u64) -> Vec<u64> {
    let mut offsets = Vec::new();
    for log in 0..=6 {
        let last = size.saturating_sub(1) / ext_group(log);
        let powers = [3u64, 5, 7].into_iter().flat_map(|base| {
            std::iter::successors(Some(base), move |group| group.checked_mul(base))
                .take_while(|group| *group <= last)
        });
        let groups = std::iter::once(1).chain(powers).chain([last]);
        let starts = groups.filter(|group| *group > 0).filter_map(|group| ext_copy(log, group));
        offsets.extend(starts.map(|start| start + 56));
    }
    offsets.retain(|offset| *offset < size);
    offsets.sort_unstable();
    offsets.dedup();
    offsets
}

/// Returns the offsets of the first three copies, for 2, 4, ... 64 allocation groups of equal size,
/// rounded up to blocks, and for groups of the maximum size.
fn xfs_copies(size: u64) -> Vec<u64> {
    let blocks = size / XFS_BLOCK;
    let divided = (1..=6).map(|log: u32| blocks.div_ceil(1 << log) * XFS_BLOCK);
    let groups = divided.chain([XFS_LARGEST_GROUP]).filter(|group| *group > 0);
    let copies = groups.flat_map(|group| (1..4).filter_map(move |n: u64| group.checked_mul(n)));
    let mut offsets: Vec<u64> = copies.filter(|offset| *offset < size).collect();
    offsets.sort_unstable();
    offsets.dedup();
    offsets
}
