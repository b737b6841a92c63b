//! Ctrl-C: the first ends cleanly, the second at once.

use std::sync::atomic::{AtomicBool, Ordering};

static STOP: AtomicBool = AtomicBool::new(false);

/// The flag that an interruption (or a request to terminate) sets.
pub fn flag() -> anyhow::Result<&'static AtomicBool> {
    ctrlc::set_handler(|| {
        if STOP.swap(true, Ordering::Relaxed) {
            std::process::exit(1);
        }
        eprintln!("\nstopping: what was done is kept; once more ends at once");
    })?;
    Ok(&STOP)
}
