//! The options of `flashscope verify`.

use std::path::PathBuf;

use flashscope_block::{Bytes, Nanos};

use crate::names;
use crate::options::{ConsentArgs, JsonArgs, SeedArgs, json_schema};

/// Verify that a drive keeps its promises when its power is cut.
///
/// Fills a part of the drive with stamped blocks, then overwrites random parts, with many writes in
/// flight and a flush from time to time. The journal, on another medium, records what the drive
/// acknowledged and flushed. Cut the power of the drive or of the machine while the command runs.
/// At the next boot, --resume reads the blocks back. It reports which data is as acknowledged, lost
/// though flushed, reordered, torn within the drive's atomic write unit, misplaced, corrupt or
/// unreadable. Without a power cut, the writing ends at a limit, and the same run judges the
/// blocks. See docs/verify.md.
///
/// Exit status: 0 if the drive kept its promises, 3 if data is damaged.
#[derive(clap::Args)]
#[command(mut_arg("json", json_schema("verification")))]
#[command(after_help = "Examples:
  flashscope verify 'file:scratch.img?size=64MiB' --journal scratch.journal --writes 20000
  flashscope verify /dev/nvme1n1 --journal /mnt/usb/nvme1.journal --destroy-data-on S4EWNX0R123456
  flashscope verify /dev/nvme1n1 --journal /mnt/usb/nvme1.journal --resume")]
pub struct VerifyArgs {
    /// The drive to verify: /dev/NAME or file:PATH
    ///
    /// A file takes `?size=1GiB` (it is created), `?engine=io_uring|libaio|psync` and
    /// `?direct=false`; a device takes `?engine=…` (see docs/drives.md). `flashscope attach` turns
    /// a simulated drive into a file or a device.
    pub drive: String,

    /// Keep the journal in this file, which must not exist yet, on another medium than the drive;
    /// or read it, with --resume
    ///
    /// A named pipe receives the journal instead of a file, for a program that sends it to another
    /// machine.
    #[arg(long, value_name = "FILE")]
    pub journal: PathBuf,

    /// Judge the drive after a power cut, from its blocks and the journal; write nothing
    // The options of consent to writing conflict with this identifier.
    #[arg(long = "resume", id = "read_only", conflicts_with_all = ["target_offset", "target_size", "io_size", "queue_depth",
          "flush_every", "writes", "duration", "seed"])]
    pub resume: bool,

    /// The writes.
    #[command(flatten)]
    pub writes: VerifiedWritesArgs,

    /// Longest write that the drive guarantees to write completely or not at all in a power cut
    /// [default: as an NVMe drive states (NAWUPF or AWUPF), or the logical block]
    #[arg(long, value_name = "SIZE", value_parser = names::io_size)]
    pub atomic_write: Option<Bytes>,

    /// The owner's consent to writing.
    #[command(flatten)]
    pub consent: ConsentArgs,

    /// The form of the output.
    #[command(flatten)]
    pub json: JsonArgs,
}

/// The writes of a verification.
#[derive(Debug, Clone, clap::Args)]
#[command(next_help_heading = "Writes")]
pub struct VerifiedWritesArgs {
    /// Start of the target space
    #[arg(long, default_value = "0B", value_name = "SIZE")]
    pub target_offset: Bytes,

    /// Size of the target space, at most 64GiB [default: 1GiB, or up to the end of a smaller drive]
    #[arg(long, value_name = "SIZE")]
    pub target_size: Option<Bytes>,

    /// Longest random write; lengths are random, from one logical block up to this size
    #[arg(long, default_value = "64KiB", value_name = "SIZE", value_parser = names::io_size)]
    pub io_size: Bytes,

    /// Writes in flight
    #[arg(long, default_value_t = 32, value_name = "COUNT", value_parser = clap::value_parser!(u32).range(1..=4096))]
    pub queue_depth: u32,

    /// Writes from one flush to the next
    #[arg(long, default_value_t = 64, value_name = "COUNT", value_parser = clap::value_parser!(u64).range(1..))]
    pub flush_every: u64,

    /// Random writes after which the writing ends without a power cut
    #[arg(long = "writes", id = "writes", default_value_t = 10_000_000, value_name = "COUNT",
          value_parser = clap::value_parser!(u64).range(1..=100_000_000))]
    pub count: u64,

    /// Time after which the writing ends without a power cut
    #[arg(long, value_name = "TIME", value_parser = names::duration)]
    pub duration: Option<Nanos>,

    /// The seed.
    #[command(flatten)]
    pub seed: SeedArgs,
}
