//! Detection of real file systems. Tools that are not installed are named and skipped.

use std::ffi::OsStr;
use std::process::Stdio;

use super::*;

/// A tool, its arguments, and the name of the signature it creates.
struct Tool {
    command: &'static str,
    arguments: &'static [&'static str],
    name: &'static str,
    shared: bool,
}

const fn tool(
    command: &'static str,
    arguments: &'static [&'static str],
    name: &'static str,
) -> Tool {
    Tool { command, arguments, name, shared: false }
}

/// The tools. The path of the image replaces the argument `IMAGE`, or is the last argument.
const TOOLS: &[Tool] = &[
    tool("mkfs.ext2", &["-q", "-F"], "an ext2, ext3 or ext4 file system"),
    tool("mkfs.ext4", &["-q", "-F"], "an ext2, ext3 or ext4 file system"),
    tool("mke2fs", &["-q", "-F", "-O", "journal_dev"], "an ext2, ext3 or ext4 file system"),
    tool("mkswap", &["-q"], "swap space"),
    tool("mkfs.vfat", &[], "a FAT file system"),
    tool("mkfs.exfat", &[], "an exFAT file system"),
    tool("mkfs.xfs", &["-q"], "an XFS file system"),
    tool("mkfs.btrfs", &["-q"], "a btrfs file system"),
    tool("mkfs.f2fs", &["-q"], "an F2FS file system"),
    tool("mkfs.ntfs", &["-F", "-Q", "-q"], "an NTFS file system"),
    tool(
        "pvcreate",
        &["-q", "--config", "devices { use_devicesfile=0 }"],
        "an LVM physical volume",
    ),
    tool("mkfs.minix", &[], "a Minix file system"),
    tool("mkfs.minix", &["-2"], "a Minix file system"),
    tool("mkfs.minix", &["-3"], "a Minix file system"),
    tool("mkfs.bfs", &[], "an SCO boot file system (bfs)"),
    tool("mkfs.cramfs", &["/etc/apt", "IMAGE"], "a cramfs file system"),
    tool("genromfs", &["-d", "/etc/apt", "-f", "IMAGE"], "a romfs file system"),
    tool("mkfs.nilfs2", &["-q", "-f"], "a NILFS2 file system"),
    tool("mkfs.jfs", &["-q"], "a JFS file system"),
    tool("mkreiserfs", &["-q", "-ff"], "a ReiserFS file system"),
    tool("mkfs.reiser4", &["-y", "-f"], "a Reiser4 file system"),
    tool("mkfs.udf", &[], "a UDF file system"),
    tool("mkfs.erofs", &["IMAGE", "/etc/apt"], "an EROFS file system"),
    tool("mksquashfs", &["/etc/apt", "IMAGE", "-noappend", "-quiet"], "a squashfs file system"),
    tool("makefs", &["-t", "ffs", "-s", "64m", "IMAGE", "/etc/apt"], "a UFS file system"),
    tool("make-bcache", &["--bdev"], "a bcache device"),
    tool("integritysetup", &["format", "--batch-mode", "--no-wipe"], "a dm-integrity volume"),
    tool("veritysetup", &["format", "/bin/sh", "IMAGE"], "dm-verity hashes"),
    tool(
        "cryptsetup",
        &[
            "luksFormat",
            "--batch-mode",
            "--pbkdf-force-iterations=4",
            "--pbkdf-memory=32",
            "--key-file=/etc/hostname",
        ],
        "a LUKS encrypted volume",
    ),
    tool("drbdmeta", &["--force", "0", "v08", "IMAGE", "internal", "create-md"], "a DRBD device"),
    tool("sqlite3", &["IMAGE", "create table t (a)"], "an SQLite database"),
    Tool {
        shared: true,
        ..tool(
            "mkfs.ocfs2",
            &["--force", "--quiet", "-M", "local", "-b", "4K"],
            "an OCFS2 file system",
        )
    },
    Tool {
        shared: true,
        ..tool("mkfs.gfs2", &["-O", "-q", "-p", "lock_nolock"], "a GFS or GFS2 file system")
    },
];

