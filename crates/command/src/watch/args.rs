//! The options of `flashscope watch`.

use std::net::{IpAddr, SocketAddr};

use anyhow::anyhow;
use clap::ValueEnum;
use flashscope_block::Nanos;

use crate::names;
use crate::options::{JsonArgs, OutputFolderArgs, json_schema};

/// The default port of the metrics.
pub const PORT: u16 = 9470;

/// Watch the health and the wear of drives.
///
/// Reads the health of NVMe drives at intervals and publishes it: as metrics for Prometheus, as
/// readings in a folder, or once as a table. The readings in the folder give the days until each
/// drive reaches its rated wear at the present load, with a 90 % interval. See docs/watch.md.
///
/// The only command sent to a drive is Get Log Page, which needs root. Drives that
/// `flashscope attach` serves for the same user are watched like real drives. SATA and SCSI drives
/// are not supported.
#[derive(clap::Args)]
#[command(
    mut_arg("output", |arg| arg.help(
        "Add readings to this folder, which is created if it does not exist: one per hour and at each change of wear \
         or errors; with --once, every reading"
    )),
    mut_arg("json", json_schema("watch")),
    mut_arg("json", |arg| arg.requires("once"))
)]
#[command(after_help = "Examples:
  flashscope watch --once
  flashscope watch --once --json
  flashscope watch --listen 127.0.0.1:9470 --output fleet.flashscope
  flashscope watch /dev/nvme0n1 /dev/nvme1n1 --listen 0.0.0.0:9470 --interval 5m
  flashscope watch smart.json --once
  flashscope watch --print alerts")]
pub struct WatchArgs {
    /// The drives: /dev/NAME for an NVMe drive, `attached` for all drives that `flashscope attach`
    /// serves, or a file with the output of `nvme smart-log --output-format=json` [default: all
    /// NVMe drives, and all attached drives]
    #[arg(value_name = "DEVICE")]
    pub devices: Vec<String>,

    /// Read once, print a table and end
    #[arg(long, conflicts_with = "listen")]
    pub once: bool,

    /// Time between two readings, at least 1s
    #[arg(long, value_name = "TIME", default_value = "60s", value_parser = interval, conflicts_with = "once")]
    pub interval: Nanos,

    /// Serve metrics for Prometheus at /metrics at this address, with or without a port, such as
    /// 127.0.0.1:9470; port 0 chooses a free port
    ///
    /// Everyone who can reach the address sees the metrics, without a password.
    #[arg(long, value_name = "ADDRESS", value_parser = address)]
    pub listen: Option<SocketAddr>,

    /// Print a configuration file for monitoring, and read no drive
    #[arg(long, value_name = "FILE", conflicts_with_all = ["devices", "once", "interval", "listen", "output"])]
    pub print: Option<PrintedFile>,

    /// The folder of the readings.
    #[command(flatten)]
    pub output: OutputFolderArgs,

    /// The form of the output.
    #[command(flatten)]
    pub json: JsonArgs,
}

/// A file that `--print` prints.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum PrintedFile {
    /// Alert rules of Prometheus, as YAML
    Alerts,
    /// A dashboard of Grafana, as JSON
    Dashboard,
    /// A service of systemd that watches all drives
    Systemd,
}

/// Parses the time between two readings.
fn interval(text: &str) -> anyhow::Result<Nanos> {
    let interval = names::duration(text)?;
    if interval < Nanos::secs(1) {
        return Err(anyhow!("the shortest interval is `1s`"));
    }
    Ok(interval)
}

/// Parses an address with or without a port.
fn address(text: &str) -> anyhow::Result<SocketAddr> {
    let whole = text.parse::<SocketAddr>().ok();
    let bare = || Some(SocketAddr::new(text.parse::<IpAddr>().ok()?, PORT));
    whole
        .or_else(bare)
        .ok_or_else(|| anyhow!("write it like 127.0.0.1:{PORT}, [::1]:{PORT} or 0.0.0.0"))
}
