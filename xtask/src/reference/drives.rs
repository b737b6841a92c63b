//! `docs/drives.md`: the names of real drives, every option and engine, and the guards against
//! overwriting data.

use std::fmt::Write;

use anyhow::Result;
use flashscope_drive::guard::SIGNATURES;
use flashscope_drive::{DRIVE_OPTIONS, ENGINES};

pub const PATH: &str = "docs/drives.md";

const INTRODUCTION: &str = "\
# Real drives

<!-- Written by `cargo xtask schemas` from crates/drive. -->

A block device is named by its path, a file by `file:PATH`. Options follow after a `?`:

    flashscope devices                                          # lists the drives; as root with the abilities of NVMe drives
    flashscope bench '/dev/nvme1n1?engine=io_uring_polled' --destroy-data-on SERIAL
    flashscope bench /dev/ng1n1 --destroy-data-on SERIAL        # NVMe commands, bypassing the block layer
    flashscope bench 'file:scratch.img?size=1GiB&engine=psync'

`/dev/ng1n1`, the character device of an NVMe namespace, selects the block device `/dev/nvme1n1` with the engine
`io_uring_cmd`. flashscope opens the block device exclusively and checks its users before it writes anything, and sends commands
to the character device.
";

const NOTES: &str = "
Without an `engine` option, flashscope chooses one after a test: `psync` for one IO at a time, otherwise `io_uring` if the
target accepts IOs without blocking, and `libaio` if not. The result names the engine and the reason.

`io_uring_polled` and `io_uring_cmd` must be requested explicitly, since they measure another path through the
kernel than the one that programs use. Both need every IO to fit in one command of the drive (`--io-size`;
`flashscope devices` shows the largest transfer of a command). flashscope refuses them if the drive or the kernel lacks their
requirements:

- polled queues are created when the driver is loaded: boot with `nvme.poll_queues=2`, or as many as you use at
 once. Flushes and trims are not polled. A thread that waits keeps a core busy;
- commands need a whole namespace whose blocks carry no metadata, and Linux 6.1 or later. A trim is Dataset
 Management with Deallocate, in flight like any other IO; the other engines leave trims to the block layer. An
 error has the number that the block layer assigns to the drive's status.

`make test-nvme` tests all of this, and Format NVM, on emulated drives in a virtual machine.

## Other systems

Real drives are measured on Linux only. On macOS and Windows, `cargo build --package flashscope --no-default-features` builds
the rest: simulated drives, models, probes of simulated drives, traces and reports. It omits `attach`, `devices` and `trace record`.
Windows has no folder locks: flashscope cannot keep two processes from resuming the same result.

## Files

`file:PATH?size=1GiB` creates the file if it does not exist, with all its blocks. `flashscope bench` removes it after the plan is
complete; `--keep` keeps it. flashscope overwrites a file that it created without `--destroy-data-on`: an extended
attribute, `user.flashscope.drive`, stores its inode, its size and the time of the last write. A file that another program
wrote to, or a copy, needs confirmation. So does every file on a file system without such attributes.

## Without root

Drives belong to root and usually to the group `disk`. There are three ways to measure one as another user:

- join the group of the drives: `sudo usermod --append --groups disk \"$USER\"`, then log in again. Its members can read and
 overwrite every drive of the machine;
- own a single drive by a udev rule such as `SUBSYSTEM==\"block\", ENV{ID_SERIAL_SHORT}==\"S4EWNX0R123456\", OWNER=\"anna\"` in
  `/etc/udev/rules.d/60-flashscope.rules`, then `sudo udevadm control --reload && sudo udevadm trigger`;
- give the program the capabilities for NVMe commands and reservations:
 `sudo setcap cap_sys_admin,cap_sys_rawio+ep \"$(command -v flashscope)\"`. Every user who may run the program then has them.

Without root, flashscope cannot read the health and the reservations of a drive, and cannot see programs of other users that have
it open without a lock.
";

const DATA: &str = "
## Unused drives with data

flashscope refuses to write to a drive or file with a known signature, even if you typed its path after `--destroy-data-on`. The
refusal names the signature, its place, and the commands that erase it. Two sources look for signatures, and either is enough:

- libblkid, the library of `blkid` and `wipefs`. It is loaded if installed (`libblkid.so.1`) and never linked, because its
 licence is the LGPL. The static build, and any other that cannot load it, runs `blkid` from `/usr/sbin`, `/sbin` or
 `/usr/bin` instead, without an environment and on the open descriptor. If libblkid is not installed, cannot read the
 drive, or is older than a format, the table below decides alone;
- flashscope's own table, listed below. It also knows copies of superblocks, from which the tools of a file system
 can restore it after its first superblock is gone: those of ext2, ext3 and ext4 in the block groups that have one, for
 groups of the default size; those of XFS if `mkfs.xfs` divided the whole device by default; those of btrfs, F2FS,
 JFS, NTFS, ReFS, exFAT, FAT, HFS and GPT at the places that their formats define.

The first and the last MiB of the drive must be readable, or flashscope refuses the drive. An unreadable place between them counts
as unsigned: a drive with a bad place can still be measured. A signature of two bytes or less does not count if its sector looks like
random data, which lets a drive be measured again after flashscope wrote to it.

`wipefs --all` erases the signatures that libblkid knows. It leaves copies, disk images, databases and archives, and partition tables in
files and partitions; for those, the refusal shows a `dd` command that writes zeros to their sectors. After both, no
known signature is left. Data without a signature, such as a VeraCrypt volume or dm-crypt without LUKS, looks like random
data: only its owner can protect it.

### Shared storage

flashscope refuses storage that several hosts may share, and shows no command to erase it, because it cannot see the other
hosts. It recognises the file systems marked below, on the drive or in a partition of its GPT or MBR; a volume group of LVM2 with a flag of
`clvmd` or a lock type of `lvmlockd`; and a drive with a reservation or a registered host:

- it queries SCSI drives, and multipath devices, with PERSISTENT RESERVE IN (READ KEYS, READ RESERVATION) through `SG_IO`.
 Drives behind USB and ATA have no reservations;
- it queries NVMe drives that support reservations with Reservation Report.

The kernel passes both commands on for root only (`CAP_SYS_RAWIO`, `CAP_SYS_ADMIN`). For another user, or if a drive
or its adapter does not support the command or fails it, the reservations are unknown, and the drive counts as free of them. An
implausible report makes flashscope refuse the drive.

### Signatures

";

/// Returns the list of all signatures, those of shared storage first, each once.
fn signatures() -> String {
    let mut lines: Vec<String> = Vec::new();
    for signature in SIGNATURES {
        let shared = if signature.is_shared() { " (shared storage)" } else { "" };
        let line = format!("- {}{shared}\n", signature.name);
        if !lines.contains(&line) {
            lines.push(line);
        }
    }
    lines.concat()
}

/// Returns the page.
pub fn page() -> Result<String> {
    let mut page = INTRODUCTION.to_string();
    write!(page, "\n## Options\n\n| option | effect | example |\n|---|---|---|\n")?;
    for option in DRIVE_OPTIONS {
        let (name, summary, example) = (option.name, option.summary, option.example);
        writeln!(page, "| `{name}` | {summary} | `{name}={example}` |")?;
    }
    write!(page, "\n## Engines\n\n| `engine` | description |\n|---|---|\n")?;
    for engine in ENGINES {
        writeln!(page, "| `{}` | {} |", engine.name, engine.summary)?;
    }
    page += NOTES;
    page += DATA;
    page += &signatures();
    Ok(page)
}
