//! Calls that take long: without the GIL, with progress, and stopped by Ctrl-C.

use std::mem::take;
use std::panic::resume_unwind;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use flashscope_command::{Failure, Progress, Step, Unit};
use pyo3::exceptions::PyKeyboardInterrupt;
use pyo3::prelude::*;

use crate::error::raised;

/// How often whoever waits is shown how far it is, and heard when they want no more.
const LOOK_EVERY: Duration = Duration::from_millis(50);

/// What was said since it was looked at last.
#[derive(Default)]
struct Said {
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

/// Keeps the last step for the thread that shows it.
struct Teller<'a>(&'a Mutex<Said>);

impl Progress for Teller<'_> {
    fn show(&mut self, step: &Step<'_>) {
        let Step { phase, now, done, total, unit } = *step;
        let step = OwnedStep { phase: phase.into(), now: now.into(), done, total, unit };
        self.0.lock().unwrap_or_else(PoisonError::into_inner).step = Some(step);
    }

    fn note(&mut self, text: &str) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).notes.push(text.into());
    }
}

/// Does `work` on a thread of its own. Meanwhile `progress(phase, now, done, total, unit)` and `note(text)` are
/// called here, and signals are heard: what they raise ends the work. The answer says whether Ctrl-C did, and
/// the work still gave what it had.
///
/// # Errors
/// What went wrong with the work; what the callbacks raised.
pub fn watched<T: Send>(
    py: Python<'_>,
    progress: &Bound<'_, PyAny>,
    note: &Bound<'_, PyAny>,
    work: impl FnOnce(&AtomicBool, &mut dyn Progress) -> Result<T, Failure> + Send,
) -> PyResult<(T, bool)> {
    let (said, stop) = (Mutex::new(Said::default()), AtomicBool::new(false));
    let mut error: Option<PyErr> = None;
    let outcome = thread::scope(|scope| {
        let (done, mut is_done) = channel::<()>();
        let worker = scope.spawn(|| {
            let _done = done;
            work(&stop, &mut Teller(&said))
        });
        loop {
            let wait = &mut is_done;
            let look = py.detach(move || wait.recv_timeout(LOOK_EVERY));
            if error.is_none() {
                error = tell(&said, progress, note).and_then(|()| py.check_signals()).err();
                stop.store(error.is_some(), Ordering::Relaxed);
            }
            if look == Err(RecvTimeoutError::Disconnected) {
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

fn tell(said: &Mutex<Said>, progress: &Bound<'_, PyAny>, note: &Bound<'_, PyAny>) -> PyResult<()> {
    let Said { step, notes } = take(&mut *said.lock().unwrap_or_else(PoisonError::into_inner));
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
