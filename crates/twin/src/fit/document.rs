//! A twin as it is kept: the profile for people and the simulator, and all about it for programs.

#![cfg_attr(
    lint_writes,
    expect(
        clippy::disallowed_methods,
        reason = "a twin and what belongs to it: nothing may have the names"
    )
)]

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use flashscope_result::write_text;
use flashscope_sim::{Profile, ProfileError, profile};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{FillFit, FitError, Range};

/// The version of the format of [`Twin`].
pub const TWIN_VERSION: u32 = 1;

/// A twin: what was fitted to what, and how far it can be trusted.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Twin {
    /// Version of the format.
    pub schema_version: u32,
    /// The version of flashscope that fitted.
    pub flashscope: String,
    /// Seed of everything random.
    pub seed: u64,
    /// How often intervals are to hold the truth (0 to 1).
    pub confidence: f64,
    /// The drive that was measured.
    pub drive: String,
    /// What it was fitted to.
    pub sources: Vec<String>,
    /// The twin, as a profile in TOML.
    pub profile: String,
    /// How far what it shows is from what was measured: the mean over runs of what their deviations in standard
    /// errors come to (0 is exact, 1 is chance); absent where nothing was simulated.
    pub misfit: Option<f64>,
    /// Its times.
    pub times: Vec<Time>,
    /// Its structure, as far as alternatives were tried.
    pub choices: Vec<Told>,
    /// What each run to which it was fitted comes to on it.
    pub runs: Vec<RunFit>,
    /// What was fitted to a fill sweep.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fill: Option<FillFit>,
    /// What to measure next, for what could not be told.
    pub measure_next: Vec<String>,
    /// By which factor means of response times may be off beside what the draws say, and then 99th percentiles: the
    /// errors of the runs to which it was fitted.
    pub spread: [f64; 2],
    /// Drives that may as well have been measured: the fields in which each differs from the profile.
    pub draws: Vec<BTreeMap<String, String>>,
}

/// A time of a twin.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Time {
    /// The dotted name of the field.
    pub field: String,
    /// Its value, ns.
    pub nanos: Range,
    /// Whether what was measured depends on it; otherwise it is as it was before the fit.
    pub told: bool,
}

/// A choice of the structure of a twin.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Told {
    /// The dotted name of the field.
    pub field: String,
    /// What was chosen.
    pub value: String,
    /// What fits as well; empty where the choice could be told.
    pub as_well: Vec<String>,
}

/// A run on a drive and on its twin.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RunFit {
    /// Its result.
    pub result: String,
    /// Its number there.
    pub run: u32,
    /// What it was.
    pub title: String,
    /// The mean response time, and the 99th percentile, ns.
    pub measured_ns: [f64; 2],
    /// The same of the twin.
    pub twin_ns: [f64; 2],
}

impl Twin {
    /// Where it is kept beside the profile at `path`.
    #[must_use]
    pub fn path_beside(path: &Path) -> PathBuf {
        path.with_extension("twin.json")
    }

    /// The twin beside the profile at `path`.
    ///
    /// # Errors
    /// It is not there, or damaged, or of a later version.
    pub fn read(path: &Path) -> Result<Twin, FitError> {
        let beside = Twin::path_beside(path);
        let wrong = |message: String| FitError::Twin { path: beside.clone(), message };
        let text = std::fs::read_to_string(&beside).map_err(|error| match error.kind() {
            std::io::ErrorKind::NotFound => wrong(format!(
                "there is no such file, so {} is no twin: `flashscope twin fit` writes both",
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

    /// Writes all of it beside `path`, and then the profile to `path`: where that is, the twin can be asked.
    ///
    /// # Errors
    /// They cannot be written.
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
            // Neither is a twin without the other. The error says more than one about the removal.
            let _ = std::fs::remove_file(&beside);
        })
    }

    /// The drive.
    ///
    /// # Errors
    /// The profile was tampered with.
    pub fn drive(&self) -> Result<Profile, ProfileError> {
        profile::from_toml(&self.profile)
    }

    /// The drive, and at most so many that may as well have been measured.
    ///
    /// # Errors
    /// The profile or a draw was tampered with.
    pub fn drives(&self, most: usize) -> Result<(Profile, Vec<Profile>), ProfileError> {
        let drive = self.drive()?;
        let draw = |draw: &BTreeMap<String, String>| {
            drive.with_fields(draw.iter().map(|(name, value)| (name.as_str(), value.as_str())))
        };
        let draws = self.draws.iter().take(most).map(draw).collect::<Result<_, _>>()?;
        Ok((drive, draws))
    }
}
