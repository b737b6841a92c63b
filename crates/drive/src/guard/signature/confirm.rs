//! Additional checks for magics that are short enough to occur in random data. Most check fields of
//! a superblock that have few valid values.
//!
//! Each function receives the offset of the magic.

use super::image::Image;
use super::places::{ext_copy, ext_group};

/// Accepts any content, for a magic that is long enough to be unique.
pub(super) fn always(_image: &Image, _at: u64) -> bool {
    true
}

/// Checks that the surrounding sector is not random data.
pub(super) fn not_random(image: &Image, at: u64) -> bool {
    !image.is_random(at)
}

/// MD: checks that the major version, which follows the magic, is 0 or 1.
pub(super) fn md(image: &Image, at: u64) -> bool {
    image.u32(at + 4).is_some_and(|version| version <= 1)
}

/// MD on a big-endian machine: checks the major version.
pub(super) fn md_big_endian(image: &Image, at: u64) -> bool {
    image.u32_be(at + 4).is_some_and(|version| version <= 1)
}

/// ext2, ext3 and ext4: checks the revision and the block size of the superblock.
pub(super) fn ext(image: &Image, at: u64) -> bool {
    let Some(start) = at.checked_sub(56) else { return false };
    image.u32(start + 76).is_some_and(|revision| revision <= 1)
        && image.u32(start + 24).is_some_and(|log| log <= 6)
}

/// A copy of the ext superblock: checks that its block group number and group size match its
/// offset.
pub(super) fn ext_is_copy(image: &Image, at: u64) -> bool {
    let copy = || {
        let start = at.checked_sub(56)?;
        let log = image.u32(start + 24).filter(|log| *log <= 6)?;
        let group = start / ext_group(log);
        let number = u64::from(image.u16(start + 90)?);
        let blocks = u64::from(image.u32(start + 32)?);
        Some(
            group > 0
                && ext_copy(log, group) == Some(start)
                && number == group & 0xffff
                && blocks == 8 * (1024 << log),
        )
    };
    ext(image, at) && copy() == Some(true)
}

/// A copy of the XFS superblock: checks that it lies at the start of an allocation group.
pub(super) fn xfs_is_copy(image: &Image, at: u64) -> bool {
    let copy = || {
        let block = image.u32_be(at + 4).filter(|block| (512..=65536).contains(block))?;
        let group = u64::from(image.u32_be(at + 84)?).checked_mul(u64::from(block))?;
        let groups = u64::from(image.u32_be(at + 88)?);
        let is_begin = block.is_power_of_two() && group > 0 && at.is_multiple_of(group);
        Some(is_begin && (1..groups).contains(&(at / group)))
    };
    copy() == Some(true)
}

/// An XFS log record: checks that its version (a mask of two bits) and its format are between 1 and
/// 3.
pub(super) fn xfs_log(image: &Image, at: u64) -> bool {
    image.u32_be(at + 8).is_some_and(|version| (1..=3).contains(&version))
        && image.u32_be(at + 300).is_some_and(|format| (1..=3).contains(&format))
}

/// Minix 1 and 2, with the magic 16 bytes after the start of the superblock: checks that a zone is
/// one block.
pub(super) fn minix(image: &Image, at: u64) -> bool {
    is_minix(image, at - 16, 10)
}

/// Minix 3, with the magic 24 bytes after the start of the superblock: checks that a zone is one
/// block.
pub(super) fn minix_3(image: &Image, at: u64) -> bool {
    is_minix(image, at - 24, 12)
}

fn is_minix(image: &Image, start: u64, log_zone_size: u64) -> bool {
    image.u16(start + log_zone_size) == Some(0) && !image.is_random(start)
}

/// HFS: checks that blocks consist of whole sectors.
pub(super) fn hfs(image: &Image, at: u64) -> bool {
    image.u32_be(at + 20).is_some_and(|block| block.is_multiple_of(512)) && !image.is_random(at)
}

/// An MBR: checks that it has at least one partition and no invalid entry. The magic alone is not
/// enough, because boot sectors of file systems end with the same two bytes.
pub(super) fn mbr(image: &Image, _at: u64) -> bool {
    let Some(table) = image.bytes(446, 64) else {
        return false;
    };
    let mut entries = table.chunks_exact(16);
    entries.clone().all(|entry| matches!(entry[0], 0 | 0x80))
        && entries.any(|entry| entry[4] != 0 && entry[12..16] != [0; 4])
}

