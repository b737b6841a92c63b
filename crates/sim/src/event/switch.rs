use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use flashscope_block::Nanos;

/// Switches the observers of a drive on and off. While they are off, the drive works as fast as
/// one without observers. The switch may be used at any time; a change takes effect at the next
/// request or pause.
///
/// An observer that is switched on has no events of the time before, as if it had just been
/// attached (see [`super::Observer::resume`]). To observe a period without gaps, switch the
/// observers on early enough: before the drive receives the work that is in progress when the
/// period begins.
#[derive(Debug, Clone)]
pub struct ObserverSwitch(Arc<Positions>);

/// The value of [`Positions::restart`] if no restart is requested.
const NONE: u64 = u64::MAX;

#[derive(Debug)]
struct Positions {
    enabled: AtomicBool,
    /// The time of a requested restart, or [`NONE`].
    restart: AtomicU64,
}

impl ObserverSwitch {
    pub(crate) fn new() -> Self {
        let positions = Positions { enabled: AtomicBool::new(true), restart: AtomicU64::new(NONE) };
        ObserverSwitch(Arc::new(positions))
    }

    /// Switches the observers on or off.
    pub fn set(&self, enabled: bool) {
        // The drive reads the flag between commands, on any thread. No other data depends on it,
        // and relaxed ordering suffices.
        self.0.enabled.store(enabled, Ordering::Relaxed);
    }

    /// Restarts all observers of the drive at its next request or pause: their later reports cover
    /// the time from `now`. See [`super::Observer::restart`].
    pub fn restart(&self, now: Nanos) {
        self.0.restart.store(now.0.min(NONE - 1), Ordering::Relaxed);
    }

    /// Returns true if a restart is requested.
    #[inline]
    pub(crate) fn wants_restart(&self) -> bool {
        self.0.restart.load(Ordering::Relaxed) != NONE
    }

    /// Returns the time of a requested restart, and clears the request.
    pub(crate) fn take_restart(&self) -> Option<Nanos> {
        let now = self.0.restart.swap(NONE, Ordering::Relaxed);
        (now != NONE).then_some(Nanos(now))
    }

    /// Returns true if the observers are on, or will be from the next request or pause.
    pub(crate) fn is_enabled(&self) -> bool {
        self.0.enabled.load(Ordering::Relaxed)
    }
}
