//! The conditions of a measurement that may change its numbers: the settings of the machine and the
//! drive's queue, the drive's health, and other processes.

mod health;

use flashscope_block::Bytes;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use health::{
    CriticalWarning, DATA_UNIT, Health, HealthChange, LatencyBucket, LatencyMonitor, LogPage,
    OcpHealth, ThermalSign, WriteAmplification,
};

/// The machine settings during the measurement of a real drive. Values that the kernel does not
/// report are absent.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct Environment {
    /// The CPU frequency governors, each listed once even if several CPUs use it.
    pub governors: Vec<String>,
    /// The CPU idle driver.
    pub idle_driver: Option<String>,
    /// The deepest enabled idle state of the first CPU.
    pub deepest_idle_state: Option<String>,
    /// The exit latency of that state in microseconds, as the kernel estimates it.
    pub deepest_idle_state_exit_us: Option<u64>,
    /// The number of NUMA nodes.
    pub numa_nodes: Option<u32>,
    /// The load average of the last minute, before the first run.
    #[schemars(range(min = 0.0))]
    pub load_average: Option<f64>,
    /// The queue of the measured drive, or of the drive that contains the measured file.
    pub queue: Option<Queue>,
}

/// The kernel's settings for the IOs of a drive.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct Queue {
    /// The drive, as in `/sys/block`.
    pub drive: String,
    /// The scheduler: `none`, `mq-deadline`, `kyber`, `bfq`.
    pub scheduler: Option<String>,
    /// The number of requests that a queue holds.
    pub requests: Option<u32>,
    /// The largest request; longer IOs are split.
    pub max_request_bytes: Option<Bytes>,
    /// The read-ahead of buffered reads.
    pub read_ahead_bytes: Option<Bytes>,
    /// `write back` or `write through`.
    pub write_cache: Option<String>,
    /// Merging of requests: 0 is enabled, 1 is limited to simple merges, 2 is disabled.
    pub no_merges: Option<u32>,
    /// The target latency, in microseconds, for which the kernel throttles buffered writes; 0 is
    /// off.
    pub write_throttle_us: Option<u64>,
}

/// The conditions of one run.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct Conditions {
    /// The load average of the last minute, at the end of the run.
    #[schemars(range(min = 0.0))]
    pub load_average: Option<f64>,
    /// IOs by other processes on the drive during the pause before the run.
    pub others_ios_before: Option<u64>,
    /// An upper bound of the IOs by other processes on the drive during the run: the IOs in the
    /// drive's counters minus the IOs of the run. The kernel may split the run's IOs, which raises
    /// this difference. The bound is therefore at most `others_bytes` divided by 4 KiB.
    pub others_ios: Option<u64>,
    /// Bytes by other processes on the drive during the run.
    pub others_bytes: Option<Bytes>,
    /// The share of total CPU time during the run that other processes or the host of a virtual
    /// machine took, from 0 to 1. Absent for runs too short for the kernel's tick.
    #[schemars(range(min = 0.0, max = 1.0))]
    pub others_processor_share: Option<f64>,
    /// The temperature of the drive before the run, in degrees Celsius.
    #[schemars(range(min = -273.15, max = 1000.0))]
    pub temperature_celsius_before: Option<f64>,
    /// The temperature of the drive after the run, in degrees Celsius.
    #[schemars(range(min = -273.15, max = 1000.0))]
    pub temperature_celsius_after: Option<f64>,
    /// The disturbances that make the run doubtful; empty if there were none.
    pub disturbed_by: Vec<Disturbance>,
    /// The disturbances of the first attempt, which caused a repetition. The records contain only
    /// the repetition.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub repeated_as_disturbed_by: Vec<Disturbance>,
}

/// A disturbance by other processes that may have changed the numbers of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Disturbance {
    /// IOs by other processes on the drive, more than 1 % of the number of IOs of the run.
    Ios,
    /// CPU time of other processes, at least a quarter of the total.
    Processors,
}

impl Disturbance {
    /// Returns a description for the user, to follow "other processes".
    pub fn text(self) -> &'static str {
        match self {
            Disturbance::Ios => "used the drive",
            Disturbance::Processors => "used the processors",
        }
    }
}
