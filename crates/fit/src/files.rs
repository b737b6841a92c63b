//! The files of a twin: a profile for people and the simulator, and a JSON document with all
//! details for programs.

#![cfg_attr(
    lint_writes,
    expect(
        clippy::disallowed_methods,
        reason = "a twin and its profile: the command refuses names that exist"
    )
)]

use std::collections::BTreeMap;
use std::path::Path;

use flashscope_document::twin::Twin;
use flashscope_result::twin::{self, twin_path};
use flashscope_result::write_text;
use flashscope_sim::{Profile, ProfileError, setup};

use super::FitError;

/// Reads the twin that belongs to the profile at `path`.
///
/// # Errors
/// If the document is missing, is damaged or has a later version.
pub fn read_twin(path: &Path) -> Result<Twin, FitError> {
    Ok(twin::read_twin(path)?)
}

/// Writes the JSON document beside `path`, and then the profile to `path`. The profile comes last:
/// if it exists, the twin is complete.
///
/// # Errors
/// If a file cannot be written.
pub fn write_twin(twin: &Twin, path: &Path) -> Result<(), FitError> {
    let beside = twin_path(path);
    let wrong = |path: &Path, error: String| FitError::Twin { path: path.into(), message: error };
    let text = serde_json::to_string_pretty(twin).map_err(|e| wrong(&beside, e.to_string()))?;
    let write = |path: &Path, text: &str| {
        write_text(path, text).map_err(|error| wrong(path, error.to_string()))
    };
    write(&beside, &(text + "\n"))?;
    write(path, &twin.profile).inspect_err(|_| {
        // Each file is useless without the other file. A failed removal matters less than the
        // returned error.
        let _ = std::fs::remove_file(&beside);
    })
}

/// Parses the profile of the twin.
///
/// # Errors
/// If the profile was edited and is no longer valid.
pub fn drive_of(twin: &Twin) -> Result<Profile, ProfileError> {
    setup::from_toml(&twin.profile)
}

/// Returns the twin's drive and at most `most` of its draws, which are drives that fit the
/// measurements as well.
///
/// # Errors
/// If the profile or a draw was edited and is no longer valid.
pub fn drives_of(twin: &Twin, most: usize) -> Result<(Profile, Vec<Profile>), ProfileError> {
    let drive = drive_of(twin)?;
    let draw = |draw: &BTreeMap<String, String>| {
        drive.with_fields(draw.iter().map(|(name, value)| (name.as_str(), value.as_str())))
    };
    let draws = twin.draws.iter().take(most).map(draw).collect::<Result<_, _>>()?;
    Ok((drive, draws))
}
