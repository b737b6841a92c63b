//! Where marks lie.

/// Where a magic lies.
#[derive(Debug, Clone, Copy)]
pub(super) enum Place {
    /// From the start.
    Start(u64),
    /// From the end backwards.
    End(u64),
    /// From the end backwards, of which what is beyond the last whole sector of 512 bytes is left out.
    EndOfSectors(u64),
    /// The superblock of MD 0.90: the last but one whole 64 KiB, or the last if there is a rest.
    Md090,
    /// The superblock of MD 1.0: 8 KiB from the end, on a multiple of 4 KiB.
    Md10,
    /// Each 1 KiB of the uberblock array in each of the four labels of ZFS, two at either end.
    ZfsUberblocks,
    /// Each sector in which a log of XFS on a device of its own may begin.
    XfsLog,
    /// The magic of a copy of the superblock of ext2, ext3 and ext4, for each size of its blocks.
    ExtCopies,
    /// The copies of the superblock of XFS, where `mkfs.xfs` divides the whole device as it does by default.
    XfsCopies,
    /// Where Promise controllers keep what they know, by the geometry that they take a drive for.
    Promise,
}

/// Sectors from the end: `sectors` of libblkid's `promise_raid.c`.
const PROMISE: [u64; 13] = [63, 255, 256, 16, 399, 591, 675, 735, 911, 974, 991, 951, 3087];

/// Labels of ZFS are this large.
const ZFS_LABEL: u64 = 256 << 10;

/// What XFS divides a large device into (`XFS_AG_MAX_BYTES`), less a block.
const XFS_LARGEST_GROUP: u64 = (1 << 40) - XFS_BLOCK;

/// The size of blocks that `mkfs.xfs` takes by default.
const XFS_BLOCK: u64 = 4096;

impl Place {
    /// The offsets within something of `size` bytes.
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

/// The bytes of a group of blocks of ext2, ext3 and ext4, of blocks of `1024 << log`: as many as a block has bits.
pub(super) fn ext_group(log: u32) -> u64 {
    let block = 1024u64 << log;
    8 * block * block
}

/// Where the copy of the superblock in a group begins: blocks of 1 KiB count from 1.
pub(super) fn ext_copy(log: u32, group: u64) -> Option<u64> {
    group.checked_mul(ext_group(log))?.checked_add(if log == 0 { 1024 } else { 0 })
}

/// Copies are in group 1 and in the powers of 3, 5 and 7 (`sparse_super`), or in group 1 and in the last one
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

/// 2 to 64 groups of the same size, rounded up to blocks; or of the most that a group may have.
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
