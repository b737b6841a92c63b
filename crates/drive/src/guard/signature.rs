//! What data look like: the magic numbers of file systems, volume managers and partition tables.
//!
//! Offsets and magics are those that `blkid(8)` goes by (util-linux, `libblkid/src`), those of disk images
//! those of QEMU (`block/`).

use std::fs::File;
use std::io::{self, Seek, SeekFrom};
use std::os::unix::fs::FileExt;

/// How much of either end is looked at.
const WINDOW: u64 = 1 << 20;

/// The mark of a file system, volume manager or partition table.
#[derive(Clone, Copy)]
pub struct Signature {
    /// What it is the mark of, as in "bears ...".
    pub name: &'static str,
    places: &'static [Place],
    magic: &'static [u8],
    /// What else must hold, where the magic is too short to be no accident; gets the offset.
    confirm: fn(&Image, u64) -> bool,
}

/// Where a magic lies.
#[derive(Debug, Clone, Copy)]
enum Place {
    /// From the start.
    Start(u64),
    /// From the end backwards.
    End(u64),
    /// The superblock of MD 0.90: the last but one whole 64 KiB, or the last if there is a rest.
    Md090,
    /// The superblock of MD 1.0: 8 KiB from the end, on a multiple of 4 KiB.
    Md10,
    /// Each 1 KiB of the uberblock array in either of the first two labels of ZFS.
    ZfsUberblocks,
}

const fn plain(name: &'static str, places: &'static [Place], magic: &'static [u8]) -> Signature {
    Signature { name, places, magic, confirm: |_, _| true }
}

use Place::{End, Start};

