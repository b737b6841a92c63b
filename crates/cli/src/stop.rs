//! Ctrl-C: the first ends cleanly, the second at once, where that does no harm.

use crate::print::notice;
use std::sync::atomic::{AtomicBool, Ordering};

static STOP: AtomicBool = AtomicBool::new(false);

/// The flag that an interruption (or a request to terminate) sets, for what leaves something of the
/// system changed unless it ends cleanly: more interruptions do not end it at once.
#[cfg(target_os = "linux")]
pub fn patient_flag() -> anyhow::Result<&'static AtomicBool> {
    ctrlc::set_handler(|| STOP.store(true, Ordering::Relaxed))?;
    Ok(&STOP)
}

/// The flag that an interruption (or a request to terminate) sets.
pub fn flag() -> anyhow::Result<&'static AtomicBool> {
    ctrlc::set_handler(|| {
        if STOP.swap(true, Ordering::Relaxed) {
            std::process::exit(130);
        }
        // The terminal shows `^C` on the line.
        notice!("");
        notice!("stopping: what was done is kept; once more ends at once");
    })?;
    Ok(&STOP)
}
