//! The table of known signatures.
//!
//! Offsets and magics come from `blkid(8)` (util-linux, `libblkid/src`), those of disk images from
//! QEMU (`block/`), and those of copies from the documentation of the file systems.

use super::Signature;
use super::confirm;
use super::places::Place::{
    self, End, EndOfSectors, ExtCopies, Md10, Md090, Promise, Start, XfsCopies, XfsLog,
    ZfsUberblocks,
};

const fn mark(
    name: &'static str,
    types: &'static [&'static str],
    places: &'static [Place],
    magic: &'static [u8],
) -> Signature {
    Signature { name, types, places, magic, confirm: confirm::always, shared: false, table: false }
}

/// A signature that libblkid does not know at this offset.
const fn other(name: &'static str, places: &'static [Place], magic: &'static [u8]) -> Signature {
    mark(name, &[], places, magic)
}

/// A signature of storage that several hosts may use at once.
const fn shared(
    name: &'static str,
    types: &'static [&'static str],
    places: &'static [Place],
    magic: &'static [u8],
) -> Signature {
    Signature { shared: true, ..mark(name, types, places, magic) }
}

/// A signature of a partition table.
const fn table(
    name: &'static str,
    types: &'static [&'static str],
    places: &'static [Place],
    magic: &'static [u8],
) -> Signature {
    Signature { table: true, ..mark(name, types, places, magic) }
}

impl Signature {
    const fn when(self, confirm: super::Confirm) -> Signature {
        Signature { confirm, ..self }
    }
}

const EXT: &str = "an ext2, ext3 or ext4 file system";
const FAT: &str = "a FAT file system";
const HFS_PLUS: &str = "an HFS+ file system";
const HFSX: &str = "an HFSX file system";
const HIBERNATED: &str = "a hibernated system";
const JFFS2: &str = "a JFFS2 file system";
const MD: &str = "a member of a Linux RAID (MD)";
const MINIX: &str = "a Minix file system";
const OCFS2: &str = "an OCFS2 file system";
const REISERFS: &str = "a ReiserFS file system";
const SYSV: &str = "a System V file system";
const UFS: &str = "a UFS file system";
const VMFS: &str = "a VMFS file system";
const XENIX: &str = "a Xenix file system";
const ZFS: &str = "a ZFS pool member";

