#[cfg(target_os = "linux")]
use std::time::Duration;

use flashscope_block::Nanos;

/// How long before a deadline sleeping ends and spinning begins.
///
/// Linux wakes an ordinary thread up to 50 µs late (its timer slack), and waking takes a while.
#[cfg(target_os = "linux")]
const SPIN: Nanos = Nanos::micros(100);

/// In how many steps an answer is waited for: a clock that jumps ahead ends one of them at most.
#[cfg(target_os = "linux")]
const PATIENCE_STEPS: u64 = 30;

/// The machine's monotonic clock, counted from when this clock was made.
///
/// Reads the time stamp counter where it is invariant (about 9 ns a reading), `clock_gettime`
/// elsewhere (about 24 ns). The counter's rate is measured once for a process, against
/// `CLOCK_MONOTONIC`, within 100 ppm. Clones share the origin, so that readings of different
/// threads compare.
#[derive(Debug, Clone)]
pub struct Clock {
    source: quanta::Clock,
    origin: u64,
}

/// What a clock can tell and what asking it costs, so that a reader of a result knows what part
/// of a latency is the measurement itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Calibration {
    /// The smallest step between two readings that differ.
    pub clock_resolution: Nanos,
    /// What one reading takes, rounded up.
    pub clock_cost: Nanos,
}

impl Clock {
    /// A clock that starts now. The first one of a process takes up to 0.2 s to make, in which
    /// the rate of the time stamp counter is measured.
    pub fn new() -> Clock {
        let source = quanta::Clock::new();
        let origin = source.raw();
        Clock { source, origin }
    }

    /// The time since this clock was made.
    #[inline]
    pub fn now(&self) -> Nanos {
        Nanos(self.source.delta_as_nanos(self.origin, self.source.raw()))
    }

    /// Measures resolution and cost over some ten thousand readings (below 1 ms).
    ///
    /// The cost is that of the fastest of several batches: what disturbs a batch (an interrupt,
    /// another process) only ever makes it slower.
    pub fn calibrate(&self) -> Calibration {
        const BATCHES: usize = 16;
        const READINGS: u64 = 1000;
        let mut resolution = Nanos::MAX;
        let mut fastest = Nanos::MAX;
        for _ in 0..BATCHES {
            let start = self.now();
            let mut last = start;
            for _ in 0..READINGS {
                let now = self.now();
                if now > last {
                    resolution = resolution.min(now - last);
                }
                last = now;
            }
            fastest = fastest.min(last - start);
        }
        Calibration {
            clock_resolution: resolution,
            clock_cost: Nanos(fastest.0.div_ceil(READINGS)),
        }
    }
}

/// How drives are waited for.
#[cfg(target_os = "linux")]
impl Clock {
    /// Calls `poll` until it returns something or this clock reaches `until`.
    ///
    /// `poll` may block for the time it is given. That time ends shortly before `until`; from there on
    /// `poll` is called with zero, so that the deadline is met exactly whatever the scheduler does.
    pub(crate) fn poll_until<T>(
        &self,
        until: Nanos,
        mut poll: impl FnMut(Duration) -> Option<T>,
    ) -> Option<T> {
        loop {
            let left = until.0.saturating_sub(self.now().0);
            let blocking = Duration::from_nanos(left.saturating_sub(SPIN.0));
            if let Some(value) = poll(blocking) {
                return Some(value);
            }
            if self.now() >= until {
                return None;
            }
        }
    }

    /// Calls `poll`, which may block for the time it is given, until it returns something or `patience` is
    /// at its end. The clock is not read before `poll` has come back without anything.
    pub(crate) fn poll_patiently<T>(
        &self,
        patience: Nanos,
        mut poll: impl FnMut(Duration) -> Option<T>,
    ) -> Option<T> {
        let step = Duration::from_nanos(patience.0 / PATIENCE_STEPS);
        let first = poll(step);
        if first.is_some() {
            return first;
        }
        let until = self.now() + patience;
        loop {
            let found = poll(step);
            if found.is_some() || self.now() >= until {
                return found;
            }
        }
    }

    /// Returns when this clock has reached `until`: sleeps first and spins at the end.
    pub(crate) fn sleep_until(&self, until: Nanos) {
        self.poll_until(until, |time| {
            match time {
                Duration::ZERO => std::hint::spin_loop(),
                time => std::thread::sleep(time),
            }
            None::<()>
        });
    }
}

impl Default for Clock {
    fn default() -> Self {
        Clock::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // Is a sleep never short, for one that only spins and one that sleeps first?
    #[test]
    fn sleeps_are_never_short() {
        let clock = Clock::new();
        for length in [Nanos(0), Nanos::micros(30), Nanos::micros(400)] {
            let until = clock.now() + length;
            clock.sleep_until(until);
            assert!(clock.now() >= until);
        }
    }

    // Does a poll that answers end the wait, and the deadline one that never does?
    #[test]
    fn poll_ends_with_an_answer() {
        let clock = Clock::new();
        let thrice = || {
            let mut calls = 0;
            move |_: Duration| {
                calls += 1;
                (calls == 3).then_some(calls)
            }
        };
        let hour = Nanos::secs(3600);
        assert_eq!(clock.poll_until(clock.now() + hour, thrice()), Some(3));
        assert_eq!(clock.poll_patiently(hour, thrice()), Some(3));
        assert_eq!(clock.poll_until(Nanos(0), |_| None::<u8>), None, "the deadline has passed");
        assert_eq!(clock.poll_patiently(Nanos::micros(10), |_| None::<u8>), None);
    }

    // Do clones share the origin, and does the clock not go back?
    #[test]
    fn clones_share_the_origin() {
        let clock = Clock::new();
        let clone = clock.clone();
        let mut last = Nanos(0);
        for _ in 0..1000 {
            for reading in [clock.now(), clone.now()] {
                assert!(reading >= last);
                last = reading;
            }
        }
    }

    // Is the calibration a plausible one, neither zero nor unset?
    #[test]
    fn calibration_is_plausible() {
        let calibration = Clock::new().calibrate();
        for value in [calibration.clock_resolution, calibration.clock_cost] {
            assert!(value > Nanos(0) && value < Nanos::millis(10), "{calibration:?}");
        }
    }
}
