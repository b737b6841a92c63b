//! The twin's files: a profile for people and the simulator, and a JSON document with all details for programs.

#![cfg_attr(
    lint_writes,
    expect(
        clippy::disallowed_methods,
        reason = "a twin and its profile: nothing may have the names"
    )
)]

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use flashscope_result::write_text;
use flashscope_sim::{Profile, ProfileError, setup};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{FillFit, FitError, Range};

/// The version of the format of [`Twin`].
pub const TWIN_VERSION: u32 = 1;

/// A twin: the fitted drive, its sources and its uncertainty.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Twin {
    /// The version of the format.
    pub schema_version: u32,
    /// The version of flashscope that made the fit.
    pub flashscope: String,
    /// The seed of all random choices.
    pub seed: u64,
    /// The share of intervals that are meant to contain the true value (0 to 1).
    pub confidence: f64,
    /// The name of the measured drive.
    pub drive: String,
    /// The sources of the fit, as the user named them.
    pub sources: Vec<String>,
    /// The profile of the twin, in TOML.
    pub profile: String,
    /// The misfit: the mean over runs of their deviations in standard errors (0 is exact, 1 is chance). Absent if nothing was
    /// simulated.
    pub misfit: Option<f64>,
    /// The fitted times.
    pub times: Vec<Time>,
    /// The fitted structure, as far as alternatives were tried.
    pub choices: Vec<StructureChoice>,
    /// The measured and simulated times of each run that the twin was fitted to.
    pub runs: Vec<RunFit>,
    /// The model that was fitted to a fill sweep.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fill: Option<FillFit>,
    /// Advice on what to measure next, for the fields that the sources do not determine.
    pub measure_next: Vec<String>,
    /// Factors by which intervals are widened beyond the spread of the draws: for mean response times, then for 99th
    /// percentiles. They are the errors of the runs that the twin was fitted to.
    pub spread: [f64; 2],
    /// Alternative drives that fit the measurements as well: the fields in which each differs from the profile.
    pub draws: Vec<BTreeMap<String, String>>,
}

/// A fitted time of a twin.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Time {
    /// The dotted name of the profile field.
    pub field: String,
    /// The time, in ns.
    pub nanos: Range,
    /// True if the measurements depend on this time. If not, it keeps its value from before the fit.
    pub told: bool,
}

/// A structural choice of a twin.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct StructureChoice {
    /// The dotted name of the profile field.
    pub field: String,
    /// The chosen value.
    pub value: String,
    /// The values that fit as well; empty if the measurements determine the choice.
    pub as_well: Vec<String>,
}

/// The times of a run on the drive and on its twin.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RunFit {
    /// The name of the result that holds the run.
    pub result: String,
    /// The number of the run in that result.
    pub run: u32,
    /// The micro-benchmark, the experiment and the value of the parameter.
    pub title: String,
    /// The measured mean response time and 99th percentile, in ns.
    pub measured_ns: [f64; 2],
    /// The mean response time and 99th percentile on the twin, in ns.
    pub twin_ns: [f64; 2],
}

impl Twin {
    /// Returns the path of the JSON document that belongs to the profile at `path`.
    #[must_use]
    pub fn path_beside(path: &Path) -> PathBuf {
        path.with_extension("twin.json")
    }

    /// Reads the twin that belongs to the profile at `path`.
    ///
    /// # Errors
    /// If the document is missing, is damaged or has a later version.
    pub fn read(path: &Path) -> Result<Twin, FitError> {
        let beside = Twin::path_beside(path);
        let wrong = |message: String| FitError::Twin { path: beside.clone(), message };
        let text = std::fs::read_to_string(&beside).map_err(|error| match error.kind() {
            std::io::ErrorKind::NotFound => wrong(format!(
                "there is no such file, so {} is not a twin: `flashscope twin fit` writes both files",
                path.display()
            )),
            _ => wrong(error.to_string()),
        })?;
        let twin: Twin = serde_json::from_str(&text).map_err(|error| wrong(error.to_string()))?;
        if twin.schema_version > TWIN_VERSION {
            let version = twin.schema_version;
            let message =
                format!("it has version {version}; this flashscope reads up to {TWIN_VERSION}");
            return Err(wrong(message));
        }
        Ok(twin)
    }

    /// Writes the JSON document beside `path`, and then the profile to `path`. A profile at `path` implies a complete twin.
    ///
    /// # Errors
    /// If a file cannot be written.
    pub fn write(&self, path: &Path) -> Result<(), FitError> {
        let beside = Twin::path_beside(path);
        let wrong =
            |path: &Path, error: String| FitError::Twin { path: path.into(), message: error };
        let text = serde_json::to_string_pretty(self).map_err(|e| wrong(&beside, e.to_string()))?;
        let write = |path: &Path, text: &str| {
            write_text(path, text).map_err(|error| wrong(path, error.to_string()))
        };
        write(&beside, &(text + "\n"))?;
        write(path, &self.profile).inspect_err(|_| {
            // Neither file is of use without the other. A failed removal matters less than the error that is returned.
            let _ = std::fs::remove_file(&beside);
        })
    }

    /// Parses the profile of the twin.
    ///
    /// # Errors
    /// If the profile was edited and is no longer valid.
    pub fn drive(&self) -> Result<Profile, ProfileError> {
        setup::from_toml(&self.profile)
    }

    /// Returns the twin's drive and at most `most` of its draws.
    ///
    /// # Errors
    /// If the profile or a draw was edited and is no longer valid.
    pub fn drives(&self, most: usize) -> Result<(Profile, Vec<Profile>), ProfileError> {
        let drive = self.drive()?;
        let draw = |draw: &BTreeMap<String, String>| {
            drive.with_fields(draw.iter().map(|(name, value)| (name.as_str(), value.as_str())))
        };
        let draws = self.draws.iter().take(most).map(draw).collect::<Result<_, _>>()?;
        Ok((drive, draws))
    }
}
