//! The options of `flashscope attach`, as they are documented.

use std::net::SocketAddr;
use std::path::PathBuf;

use flashscope_attach::Speed;
use flashscope_block::Bytes;
use flashscope_command::simulate::fill_parser;
use flashscope_command::{ConsentArgs, MemoryArgs};
use flashscope_workload::state::Fill;

use crate::serve::address;

/// Attach a drive: every program can use it, as a block device or over the network.
///
/// A simulated drive keeps what is written to it, and answers when the drive that it simulates would:
/// programs run on it as they would run on that drive. It is served over NBD, the network block
/// protocol of Linux, QEMU and others, as a file of a folder, which `losetup` makes a block device, or
/// as a block device of the kernel. It ends with Ctrl-C.
///
/// With --store, what a client has flushed survives even if this process is killed, and what was
/// only in the drive's write buffer does not: to kill it is to cut the power of the drive. When it
/// is attached again, the drive is new, and is first written what the store holds.
///
/// A real drive is passed through as it is, so that --record sees all that a client asks of it.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  flashscope attach sim:demo
  flashscope attach sim:demo --size 8GiB --fill random --nbd 127.0.0.1:10810
  flashscope attach 'sim:demo?cache.kind=lru' --nbd demo.sock --store demo.data
  flashscope attach sim:demo --fuse /mnt/demo --speed 10
  flashscope attach sim:demo --ublk
  flashscope attach sim:demo --listen 127.0.0.1:7470
  flashscope attach file:scratch.img --nbd scratch.sock --record asked.parquet")]
pub struct AttachArgs {
    /// The drive: sim:PROFILE, /dev/NAME, file:PATH or null:
    #[arg(value_name = "DRIVE")]
    pub drive: String,

    /// Serve it over NBD at this address: HOST:PORT, or the path of a Unix socket [default:
    /// 127.0.0.1:10809, unless served another way]
    #[arg(long, value_name = "ADDRESS", group = "way")]
    pub nbd: Option<String>,

    /// Serve it as the file `drive` of this folder, which must be empty
    #[arg(long, value_name = "FOLDER", group = "way")]
    pub fuse: Option<PathBuf>,

    /// Serve it as a block device of the kernel, /dev/ublkbN (needs root and the module ublk_drv, Linux
    /// 6.4 or later)
    #[arg(long, group = "way")]
    pub ublk: bool,

    /// Refuse a second NBD client while one is connected
    #[arg(long, conflicts_with_all = ["fuse", "ublk"])]
    pub exclusive: bool,

    /// Make a simulated drive so large, by the number of its blocks [default: as in its profile]
    #[arg(long, value_name = "SIZE")]
    pub size: Option<Bytes>,

    /// What a simulated drive takes itself to hold at first, which reads as zeros [default: none]
    #[arg(long, value_parser = fill_parser(), value_name = "STATE")]
    pub fill: Option<Fill>,

    /// Keep the data of a simulated drive in this file, which is made where it is not there, and
    /// takes as much space as was written [default: in memory]
    #[arg(long, value_name = "FILE", conflicts_with = "fill")]
    pub store: Option<PathBuf>,

    /// Let the time of a simulated drive pass so many times as fast, or `max`: as fast as it can be
    /// worked
    /// out [default: 1]
    #[arg(long, value_name = "TIMES")]
    pub speed: Option<Speed>,

    /// Write what clients ask for to this trace, as .parquet, .csv or another format of
    /// `flashscope trace convert`
    #[arg(long, value_name = "FILE")]
    pub record: Option<String>,

    /// Show what the drive does in the browser, and to Prometheus at /metrics, at this address, with
    /// or without a port; port 0 takes a free one
    ///
    /// Whoever reaches the address sees it, without a password.
    #[arg(long, value_name = "ADDRESS", value_parser = address)]
    pub listen: Option<SocketAddr>,

    /// How much memory.
    #[command(flatten)]
    pub memory: MemoryArgs,

    /// Requests that a real drive has to work on at once
    #[arg(long, value_name = "COUNT", default_value_t = 32,
          value_parser = clap::value_parser!(u32).range(1..=1024))]
    pub queue_depth: u32,

    /// Refuse writes
    #[arg(long)]
    pub read_only: bool,

    /// The owner's consent to writing.
    #[command(flatten)]
    pub consent: ConsentArgs,

    /// Print where the drive is attached as JSON, on a line, once it is (schema:
    /// docs/schemas/attached.schema.json)
    #[arg(long)]
    pub json: bool,
}
