//! The documents of `flashscope watch`: its output, and the readings that it stores.

use flashscope_block::Bytes;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::environment::{Health, LatencyMonitor, WriteAmplification};
use crate::tool::Tool;

/// The version of the format of watched drives and their readings.
pub const WATCH_VERSION: u32 = 1;

/// The drives of a watch, with their last readings: the output of `flashscope watch --json`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct WatchReport {
    /// The version of the format, [`WATCH_VERSION`].
    pub schema_version: u32,
    /// The program that read the drives.
    pub tool: Tool,
    /// The time of the report, as RFC 3339 in UTC.
    pub at: String,
    /// The drives, in the order of their sources.
    pub drives: Vec<DriveWatch>,
}

/// A watched drive.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct DriveWatch {
    /// The identity of the drive.
    pub drive: WatchedDrive,
    /// The reason why the last reading failed; absent if it succeeded.
    pub error: Option<String>,
    /// The time of the last successful reading, as RFC 3339 in UTC.
    pub read_at: Option<String>,
    /// The health at that time.
    pub health: Option<Health>,
    /// The latency monitor at that time; absent if the drive has none.
    pub latency_monitor: Option<LatencyMonitor>,
    /// The bytes written to the flash, divided by the bytes that hosts wrote; absent if the drive
    /// does not count them, or if hosts wrote too little.
    pub write_amplification: Option<WatchedAmplification>,
    /// The endurance forecast.
    pub endurance: EnduranceForecast,
}

/// The write amplification of a watched drive.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct WatchedAmplification {
    /// The start of the period over which the mean is taken, as RFC 3339 in UTC: at most four weeks
    /// ago. Absent for the mean over the life of the drive.
    pub since: Option<String>,
    /// The write amplification.
    #[serde(flatten)]
    pub value: WriteAmplification,
}

/// The time until the percentage used of a drive reaches 100.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case", tag = "status")]
pub enum EnduranceForecast {
    /// The time is known to within an interval.
    Known {
        /// The forecast.
        forecast: KnownEndurance,
    },
    /// The time is not known.
    Unknown {
        /// The reason, in a sentence.
        reason: String,
    },
    /// The percentage used is 100 or more.
    Reached,
}

/// A forecast at the present load.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct KnownEndurance {
    /// The predicted number of days until the percentage used reaches 100.
    #[schemars(range(min = 0.0))]
    pub days_left: f64,
    /// The lower end of the 90 % interval.
    #[schemars(range(min = 0.0))]
    pub days_left_low: f64,
    /// The upper end of the 90 % interval.
    #[schemars(range(min = 0.0))]
    pub days_left_high: f64,
    /// The number of steps of the percentage used on which the forecast is based.
    pub steps: u32,
    /// The counter of written bytes on which the forecast is based.
    pub counter: WearCounter,
    /// The present load: bytes of that counter a day.
    #[schemars(range(min = 0.0))]
    pub bytes_per_day: f64,
    /// The bytes of that counter that use one percent of the rated life.
    #[schemars(range(min = 0.0))]
    pub bytes_per_percent: f64,
}

/// A counter of written bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum WearCounter {
    /// Bytes written to the flash (OCP, Physical Media Units Written).
    Media,
    /// Bytes written by hosts (Data Units Written).
    Host,
}

/// The identity of a watched drive.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct WatchedDrive {
    /// The path of the device or file; for an attached drive, its path or address.
    pub name: String,
    /// The kind of source.
    pub source: WatchSource,
    /// The vendor's model name, if known.
    pub model: Option<String>,
    /// The serial number, if known.
    pub serial: Option<String>,
}

impl WatchedDrive {
    /// Returns the identity that readings of the same drive share. It is the serial number, which
    /// does not depend on the name of the device, or the name if the serial number is unknown.
    pub fn id(&self) -> &str {
        self.serial.as_deref().unwrap_or(&self.name)
    }
}

/// A kind of source of health data.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum WatchSource {
    /// An NVMe drive of this machine.
    Nvme,
    /// A drive that `flashscope attach` serves.
    Attached,
    /// A file with the SMART log of nvme-cli.
    File,
}

impl WatchSource {
    /// Returns the name of the source in JSON.
    pub fn name(self) -> &'static str {
        match self {
            WatchSource::Nvme => "nvme",
            WatchSource::Attached => "attached",
            WatchSource::File => "file",
        }
    }
}

/// The header of a folder of readings: `watch.json`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct WatchHeader {
    /// The version of the format, [`WATCH_VERSION`].
    pub schema_version: u32,
    /// The program that created the folder.
    pub tool: Tool,
    /// The time of creation, as RFC 3339 in UTC.
    pub began: String,
}

/// A reading of a drive: a line of `readings.jsonl`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct WatchReading {
    /// The time, as RFC 3339 in UTC.
    pub at: String,
    /// The identity of the drive.
    pub drive: WatchedDrive,
    /// The health.
    pub health: Health,
    /// The latency monitor; absent if the drive has none.
    pub latency_monitor: Option<LatencyMonitor>,
}

impl Health {
    /// Returns the bytes written to the flash; `None` if the drive does not count them.
    pub fn media_bytes_written(&self) -> Option<Bytes> {
        self.ocp.as_ref().map(|ocp| ocp.media_bytes_written)
    }
}