/// Every mark that is known, the more specific before the more general.
pub const SIGNATURES: &[Signature] = &[
    plain("a LUKS encrypted volume", &[Start(0)], b"LUKS\xba\xbe"),
    plain("the second header of a LUKS encrypted volume", &LUKS_SECOND, b"SKUL\xba\xbe"),
    plain(
        "an LVM physical volume",
        &[Start(24), Start(512 + 24), Start(1024 + 24), Start(1536 + 24)],
        b"LVM2 001",
    ),
    plain(
        "a bcache device",
        &[Start(4096 + 24)],
        b"\xc6\x85\x73\xf6\x4e\x1a\x45\xca\x82\x65\xf5\x7f\x48\xba\x6d\x81",
    ),
    plain(
        "a bcachefs file system",
        &[Start(4096 + 24)],
        b"\xc6\x85\x73\xf6\x66\xce\x90\xa9\xd9\x6a\x60\xcf\x80\x3d\xf7\xef",
    ),
    plain("a Ceph BlueStore", &[Start(0)], b"bluestore block device"),
    plain("a ZFS pool member", &[Place::ZfsUberblocks], b"\x0c\xb1\xba\x00\x00\x00\x00\x00"),
    plain("a ZFS pool member", &[Place::ZfsUberblocks], b"\x00\x00\x00\x00\x00\xba\xb1\x0c"),
    Signature {
        name: "a member of a Linux RAID (MD)",
        places: &[Start(0), Start(4096), Place::Md090, Place::Md10],
        magic: b"\xfc\x4e\x2b\xa9",
        // The major version follows, 0 or 1.
        confirm: |image, at| image.u32(at + 4).is_some_and(|version| version <= 1),
    },
    plain("a member of an Intel RAID", &[End(1024), End(8192)], b"Intel Raid ISM Cfg Sig. "),
    plain("a member of a DDF RAID", &[End(512)], b"\xde\x11\xde\x11"),
    plain("a btrfs file system", &[Start(0x10040)], b"_BHRfS_M"),
    plain("an XFS file system", &[Start(0)], b"XFSB"),
    Signature {
        name: "an ext2, ext3 or ext4 file system",
        places: &[Start(1024 + 56)],
        magic: b"\x53\xef",
        // Two bytes come by chance; the revision and the block size hold few values.
        confirm: |image, at| {
            let field = |offset| image.u32(at - 56 + offset);
            field(76).is_some_and(|revision| revision <= 1)
                && field(24).is_some_and(|log_block_size| log_block_size <= 6)
        },
    },
    plain("an F2FS file system", &[Start(1024)], b"\x10\x20\xf5\xf2"),
    plain("an EROFS file system", &[Start(1024)], b"\xe2\xe1\xf5\xe0"),
    plain("a JFS file system", &[Start(32768)], b"JFS1"),
    plain("a squashfs file system", &[Start(0)], b"hsqs"),
    plain("an HFS+ file system", &[Start(1024)], b"H+\x00\x04"),
    plain("an HFSX file system", &[Start(1024)], b"HX\x00\x05"),
    plain("an APFS container", &[Start(32)], b"NXSB"),
    plain("a BitLocker volume", &[Start(3)], b"-FVE-FS-"),
    plain("an NTFS file system", &[Start(3)], b"NTFS    "),
    plain("an exFAT file system", &[Start(3)], b"EXFAT   "),
    plain("a FAT file system", &[Start(82)], b"FAT32   "),
    plain("a FAT file system", &[Start(54)], b"FAT16   "),
    plain("a FAT file system", &[Start(54)], b"FAT12   "),
    plain("a FAT file system", &[Start(54)], b"FAT     "),
    plain("an Oracle ASM disk", &[Start(32)], b"ORCLDISK"),
    plain("an ISO 9660 file system", &[Start(32769)], b"CD001"),
    plain("a UDF file system", &[Start(32769), Start(34817)], b"BEA01"),
    plain("swap space", &SWAP, b"SWAPSPACE2"),
    plain("swap space", &SWAP, b"SWAP-SPACE"),
    plain("a hibernated system", &SWAP, b"S1SUSPEND"),
    plain("a hibernated system", &SWAP, b"S2SUSPEND"),
    plain("a hibernated system", &SWAP, b"ULSUSPEND"),
    plain("a hibernated system", &SWAP, b"LINHIB0001"),
    plain("the disk image of a virtual machine (qcow2)", &[Start(0)], b"QFI\xfb"),
    plain("the disk image of a virtual machine (VMDK)", &[Start(0)], b"KDMV"),
    plain("the disk image of a virtual machine (VHDX)", &[Start(0)], b"vhdxfile"),
    plain("the disk image of a virtual machine (VHD)", &[Start(0), End(512)], b"conectix"),
    plain("the disk image of a virtual machine (VDI)", &[Start(64)], b"\x7f\x10\xda\xbe"),
    plain("a UBI volume", &[Start(0)], b"UBI#"),
    plain("a GPT partition table", &[Start(512), Start(4096)], b"EFI PART"),
    plain("the second copy of a GPT partition table", &[End(512), End(4096)], b"EFI PART"),
    Signature {
        name: "an MBR partition table",
        places: &[Start(510)],
        magic: b"\x55\xaa",
        confirm: has_partitions,
    },
];

/// The offsets that LUKS2 allows its second header (LUKS2 On-Disk Format, section 2.2), as far as
/// they lie in the window.
const LUKS_SECOND: [Place; 6] =
    [Start(0x4000), Start(0x8000), Start(0x10000), Start(0x20000), Start(0x40000), Start(0x80000)];

/// The last ten bytes of the first page, for each page size that Linux has.
const SWAP: [Place; 5] = [Start(4086), Start(8182), Start(16374), Start(32758), Start(65526)];

/// Whether an MBR holds a partition, and nothing that no MBR holds: a boot sector ends with the
/// same two bytes.
fn has_partitions(image: &Image, _at: u64) -> bool {
    let Some(table) = image.bytes(446, 64) else {
        return false;
    };
    let mut entries = table.chunks_exact(16);
    entries.clone().all(|entry| matches!(entry[0], 0 | 0x80))
        && entries.any(|entry| entry[4] != 0 && entry[12..16] != [0; 4])
}

