use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Whether the observers of a drive look: as long as they look away, the drive works as one without
/// observers, and as fast. A handle, which may be used at any time; what it says holds from the next
/// request or pause on.
///
/// An observer that looks again knows nothing of the time between: it is as one that is put on the
/// drive then (see [`super::Observer::look_again`]). So who wants to know of a stretch of time what
/// is known of it with eyes that were open all the time, lets them look again a while before it: as
/// long as the drive works on what it was given, at least.
#[derive(Debug, Clone)]
pub struct Attention(Arc<AtomicBool>);

impl Attention {
    pub(crate) fn new() -> Self {
        Attention(Arc::new(AtomicBool::new(true)))
    }

    /// Looks, or looks away.
    pub fn set(&self, looks: bool) {
        // The drive reads it between its commands, on whichever thread: nothing else hangs on it.
        self.0.store(looks, Ordering::Relaxed);
    }

    /// Whether they look, or will from the next request or pause on.
    pub fn looks(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}
