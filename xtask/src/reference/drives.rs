//! `docs/drives.md`: the names, options and engines of real drives, and the guards that protect
//! them.

use std::fmt::Write;

use anyhow::Result;
use flashscope_drive::guard::SIGNATURES;
use flashscope_drive::{DRIVE_OPTIONS, ENGINES};

pub(crate) const PATH: &str = "docs/drives.md";

const INTRODUCTION: &str = "\
# Real drives

<!-- Written by `cargo xtask schemas` from crates/drive. -->

Name a block device by its path, and a file by `file:PATH`. Options follow a `?`:

    flashscope devices                                          # lists drives; as root with the features of NVMe drives
    flashscope bench '/dev/nvme1n1?engine=io_uring_polled' --destroy-data-on SERIAL
    flashscope bench /dev/ng1n1 --destroy-data-on SERIAL        # NVMe commands, bypassing the block layer
    flashscope bench 'file:scratch.img?size=1GiB&engine=psync'

`/dev/ng1n1`, the character device of an NVMe namespace, means the block device `/dev/nvme1n1` with the engine
`io_uring_cmd`. flashscope opens the block device exclusively, checks who uses it before it writes, and sends commands to
the character device.
";

const NOTES: &str = "
By default flashscope chooses the engine. It uses `psync` for one IO at a time. Otherwise it uses `io_uring` if the
target accepts IOs without blocking and the kernel permits it, else `libaio`, and `psync` as the last resort. The result
records the engine and the reason.

`io_uring_polled` and `io_uring_cmd` need an explicit option, because they measure another path through the kernel than
ordinary programs use. Every IO must fit in one command of the drive (`--io-size`; `flashscope devices` shows
the maximum). flashscope refuses these engines if the drive or the kernel lacks a requirement:

- Polled queues exist only if the driver was loaded with them: boot with `nvme.poll_queues=2`, or with as many as you
  use at once. A waiting thread keeps a core busy. Flushes and trims are not polled.
- NVMe commands need whole namespaces whose blocks have no metadata, and Linux 6.1 or later. A trim is Dataset
  Management with Deallocate, in flight like any other IO; with other engines the block layer sends it. An error has
  the number that the block layer uses for the status of the drive.

`make test-nvme` tests these engines, and Format NVM, on emulated drives in a virtual machine.

## Other systems

Only Linux can measure real drives. On macOS and Windows, `cargo build --package flashscope --no-default-features`
builds the other parts: simulated drives, models, probes of simulated drives, traces and reports. It omits `attach`,
`devices`, `watch` and `trace record`, and the commands behind features: `registry`, `reproduce`, `serve` and `submit`.
Windows cannot lock folders, so do not resume one result from two processes there.

## Files

`file:PATH?size=1GiB` creates the file with all its blocks if it does not exist. `flashscope bench` removes it once the
plan is complete; `--keep` keeps it. flashscope needs no `--destroy-data-on` to overwrite a file that it created. It
recognizes the file by the extended attribute `user.flashscope.drive`, which has the inode, the size and the time of the
last write. A copy, or a file that another program changed, needs confirmation. If the file system has no extended
attributes, every file needs confirmation.

## Without root

Drives belong to root and usually to the group `disk`. You can measure one as another user in three ways:

- join the group of the drives: `sudo usermod --append --groups disk \"$USER\"`, then log in again. Its members can read
  and overwrite every drive of the machine;
- own a single drive by a udev rule such as `SUBSYSTEM==\"block\", ENV{ID_SERIAL_SHORT}==\"S4EWNX0R123456\", OWNER=\"anna\"` in
  `/etc/udev/rules.d/60-flashscope.rules`, then `sudo udevadm control --reload && sudo udevadm trigger`;
- give the program the capabilities for NVMe commands and for reading reservations: `sudo setcap
  cap_sys_admin,cap_sys_rawio+ep \"$(command -v flashscope)\"`. Every user of the program then has them.

Without root, flashscope cannot read health and reservations of a drive, and cannot detect programs of other users that
have the drive open without a lock.
";

const DATA: &str = "
## Unused drives with data

flashscope refuses to write to a drive or file with a known signature, even after `--destroy-data-on`. The refusal
names the signature, its position, and the commands that erase it. flashscope searches in two ways, and a match of
either counts:

- libblkid, the library of `blkid` and `wipefs`. flashscope loads it at run time (`libblkid.so.1`) and never links it,
  because of its licence, the LGPL. Without the library, and in the static build, it runs `blkid` from `/usr/sbin`,
  `/sbin` or `/usr/bin`, without an environment and on the open descriptor. If neither works, or libblkid is too old,
  flashscope uses only the table below.
- The table of flashscope, listed below. It also knows the backup superblocks from which tools restore a file system. For ext2,
  ext3 and ext4 it covers block groups of the default size, and for XFS the default division of the whole
  device by `mkfs.xfs`. For btrfs, F2FS, JFS, NTFS, ReFS, exFAT, FAT, HFS and GPT it covers the positions in their formats.

The first and the last 1 MiB of the drive must be readable, or flashscope refuses it. Unreadable sectors elsewhere count
as free of signatures, so a drive with bad sectors can be measured. A signature of one or two bytes does not count if its sector
looks like random data. Data written by flashscope thus never prevents another measurement.

`wipefs --all` erases the signatures that libblkid knows. It leaves backup superblocks, disk images, databases,
archives, and partition tables in files and partitions. For those, the refusal has a `dd` command that writes zeros to
their sectors. After both steps, a drive has no known signature. Data without a signature, such as a VeraCrypt volume or
dm-crypt without LUKS, looks like random data. Only its owner can protect it.

### Shared storage

flashscope refuses storage that several hosts may use at once, and offers no command to erase it, because it cannot
detect the other hosts. Three things count as shared:

- the file systems that the list below marks as shared storage, on the drive or in a partition of its GPT or MBR;
- a volume group of LVM2 with a flag of `clvmd` or a lock type of `lvmlockd`;
- a drive with a reservation or a registered host.

For SCSI drives and multipath devices, flashscope sends PERSISTENT RESERVE IN (READ KEYS, READ RESERVATION) through
`SG_IO`. Drives behind USB and ATA have no reservations. For NVMe drives with reservations it sends Reservation Report.

The kernel allows both commands only to root (`CAP_SYS_RAWIO`, `CAP_SYS_ADMIN`). For other users, and if a drive or its
adapter does not support the command, the drive counts as free of reservations. flashscope refuses a drive with a
malformed report.

### Signatures

";

/// Returns each signature of the table once, those of shared storage first.
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
pub(crate) fn page() -> Result<String> {
    let mut page = INTRODUCTION.to_string();
    write!(page, "\n## Options\n\n| option | effect | example |\n|---|---|---|\n")?;
    for option in DRIVE_OPTIONS {
        let (name, summary, example) = (option.name, option.summary, option.example);
        writeln!(page, "| `{name}` | {summary} | `{name}={example}` |")?;
    }
    write!(page, "\n## Engines\n\n| `engine` | system interface |\n|---|---|\n")?;
    for engine in ENGINES {
        writeln!(page, "| `{}` | {} |", engine.name, engine.summary)?;
    }
    page += NOTES;
    page += DATA;
    page += &signatures();
    Ok(page)
}
