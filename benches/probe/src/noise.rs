//! A drive whose response times vary as on a real machine.

use flashscope_block::{Completion, Device, DeviceInfo, Io, Nanos};

/// The variation of response times.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Noise {
    /// The relative standard deviation of a response time.
    pub deviation: f64,
    /// The mean time between two pauses of the host for other work; 0 disables them.
    pub hiccup_every: Nanos,
    /// The maximum length of a pause; lengths are uniformly distributed from 0 on.
    pub hiccup: Nanos,
    /// The share of responses with extra time. Relative to the response time, the extra time has a
    /// Pareto distribution: it exceeds `x` in `x^-1.5` of these responses, and is at most 50.
    pub outliers: f64,
    /// The amplitude of a slow change of all response times, as a share. Its period is ten minutes.
    pub drift: f64,
}

impl Noise {
    /// No noise.
    pub const NONE: Noise = Noise {
        deviation: 0.0,
        hiccup_every: Nanos(0),
        hiccup: Nanos(0),
        outliers: 0.0,
        drift: 0.0,
    };

    /// Returns noise with a relative standard deviation of response times, and with pauses unless
    /// the deviation is 0.
    pub const fn of(deviation: f64) -> Noise {
        let hiccup_every = if deviation > 0.0 { Nanos::secs(1) } else { Nanos(0) };
        Noise { deviation, hiccup_every, hiccup: Nanos::millis(20), ..Noise::NONE }
    }
}

/// The period of drift.
const DRIFT_NANOS: f64 = 600e9;

/// A drive behind a host that adds noise.
///
/// The visible clock differs from the drive's clock by the noise added so far. After a delayed
/// completion, the next request comes later by the visible clock, but not by the drive's clock.
pub struct Noisy<D> {
    inner: D,
    noise: Noise,
    rng: fastrand::Rng,
    /// The visible time minus the drive's time, in nanoseconds.
    ahead: i64,
    next_hiccup: Nanos,
    /// Each request in flight, with its drive time and with its visible time.
    in_flight: Vec<(Io, Io)>,
}

impl<D: Device> Noisy<D> {
    /// Wraps a drive with noise from `seed`.
    pub fn new(inner: D, noise: Noise, seed: u64) -> Noisy<D> {
        let mut noisy = Noisy {
            inner,
            noise,
            rng: fastrand::Rng::with_seed(seed),
            ahead: 0,
            next_hiccup: Nanos(u64::MAX),
            in_flight: Vec::new(),
        };
        if noise.hiccup_every > Nanos(0) {
            noisy.next_hiccup = noisy.after(Nanos(0));
        }
        noisy
    }

    /// Returns the wrapped drive.
    pub fn inner(&self) -> &D {
        &self.inner
    }

    /// Returns the time of the next pause, exponentially distributed after `now`.
    #[allow(clippy::cast_precision_loss, clippy::cast_possible_truncation, clippy::cast_sign_loss)]
    fn after(&mut self, now: Nanos) -> Nanos {
        let gap = -(1.0 - self.rng.f64()).ln() * self.noise.hiccup_every.0 as f64;
        now + Nanos(gap as u64)
    }

    fn to_visible(&self, inner: Nanos) -> Nanos {
        Nanos(inner.0.saturating_add_signed(self.ahead))
    }

    fn to_drive(&self, visible: Nanos) -> Nanos {
        if visible == Nanos::MAX {
            return visible;
        }
        Nanos(visible.0.saturating_add_signed(-self.ahead))
    }

    /// Returns the noise that is added to a response time, in nanoseconds; it may be negative.
    #[allow(clippy::cast_precision_loss, clippy::cast_possible_truncation)]
    fn noise(&mut self, latency: Nanos, completed: Nanos) -> i64 {
        // The sum of twelve uniform numbers is approximately normal, with variance 1.
        let normal: f64 = (0..12).map(|_| self.rng.f64()).sum::<f64>() - 6.0;
        let mut factor = (normal * self.noise.deviation).max(-0.9);
        if self.noise.drift > 0.0 {
            let turn = self.to_visible(completed).0 as f64 / DRIFT_NANOS;
            factor += self.noise.drift * (std::f64::consts::TAU * turn).sin();
        }
        if self.noise.outliers > 0.0 && self.rng.f64() < self.noise.outliers {
            factor += (1.0 - self.rng.f64()).powf(-1.0 / 1.5).min(50.0);
        }
        let mut added = (factor * latency.0 as f64) as i64;
        if self.to_visible(completed) >= self.next_hiccup {
            added += self.rng.i64(0..self.noise.hiccup.0.cast_signed());
            let now = self.to_visible(completed);
            self.next_hiccup = self.after(now);
        }
        added
    }
}

impl<D: Device> Device for Noisy<D> {
    fn info(&self) -> &DeviceInfo {
        self.inner.info()
    }

    fn now(&self) -> Nanos {
        self.to_visible(self.inner.now())
    }

    fn submit(&mut self, io: &Io) {
        let inner = Io { at: self.to_drive(io.at), ..*io };
        self.in_flight.push((inner, *io));
        self.inner.submit(&inner);
    }

    fn complete(&mut self, until: Nanos) -> Option<Completion> {
        let before = self.inner.now();
        let completion = self.inner.complete(self.to_drive(until))?;
        let submitted = self.to_visible(completion.submitted);
        let added = self.noise(completion.latency(), completion.completed);
        // Visible time must not go backwards, even with several requests in flight.
        let least = before.0.cast_signed() - completion.completed.0.cast_signed();
        self.ahead += added.max(least);
        let completed = self.to_visible(completion.completed);
        let place = self.in_flight.iter().position(|(inner, _)| *inner == completion.io);
        let (_, io) = self.in_flight.swap_remove(place.expect("the drive answers its requests"));
        let submitted = submitted.max(io.at).min(completed);
        Some(Completion { io, submitted, completed, ..completion })
    }
}
