//! `docs/drives.md`: how a real drive is named, every option and engine, and what keeps a drive from being written.

use std::fmt::Write;

use anyhow::Result;
use flashscope_drive::guard::SIGNATURES;
use flashscope_drive::{DRIVE_OPTIONS, ENGINES};

pub const PATH: &str = "docs/drives.md";

const INTRODUCTION: &str = "\
# Real drives

<!-- Written by `cargo xtask schemas` from crates/drive. -->

A block device is named by its path, a file as `file:PATH`, and options stand behind a `?`:

    flashscope devices                                          # what there is; as root with what NVMe drives can do
    flashscope bench '/dev/nvme1n1?engine=io_uring_polled' --destroy-data-on SERIAL
    flashscope bench /dev/ng1n1 --destroy-data-on SERIAL        # NVMe commands, past the block layer
    flashscope bench 'file:scratch.img?size=1GiB&engine=psync'

`/dev/ng1n1`, the character device of an NVMe namespace, is the block device `/dev/nvme1n1` with the engine
`io_uring_cmd`: that is opened exclusively and asked who uses it before anything is written, and commands go to the
character device beside it.
";

const NOTES: &str = "
Where no engine is asked for, one is chosen by a probe: `psync` for one IO at a time, otherwise `io_uring` where the
target takes IOs without blocking and `libaio` where not. The result says which it was, and why.

`io_uring_polled` and `io_uring_cmd` are never chosen, only asked for, since they measure another path through the
kernel than that which programs take. Both want every IO to fit in one command of the drive (`--io-size`;
`flashscope devices` shows the most that a command moves), and are refused where the drive or the kernel lacks what
they need:

- polled queues are made when the driver is loaded: boot with `nvme.poll_queues=2`, or as many as are to be used at
  once. Flushes and trims are not polled for. Whoever waits keeps a core busy;
- commands are for whole namespaces whose blocks bear no metadata, with Linux 6.1 or later. A trim is Dataset
  Management with Deallocate, in flight as any other IO, where the other engines have it done by the block layer. An
  error has the number that the block layer has for the status of the drive.

`make test-nvme` tries all of this, and Format NVM, on emulated drives in a virtual machine.

## Other systems

Real drives are measured on Linux only. On macOS and Windows `cargo build --package flashscope --no-default-features` builds
the rest: simulated drives, models, probes of simulated drives, traces and reports. `attach`, `devices` and `trace record` are
left out there. Windows has no locks of folders: two processes that go on with one result are not kept apart.

## Files

`file:PATH?size=1GiB` creates the file where there is none, with all its blocks. `flashscope bench` removes it once the plan is
complete; `--keep` leaves it. A file that flashscope created is overwritten again without `--destroy-data-on`: its extended
attribute `user.flashscope.drive` bears the inode, the size and the time of the last write, so that a file that another program
wrote to, or a copy, has to be confirmed. So has every file where the file system keeps no such attributes.

## Without root

Drives belong to root and, mostly, to the group `disk`. There are three ways to measure one as another user:

- the group of the drives: `sudo usermod --append --groups disk \"$USER\"`, then log in again. Its members can read and
  overwrite every drive of the machine;
- one drive alone, by a udev rule such as `SUBSYSTEM==\"block\", ENV{ID_SERIAL_SHORT}==\"S4EWNX0R123456\", OWNER=\"anna\"` in
  `/etc/udev/rules.d/60-flashscope.rules`, then `sudo udevadm control --reload && sudo udevadm trigger`;
- the capabilities that commands to an NVMe drive and questions about reservations take, given to the program:
  `sudo setcap cap_sys_admin,cap_sys_rawio+ep \"$(command -v flashscope)\"`. Whoever may run it then has them.

Without root, health and reservations of a drive are not read, and programs of other users that have it open without a lock
are not seen.
";

const DATA: &str = "
## Data that nothing uses

A drive or file is not written while it bears something that is known, even if its path was typed after `--destroy-data-on`. The
refusal names the mark, its place, and the commands that erase it. Two look for marks, and what either finds counts:

- libblkid, the library of `blkid` and `wipefs`. It is loaded where it is installed (`libblkid.so.1`) and never linked, as its
  licence is the LGPL; the static build, and any other where it cannot be loaded, runs `blkid` from `/usr/sbin`, `/sbin` or
  `/usr/bin` instead, without an environment and on the open descriptor. If libblkid is not installed, cannot read what
  it wants to, or is older than what it should know, the table below decides alone;
- a table of this program, in the list below. It also knows copies of superblocks, from which the tools of a file system
  bring it back after its first superblock is gone: those of ext2, ext3 and ext4 in the groups of blocks that have one, for
  groups of the default size; of XFS where `mkfs.xfs` divides the whole device as it does by default; of btrfs, F2FS,
  JFS, NTFS, ReFS, exFAT, FAT, HFS and GPT where their formats put them.

Both ends of the drive, 1 MiB each, must be readable, or the drive is refused. A place between them that cannot be read bears
no mark: a drive with a bad place stays measurable. Marks of two bytes or less count unless the sector around them looks like
random data, so that what this program wrote can be measured again.

`wipefs --all` erases what libblkid knows. It leaves copies, disk images, databases and archives, and partition tables in
files and partitions; for those the refusal has a line with `dd` that writes zeros to their sectors. After both a drive
bears nothing that is known here. Data without a mark, such as a VeraCrypt volume or dm-crypt without LUKS, look like random
data: nothing but its owner's word keeps them.

### Shared storage

What several hosts may use at once is refused without a command that erases it, as the hosts that use it cannot be seen from
here: the file systems marked so below, on the drive or in a partition of its GPT or MBR; a volume group of LVM2 with a flag of
`clvmd` or a lock type of `lvmlockd`; and a drive that is reserved, or that a host has registered for:

- SCSI drives are asked by PERSISTENT RESERVE IN (READ KEYS, READ RESERVATION) through `SG_IO`, and the devices of
  multipath likewise. Drives behind USB and ATA are not asked: they have no reservations;
- NVMe drives that support reservations are asked by Reservation Report.

The kernel hands over both commands for root alone (`CAP_SYS_RAWIO`, `CAP_SYS_ADMIN`). To another user, and where a drive
or its adapter does not know the command or fails it, nothing is known of reservations, and a drive counts as free of them. A
report that makes no sense refuses the drive.

### Marks

";

/// Every mark of the table, those of shared storage first, each once.
fn marks() -> String {
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

/// The page.
pub fn page() -> Result<String> {
    let mut page = INTRODUCTION.to_string();
    write!(page, "\n## Options\n\n| option | what it does | example |\n|---|---|---|\n")?;
    for option in DRIVE_OPTIONS {
        let (name, summary, example) = (option.name, option.summary, option.example);
        writeln!(page, "| `{name}` | {summary} | `{name}={example}` |")?;
    }
    write!(page, "\n## Engines\n\n| `engine` | what it is |\n|---|---|\n")?;
    for engine in ENGINES {
        writeln!(page, "| `{}` | {} |", engine.name, engine.summary)?;
    }
    page += NOTES;
    page += DATA;
    page += &marks();
    Ok(page)
}
