//! Long calls: they run without the GIL, report progress, and stop on Ctrl-C.

use std::mem::take;
use std::panic::resume_unwind;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use flashscope_command::{Failure, Progress, Step, Unit};
use pyo3::exceptions::PyKeyboardInterrupt;
use pyo3::prelude::*;

use crate::error::raised;

/// The interval at which progress is delivered and signals are handled.
const INTERVAL: Duration = Duration::from_millis(50);

/// Progress and notes since the last delivery.
#[derive(Default)]
struct Messages {
    step: Option<OwnedStep>,
    notes: Vec<String>,
}

struct OwnedStep {
    phase: String,
    now: String,
    done: u64,
    total: Option<u64>,
    unit: Unit,
}

/// A progress sink that keeps the last step for the thread of Python.
struct Mailbox<'a>(&'a Mutex<Messages>);

impl Progress for Mailbox<'_> {
    fn show(&mut self, step: &Step<'_>) {
        let Step { phase, now, done, total, unit } = *step;
        let step = OwnedStep { phase: phase.into(), now: now.into(), done, total, unit };
        self.0.lock().unwrap_or_else(PoisonError::into_inner).step = Some(step);
    }

    fn note(&mut self, text: &str) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).notes.push(text.into());
    }
}

/// Runs `work` on its own thread. This thread calls `progress(phase, now, done, total, unit)` and
/// `note(text)` and handles signals; an exception from any of them stops the work. Returns the
/// value, and true if Ctrl-C stopped the work and the value is partial.
///
/// # Errors
/// The failure of the work, or the exception of a callback.
pub(crate) fn watched<T: Send>(
    py: Python<'_>,
    progress: &Bound<'_, PyAny>,
    note: &Bound<'_, PyAny>,
    work: impl FnOnce(&Arc<AtomicBool>, &mut dyn Progress) -> Result<T, Failure> + Send,
) -> PyResult<(T, bool)> {
    let (messages, stop) = (Mutex::new(Messages::default()), Arc::<AtomicBool>::default());
    let mut error: Option<PyErr> = None;
    let outcome = thread::scope(|scope| {
        let (done, mut is_done) = channel::<()>();
        let worker = scope.spawn(|| {
            let _done = done;
            work(&stop, &mut Mailbox(&messages))
        });
        loop {
            let wait = &mut is_done;
            let waited = py.detach(move || wait.recv_timeout(INTERVAL));
            if error.is_none() {
                error = deliver(&messages, progress, note).and_then(|()| py.check_signals()).err();
                stop.store(error.is_some(), Ordering::Relaxed);
            }
            if waited == Err(RecvTimeoutError::Disconnected) {
                break py.detach(|| worker.join()).unwrap_or_else(|panic| resume_unwind(panic));
            }
        }
    });
    match (outcome, error) {
        (Ok(value), None) => Ok((value, false)),
        (Ok(value), Some(error)) if error.is_instance_of::<PyKeyboardInterrupt>(py) => {
            Ok((value, true))
        }
        (_, Some(error)) => Err(error),
        (Err(failure), None) => Err(raised(&failure)),
    }
}

/// Calls `note` and `progress` with the messages since the last delivery.
fn deliver(
    messages: &Mutex<Messages>,
    progress: &Bound<'_, PyAny>,
    note: &Bound<'_, PyAny>,
) -> PyResult<()> {
    let Messages { step, notes } =
        take(&mut *messages.lock().unwrap_or_else(PoisonError::into_inner));
    for text in notes {
        note.call1((text,))?;
    }
    if let Some(OwnedStep { phase, now, done, total, unit }) = step {
        let unit = match unit {
            Unit::Bytes => "bytes",
            Unit::Count => "count",
            Unit::Share => "share",
        };
        progress.call1((phase, now, done, total, unit))?;
    }
    Ok(())
}