/// All known signatures: first those of shared storage, then specific ones before general ones.
pub const SIGNATURES: &[Signature] = &[
    // Storage shared by several hosts.
    shared(OCFS2, &["ocfs2"], &OCFS2_PLACES, b"OCFSV2"),
    shared("a copy of the superblock of an OCFS2 file system", &[], &OCFS2_COPIES, b"OCFSV2"),
    shared("an OCFS file system", &["ocfs"], &[Start(8192), Start(8200)], b"OracleCFS"),
    shared("a GFS or GFS2 file system", &["gfs", "gfs2"], &[Start(64 << 10)], b"\x01\x16\x19\x70"),
    shared(VMFS, &["VMFS"], &[Start(2 << 20)], b"\x5e\xf1\xab\x2f"),
    shared("a VMFS volume", &["VMFS_volume_member"], &[Start(1 << 20)], b"\x0d\xd0\x01\xc0"),
    shared("an Oracle ASM disk", &["oracleasm"], &[Start(32)], b"ORCLDISK"),
    shared(
        "a ScoutFS file system",
        &["scoutfs_meta", "scoutfs_data"],
        &[Start((64 << 10) + 4)],
        b"\x8b\x42\x3c\x10",
    ),
    shared(
        "a cluster heartbeat",
        &["opensvc_hb"],
        &[Start(4)],
        b"\x3d\xc1\x3c\x87\xc0\x5b\xe3\xb6",
    ),
    // Encryption, volume managers, RAID.
    mark("a LUKS encrypted volume", &["crypto_LUKS"], &[Start(0)], b"LUKS\xba\xbe"),
    mark(
        "the second header of a LUKS encrypted volume",
        &["crypto_LUKS"],
        &LUKS_SECOND,
        b"SKUL\xba\xbe",
    ),
    mark("a BitLocker volume", &["BitLocker"], &[Start(3)], b"-FVE-FS-"),
    mark(
        "a BitLocker volume or a FAT file system",
        &["BitLocker"],
        &[Start(0)],
        b"\xeb\x58\x90MSWIN4.1",
    ),
    mark("a FileVault volume", &["cs_fvault2"], &[Start(88)], b"CS\x01\x00\x00\x00"),
    mark("an LVM physical volume", &["LVM2_member"], &LVM2, b"LVM2 001"),
    mark("an LVM1 physical volume", &["LVM1_member"], &[Start(0)], b"HM\x01\x00"),
    mark("an LVM1 physical volume", &["LVM1_member"], &[Start(0)], b"HM\x02\x00"),
    mark("a device mapper snapshot", &["DM_snapshot_cow"], &[Start(0)], b"SnAp"),
    mark("dm-verity hashes", &["DM_verity_hash"], &[Start(0)], b"verity\0\0"),
    mark("a dm-integrity volume", &["DM_integrity"], &[Start(0)], b"integrt\0"),
    mark("a VDO volume", &["vdo"], &[Start(0)], b"dmvdo001"),
    mark(
        "a Stratis pool member",
        &["stratis"],
        &[Start(512 + 4), Start(9 * 512 + 4)],
        b"!Stra0tis\x86\xff\x02^\x41rh",
    ),
    mark(
        "a bcache device",
        &["bcache"],
        &[Start(4096 + 24)],
        b"\xc6\x85\x73\xf6\x4e\x1a\x45\xca\x82\x65\xf5\x7f\x48\xba\x6d\x81",
    ),
    mark(
        "a bcachefs file system",
        &["bcachefs"],
        &[Start(4096 + 24)],
        b"\xc6\x85\x73\xf6\x66\xce\x90\xa9\xd9\x6a\x60\xcf\x80\x3d\xf7\xef",
    ),
    mark("a Ceph BlueStore", &["ceph_bluestore"], &[Start(0)], b"bluestore block device"),
    mark(
        "a DRBD device",
        &["drbd"],
        &[EndOfSectors(4096 - 60), End(4096 - 60)],
        b"\x83\x74\x02\x6b",
    ),
    mark(
        "a DRBD device",
        &["drbd"],
        &[EndOfSectors(4096 - 60), End(4096 - 60)],
        b"\x83\x74\x02\x6c",
    ),
    mark(
        "a DRBD device",
        &["drbd"],
        &[EndOfSectors(4096 - 60), End(4096 - 60)],
        b"\x83\x74\x02\x6d",
    ),
    mark("a DRBD control volume", &["drbdmanage_control_volume"], &[Start(0)], b"$DRBDmgr=q"),
    mark("a DRBD Proxy log", &["drbdproxy_datalog"], &[Start(0)], b"DRBDdlh*"),
    mark(ZFS, &["zfs_member"], &[ZfsUberblocks], b"\x0c\xb1\xba\x00\x00\x00\x00\x00"),
    mark(ZFS, &["zfs_member"], &[ZfsUberblocks], b"\x00\x00\x00\x00\x00\xba\xb1\x0c"),
    mark(MD, &["linux_raid_member"], &[Start(0), Start(4096), Md090, Md10], b"\xfc\x4e\x2b\xa9")
        .when(confirm::md),
    mark(MD, &["linux_raid_member"], &[Md090], b"\xa9\x2b\x4e\xfc").when(confirm::md_big_endian),
    mark(
        "a member of an Intel RAID",
        &["isw_raid_member"],
        &[End(1024), End(8192), EndOfSectors(1024)],
        b"Intel Raid ISM Cfg Sig. ",
    ),
    mark("a member of a DDF RAID", &["ddf_raid_member"], &DDF, b"\xde\x11\xde\x11"),
    mark("a member of a DDF RAID", &["ddf_raid_member"], &DDF, b"\x11\xde\x11\xde"),
    mark("a member of an LSI RAID", &["lsi_mega_raid_member"], &[EndOfSectors(512)], b"$XIDE$"),
    mark("a member of a VIA RAID", &["via_raid_member"], &[EndOfSectors(512)], b"\x55\xaa")
        .when(confirm::via),
    mark(
        "a member of a Silicon Image RAID",
        &["silicon_medley_raid_member"],
        &[EndOfSectors(512 - 0x60)],
        b"\x00\x00\x00\x2f",
    )
    .when(confirm::silicon),
    mark("a member of an NVIDIA RAID", &["nvidia_raid_member"], &[EndOfSectors(1024)], b"NVIDIA"),
    mark(
        "a member of a Promise RAID",
        &["promise_fasttrack_raid_member"],
        &[Promise],
        b"Promise Technology, Inc.",
    ),
    mark(
        "a member of a HighPoint RAID",
        &["hpt45x_raid_member"],
        &[EndOfSectors(11 * 512)],
        b"\xf3\x16\x78\x5a",
    ),
    mark(
        "a member of a HighPoint RAID",
        &["hpt45x_raid_member"],
        &[EndOfSectors(11 * 512)],
        b"\xfd\x16\x78\x5a",
    ),
    mark(
        "a member of a HighPoint RAID",
        &["hpt37x_raid_member"],
        &[Start(4608 + 32)],
        b"\xf0\x16\x78\x5a",
    ),
    mark(
        "a member of a HighPoint RAID",
        &["hpt37x_raid_member"],
        &[Start(4608 + 32)],
        b"\xfd\x16\x78\x5a",
    ),
    mark(
        "a member of an Adaptec RAID",
        &["adaptec_raid_member"],
        &[EndOfSectors(512)],
        b"\x37\xfc\x4d\x1e",
    ),
    mark("a member of a JMicron RAID", &["jmicron_raid_member"], &[EndOfSectors(512)], b"JM")
        .when(confirm::not_random),
    // File systems.
    mark("a btrfs file system", &["btrfs"], &[Start(0x10040)], b"_BHRfS_M"),
    mark("an XFS file system", &["xfs"], &[Start(0)], b"XFSB"),
    mark("the log of an XFS file system", &["xfs_external_log"], &[XfsLog], b"\xfe\xed\xba\xbe")
        .when(confirm::xfs_log),
    mark("an EXFS file system", &["exfs"], &[Start(0)], b"EXFS"),
    mark(EXT, &["ext2", "ext3", "ext4", "ext4dev", "jbd"], &[Start(1024 + 56)], b"\x53\xef")
        .when(confirm::ext),
    mark("an F2FS file system", &["f2fs"], &[Start(1024)], b"\x10\x20\xf5\xf2"),
    mark("an EROFS file system", &["erofs"], &[Start(1024)], b"\xe2\xe1\xf5\xe0"),
    mark("a JFS file system", &["jfs"], &[Start(32768)], b"JFS1"),
    mark(
        REISERFS,
        &["reiserfs"],
        &[Start(8192 + 0x34), Start(8192 + 20), Start(65536 + 0x34)],
        b"ReIsErFs",
    ),
    mark(REISERFS, &["reiserfs"], &[Start(65536 + 0x34)], b"ReIsEr2Fs"),
    mark(REISERFS, &["reiserfs"], &[Start(65536 + 0x34)], b"ReIsEr3Fs"),
    mark("a Reiser4 file system", &["reiser4"], &[Start(65536)], b"ReIsEr4"),
    mark(
        "a NILFS2 file system",
        &["nilfs2"],
        &[Start(1024), EndOfSectors(8 * 512)],
        b"\x02\x00\x00\x00\x00\x00\x34\x34",
    ),
    mark("a squashfs file system", &["squashfs", "squashfs3"], &[Start(0)], b"hsqs"),
    mark("a squashfs file system", &["squashfs3"], &[Start(0)], b"sqsh"),
    mark("a cramfs file system", &["cramfs"], &[Start(0), Start(512)], b"\x45\x3d\xcd\x28"),
    mark("a cramfs file system", &["cramfs"], &[Start(0), Start(512)], b"\x28\xcd\x3d\x45"),
    mark("a romfs file system", &["romfs"], &[Start(0)], b"-rom1fs-"),
    other(JFFS2, &[Start(0)], b"\x85\x19\x03\x20"),
    other(JFFS2, &[Start(0)], b"\x85\x19\x01\xe0"),
    other(JFFS2, &[Start(0)], b"\x85\x19\x02\xe0"),
    other(JFFS2, &[Start(0)], b"\x19\x85\x20\x03"),
    other(JFFS2, &[Start(0)], b"\x19\x85\xe0\x01"),
    other(JFFS2, &[Start(0)], b"\x19\x85\xe0\x02"),
    mark("a UBI volume", &["ubi"], &[Start(0)], b"UBI#"),
    mark("a UBIFS file system", &["ubifs"], &[Start(0)], b"\x31\x18\x10\x06"),
    mark("a zonefs file system", &["zonefs"], &[Start(0)], b"SFOZ"),
    mark("an mpool", &["mpool"], &[Start(0)], b"mpoolDev"),
    mark(HFS_PLUS, &["hfsplus"], &[Start(1024)], b"H+\x00\x04"),
    mark(HFSX, &["hfsplus"], &[Start(1024)], b"HX\x00\x05"),
    mark("an HFS file system", &["hfs", "hfsplus"], &[Start(1024)], b"BD").when(confirm::hfs),
    mark("an APFS container", &["apfs"], &[Start(32)], b"NXSB"),
    mark("an NTFS file system", &["ntfs"], &[Start(3)], b"NTFS    "),
    mark("a ReFS file system", &["ReFS"], &[Start(0)], b"\x00\x00\x00ReFS\x00"),
    mark("an exFAT file system", &["exfat"], &[Start(3)], b"EXFAT   "),
    mark(FAT, &["vfat"], &[Start(82)], b"FAT32   "),
    mark(FAT, &["vfat"], &[Start(54)], b"FAT16   "),
    mark(FAT, &["vfat"], &[Start(54)], b"FAT12   "),
    mark(FAT, &["vfat"], &[Start(54)], b"FAT     "),
    mark(FAT, &["vfat"], &[Start(82)], b"MSWIN"),
    mark(FAT, &["vfat"], &[Start(54)], b"MSDOS"),
    mark(FAT, &["vfat"], &[Start(510)], b"\x55\xaa").when(confirm::fat),
    mark("an HPFS file system", &["hpfs"], &[Start(0x2000)], b"\x49\xe8\x95\xf9"),
    mark(MINIX, &["minix"], &[Start(1024 + 16)], b"\x7f\x13").when(confirm::minix),
    mark(MINIX, &["minix"], &[Start(1024 + 16)], b"\x8f\x13").when(confirm::minix),
    mark(MINIX, &["minix"], &[Start(1024 + 16)], b"\x13\x7f").when(confirm::minix),
    mark(MINIX, &["minix"], &[Start(1024 + 16)], b"\x13\x8f").when(confirm::minix),
    mark(MINIX, &["minix"], &[Start(1024 + 16)], b"\x68\x24").when(confirm::minix),
    mark(MINIX, &["minix"], &[Start(1024 + 16)], b"\x78\x24").when(confirm::minix),
    mark(MINIX, &["minix"], &[Start(1024 + 16)], b"\x24\x68").when(confirm::minix),
    mark(MINIX, &["minix"], &[Start(1024 + 16)], b"\x24\x78").when(confirm::minix),
    mark(MINIX, &["minix"], &[Start(1024 + 24)], b"\x5a\x4d").when(confirm::minix_3),
    mark(MINIX, &["minix"], &[Start(1024 + 24)], b"\x4d\x5a").when(confirm::minix_3),
    mark(UFS, &["ufs"], &UFS_PLACES, b"\x54\x19\x01\x00"),
    mark(UFS, &["ufs"], &UFS_PLACES, b"\x00\x01\x19\x54"),
    mark(UFS, &["ufs"], &UFS_PLACES, b"\x19\x01\x54\x19"),
    mark(UFS, &["ufs"], &UFS_PLACES, b"\x19\x54\x01\x19"),
    mark(UFS, &["ufs"], &UFS_PLACES, b"\x12\x56\x19\x00"),
    mark(UFS, &["ufs"], &UFS_PLACES, b"\x00\x19\x56\x12"),
    mark(UFS, &["ufs"], &UFS_PLACES, b"\x14\x50\x09\x00"),
    mark(UFS, &["ufs"], &UFS_PLACES, b"\x00\x09\x50\x14"),
    mark(UFS, &["ufs"], &UFS_PLACES, b"\x95\x21\x61\x00"),
    mark(UFS, &["ufs"], &UFS_PLACES, b"\x00\x61\x21\x95"),
    mark(UFS, &["ufs"], &UFS_PLACES, b"\x94\x19\x23\x05"),
    mark(UFS, &["ufs"], &UFS_PLACES, b"\x05\x23\x19\x94"),
    mark(SYSV, &["sysv"], &SYSV_PLACES, b"\x20\x7e\x18\xfd"),
    mark(SYSV, &["sysv"], &SYSV_PLACES, b"\xfd\x18\x7e\x20"),
    mark(XENIX, &["xenix"], &[Start(2040)], b"\x44\x55\x2b\x00"),
    mark(XENIX, &["xenix"], &[Start(2040)], b"\x00\x2b\x55\x44"),
    mark(XENIX, &["xenix"], &[Start(2048)], b"\x2b\x55\x44"),
    mark(XENIX, &["xenix"], &[Start(2048)], b"\x44\x55\x2b"),
    mark("a VxFS file system", &["vxfs"], &[Start(1024)], b"\xf5\xfc\x01\xa5"),
    mark("a VxFS file system", &["vxfs"], &[Start(8192)], b"\xa5\x01\xfc\xf5"),
    mark("a NetWare file system (NSS)", &["nss"], &[Start(4096)], b"SPB5"),
    mark("an SCO boot file system (bfs)", &["bfs"], &[Start(0)], b"\xce\xfa\xad\x1b"),
    mark("a Be file system", &["befs"], &[Start(32), Start(512 + 32)], b"BFS1"),
    mark("a Be file system", &["befs"], &[Start(32), Start(512 + 32)], b"1SFB"),
    mark("an ISO 9660 file system", &["iso9660", "udf"], &[Start(32769)], b"CD001"),
    mark("an ISO 9660 file system", &["iso9660"], &[Start(32768 + 9)], b"CDROM"),
    mark("a UDF file system", &["udf"], &UDF, b"BEA01"),
    mark("a UDF file system", &["udf"], &UDF, b"BOOT2"),
    mark("a UDF file system", &["udf"], &UDF, b"CDW02"),
    mark("a UDF file system", &["udf"], &UDF, b"NSR02"),
    mark("a UDF file system", &["udf"], &UDF, b"NSR03"),
    mark("a UDF file system", &["udf"], &UDF, b"TEA01"),
    mark("swap space", &["swap"], &SWAP, b"SWAPSPACE2"),
    mark("swap space", &["swap"], &SWAP, b"SWAP-SPACE"),
    mark(HIBERNATED, &["swsuspend"], &[Start(0)], b"\xed\xc3\x02\xe9\x98\x56\xe5\x0c"),
    mark(HIBERNATED, &["swsuspend"], &SWAP, b"S1SUSPEND"),
    mark(HIBERNATED, &["swsuspend"], &SWAP, b"S2SUSPEND"),
    mark(HIBERNATED, &["swsuspend"], &SWAP, b"ULSUSPEND"),
    mark(HIBERNATED, &["swsuspend"], &SWAP, b"LINHIB0001"),
    // Disk images, databases and archives.
    other("a virtual machine disk image (qcow2)", &[Start(0)], b"QFI\xfb"),
    other("a virtual machine disk image (QED)", &[Start(0)], b"QED\0"),
    other("a virtual machine disk image (VMDK)", &[Start(0)], b"KDMV"),
    other("a virtual machine disk image (VHDX)", &[Start(0)], b"vhdxfile"),
    other("a virtual machine disk image (VHD)", &[Start(0), End(512)], b"conectix"),
    other("a virtual machine disk image (VDI)", &[Start(64)], b"\x7f\x10\xda\xbe"),
    other("a virtual machine disk image (Parallels)", &[Start(0)], b"WithoutFreeSpace"),
    other("a virtual machine disk image (Parallels)", &[Start(0)], b"WithouFreSpacExt"),
    other("a macOS disk image", &[End(512)], b"koly\0\0\0\x04"),
    other("a file system image (Partclone)", &[Start(0)], b"partclone-image"),
    other("a file system image (ntfsclone)", &[Start(0)], b"\0ntfsclone-image"),
    other("a forensic disk image", &[Start(0)], b"EVF\x09\x0d\x0a\xff\x00"),
    other("an SQLite database", &[Start(0)], b"SQLite format 3\0"),
    other("an LMDB database", &[Start(16)], b"\xde\xc0\xef\xbe\x01\x00\x00\x00"),
    other("a Redis database", &[Start(0)], b"REDIS0"),
    other("a Microsoft Access database", &[Start(4)], b"Standard Jet DB\0"),
    other("a Microsoft Access database", &[Start(4)], b"Standard ACE DB\0"),
    other("an HDF5 file", &[Start(0)], b"\x89HDF\r\n\x1a\n"),
    other("a tar archive", &[Start(257)], b"ustar\x0000"),
    other("a tar archive", &[Start(257)], b"ustar  \0"),
    other("a ZIP archive", &[Start(0)], b"PK\x03\x04"),
    other("a 7z archive", &[Start(0)], b"7z\xbc\xaf\x27\x1c"),
    other("compressed data (xz)", &[Start(0)], b"\xfd7zXZ\0"),
    other("compressed data (Zstandard)", &[Start(0)], b"\x28\xb5\x2f\xfd"),
    other("compressed data (gzip)", &[Start(0)], b"\x1f\x8b\x08").when(confirm::gzip),
    // Partition tables.
    table("a GPT partition table", &["gpt"], &[Start(512), Start(4096)], b"EFI PART"),
    table(
        "the second copy of a GPT partition table",
        &["gpt"],
        &[End(512), End(4096)],
        b"EFI PART",
    ),
    table("a Macintosh partition map", &["mac"], &[Start(0)], b"ER").when(confirm::mac),
    other("a Macintosh partition map", &[Start(512), Start(2048)], b"PM\x00\x00\x00\x00"),
    table("a BSD disk label", &["bsd"], &[Start(64), Start(128), Start(512)], b"\x57\x45\x56\x82"),
    table("a Sun disk label", &["sun"], &[Start(508)], b"\xda\xbe").when(confirm::sun),
    table("an SGI disk label", &["sgi"], &[Start(0)], b"\x0b\xe5\xa9\x41"),
    table("an AIX disk label", &["aix"], &[Start(0)], b"\xc9\xc2\xd4\xc1"),
    table(
        "an Ultrix disk label",
        &["ultrix"],
        &[Start(16384 - 72)],
        b"\x57\x29\x03\x00\x01\x00\x00\x00",
    ),
    table("a Solaris disk label", &["solaris"], &[Start(512 + 12)], b"\xee\xde\x0d\x60"),
    table("a UnixWare disk label", &["unixware"], &[Start(29 * 512 + 4)], b"\x0d\x60\xe5\xca"),
    table("an MBR partition table", &["dos", "minix"], &[Start(510)], b"\x55\xaa")
        .when(confirm::mbr),
    table("an Atari partition table", &["atari"], &[Start(0)], b"").when(confirm::atari),
    // Copies, from which erased data can be recovered.
    other(
        "a copy of the superblock of an ext2, ext3 or ext4 file system",
        &[ExtCopies],
        b"\x53\xef",
    )
    .when(confirm::ext_is_copy),
    other("a copy of the superblock of an XFS file system", &[XfsCopies], b"XFSB")
        .when(confirm::xfs_is_copy),
    other(
        "a copy of the superblock of a btrfs file system",
        &[Start((64 << 20) + 0x40), Start((256 << 30) + 0x40)],
        b"_BHRfS_M",
    ),
    other(
        "a copy of the superblock of an F2FS file system",
        &[Start(4096 + 1024)],
        b"\x10\x20\xf5\xf2",
    ),
    other("an anchor of a UDF file system", &UDF_ANCHORS, b"\x02\x00").when(confirm::udf_anchor),
    other("a copy of the superblock of a JFS file system", &[Start(0xf000)], b"JFS1"),
    other(
        "a copy of the boot sector of an NTFS file system",
        &[End(512 - 3), End(4096 - 3)],
        b"NTFS    ",
    ),
    other(
        "a copy of the boot sector of a ReFS file system",
        &[End(512), End(4096)],
        b"\x00\x00\x00ReFS\x00",
    ),
    other(
        "a copy of the boot sector of an exFAT file system",
        &[Start(12 * 512 + 3), Start(12 * 4096 + 3)],
        b"EXFAT   ",
    ),
    other(
        "a copy of the boot sector of a FAT file system",
        &[Start(6 * 512 + 82), Start(6 * 4096 + 82)],
        b"FAT32   ",
    ),
    other("a copy of the header of an HFS+ file system", &[End(1024)], b"H+\x00\x04"),
    other("a copy of the header of an HFSX file system", &[End(1024)], b"HX\x00\x05"),
    other("a copy of the header of an HFS file system", &[End(1024)], b"BD").when(confirm::hfs),
];

