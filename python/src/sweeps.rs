//! Sweeps, in this process or on workers that Python manages.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::anyhow;
use arrow_array::{ArrayRef, Float64Array, RecordBatch, StringArray, UInt32Array};
use flashscope_command::sweep::{PreparedSweep, SweepArgs, SweepResult, outcome};
use flashscope_command::{Failure, usage};
use flashscope_document::sweep::Row;
use flashscope_result::sweep::{Column, columns, read_rows, read_sweep};
use flashscope_sim::budget::Budget;
use flashscope_simulate::Resources;
use flashscope_simulate::sweep::{Trial, Workers, run_trial as simulated};
use pyo3::prelude::*;

use crate::error::{failure, raised};
use crate::options::parse;
use crate::table::Table;
use crate::watched::watched;

/// Sweeps a design space, from a file or from `text`. Returns the folder of the result, and true if
/// Ctrl-C stopped it.
///
/// `workers`, if given, runs the trials. It receives the trials as JSON and the maximum number of
/// concurrent trials, and returns an iterator over lists of rows as JSON. It may return empty
/// lists, because signals are handled between two lists.
#[pyfunction]
pub(crate) fn sweep(
    py: Python<'_>,
    words: Vec<String>,
    text: Option<String>,
    workers: Option<Py<PyAny>>,
    progress: &Bound<'_, PyAny>,
    note: &Bound<'_, PyAny>,
) -> PyResult<(String, bool)> {
    let args: SweepArgs = parse("sweep", words)?;
    watched(py, progress, note, |stop, sink| {
        let sweep = PreparedSweep::new(&args, text.as_deref())?;
        let jobs = args.jobs.given();
        let resources = Resources { jobs: args.jobs.count(), memory: args.memory.budget(), stop };
        let mut remote = workers.map(|call| PythonWorkers { call, jobs, stop, failed: None });
        let workers = remote.as_mut().map(|workers| workers as &mut dyn Workers);
        let result = sweep.explore(resources, workers, sink)?;
        if let Some(failed) = remote.and_then(|workers| workers.failed) {
            return Err(failed.with_resume(&result.path));
        }
        Ok(result.path.display().to_string())
    })
}

/// Raises an exception if the sweep in a folder was interrupted or has no point that can be
/// simulated.
#[pyfunction]
pub(crate) fn sweep_outcome(folder: &str) -> PyResult<()> {
    let path = PathBuf::from(folder);
    let sweep = read_sweep(&path).map_err(usage);
    let outcome = sweep.and_then(|sweep| outcome(&SweepResult { sweep, path }));
    outcome.map_err(|failure| raised(&failure))
}

/// A failure of the workers.
struct WorkerFailure(Failure);

impl WorkerFailure {
    /// Returns the failure, with the command that resumes the sweep.
    fn with_resume(self, path: &Path) -> Failure {
        let path = path.display();
        let kept = format!(
            "finished simulations are kept; continue with `flashscope sweep --resume {path}`"
        );
        let text = format!("{}\n{kept}", self.0.message());
        match self.0 {
            Failure::Usage(_) => usage(anyhow!(text)),
            Failure::Failed(_) | Failure::Finding(_) | Failure::Interrupted(_) => {
                Failure::Failed(anyhow!(text))
            }
        }
    }
}

/// Workers that Python manages.
struct PythonWorkers<'a> {
    call: Py<PyAny>,
    /// The maximum number of concurrent trials, if limited.
    jobs: Option<usize>,
    stop: &'a AtomicBool,
    failed: Option<WorkerFailure>,
}

impl Workers for PythonWorkers<'_> {
    fn run(&mut self, trials: &[&Trial], give: &mut dyn FnMut(Row) -> bool) {
        self.failed = Python::attach(|py| {
            let ran = self.rows(py, trials, give);
            ran.err().map(|error| WorkerFailure(failure(py, &error)))
        });
    }
}

impl PythonWorkers<'_> {
    fn rows(
        &self,
        py: Python<'_>,
        trials: &[&Trial],
        give: &mut dyn FnMut(Row) -> bool,
    ) -> PyResult<()> {
        let texts: Vec<String> = trials.iter().copied().map(json).collect::<Result<_, _>>()?;
        let lists = self.call.bind(py).call1((texts, self.jobs))?;
        let mut more = true;
        for list in lists.try_iter()? {
            for row in list?.extract::<Vec<String>>()? {
                more &= give(read(&row)?);
            }
            if !more || self.stop.load(Ordering::Relaxed) {
                // The workers cancel their running trials.
                lists.call_method0("close")?;
                break;
            }
        }
        Ok(())
    }
}

fn json(value: &impl serde::Serialize) -> PyResult<String> {
    serde_json::to_string(value).map_err(|error| raised(&Failure::Failed(error.into())))
}

fn read<T: serde::de::DeserializeOwned>(text: &str) -> PyResult<T> {
    serde_json::from_str(text).map_err(|error| raised(&Failure::Failed(error.into())))
}

/// Runs a trial, given as JSON. Returns its row as JSON, and true if Ctrl-C stopped the trial,
/// which then has no row.
#[pyfunction]
pub(crate) fn run_trial(
    py: Python<'_>,
    trial: &str,
    progress: &Bound<'_, PyAny>,
    note: &Bound<'_, PyAny>,
) -> PyResult<(Option<String>, bool)> {
    let trial: Trial = read(trial)?;
    watched(py, progress, note, |stop, _| {
        Ok(simulated(&trial, &Budget::default(), stop)
            .map(|row| serde_json::to_string(&row))
            .transpose()?)
    })
}

/// Returns the rows of a sweep by point and repeat, with the columns of `points.parquet`.
#[pyfunction]
pub(crate) fn points(py: Python<'_>, folder: &str) -> PyResult<Table> {
    let read = || -> Result<Table, Failure> {
        let (sweep, rows) = read_rows(Path::new(folder)).map_err(usage)?;
        let numbers = |of: fn(&Row) -> u32| -> ArrayRef {
            Arc::new(rows.iter().map(of).collect::<UInt32Array>())
        };
        let mut all = vec![
            ("point".to_owned(), numbers(|row| row.point), false),
            ("repeat".to_owned(), numbers(|row| row.repeat), false),
        ];
        all.extend(columns(&sweep.factors, &rows).into_iter().map(|(name, column)| {
            let values: ArrayRef = match column {
                Column::Texts(texts) => Arc::new(StringArray::from(texts)),
                Column::Numbers(numbers) => Arc::new(
                    numbers.into_iter().map(Option::<&f64>::copied).collect::<Float64Array>(),
                ),
            };
            (name, values, true)
        }));
        let batch = RecordBatch::try_from_iter_with_nullable(all)?;
        Ok(Table::new(batch.schema(), vec![batch]))
    };
    py.detach(read).map_err(|failure| raised(&failure))
}
