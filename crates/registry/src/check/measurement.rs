use std::path::Path;

use flashscope_analysis::analyse;
use flashscope_block::Nanos;
use flashscope_document::Manifest;
use flashscope_document::facts::Facts;
use flashscope_result::ResultFolder;
use flashscope_serve::Problem;
use serde_json::Value;

use crate::{Error, limits};

/// Whether the files of activities of `runs` are such.
pub(crate) fn can_be_read(folder: &ResultFolder, runs: &[u32]) -> Result<(), Problem> {
    for run in runs {
        // Of an empty window every row is read, and none is kept.
        let read = folder.activities(*run, Nanos(0)..Nanos(0));
        read.map_err(|error| without_path(folder.path(), &error))?;
    }
    Ok(())
}

/// What is wrong with a result, without where it is checked.
pub(crate) fn without_path(folder: &Path, error: &flashscope_result::Error) -> Problem {
    let path = folder.display().to_string();
    Problem::damaged(error.to_string().replace(&path, "the result"))
}

/// The facts as they follow from the records, if those that were sent do, too.
pub(crate) fn facts(
    folder: &ResultFolder,
    manifest: Manifest,
    sent: &Facts,
) -> Result<(Manifest, Facts), Problem> {
    let found = analyse(folder, &manifest).map_err(|error| without_path(folder.path(), &error))?;
    let json = |facts: &Facts| serde_json::to_value(facts).map_err(Error::from);
    match difference(&json(sent)?, &json(&found)?, "facts") {
        None => Ok((manifest, found)),
        Some(place) => Err(Problem::damaged(format!(
            "the facts do not follow from the records: {place} differs; let `flashscope report` find \
             them anew, and submit again"
        ))),
    }
}

/// Where two values differ by more than rounding.
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
        // Sentences hold numbers, which may be rounded otherwise.
        (Value::String(_), Value::String(_))
            if SENTENCES.iter().any(|end| place.ends_with(end)) =>
        {
            None
        }
        (a, b) => (a != b).then(|| place.into()),
    }
}

/// What of the facts is a sentence with numbers in it.
const SENTENCES: [&str; 2] = [".reason", ".finding"];
