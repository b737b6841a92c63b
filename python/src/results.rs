//! Compares results, finds their IOs, and imports measurements of other tools.

use std::path::PathBuf;

use flashscope_command::compare::{CompareArgs, ComparisonInput, compare_inputs};
use flashscope_command::import::{ImportArgs, import};
use flashscope_command::query::{QueryArgs, query as find};
use pyo3::prelude::*;

use crate::columns::matched;
use crate::options::parse;
use crate::table::Table;
use crate::watched::watched;

/// Compares results with the first. The results in `words` are paths, or names of the results whose
/// JSON is at their position in `documents`. Returns JSON that follows
/// docs/schemas/comparison.schema.json, and true if Ctrl-C stopped it.
#[pyfunction]
pub(crate) fn compare(
    py: Python<'_>,
    words: Vec<String>,
    documents: Vec<Option<String>>,
    progress: &Bound<'_, PyAny>,
    note: &Bound<'_, PyAny>,
) -> PyResult<(String, bool)> {
    let args: CompareArgs = parse("compare", words)?;
    watched(py, progress, note, |stop, sink| {
        let inputs: Vec<_> = args.results.iter().zip(&documents).map(input).collect();
        let comparison = compare_inputs(&inputs, args.fail_on_regression, (stop, sink))?;
        Ok(serde_json::to_string(&comparison)?)
    })
}

fn input<'a>((path, document): (&'a PathBuf, &'a Option<String>)) -> ComparisonInput<'a> {
    match document {
        Some(json) => ComparisonInput::Document { name: path.to_str().unwrap_or_default(), json },
        None => ComparisonInput::Path(path),
    }
}

/// Finds the IOs of a result that match an expression. Returns JSON that follows
/// docs/schemas/matches.schema.json, the slowest IOs as a table, and true if Ctrl-C stopped it.
#[pyfunction]
pub(crate) fn query(
    py: Python<'_>,
    words: Vec<String>,
    progress: &Bound<'_, PyAny>,
    note: &Bound<'_, PyAny>,
) -> PyResult<((String, Table), bool)> {
    let args: QueryArgs = parse("query", words)?;
    watched(py, progress, note, |stop, sink| {
        let matches = find(&args, stop, sink)?;
        Ok((serde_json::to_string(&matches)?, matched(&matches.slowest)?))
    })
}

/// Imports a measurement of another tool. Returns the folder of the result, and true if Ctrl-C
/// stopped it.
#[pyfunction]
pub(crate) fn import_(
    py: Python<'_>,
    words: Vec<String>,
    progress: &Bound<'_, PyAny>,
    note: &Bound<'_, PyAny>,
) -> PyResult<(String, bool)> {
    let args: ImportArgs = parse("import", words)?;
    watched(py, progress, note, |stop, sink| {
        Ok(import(&args, stop, sink)?.path.display().to_string())
    })
}
