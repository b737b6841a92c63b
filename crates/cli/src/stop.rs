//! Ctrl-C: the first signal ends a command cleanly, the second signal ends it immediately if that
//! is safe.

use crate::print::notice;
use std::sync::atomic::{AtomicBool, Ordering};

static STOP: AtomicBool = AtomicBool::new(false);

/// Returns the flag that Ctrl-C or a termination signal sets. Further signals do not end the
/// process, which must first restore or save its state.
#[cfg(target_os = "linux")]
pub(crate) fn clean_end_flag() -> anyhow::Result<&'static AtomicBool> {
    ctrlc::set_handler(|| STOP.store(true, Ordering::Relaxed))?;
    Ok(&STOP)
}

/// Returns the flag that Ctrl-C or a termination signal sets. A second signal ends the process
/// immediately.
pub(crate) fn flag() -> anyhow::Result<&'static AtomicBool> {
    ctrlc::set_handler(|| {
        if STOP.swap(true, Ordering::Relaxed) {
            std::process::exit(130);
        }
        // The terminal shows `^C` on the line.
        notice!("");
        notice!("stopping: results so far are kept; Ctrl-C again ends at once");
    })?;
    Ok(&STOP)
}

/// Returns true if Ctrl-C or a termination signal has arrived.
#[cfg(feature = "serve")]
pub(crate) fn is_set() -> bool {
    STOP.load(Ordering::Relaxed)
}
