//! The options of `flashscope attach`.

use std::path::PathBuf;

use flashscope_attach::Speed;
use flashscope_attach::nvme::{NamespaceOptions, Nqn};
use flashscope_block::Bytes;
use flashscope_command::options::{ConsentArgs, JsonArgs, MemoryArgs, ReadOnlyArgs, fill_parser};
use flashscope_workload::state::Fill;

use crate::listen::ListenArgs;

/// Attach a drive, so that any program can use it as a block device or over the network.
///
/// A simulated drive stores the data written to it, and completes each request at the time at which
/// the simulated hardware would. It is served over NBD (the network block protocol of Linux, QEMU
/// and others) or over NVMe/TCP. It can also be a file, which `losetup` turns into a block device,
/// or a block device of the kernel. Ctrl-C detaches it.
///
/// With --store, flushed data survives even if this process is killed. Data that was only in the
/// drive's write buffer is lost: killing the process simulates a power cut. The next attach creates
/// a new simulated drive, and first writes the contents of the store to it.
///
/// A drive with zones is served over NVMe/TCP only, as a zoned namespace.
///
/// A real drive is passed through unchanged, for example to --record all requests of a client.
#[derive(clap::Args)]
#[command(
    mut_arg("listen", |arg| arg.help(
        "Show the activity of the drive in the browser, and to Prometheus at /metrics, at this address, with or \
         without a port; port 0 chooses a free port"
    )),
    mut_arg("json", |arg| arg.help(
        "Print the address of the drive as JSON, on one line, once it is attached (schema: \
         docs/schemas/attached.schema.json)"
    ))
)]
#[command(after_help = "Examples:
  flashscope attach sim:demo
  flashscope attach sim:demo --size 8GiB --fill random --nbd 127.0.0.1:10810
  flashscope attach 'sim:demo?cache.kind=lru' --nbd demo.sock --store demo.data
  flashscope attach sim:demo --fuse /mnt/demo --speed 10
  flashscope attach sim:demo --ublk
  flashscope attach sim:demo --nvme-tcp 127.0.0.1:4420
  flashscope attach sim:demo --size 8GiB --nvme-tcp 127.0.0.1:4420 --namespace 6GiB --namespace 2GiB,lba=4096
  flashscope attach sim:demo --listen 127.0.0.1:7470
  flashscope attach sim:demo --nvme-tcp 127.0.0.1:4420 --faults stall.toml --fault-log injected.csv
  flashscope attach file:scratch.img --nbd scratch.sock --record asked.parquet")]
pub(crate) struct AttachArgs {
    /// The drive: sim:PROFILE, /dev/NAME, file:PATH or null:
    #[arg(value_name = "DRIVE")]
    pub drive: String,

    /// Serve the drive over NBD at this address: HOST:PORT, or the path of a Unix socket [default:
    /// 127.0.0.1:10809, without --fuse, --ublk and --nvme-tcp]
    #[arg(long, value_name = "ADDRESS", group = "way")]
    pub nbd: Option<String>,

    /// Serve the drive as the file `drive` in this folder, which must be empty
    #[arg(long, value_name = "FOLDER", group = "way")]
    pub fuse: Option<PathBuf>,

    /// Serve the drive as a block device of the kernel, /dev/ublkbN (needs root, the module
    /// ublk_drv and Linux 6.4 or later)
    #[arg(long, group = "way")]
    pub ublk: bool,

    /// Serve the drive as an NVMe SSD over TCP at this loopback address: HOST:PORT, such as
    /// 127.0.0.1:4420; on Linux with the module nvme_tcp, `nvme connect` attaches it as
    /// /dev/nvmeXnY
    #[arg(long, value_name = "ADDRESS", group = "way")]
    pub nvme_tcp: Option<String>,

    /// NVMe qualified name of the drive [default: derived from the drive and the address]
    #[arg(long, value_name = "NQN", requires = "nvme_tcp")]
    pub nqn: Option<Nqn>,

    /// Accept only the NVMe host with this qualified name; may be repeated [default: any host]
    #[arg(long, value_name = "NQN", requires = "nvme_tcp")]
    pub allow_host: Vec<Nqn>,

    /// Divide the drive into namespaces, each of this size, a multiple of 4 KiB. `lba` is 512 or
    /// 4096, the size of its logical blocks [default: 512, or 4096 if the drive requires it]; `pi`
    /// is 1, 2 or 3, its type of protection information. May be repeated, up to 128 times [default:
    /// one namespace]
    #[arg(long, value_name = "SIZE[,lba=BYTES][,pi=TYPE]", requires = "nvme_tcp")]
    pub namespace: Vec<NamespaceOptions>,

    /// Refuse a second NBD client while one is connected
    #[arg(long, conflicts_with_all = ["fuse", "ublk", "nvme_tcp"])]
    pub exclusive: bool,

    /// Capacity of a simulated drive, reached by changing the number of its blocks [default: as in
    /// its profile]
    #[arg(long, value_name = "SIZE")]
    pub size: Option<Bytes>,

    /// Initial fill of a simulated drive; the filled blocks read as zeros [default: none]
    #[arg(long, value_parser = fill_parser(), value_name = "STATE")]
    pub fill: Option<Fill>,

    /// Store the data of a simulated drive in this file, which is created if necessary and occupies
    /// as much space as was written [default: in memory]
    #[arg(long, value_name = "FILE", conflicts_with = "fill")]
    pub store: Option<PathBuf>,

    /// Speed of the simulated time: a factor, or `max` for as fast as possible [default: 1]
    #[arg(long, value_name = "TIMES")]
    pub speed: Option<Speed>,

    /// Inject the faults of this TOML file: delays, stalls, errors, media errors, resets, and a
    /// drive that disappears and returns (docs/faults.md)
    #[arg(long, value_name = "FILE")]
    pub faults: Option<PathBuf>,

    /// Write each injected fault to this CSV file, which must not exist yet
    #[arg(long, value_name = "FILE", requires = "faults")]
    pub fault_log: Option<PathBuf>,

    /// Record the requests of clients to this trace, as .parquet, .csv or another format of
    /// `flashscope trace convert`
    #[arg(long, value_name = "FILE")]
    pub record: Option<String>,

    /// The address of the page and the metrics.
    #[command(flatten)]
    pub listen: ListenArgs,

    /// The memory limit.
    #[command(flatten)]
    pub memory: MemoryArgs,

    /// Maximum number of requests in flight on a real drive or on `null:` [default: 32]
    #[arg(long, value_name = "COUNT", value_parser = clap::value_parser!(u32).range(1..=1024))]
    pub queue_depth: Option<u32>,

    /// The option to refuse writes.
    #[command(flatten)]
    pub read_only: ReadOnlyArgs,

    /// The owner's consent to writing.
    #[command(flatten)]
    pub consent: ConsentArgs,

    /// The form of the output.
    #[command(flatten)]
    pub json: JsonArgs,
}