/// A FAT boot sector without a type string: checks for a jump instruction and for valid fields.
pub(super) fn fat(image: &Image, _at: u64) -> bool {
    let Some(sector) = image.bytes(0, 512) else { return false };
    let number = |at: usize| u16::from_le_bytes([sector[at], sector[at + 1]]);
    matches!(sector[0], 0xe9 | 0xeb)
        && matches!(number(11), 512 | 1024 | 2048 | 4096)
        && sector[13].is_power_of_two()
        && number(14) != 0
        && matches!(sector[16], 1..=4)
        && matches!(sector[21], 0xf0 | 0xf8..=0xff)
}

/// A Macintosh driver descriptor: checks for a partition map in the next block.
pub(super) fn mac(image: &Image, at: u64) -> bool {
    let Some(block) = image.u16_be(at + 2).filter(|block| *block >= 136).map(u64::from) else {
        return false;
    };
    [b"PM", b"TS"].into_iter().any(|magic| image.has(at + block, magic))
}

/// A Sun label: checks that the XOR of its 16-bit words is 0. The magic lies 4 bytes before the end
/// of the label.
pub(super) fn sun(image: &Image, at: u64) -> bool {
    let Some(label) = image.bytes(at + 4 - 512, 512) else { return false };
    let words = label.chunks_exact(2).map(|word| u16::from_be_bytes([word[0], word[1]]));
    words.fold(0, |sum, word| sum ^ word) == 0
}

/// An Atari root sector, which has no magic: checks that the size it states fits the drive, and
/// that the bad sector list and a partition lie within that size.
pub(super) fn atari(image: &Image, _at: u64) -> bool {
    let Some(root) = image.bytes(0, 512) else { return false };
    let number = |at: usize| u32::from_be_bytes(root[at..at + 4].try_into().expect("four"));
    let size = number(0x1c2);
    let is_within = |start: u32, len: u32| {
        let end = start.checked_add(len);
        start > 0 && len > 0 && end.is_some_and(|end| end <= size)
    };
    let (bad, bad_len) = (number(0x1f6), number(0x1fa));
    let is_partition = |at: usize| {
        root[at] & 1 == 1
            && root[at + 1..at + 4].iter().all(u8::is_ascii_alphanumeric)
            && is_within(number(at + 4), number(at + 8))
    };
    size >= 2
        && u64::from(size) <= image.size / 512
        && (bad == 0 && bad_len == 0 || is_within(bad, bad_len))
        && (0..4).any(|i| is_partition(0x1c6 + 12 * i))
        && !image.is_random(0)
}

/// VIA: checks the version, and the sum of the first 50 bytes, which the next byte stores.
pub(super) fn via(image: &Image, at: u64) -> bool {
    let Some(bytes) = image.bytes(at, 51) else { return false };
    let sum = bytes[..50].iter().fold(0u8, |sum, byte| sum.wrapping_add(*byte));
    bytes[2] <= 2 && bytes[50] == sum
}

/// Silicon Image: checks that the disk number is below 8, and that the 16-bit words add up to 0.
pub(super) fn silicon(image: &Image, at: u64) -> bool {
    let Some(bytes) = image.bytes(at - 0x60, 0x140) else { return false };
    let words = bytes.chunks_exact(2).map(|word| u16::from_le_bytes([word[0], word[1]]));
    bytes[0x116] < 8 && words.fold(0, u16::wrapping_add) == 0
}

/// gzip: checks that no reserved flag is set.
pub(super) fn gzip(image: &Image, at: u64) -> bool {
    image.u8(at + 3).is_some_and(|flags| flags < 0x20) && !image.is_random(at)
}

/// An anchor of UDF: checks the version, the checksum and the block number in its tag.
pub(super) fn udf_anchor(image: &Image, at: u64) -> bool {
    let Some(tag) = image.bytes(at, 16) else { return false };
    let sum = tag.iter().fold(0u8, |sum, byte| sum.wrapping_add(*byte)).wrapping_sub(tag[4]);
    let block = u64::from(u32::from_le_bytes(tag[12..16].try_into().expect("four")));
    let is_block = |size: u64| block > 0 && block * size == at;
    matches!(tag[2], 2 | 3)
        && tag[3] == 0
        && tag[5] == 0
        && tag[4] == sum
        && [512, 1024, 2048, 4096].into_iter().any(is_block)
}
