//! Options of the command line, parsed from words.

use clap::{Args, Command, FromArgMatches};
use pyo3::PyResult;

use crate::error::UsageError;

/// Parses the options of the command `name`, as typed in a terminal.
///
/// # Errors
/// `UsageError`, with the message of the command line.
pub(crate) fn parse<T: Args + FromArgMatches>(
    name: &'static str,
    words: Vec<String>,
) -> PyResult<T> {
    let command = Command::new(name).no_binary_name(true).disable_help_flag(true);
    let matches = T::augment_args(command).try_get_matches_from(words);
    matches.and_then(|matches| T::from_arg_matches(&matches)).map_err(|error| {
        let text = error.to_string();
        // Drop the usage line, which describes the command in a terminal.
        let reason = text.split("\n\nUsage:").next().unwrap_or(&text);
        let reason = reason.split("\n\nFor more information").next().unwrap_or(reason);
        UsageError::new_err(reason.trim_start_matches("error: ").trim_end().to_string())
    })
}
