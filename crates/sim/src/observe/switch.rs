use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Switches the observers of a drive on and off. While they are off, the drive works as fast as
/// one without observers. The switch may be used at any time; a change takes effect at the next
/// request or pause.
///
/// An observer that is switched on knows nothing of the time before, as if it had just been
/// attached (see [`super::Observer::resume`]). To observe a period without gaps, switch the
/// observers on early enough: before the drive receives the work that is in progress when the
/// period begins.
#[derive(Debug, Clone)]
pub struct ObserverSwitch(Arc<AtomicBool>);

impl ObserverSwitch {
    pub(crate) fn new() -> Self {
        ObserverSwitch(Arc::new(AtomicBool::new(true)))
    }

    /// Switches the observers on or off.
    pub fn set(&self, enabled: bool) {
        // The drive reads the flag between commands, on any thread. No other data depends on it,
        // and relaxed ordering suffices.
        self.0.store(enabled, Ordering::Relaxed);
    }

    /// Returns true if the observers are on, or will be from the next request or pause.
    pub(crate) fn is_enabled(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}