impl Place {
    /// The offsets within something of `size` bytes.
    fn offsets(self, size: u64) -> Vec<u64> {
        let one = |offset: Option<u64>| offset.into_iter().collect();
        match self {
            Start(offset) => vec![offset],
            End(offset) => one(size.checked_sub(offset)),
            Place::Md090 => one((size & !0xffff).checked_sub(0x10000)),
            Place::Md10 => one(size.checked_sub(0x2000).map(|offset| offset & !0xfff)),
            Place::ZfsUberblocks => [128u64 << 10, 384 << 10]
                .into_iter()
                .flat_map(|array| (0..128).map(move |i| array + (i << 10)))
                .collect(),
        }
    }
}

/// Both ends of what is looked at.
struct Image {
    size: u64,
    start: Vec<u8>,
    end: Vec<u8>,
}

impl Image {
    fn read(mut file: &File) -> io::Result<Image> {
        // The size of a block device is not in its metadata.
        let size = file.seek(SeekFrom::End(0))?;
        let window = size.min(WINDOW);
        let read = |offset| {
            let mut bytes = vec![0; usize::try_from(window).expect("at most WINDOW")];
            file.read_exact_at(&mut bytes, offset).map(|()| bytes)
        };
        Ok(Image { size, start: read(0)?, end: read(size - window)? })
    }

    /// `len` bytes at `offset`, if either window has them.
    fn bytes(&self, offset: u64, len: usize) -> Option<&[u8]> {
        let at = |window: &'_ [u8], offset: u64| {
            let start = usize::try_from(offset).ok()?;
            let end = start.checked_add(len)?;
            (end <= window.len()).then_some(start..end)
        };
        if let Some(range) = at(&self.start, offset) {
            return self.start.get(range);
        }
        let offset = offset.checked_sub(self.size - self.end.len() as u64)?;
        at(&self.end, offset).and_then(|range| self.end.get(range))
    }

    fn u32(&self, offset: u64) -> Option<u32> {
        self.bytes(offset, 4).map(|bytes| u32::from_le_bytes(bytes.try_into().expect("four")))
    }

    fn find(&self) -> Option<(&'static Signature, u64)> {
        let bears = |signature: &Signature, offset: &u64| {
            self.bytes(*offset, signature.magic.len()) == Some(signature.magic)
                && (signature.confirm)(self, *offset)
        };
        SIGNATURES.iter().find_map(|signature| {
            let mut offsets = signature.places.iter().flat_map(|place| place.offsets(self.size));
            offsets.find(|offset| bears(signature, offset)).map(|offset| (signature, offset))
        })
    }
}

