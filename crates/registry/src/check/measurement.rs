use std::path::Path;

use flashscope_analysis::analyse;
use flashscope_block::Nanos;
use flashscope_document::Manifest;
use flashscope_document::facts::Facts;
use flashscope_result::ResultFolder;
use flashscope_serve::Problem;
use serde_json::Value;

use crate::{Error, limits};

/// Checks that the activity files of `runs` can be read.
pub(crate) fn check_activities(folder: &ResultFolder, runs: &[u32]) -> Result<(), Problem> {
    for run in runs {
        // With an empty window, the call reads every row but returns none.
        let read = folder.activities(*run, Nanos(0)..Nanos(0));
        read.map_err(|error| without_path(folder.path(), &error))?;
    }
    Ok(())
}

/// Converts an error of the result into a problem that hides the path of the temporary folder.
pub(crate) fn without_path(folder: &Path, error: &flashscope_result::Error) -> Problem {
    let path = folder.display().to_string();
    Problem::damaged(error.to_string().replace(&path, "the result"))
}

/// Recomputes the facts from the records. Returns the manifest and the recomputed facts, or fails
/// if the submitted facts differ.
pub(crate) fn recompute_facts(
    folder: &ResultFolder,
    manifest: Manifest,
    sent: &Facts,
) -> Result<(Manifest, Facts), Problem> {
    let derived =
        analyse(folder, &manifest).map_err(|error| without_path(folder.path(), &error))?;
    let json = |facts: &Facts| serde_json::to_value(facts).map_err(Error::from);
    match difference(&json(sent)?, &json(&derived)?, "facts") {
        None => Ok((manifest, derived)),
        Some(place) => Err(Problem::damaged(format!(
            "the facts do not follow from the records: {place} differs; recompute them with `flashscope \
             report`, and submit again"
        ))),
    }
}

/// Returns the path of the first place where two values differ by more than rounding.
fn difference(a: &Value, b: &Value, place: &str) -> Option<String> {
    match (a, b) {
        (Value::Object(a), Value::Object(b)) => {
            let names = a.keys().chain(b.keys().filter(|name| !a.contains_key(*name)));
            let null = Value::Null;
            let of = |map: &serde_json::Map<String, Value>, name: &String| {
                map.get(name).unwrap_or(&null).clone()
            };
            names
                .filter_map(|name| {
                    difference(&of(a, name), &of(b, name), &format!("{place}.{name}"))
                })
                .next()
        }
        (Value::Array(a), Value::Array(b)) if a.len() == b.len() => {
            let pairs = a.iter().zip(b).enumerate();
            pairs.filter_map(|(i, (a, b))| difference(a, b, &format!("{place}[{i}]"))).next()
        }
        (Value::Number(a), Value::Number(b)) => {
            let (a, b) = (a.as_f64().unwrap_or(f64::NAN), b.as_f64().unwrap_or(f64::NAN));
            let same = (a - b).abs() <= limits::ROUNDING * a.abs().max(b.abs());
            (!same).then(|| place.into())
        }
        // A sentence contains rounded numbers, and another machine may round them differently.
        (Value::String(_), Value::String(_))
            if SENTENCES.iter().any(|end| place.ends_with(end)) =>
        {
            None
        }
        (a, b) => (a != b).then(|| place.into()),
    }
}

/// The path ends of facts that are sentences with rounded numbers.
const SENTENCES: [&str; 2] = [".reason", ".finding"];
