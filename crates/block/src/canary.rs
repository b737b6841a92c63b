//! Deliberate bugs, one for each fuzz target. They show that the targets find bugs; see
//! docs/trust.md.
//!
//! A switch at run time spares `make test` a second build of every crate. Builds without debug
//! assertions contain no canary.

use std::sync::atomic::{AtomicBool, Ordering};

static PLANTED: AtomicBool = AtomicBool::new(false);

/// Activates the canaries of this process. In builds without debug assertions it has no effect.
pub fn plant() {
    PLANTED.store(true, Ordering::Relaxed);
}

/// Returns true in a process that called [`plant`], in a build with debug assertions.
#[inline]
pub fn is_planted() -> bool {
    cfg!(debug_assertions) && PLANTED.load(Ordering::Relaxed)
}
