//! The what-if command: yields rows as they are ready, then the document.

use std::sync::atomic::{AtomicBool, Ordering};

use flashscope_command::what_if::{RowSink, WhatIfArgs, what_if as answer};
use flashscope_command::{Progress, Step};
use flashscope_document::what_if::{WhatIf, WhatIfStatus};
use pyo3::prelude::*;

use crate::error::failure;
use crate::options::parse;
use crate::watched::watched;

/// Runs a what-if. Returns JSON that follows docs/schemas/what-if.schema.json, and true if Ctrl-C
/// stopped it. Calls `row` with the baseline and with each variant as JSON, first after its
/// prediction and again after its simulation.
#[pyfunction]
pub(crate) fn what_if(
    py: Python<'_>,
    words: Vec<String>,
    row: Option<Py<PyAny>>,
    progress: &Bound<'_, PyAny>,
    note: &Bound<'_, PyAny>,
) -> PyResult<(String, bool)> {
    let args: WhatIfArgs = parse("what-if", words)?;
    watched(py, progress, note, |stop, sink| {
        let mut rows = Rows { sink, row, stop, raised: None };
        let answered = answer(&args, stop, &mut rows)?;
        if let Some(raised) = rows.raised {
            return Err(Python::attach(|py| failure(py, &raised)));
        }
        let json = serde_json::to_string(&answered.what_if)?;
        if answered.what_if.status != WhatIfStatus::Unfinished {
            answered.outcome()?;
        }
        Ok(json)
    })
}

/// Passes rows to Python as they are ready.
struct Rows<'a> {
    sink: &'a mut dyn Progress,
    row: Option<Py<PyAny>>,
    stop: &'a AtomicBool,
    raised: Option<PyErr>,
}

impl Rows<'_> {
    fn give(&mut self, so_far: &WhatIf, nth: usize) {
        let (Some(row), None) = (&self.row, &self.raised) else { return };
        let Some(Ok(json)) = so_far.all().nth(nth).map(serde_json::to_string) else { return };
        self.raised = Python::attach(|py| row.call1(py, (json,)).err());
        // An exception in the callback stops the what-if.
        self.stop.fetch_or(self.raised.is_some(), Ordering::Relaxed);
    }
}

impl Progress for Rows<'_> {
    fn show(&mut self, step: &Step<'_>) {
        self.sink.show(step);
    }

    fn note(&mut self, text: &str) {
        self.sink.note(text);
    }
}

impl RowSink for Rows<'_> {
    fn predicted(&mut self, so_far: &WhatIf, nth: usize) {
        self.give(so_far, nth);
    }

    fn simulated(&mut self, so_far: &WhatIf, nth: usize) {
        self.give(so_far, nth);
    }
}
