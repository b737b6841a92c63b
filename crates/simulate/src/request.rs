use flashscope_block::Nanos;
use flashscope_measure::WarmUp;
use flashscope_sim::Drive;
use flashscope_sim::budget::Budget;
use flashscope_sim::host::Arbitration;
use flashscope_workload::state::Fill;
use serde::{Deserialize, Serialize};

use super::{Error, Tenant};

/// A request for a simulation.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SimulationRequest {
    /// The simulated drive: a profile or a TOML file, with or without `sim:`, and any fields to set
    /// after `?`.
    pub drive: String,
    /// The work to do on the drive.
    #[serde(flatten)]
    pub work: Work,
}

impl SimulationRequest {
    /// Returns the request for repeat `nth`, from 0. The seed increases by 1 per repeat, so that
    /// the same repeats of different drives share their seed (common random numbers).
    #[must_use]
    pub fn repeated(&self, nth: u32) -> SimulationRequest {
        let mut request = self.clone();
        request.work.seed = request.work.seed.wrapping_add(nth.into());
        request
    }
}

/// The work to simulate on a drive.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Work {
    /// The workload, with any fields to set after `?`; a trace is `trace:FILE`.
    pub workload: String,
    /// The contents of the drive at the start.
    pub fill: Fill,
    /// The warm-up before the measurement, serialized as text. By default it lasts until the drive
    /// is steady, and a workload that ends has no warm-up.
    #[serde(with = "text")]
    pub warm_up: Option<WarmUp>,
    /// The number of IOs to measure. Without this and [`Work::duration`], the default is a million
    /// IOs, or the whole workload if it ends.
    pub ios: Option<u64>,
    /// The simulated time to measure.
    #[serde(rename = "duration_ns")]
    pub duration: Option<Nanos>,
    /// IOs in flight at once, unless the workload sets it. The default is 1, or in an open loop as
    /// many as the drive accepts.
    pub queue_depth: Option<u32>,
    /// The seed of all random choices, unless the workload has its own.
    pub seed: u64,
    /// The names of observers that record details of the drive during the measurement.
    pub observe: Vec<String>,
    /// The tenants of the drive, which run at the same time in separate namespaces. With tenants,
    /// [`Work::workload`] is not used.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub tenants: Vec<Tenant>,
    /// The rule that chooses the tenant whose command is next.
    #[serde(skip_serializing_if = "is_default")]
    pub arbitration: Arbitration,
    /// True to run each tenant alone as well, to measure how much the other tenants slow it down.
    #[serde(skip_serializing_if = "is_true")]
    pub alone: bool,
    /// True to enable all observers and the latency heat map, which the web pages of a simulation
    /// show.
    pub pictures: bool,
}

impl Default for Work {
    fn default() -> Work {
        Work {
            workload: "uniform".into(),
            fill: Fill::Sequential,
            warm_up: None,
            ios: None,
            duration: None,
            queue_depth: None,
            seed: 1,
            tenants: Vec::new(),
            arbitration: Arbitration::default(),
            alone: true,
            observe: Vec::new(),
            pictures: false,
        }
    }
}

fn is_default(arbitration: &Arbitration) -> bool {
    *arbitration == Arbitration::default()
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde calls it")]
fn is_true(flag: &bool) -> bool {
    *flag
}

/// Returns the profile name of the simulated drive `name`, which may start with `sim:`.
///
/// # Errors
/// [`Error::NotSimulated`] for a real drive or a file.
pub fn profile_name(name: &str) -> Result<&str, Error> {
    if ["file:", "null:", "/dev/"].iter().any(|prefix| name.starts_with(prefix)) {
        return Err(Error::NotSimulated { name: name.into() });
    }
    Ok(name.strip_prefix("sim:").unwrap_or(name))
}

/// Opens the simulated drive `name`, which may start with `sim:`. The drive is empty.
///
/// # Errors
/// If `name` is not a simulated drive, its profile is invalid, or the drive cannot work or needs
/// more memory than the budget has.
pub fn drive(name: &str, memory: &Budget) -> Result<Drive, Error> {
    Ok(flashscope_sim::open_within(profile_name(name)?, memory)?)
}

/// Serializes an optional warm-up as the text that users write.
mod text {
    use serde::de::Error;
    use serde::{Deserialize, Deserializer, Serializer};

    use super::WarmUp;

    pub(super) fn serialize<S: Serializer>(
        value: &Option<WarmUp>,
        to: S,
    ) -> Result<S::Ok, S::Error> {
        match value {
            Some(warm_up) => to.collect_str(warm_up),
            None => to.serialize_none(),
        }
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(
        from: D,
    ) -> Result<Option<WarmUp>, D::Error> {
        let text = Option::<String>::deserialize(from)?;
        text.map(|text| text.parse().map_err(D::Error::custom)).transpose()
    }
}
