//! Is every number and text of a submission within the limits that its schema states?

use flashscope_document::ranges::schema_of_written;
use jsonschema::error::ValidationErrorKind as Kind;
use jsonschema::{ValidationError, Validator};
use schemars::JsonSchema;
use serde_json::Value;

use super::Checked;

/// The limits of a kind of submission.
pub(crate) struct Ranges(Validator);

impl Ranges {
    /// Those that the schema of `T` states.
    pub fn of<T: JsonSchema>() -> Ranges {
        let schema = schema_of_written::<T>();
        let validator = jsonschema::draft202012::new(schema.as_value());
        Ranges(validator.expect("the schema of a type is a schema"))
    }

    /// Fails at the first field that is beyond them, with its path, its value and what it may be.
    pub fn check(&self, submission: &Value) -> Checked {
        self.0.validate(submission).map_err(|error| words(&error))
    }
}

fn words(error: &ValidationError<'_>) -> String {
    let error = innermost(error).unwrap_or(error);
    let (place, value) = (path(&error.instance_path().to_string()), error.instance());
    match error.kind() {
        Kind::Minimum { limit } => beyond(&place, value, "at least", limit),
        Kind::Maximum { limit } => beyond(&place, value, "at most", limit),
        Kind::MaxLength { limit } => format!("`{place}` has at most {limit} characters"),
        _ => format!("`{place}`: {error}"),
    }
}

fn beyond(place: &str, value: &Value, least_or_most: &str, limit: &Value) -> String {
    format!("`{place}` is {value}, and may be {least_or_most} {limit}")
}

/// The error about a limit behind one that says no more than that none of several forms fits.
fn innermost<'a, 'e>(error: &'e ValidationError<'a>) -> Option<&'e ValidationError<'a>>
where
    'a: 'e,
{
    match error.kind() {
        Kind::Minimum { .. } | Kind::Maximum { .. } | Kind::MaxLength { .. } => Some(error),
        Kind::OneOfNotValid { context } | Kind::AnyOf { context } => {
            context.iter().flatten().find_map(innermost)
        }
        _ => None,
    }
}

/// A path as in messages: `manifest.runs[4].value` of `/manifest/runs/4/value`.
fn path(pointer: &str) -> String {
    let mut path = String::new();
    for part in pointer.split('/').skip(1) {
        match part.bytes().all(|byte| byte.is_ascii_digit()) {
            true => path += &format!("[{part}]"),
            false if path.is_empty() => path += part,
            false => path += &format!(".{part}"),
        }
    }
    path
}