// Detects real file systems with the table alone, and with libblkid.
#[test]
fn signatures_of_real_tools_are_found() {
    for tool in TOOLS {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("image");
        File::create(&path).unwrap().set_len(512 << 20).unwrap();
        let mut arguments: Vec<&OsStr> = tool.arguments.iter().map(OsStr::new).collect();
        match arguments.iter_mut().find(|argument| **argument == "IMAGE") {
            Some(place) => *place = path.as_os_str(),
            None => arguments.push(path.as_os_str()),
        }
        if matches!(
            tool.command,
            "sqlite3" | "makefs" | "mksquashfs" | "mkfs.erofs" | "mkfs.cramfs" | "genromfs"
        ) {
            std::fs::remove_file(&path).unwrap();
        }
        let output = Command::new(tool.command).args(&arguments).stdin(Stdio::null()).output();
        if !output.is_ok_and(|output| output.status.success()) {
            println!(
                "skipped: {} {:?} is not installed or does not work here",
                tool.command, tool.arguments
            );
            continue;
        }
        let file = File::open(&path).unwrap();
        let image = Image::open(&file).unwrap();
        for answer in [Answer::Unavailable, probing::ask(&file)] {
            let finding =
                combine(&image, &answer, true).unwrap_or_else(|| panic!("{}", tool.command));
            assert_eq!(
                (finding.name.as_str(), finding.shared),
                (tool.name, tool.shared),
                "{} {answer:?}",
                tool.command
            );
        }
        println!(
            "found: {} {:?}, to libblkid {:?}",
            tool.command,
            tool.arguments,
            probing::ask(&file)
        );
    }
}

/// Tools that write copies of superblocks, which `wipefs` does not erase, with the offset of the
/// first copy; `u64::MAX` for a tool that writes no copies.
const COPIES: &[(&str, &[&str], u64)] = &[
    ("mkfs.ext4", &["-q", "-F", "-b", "1024"], 8193 * 1024 + 56),
    ("mkfs.ext4", &["-q", "-F", "-b", "2048"], 16384 * 2048 + 56),
    ("mkfs.ext4", &["-q", "-F", "-b", "4096"], 32768 * 4096 + 56),
    (
        "mkfs.ext4",
        &["-q", "-F", "-b", "4096", "-O", "^flex_bg,^64bit,^metadata_csum"],
        32768 * 4096 + 56,
    ),
    ("mkfs.xfs", &["-q"], 128 << 20),
    ("mkfs.btrfs", &["-q"], (64 << 20) + 0x40),
    ("mkfs.f2fs", &["-q"], 4096 + 1024),
    ("mkfs.exfat", &[], 12 * 512 + 3),
    ("mkfs.vfat", &["-F", "32"], 6 * 512 + 82),
    ("mkfs.ntfs", &["-F", "-Q", "-q"], (512 << 20) - 512 + 3),
    ("mkfs.jfs", &["-q"], 0xf000),
    ("mkfs.reiserfs", &["-q", "-ff"], u64::MAX),
];

// Tools can restore a file system from a copy of its superblock. The image is free once the copies
// are erased too.
#[test]
fn copies_of_superblocks_are_found() {
    for (tool, arguments, first) in COPIES {
        let file = tempfile::NamedTempFile::new().unwrap();
        file.as_file().set_len(512 << 20).unwrap();
        let run = |command: &str, arguments: &[&str]| {
            let output = Command::new(command).args(arguments).arg(file.path()).output();
            output.is_ok_and(|output| output.status.success())
        };
        if !run(tool, arguments) || !run("wipefs", &["--all", "--quiet"]) {
            println!("skipped: {tool} {arguments:?} is not installed or does not work here");
            continue;
        }
        let finding = find(file.as_file()).unwrap();
        if *first == u64::MAX {
            assert_eq!(finding, None, "{tool} writes no copies");
            continue;
        }
        let finding = finding.unwrap_or_else(|| panic!("{tool}: no copy was found"));
        assert_eq!(finding.offset, Some(*first), "{tool} {arguments:?}");
        let erase = finding.erasing(file.path());
        assert!(!erase.contains("wipefs"), "{tool}: {erase}");
        let erased = Command::new("sh").args(["-c", erase.trim_matches('`')]).output().unwrap();
        assert!(erased.status.success(), "{tool}: {erase}");
        assert_eq!(find(file.as_file()).unwrap(), None, "{tool} {arguments:?}");
    }
}
