//! Traces: their requests as a table, and their statistics.

use anyhow::anyhow;
use flashscope_block::Bytes;
use flashscope_command::trace::{each_batch, failure};
use flashscope_command::{Failure, usage};
use flashscope_trace::statistics::Characteristics;
use flashscope_trace::{FieldError, Reader, Spec, Trace};
use pyo3::prelude::*;

use crate::columns::{Growing, Requests};
use crate::table::Table;
use crate::watched::watched;

/// The phase in progress reports.
const READING: &str = "reading the trace";

/// Opens the trace in some files, with the fields of its format.
fn opened(files: &[String], fields: &[(String, String)]) -> Result<Trace, Failure> {
    let mut spec = Spec::default();
    let set = |(name, value): &(String, String)| spec.set(name, value);
    fields.iter().try_for_each(set).map_err(|error: FieldError| usage(error))?;
    spec.open(files).map_err(failure)
}

/// Returns the requests of a trace, and true if Ctrl-C stopped reading.
#[pyfunction]
pub(crate) fn requests(
    py: Python<'_>,
    files: Vec<String>,
    fields: Vec<(String, String)>,
    progress: &Bound<'_, PyAny>,
    note: &Bound<'_, PyAny>,
) -> PyResult<(Table, bool)> {
    watched(py, progress, note, |stop, sink| {
        let mut trace = opened(&files, &fields)?;
        let mut table = Growing::<Requests>::new();
        each_batch(&mut trace, READING, (stop, sink), |batch| {
            batch.iter().for_each(|request| table.push(request));
        })?;
        trace.notes().iter().for_each(|text| sink.note(text));
        Ok(table.finish(|columns| columns.volumes(trace.volumes()))?)
    })
}

/// Returns the statistics of a trace, as the `facts` of docs/schemas/trace.schema.json, and true if
/// Ctrl-C stopped reading.
#[pyfunction]
pub(crate) fn trace_facts(
    py: Python<'_>,
    files: Vec<String>,
    fields: Vec<(String, String)>,
    erase_block: &str,
    progress: &Bound<'_, PyAny>,
    note: &Bound<'_, PyAny>,
) -> PyResult<(String, bool)> {
    watched(py, progress, note, |stop, sink| {
        let block: Bytes = erase_block.parse().map_err(usage)?;
        let mut found = Characteristics::with_block(block)
            .map_err(|rule| usage(anyhow!("erase_block: {rule}")))?;
        let mut trace = opened(&files, &fields)?;
        each_batch(&mut trace, READING, (stop, sink), |batch| found.push(batch))?;
        trace.notes().iter().for_each(|text| sink.note(text));
        Ok(serde_json::to_string(&found.finish(trace.volumes()))?)
    })
}
