//! Images with a signature, each with as few nonzero bytes as the signature allows.

/// An image with a signature.
pub(super) struct Example {
    /// A short name for messages.
    pub name: &'static str,
    /// The type according to libblkid 2.38, or `None` if libblkid does not know the signature or
    /// needs more data.
    pub blkid: Option<&'static str>,
    /// True if several hosts may use the storage at once.
    pub shared: bool,
    /// The bytes that are not 0, by offset from the start or, if negative, from the end.
    pub bytes: &'static [(i64, &'static [u8])],
}

/// The size of every image in bytes.
pub(super) const SIZE: u64 = 96 << 20;

const fn known(
    name: &'static str,
    blkid: &'static str,
    bytes: &'static [(i64, &'static [u8])],
) -> Example {
    Example { name, blkid: Some(blkid), shared: false, bytes }
}

const fn ours(name: &'static str, bytes: &'static [(i64, &'static [u8])]) -> Example {
    Example { name, blkid: None, shared: false, bytes }
}

const fn shared(
    name: &'static str,
    blkid: Option<&'static str>,
    bytes: &'static [(i64, &'static [u8])],
) -> Example {
    Example { name, blkid, shared: true, bytes }
}

const MIB: i64 = 1 << 20;

/// The entry in an MBR of a VMFS partition from 1 MiB to the end.
const VMFS_PARTITION: &[u8] = &[0, 0, 0, 0, 0xfb, 0, 0, 0, 0, 8, 0, 0, 0, 0xf8, 2, 0];

/// Fields of an ext4 superblock in group 1 with blocks of 1 KiB.
const EXT4_COPY: [(i64, &[u8]); 5] = [
    (8 * MIB + 1024 + 24, &[0, 0, 0, 0]),
    (8 * MIB + 1024 + 32, &[0, 0x20, 0, 0]),
    (8 * MIB + 1024 + 56, b"\x53\xef"),
    (8 * MIB + 1024 + 76, &[1, 0, 0, 0]),
    (8 * MIB + 1024 + 90, &[1, 0]),
];

/// The second superblock of an XFS with four groups of 24 MiB and blocks of 4 KiB.
const XFS_COPY: [(i64, &[u8]); 2] =
    [(24 * MIB, b"XFSB\0\0\x10\0"), (24 * MIB + 84, &[0, 0, 0x18, 0, 0, 0, 0, 4])];

/// An LVM2 physical volume with a volume group locked by sanlock: its label, and the metadata area
/// at 4 KiB; the data area begins at 1 MiB.
const LVM2_SHARED: [(i64, &[u8]); 6] = [
    (512, b"LABELONE\x01\0\0\0\0\0\0\0\0\0\0\0\x20\0\0\0LVM2 001"),
    (512 + 32 + 40, &(1u64 << 20).to_le_bytes()),
    (512 + 32 + 40 + 32, b"\0\x10\0\0\0\0\0\0\0\xf0\x0f\0\0\0\0\0"),
    (4096 + 4, b" LVM2 x[5A%r0N*>\x01\0\0\0\0\x10\0\0\0\0\0\0\0\xf0\x0f\0\0\0\0\0"),
    (4096 + 40, b"\0\x02\0\0\0\0\0\0\x40\0\0\0\0\0\0\0"),
    (4096 + 512, b"vg {\nstatus = [\"READ\", \"WRITE\"]\nlock_type = \"sanlock\"\n}\n"),
];

