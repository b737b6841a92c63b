//! `docs/drives.md`: how a real drive is named, and every option and engine.

use std::fmt::Write;

use anyhow::Result;
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
";

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
    Ok(page)
}
