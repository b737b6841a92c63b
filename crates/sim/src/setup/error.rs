use std::path::PathBuf;

use flashscope_block::did_you_mean;

use crate::budget::Refusal;

/// The reason why the text after `sim:` does not describe a drive.
#[derive(Debug, thiserror::Error)]
pub enum ProfileError {
    /// No registered profile has this name, and it does not look like a file.
    #[error(
        "no simulated drive is called `{name}`{}; choose one of: {}; or name a file, such as `my.toml`",
        did_you_mean(*nearest), valid.join(", ")
    )]
    UnknownProfile {
        /// The requested name.
        name: String,
        /// The most similar valid name.
        nearest: Option<&'static str>,
        /// Every valid name.
        valid: Vec<&'static str>,
    },
    /// No field of a profile has this name.
    #[error("a profile has no field `{name}`{}", nearest_or_all(nearest, valid))]
    UnknownField {
        /// The requested field, as a dotted name.
        name: String,
        /// The most similar valid name.
        nearest: Option<String>,
        /// Every valid name.
        valid: Vec<String>,
    },
    /// A part of an override after `?` is not of the form `field=value`.
    #[error("`{0}` after `?` is not of the form `field=value`; join several by `&`")]
    Override(String),
    /// The file cannot be read.
    #[error("cannot read the profile {}: {source}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// The cause.
        source: std::io::Error,
    },
    /// The file is not a profile, and its name does not end in `.toml`.
    #[error(
        "`{path}` is not a profile (a TOML file with a name such as `my.toml`); to use a trace, type --trace {path}"
    )]
    NotAProfile {
        /// The path.
        path: String,
    },
    /// The text is not TOML, or a value is not of the type of its field.
    #[error("profile {origin}: {}", message.trim_end())]
    Invalid {
        /// The file, or the override.
        origin: String,
        /// The error and its line.
        message: String,
    },
    /// The drive needs more memory than the memory budget allows.
    #[error("`{name}` {refusal}")]
    Memory {
        /// The drive, as it is named on the command line.
        name: String,
        /// The required memory, and the remedy.
        refusal: Refusal,
    },
    /// A drive with this value cannot work.
    #[error("profile field `{field}` is {value}: {rule}")]
    Rule {
        /// The field, as a dotted name.
        field: &'static str,
        /// Its value.
        value: String,
        /// The rule for the value.
        rule: String,
    },
}

/// Suggests the nearest field. Lists all fields only if none is near, because there are many.
fn nearest_or_all(nearest: &Option<String>, valid: &[String]) -> String {
    match nearest {
        Some(_) => did_you_mean(nearest.as_ref()),
        None => format!("; choose one of: {}", valid.join(", ")),
    }
}