pub(super) const EXAMPLES: &[Example] = &[
    // Shared storage.
    shared("OCFS2", Some("ocfs2"), &[(1024, b"OCFSV2\0\0")]),
    shared("OCFS2 with blocks of 4 KiB", Some("ocfs2"), &[(8192, b"OCFSV2\0\0")]),
    shared("OCFS", Some("ocfs"), &[(8192, b"OracleCFS")]),
    shared(
        "GFS2",
        Some("gfs2"),
        &[(65536, b"\x01\x16\x19\x70"), (65536 + 24, b"\0\0\x07\x09\0\0\x07\x6c")],
    ),
    shared(
        "GFS",
        Some("gfs"),
        &[(65536, b"\x01\x16\x19\x70"), (65536 + 24, b"\0\0\x05\x1d\0\0\x05\x79")],
    ),
    shared("VMFS", Some("VMFS"), &[(2 * MIB, b"\x5e\xf1\xab\x2f")]),
    shared("a VMFS volume", Some("VMFS_volume_member"), &[(MIB, b"\x0d\xd0\x01\xc0")]),
    shared(
        "VMFS in a partition",
        Some("dos"),
        &[(446, VMFS_PARTITION), (510, b"\x55\xaa"), (2 * MIB, b"\x0d\xd0\x01\xc0")],
    ),
    shared("Oracle ASM", Some("oracleasm"), &[(32, b"ORCLDISK")]),
    shared("a clustered volume group", None, &LVM2_SHARED),
    // Volume managers, encryption, RAID.
    known("DRBD", "drbd", &[(60 - 4096, b"\x83\x74\x02\x6b")]),
    known("DRBD 9", "drbd", &[(60 - 4096, b"\x83\x74\x02\x6d")]),
    known(
        "a DRBD control volume",
        "drbdmanage_control_volume",
        &[(0, b"$DRBDmgr=q|0123456789abcdef0123456789abcdef\n")],
    ),
    known("a DRBD Proxy log", "drbdproxy_datalog", &[(0, b"DRBDdlh*")]),
    known("dm-integrity", "DM_integrity", &[(0, b"integrt\0\x01")]),
    known("dm-verity", "DM_verity_hash", &[(0, b"verity\0\0\x01\0\0\0")]),
    known("a snapshot", "DM_snapshot_cow", &[(0, b"SnAp")]),
    known("VDO", "vdo", &[(0, b"dmvdo001")]),
    known("LVM1", "LVM1_member", &[(0, b"HM\x01\0")]),
    known("JMicron", "jmicron_raid_member", &[(-512, b"JM")]),
    known("Promise", "promise_fasttrack_raid_member", &[(-63 * 512, b"Promise Technology, Inc.")]),
    known("LSI", "lsi_mega_raid_member", &[(-512, b"$XIDE$")]),
    known("HighPoint 45x", "hpt45x_raid_member", &[(-11 * 512, b"\xf3\x16\x78\x5a")]),
    known("HighPoint 37x", "hpt37x_raid_member", &[(4640, b"\xf0\x16\x78\x5a")]),
    known("Adaptec", "adaptec_raid_member", &[(-512, b"\x37\xfc\x4d\x1e"), (-256, b"DPTM")]),
    known("NVIDIA", "nvidia_raid_member", &[(-1024, b"NVIDIA  ")]),
    known("DDF", "ddf_raid_member", &[(-512, b"\xde\x11\xde\x11")]),
    known("VIA", "via_raid_member", &[(-512, b"\x55\xaa"), (50 - 512, b"\xff")]),
    known(
        "Silicon Image",
        "silicon_medley_raid_member",
        &[(0x60 - 512, b"\0\0\0\x2f"), (0x13e - 512, b"\0\xd1")],
    ),
    known(
        "MD 0.90 of a big-endian machine",
        "linux_raid_member",
        &[(-65536, b"\xa9\x2b\x4e\xfc\0\0\0\0\0\0\0\x5a")],
    ),
    ours("Stratis", &[(512 + 4, b"!Stra0tis\x86\xff\x02^\x41rh")]),
    // File systems.
    known("ReFS", "ReFS", &[(0, b"\0\0\0ReFS\0")]),
    known("UFS", "ufs", &[(8192 + 1372, b"\x54\x19\x01\0")]),
    known("UFS2", "ufs", &[(65536 + 1372, b"\x19\x01\x54\x19")]),
    known("Minix", "minix", &[(1024, b"\x20\0\0\x01\x01\0\x01\0\x05\0\0\0\0\0\0\0\x7f\x13\x01\0")]),
    known("HFS", "hfs", &[(1024, b"BD"), (1024 + 20, b"\0\0\x02\0")]),
    known("bfs", "bfs", &[(0, b"\xce\xfa\xad\x1b")]),
    known("romfs", "romfs", &[(0, b"-rom1fs-")]),
    ours("JFFS2", &[(0, b"\x85\x19\x03\x20")]),
    ours("an anchor of UDF", &[(256 * 512, b"\x02\0\x03\0\xc6\0\x01\0\xd8\xf6\xf0\x01\0\x01\0\0")]),
    known("cramfs", "cramfs", &[(0, b"\x45\x3d\xcd\x28")]),
    known("System V", "sysv", &[(512 + 504, b"\x20\x7e\x18\xfd")]),
    known("Xenix", "xenix", &[(2048, b"\x2b\x55\x44")]),
    known("VxFS", "vxfs", &[(1024, b"\xf5\xfc\x01\xa5")]),
    known("NetWare", "nss", &[(4096, b"SPB5")]),
    known("HPFS", "hpfs", &[(8192, b"\x49\xe8\x95\xf9"), (8704, b"\x49\x18\x91\xf9")]),
    known(
        "ReiserFS",
        "reiserfs",
        &[(65536 + 12, &[18, 0]), (65536 + 44, b"\0\x10"), (65536 + 0x34, b"ReIsEr2Fs")],
    ),
    known("Reiser4", "reiser4", &[(65536, b"ReIsEr4")]),
    known("zonefs", "zonefs", &[(0, b"SFOZ")]),
    known("UBIFS", "ubifs", &[(0, b"\x31\x18\x10\x06")]),
    known("squashfs 3", "squashfs3", &[(0, b"sqsh")]),
    known(
        "an XFS log",
        "xfs_external_log",
        &[(0, b"\xfe\xed\xba\xbe\0\0\0\0\0\0\0\x02\0\0\x02\0"), (300, b"\0\0\0\x01")],
    ),
    known(
        "TuxOnIce",
        "swsuspend",
        &[(0, b"\xed\xc3\x02\xe9\x98\x56\xe5\x0c"), (1024, &[1, 0, 0, 0, 1])],
    ),
    ours("NILFS2", &[(1024, b"\x02\0\0\0\0\0\x34\x34")]),
    ours("BeFS", &[(512 + 32, b"BFS1")]),
    ours("EXFS", &[(0, b"EXFS")]),
    // Partition tables.
    known("a Macintosh partition map", "mac", &[(0, b"ER\x02\0"), (512, b"PM\0\0\0\0\0\x01")]),
    ours("a BSD label", &[(512, b"\x57\x45\x56\x82")]),
    known("a Sun label", "sun", &[(508, b"\xda\xbe\xda\xbe")]),
    known("an SGI label", "sgi", &[(0, b"\x0b\xe5\xa9\x41\xf4\x1a\x56\xbf")]),
    known("an AIX label", "aix", &[(0, b"\xc9\xc2\xd4\xc1")]),
    known("an Ultrix label", "ultrix", &[(16384 - 72, b"\x57\x29\x03\0\x01\0\0\0")]),
    known("an Atari table", "atari", &[(0x1c2, b"\0\x01\0\0\x01GEM\0\0\0\x02\0\0\x10\0")]),
    // Databases and archives.
    ours("SQLite", &[(0, b"SQLite format 3\0")]),
    ours("tar", &[(257, b"ustar\x0000")]),
    ours("gzip", &[(0, b"\x1f\x8b\x08\0")]),
    // Copies.
    ours("a copy of ext4", &EXT4_COPY),
    ours("a copy of XFS", &XFS_COPY),
    ours("a copy of btrfs", &[(64 * MIB + 0x40, b"_BHRfS_M")]),
    ours("a copy of a GPT", &[(-512, b"EFI PART")]),
    ours("a copy of NTFS", &[(3 - 512, b"NTFS    ")]),
    ours("a copy of exFAT", &[(12 * 512 + 3, b"EXFAT   ")]),
    ours("a copy of FAT32", &[(6 * 512 + 82, b"FAT32   ")]),
    ours("a copy of F2FS", &[(4096 + 1024, b"\x10\x20\xf5\xf2")]),
    ours("a copy of JFS", &[(0xf000, b"JFS1")]),
    ours("a copy of HFS+", &[(-1024, b"H+\0\x04")]),
    ours("a copy of ZFS", &[(-(128 << 10), b"\x0c\xb1\xba\0\0\0\0\0")]),
];
