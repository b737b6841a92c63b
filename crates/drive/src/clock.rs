#[cfg(target_os = "linux")]
use std::time::Duration;

use flashscope_block::Nanos;

/// The time before a deadline at which sleeping ends and spinning begins.
///
/// Linux wakes an ordinary thread up to 50 µs late (its timer slack), and the wake-up itself takes
/// time.
#[cfg(target_os = "linux")]
const SPIN: Nanos = Nanos::micros(100);

/// The number of waits into which a response timeout is divided. The deadline is set after the
/// first wait. A clock that jumps ahead during the first wait therefore does not shorten the other
/// waits.
#[cfg(target_os = "linux")]
const TIMEOUT_STEPS: u64 = 30;

/// The machine's monotonic clock, counted from the creation of this value.
///
/// Reads the time stamp counter where it is invariant (about 9 ns a reading), and calls
/// `clock_gettime` on other machines (about 24 ns). The counter's rate is measured once for a
/// process, against `CLOCK_MONOTONIC`, to within 100 ppm. Clones share the origin, which makes
/// readings in different threads comparable.
#[derive(Debug, Clone)]
pub struct Clock {
    source: quanta::Clock,
    origin: u64,
}

/// The resolution of a clock and the cost of a reading. They show how much of a latency is due to
/// the measurement itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Calibration {
    /// The smallest difference between two readings, above 0.
    pub clock_resolution: Nanos,
    /// The duration of one reading, rounded up.
    pub clock_cost: Nanos,
}

impl Clock {
    /// Creates a clock that starts at 0. The first clock of a process takes up to 0.2 s to create,
    /// because it measures the rate of the time stamp counter.
    pub fn new() -> Clock {
        let source = quanta::Clock::new();
        let origin = source.raw();
        Clock { source, origin }
    }

    /// Returns the time since the creation of this clock.
    #[inline]
    pub fn now(&self) -> Nanos {
        Nanos(self.source.delta_as_nanos(self.origin, self.source.raw()))
    }

    /// Returns the processor time that this process has used, in all its threads.
    pub fn cpu_time() -> Nanos {
        let time = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
        let [seconds, nanos] =
            [time.tv_sec, time.tv_nsec].map(|part| u64::try_from(part).unwrap_or(0));
        Nanos(seconds * Nanos::secs(1).0 + nanos)
    }

    /// Measures resolution and cost with 16,000 readings (below 1 ms).
    ///
    /// The cost comes from the fastest of several batches, because disturbances (an interrupt,
    /// another process) only ever make a batch slower.
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

/// Methods to wait for drives.
#[cfg(target_os = "linux")]
impl Clock {
    /// Calls `poll` until it returns something or this clock reaches `until`.
    ///
    /// `poll` receives the time for which it may block. Shortly before `until`, this time becomes
    /// zero. A wake-up that is up to 100 µs late therefore does not delay the return.
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

    /// Calls `poll`, which receives the time for which it may block, until it returns something or
    /// `timeout` has passed. Reads the clock only after the first `poll` that returns nothing.
    pub(crate) fn poll_with_timeout<T>(
        &self,
        timeout: Nanos,
        mut poll: impl FnMut(Duration) -> Option<T>,
    ) -> Option<T> {
        let step = Duration::from_nanos(timeout.0 / TIMEOUT_STEPS);
        let first = poll(step);
        if first.is_some() {
            return first;
        }
        let until = self.now() + timeout;
        loop {
            let value = poll(step);
            if value.is_some() || self.now() >= until {
                return value;
            }
        }
    }

    /// Waits until this clock reaches `until`: sleeps first and spins at the end.
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

    #[test]
    fn sleeps_never_end_early() {
        let clock = Clock::new();
        for length in [Nanos(0), Nanos::micros(30), Nanos::micros(400)] {
            let until = clock.now() + length;
            clock.sleep_until(until);
            assert!(clock.now() >= until);
        }
    }

    #[test]
    fn waits_end_with_a_result_or_at_the_deadline() {
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
        assert_eq!(clock.poll_with_timeout(hour, thrice()), Some(3));
        assert_eq!(clock.poll_until(Nanos(0), |_| None::<u8>), None, "past deadline");
        assert_eq!(clock.poll_with_timeout(Nanos::micros(10), |_| None::<u8>), None);
    }

    // Time never goes back between readings of different clones.
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

    #[test]
    fn calibration_is_plausible() {
        let calibration = Clock::new().calibrate();
        for value in [calibration.clock_resolution, calibration.clock_cost] {
            assert!(value > Nanos(0) && value < Nanos::millis(10), "{calibration:?}");
        }
    }
}
