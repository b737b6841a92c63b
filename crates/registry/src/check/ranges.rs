//! Checks every number and text of a submission against the limits in its schema.

use flashscope_document::ranges::schema_of_written;
use jsonschema::error::ValidationErrorKind as Kind;
use jsonschema::{ValidationError, Validator};
use schemars::JsonSchema;
use serde_json::Value;

use super::CheckResult;

/// A validator for one kind of submission.
pub(crate) struct Ranges(Validator);

impl Ranges {
    /// Builds the validator from the schema of `T`.
    pub(crate) fn of<T: JsonSchema>() -> Ranges {
        let schema = schema_of_written::<T>();
        let validator = jsonschema::draft202012::new(schema.as_value());
        Ranges(validator.expect("the schema generator returns a valid schema"))
    }

    /// Fails at the first field outside its limits, and names its path, its value and the limit.
    pub(crate) fn check(&self, submission: &Value) -> CheckResult {
        self.0.validate(submission).map_err(|error| message(&error))
    }
}

fn message(error: &ValidationError<'_>) -> String {
    let error = innermost(error).unwrap_or(error);
    let (place, value) = (path(&error.instance_path().to_string()), error.instance());
    match error.kind() {
        Kind::Minimum { limit } => beyond(&place, value, "at least", limit),
        Kind::Maximum { limit } => beyond(&place, value, "at most", limit),
        Kind::MaxLength { limit } => format!("`{place}` may have at most {limit} characters"),
        _ => format!("`{place}`: {error}"),
    }
}

fn beyond(place: &str, value: &Value, least_or_most: &str, limit: &Value) -> String {
    format!("`{place}` is {value}; it must be {least_or_most} {limit}")
}

/// Returns the error about a violated limit. It may be nested in an error that states only that no
/// alternative of a choice matches.
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

/// Converts a JSON pointer such as `/manifest/runs/4/value` into `manifest.runs[4].value`.
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