const OCFS2_PLACES: [Place; 4] = [Start(1024), Start(2048), Start(4096), Start(8192)];

/// `OCFS2_BACKUP_SB_START` (1 GiB); each other copy lies at four times the offset of the
/// previous copy.
const OCFS2_COPIES: [Place; 6] = [
    Start(1 << 30),
    Start(4 << 30),
    Start(16 << 30),
    Start(64 << 30),
    Start(256 << 30),
    Start(1 << 40),
];

/// The offsets of the second header that LUKS2 allows (LUKS2 On-Disk Format, section 2.2).
const LUKS_SECOND: [Place; 9] = [
    Start(0x4000),
    Start(0x8000),
    Start(0x1_0000),
    Start(0x2_0000),
    Start(0x4_0000),
    Start(0x8_0000),
    Start(0x10_0000),
    Start(0x20_0000),
    Start(0x40_0000),
];

const LVM2: [Place; 4] = [Start(24), Start(512 + 24), Start(1024 + 24), Start(1536 + 24)];

/// The anchor header in the last sector, and a copy that lies 256 sectors before it.
const DDF: [Place; 3] = [End(512), EndOfSectors(512), EndOfSectors(257 * 512)];

/// Superblocks at 0, 8, 64 or 256 KiB, and the first copies that `newfs` writes, in sectors 32, 160
/// and 192.
const UFS_PLACES: [Place; 7] = [
    Start(1372),
    Start((8 << 10) + 1372),
    Start((64 << 10) + 1372),
    Start((256 << 10) + 1372),
    Start(32 * 512 + 1372),
    Start(160 * 512 + 1372),
    Start(192 * 512 + 1372),
];

/// The magic 8 bytes before the end of a superblock, which begins 512 bytes into the 1 KiB block 0,
/// 9, 15 or 18.
const SYSV_PLACES: [Place; 4] = [
    Start(512 + 504),
    Start((9 << 10) + 512 + 504),
    Start((15 << 10) + 512 + 504),
    Start((18 << 10) + 512 + 504),
];

/// The volume recognition sequence.
const UDF: [Place; 2] = [Start(32769), Start(34817)];

/// Block 256 and the last block, for each block size (ECMA-167, 3/8.4.2.1).
const UDF_ANCHORS: [Place; 8] = [
    Start(256 * 512),
    Start(256 * 1024),
    Start(256 * 2048),
    Start(256 * 4096),
    End(512),
    End(1024),
    End(2048),
    End(4096),
];

/// The last ten bytes of the first page, for each page size of Linux.
const SWAP: [Place; 5] = [Start(4086), Start(8182), Start(16374), Start(32758), Start(65526)];
