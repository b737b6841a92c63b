use flashscope_block::Nanos;
use flashscope_measure::WarmUp;
use flashscope_result::SimulationFill;
use flashscope_sim::Drive;
use serde::{Deserialize, Serialize};

use super::Error;

/// What is simulated.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Asked {
    /// The simulated drive: a profile or a TOML file, with or without `sim:`, and any field of it
    /// after `?`.
    pub drive: String,
    /// What is done on it.
    #[serde(flatten)]
    pub work: Work,
}

impl Asked {
    /// The same for its repeat `nth`, from 0: seeds follow each other, so that the same repeats of different
    /// drives have the same (common random numbers).
    #[must_use]
    pub fn repeated(&self, nth: u32) -> Asked {
        let mut asked = self.clone();
        asked.work.seed = asked.work.seed.wrapping_add(nth.into());
        asked
    }
}

/// What is done on a simulated drive.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Work {
    /// The workload, with any of its fields after `?`; a trace is `trace:FILE`.
    pub workload: String,
    /// What the drive holds at first.
    pub fill: SimulationFill,
    /// What runs before it is measured, as a text; without, until it is steady, or nothing for a
    /// workload that ends.
    #[serde(with = "text")]
    pub warm_up: Option<WarmUp>,
    /// Measure so many IOs; without this and [`Work::duration`], a million, or all of a workload
    /// that ends.
    pub ios: Option<u64>,
    /// Measure for so long on the clock of the drive.
    #[serde(rename = "duration_ns")]
    pub duration: Option<Nanos>,
    /// IOs in flight at once, unless the workload says; without, 1, or in an open loop all that the
    /// drive takes.
    pub queue_depth: Option<u32>,
    /// Seed of everything random, unless the workload has its own.
    pub seed: u64,
    /// Names of observers that look into the drive while it is measured.
    pub observe: Vec<String>,
    /// Whether all of them look that can, and latencies are counted over time: what the screens of a
    /// simulation show.
    pub pictures: bool,
}

impl Default for Work {
    fn default() -> Work {
        Work {
            workload: "uniform".into(),
            fill: SimulationFill::Sequential,
            warm_up: None,
            ios: None,
            duration: None,
            queue_depth: None,
            seed: 1,
            observe: Vec::new(),
            pictures: false,
        }
    }
}

/// The name of the profile of the simulated drive `name`, with or without `sim:`.
///
/// # Errors
/// [`Error::NotSimulated`].
pub fn profile_name(name: &str) -> Result<&str, Error> {
    if ["file:", "null:", "/dev/"].iter().any(|prefix| name.starts_with(prefix)) {
        return Err(Error::NotSimulated { name: name.into() });
    }
    Ok(name.strip_prefix("sim:").unwrap_or(name))
}

/// The simulated drive `name`, with or without `sim:`, empty.
///
/// # Errors
/// That it is none, what is wrong with its profile, or why it cannot work.
pub fn drive(name: &str) -> Result<Drive, Error> {
    Ok(flashscope_sim::open(profile_name(name)?)?)
}

/// An optional warm-up as the text that people write.
mod text {
    use serde::de::Error;
    use serde::{Deserialize, Deserializer, Serializer};

    use super::WarmUp;

    pub fn serialize<S: Serializer>(value: &Option<WarmUp>, to: S) -> Result<S::Ok, S::Error> {
        match value {
            Some(warm_up) => to.collect_str(warm_up),
            None => to.serialize_none(),
        }
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Option<WarmUp>, D::Error> {
        let text = Option::<String>::deserialize(from)?;
        text.map(|text| text.parse().map_err(D::Error::custom)).transpose()
    }
}
