//! What surrounds a measurement and may change its numbers: the settings of the machine and of the
//! drive's queue, the drive's own health, and what others did meanwhile.

mod health;

use flashscope_block::Bytes;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use health::{
    CriticalWarning, DATA_UNIT, Health, HealthChange, LogPage, OcpHealth, ThermalSign,
    WriteAmplification,
};

/// The settings under which a real drive was measured. What the kernel does not tell is absent.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct Environment {
    /// How the clock rate of the processors is chosen; where they differ, each way once.
    pub governors: Vec<String>,
    /// What puts processors to sleep.
    pub idle_driver: Option<String>,
    /// The deepest state of sleep that is allowed, of the first processor.
    pub deepest_idle_state: Option<String>,
    /// How long leaving that state takes, in microseconds, as the kernel reckons.
    pub deepest_idle_state_exit_us: Option<u64>,
    /// Nodes of memory (NUMA).
    pub numa_nodes: Option<u32>,
    /// The load average of the last minute, before the first run.
    #[schemars(range(min = 0.0))]
    pub load_average: Option<f64>,
    /// The drive that is measured, or that the file lies on.
    pub queue: Option<Queue>,
}

/// What the kernel does with the IOs of a drive.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct Queue {
    /// The drive, as in `/sys/block`.
    pub drive: String,
    /// The scheduler: `none`, `mq-deadline`, `kyber`, `bfq`.
    pub scheduler: Option<String>,
    /// Requests that a queue holds.
    pub requests: Option<u32>,
    /// The largest request; longer IOs are split.
    pub max_request_bytes: Option<Bytes>,
    /// What is read ahead of a file that is not read directly.
    pub read_ahead_bytes: Option<Bytes>,
    /// `write back` or `write through`.
    pub write_cache: Option<String>,
    /// 0 where requests are merged, 1 where only simply, 2 where not.
    pub no_merges: Option<u32>,
    /// The latency that the kernel throttles buffered writes by, in microseconds; 0 is off.
    pub write_throttle_us: Option<u64>,
}

/// What happened around one run.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct Conditions {
    /// The load average of the last minute, at the end of the run.
    #[schemars(range(min = 0.0))]
    pub load_average: Option<f64>,
    /// IOs of others on the drive during the pause before the run.
    pub others_ios_before: Option<u64>,
    /// IOs of others on the drive during the run, at most.
    ///
    /// The drive's own counters, without the IOs of the run. As the kernel may split those, their
    /// number is bounded by the bytes that others moved, in IOs of 4 KiB.
    pub others_ios: Option<u64>,
    /// Bytes of others on the drive during the run.
    pub others_bytes: Option<Bytes>,
    /// The share of all the processors' time during the run that others took, the host of a virtual
    /// machine among them, from 0 to 1. Absent of runs too short for the kernel's ticks.
    #[schemars(range(min = 0.0, max = 1.0))]
    pub others_processor_share: Option<f64>,
    /// The temperature of the drive before the run, in degrees Celsius.
    #[schemars(range(min = -273.15, max = 1000.0))]
    pub temperature_celsius_before: Option<f64>,
    /// The same after the run.
    #[schemars(range(min = -273.15, max = 1000.0))]
    pub temperature_celsius_after: Option<f64>,
    /// Why the run is not to be trusted without a second look; empty where nobody disturbed it.
    pub disturbed_by: Vec<Disturbance>,
    /// What disturbed the run when it was done for the first time, and was why it was done once more;
    /// that first time is not in the records.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub repeated_as_disturbed_by: Vec<Disturbance>,
}

/// What others did during a run that may have changed its numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Disturbance {
    /// IOs on the drive, more than 1 % of those of the run.
    Ios,
    /// A quarter or more of the processors' time.
    Processors,
}

impl Disturbance {
    /// What it is, for people: "others ...".
    pub fn text(self) -> &'static str {
        match self {
            Disturbance::Ios => "used the drive",
            Disturbance::Processors => "used the processors",
        }
    }
}