/// The first mark on what `file` is open on, and its offset.
pub(super) fn find(file: &File) -> io::Result<Option<(&'static Signature, u64)>> {
    Ok(Image::read(file)?.find())
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use proptest::prelude::*;

    use super::*;

    const SIZE: u64 = 8 << 20;

    fn image(size: u64, marks: &[(u64, &[u8])]) -> Image {
        let mut bytes = vec![0; usize::try_from(size).unwrap()];
        for (offset, mark) in marks {
            let offset = usize::try_from(*offset).unwrap();
            bytes[offset..offset + mark.len()].copy_from_slice(mark);
        }
        let window = usize::try_from(WINDOW.min(size)).unwrap();
        let end = bytes[bytes.len() - window..].to_vec();
        bytes.truncate(window);
        Image { size, start: bytes, end }
    }

    fn found(image: &Image) -> Option<&'static str> {
        image.find().map(|(signature, _)| signature.name)
    }

    // Is every mark of the table found at each of its places, and reported as what it is?
    #[test]
    fn every_mark_is_found() {
        for signature in SIGNATURES {
            for offset in signature.places.iter().flat_map(|place| place.offsets(SIZE)) {
                let partition = [0, 0, 0, 0, 0x83, 0, 0, 0, 0, 8, 0, 0, 0, 8, 0, 0];
                let mut marks: Vec<(u64, &[u8])> = vec![(offset, signature.magic)];
                if offset == 510 {
                    marks.push((446, &partition));
                }
                let name = found(&image(SIZE, &marks));
                assert_eq!(name, Some(signature.name), "at {offset}");
            }
        }
    }

    proptest! {
        // Is a mark found at its place on a drive of any size that it fits on, whatever else the drive holds; and is there
        // an answer for each drive?
        #[test]
        fn any_drive(
            size in prop_oneof![0..70_000u64, 1_000_000..1_200_000u64],
            which in 0..SIGNATURES.len(),
            place in any::<prop::sample::Index>(),
            noise in any::<u8>(),
        ) {
            let signature = &SIGNATURES[which];
            let places = signature.places.iter().flat_map(|place| place.offsets(size));
            let fits = |offset: &u64| offset + signature.magic.len() as u64 <= size;
            let places: Vec<u64> = places.filter(fits).collect();
            let all = vec![noise; usize::try_from(size).unwrap()];
            let marks = match places.is_empty() {
                true => vec![],
                false => vec![(*place.get(&places), signature.magic)],
            };
            let drive = image(size, &[&[(0, &all[..])], &marks[..]].concat());
            let found = drive.find();
            if let Some((offset, _)) = marks.first() && (signature.confirm)(&drive, *offset) {
                prop_assert!(found.is_some(), "{} at {offset} of {size}", signature.name);
            }
        }
    }

    // Is what bears no mark free: nothing at all, something tiny, marks in the wrong place, and
    // short magics in the middle of random data?
    #[test]
    fn no_mark_no_refusal() {
        for size in [0, 1, 511, 4096, SIZE] {
            assert_eq!(found(&image(size, &[])), None, "{size} bytes");
        }
        assert_eq!(found(&image(SIZE, &[(1, b"XFSB")])), None);
        let noise = [0x6b; 4096];
        assert_eq!(found(&image(SIZE, &[(0, &noise), (1080, b"\x53\xef")])), None, "ext");
        assert_eq!(found(&image(SIZE, &[(0, &noise), (510, b"\x55\xaa")])), None, "MBR");
        assert_eq!(found(&image(SIZE, &[(510, b"\x55\xaa")])), None, "an MBR without partitions");
    }

    // Are the offsets that depend on the size those of the MD driver, for odd sizes too?
    #[test]
    fn places_near_the_end() {
        assert_eq!(Place::Md090.offsets(1 << 20), [(1 << 20) - 0x10000]);
        assert_eq!(Place::Md090.offsets((1 << 20) + 4096), [(1 << 20) - 0x10000]);
        assert_eq!(Place::Md10.offsets(1 << 20), [(1 << 20) - 0x2000]);
        assert_eq!(Place::Md10.offsets((1 << 20) + 512), [(1 << 20) - 0x2000]);
        assert_eq!(End(512).offsets(100), [0; 0]);
    }

    // Is what the real tools make recognized? Each that is not installed is named and passed by.
    #[test]
    fn marks_made_by_tools() {
        let cases: [(&str, &[&str], &str); 10] = [
            ("mkfs.ext2", &["-q", "-F"], "an ext2, ext3 or ext4 file system"),
            ("mkfs.ext4", &["-q", "-F"], "an ext2, ext3 or ext4 file system"),
            ("mkswap", &["-q"], "swap space"),
            ("mkfs.vfat", &[], "a FAT file system"),
            ("mkfs.exfat", &[], "an exFAT file system"),
            ("mkfs.xfs", &["-q"], "an XFS file system"),
            ("mkfs.btrfs", &["-q"], "a btrfs file system"),
            ("mkfs.f2fs", &["-q"], "an F2FS file system"),
            ("mkfs.ntfs", &["-F", "-Q", "-q"], "an NTFS file system"),
            ("pvcreate", &["-q"], "an LVM physical volume"),
        ];
        for (tool, arguments, name) in cases {
            let file = tempfile::NamedTempFile::new().unwrap();
            file.as_file().set_len(512 << 20).unwrap();
            assert!(find(file.as_file()).unwrap().is_none());
            let made = Command::new(tool).args(arguments).arg(file.path()).output();
            match made {
                Ok(output) if output.status.success() => {
                    let (signature, _) = find(file.as_file()).unwrap().expect(tool);
                    assert_eq!(signature.name, name, "{tool}");
                }
                _ => println!("passed by: {tool} is not installed or does not work here"),
            }
        }
    }
}
