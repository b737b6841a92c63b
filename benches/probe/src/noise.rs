//! A drive whose times vary, as those of a real machine do.

use flashscope_block::{Completion, Device, DeviceInfo, Io, Nanos};

/// How times vary.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Noise {
    /// The standard deviation of a response time, as a share of it.
    pub deviation: f64,
    /// The mean time between two hiccups of the host, in which it does something else; 0 for none.
    pub hiccup_every: Nanos,
    /// The longest of them; they last anything up to that.
    pub hiccup: Nanos,
}

/// A drive behind a host that adds noise.
///
/// The clock that is seen runs ahead of the drive's, or behind, by what the noise has added so far: a
/// response that took longer than the drive did makes the next request later for the host, but not
/// for the drive.
pub struct Noisy<D> {
    inner: D,
    noise: Noise,
    rng: fastrand::Rng,
    /// The time that is seen, less that of the drive.
    ahead: i64,
    next_hiccup: Nanos,
    /// What the drive was asked for, in its time and in that which is seen.
    in_flight: Vec<(Io, Io)>,
}

impl<D: Device> Noisy<D> {
    /// A drive with noise that begins at `seed`.
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

    /// The drive itself.
    pub fn inner(&self) -> &D {
        &self.inner
    }

    /// When the next hiccup is, by an exponential distribution.
    #[allow(clippy::cast_precision_loss, clippy::cast_possible_truncation, clippy::cast_sign_loss)]
    fn after(&mut self, now: Nanos) -> Nanos {
        let gap = -(1.0 - self.rng.f64()).ln() * self.noise.hiccup_every.0 as f64;
        now + Nanos(gap as u64)
    }

    fn seen(&self, inner: Nanos) -> Nanos {
        Nanos(inner.0.saturating_add_signed(self.ahead))
    }

    fn hidden(&self, seen: Nanos) -> Nanos {
        if seen == Nanos::MAX { seen } else { Nanos(seen.0.saturating_add_signed(-self.ahead)) }
    }

    /// What the noise adds to a response time: never so much less that time would go back.
    #[allow(clippy::cast_precision_loss, clippy::cast_possible_truncation)]
    fn drawn(&mut self, latency: Nanos, completed: Nanos) -> i64 {
        // The sum of twelve uniform numbers is nearly normal, with variance 1.
        let normal: f64 = (0..12).map(|_| self.rng.f64()).sum::<f64>() - 6.0;
        let factor = (normal * self.noise.deviation).max(-0.9);
        let mut added = (factor * latency.0 as f64) as i64;
        if self.seen(completed) >= self.next_hiccup {
            added += self.rng.i64(0..self.noise.hiccup.0.cast_signed());
            let now = self.seen(completed);
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
        self.seen(self.inner.now())
    }

    fn submit(&mut self, io: &Io) {
        let hidden = Io { at: self.hidden(io.at), ..*io };
        self.in_flight.push((hidden, *io));
        self.inner.submit(&hidden);
    }

    fn complete(&mut self, until: Nanos) -> Option<Completion> {
        let before = self.inner.now();
        let completion = self.inner.complete(self.hidden(until))?;
        let submitted = self.seen(completion.submitted);
        let added = self.drawn(completion.latency(), completion.completed);
        // With several in flight, what is seen must not be before what was seen last.
        let least = before.0.cast_signed() - completion.completed.0.cast_signed();
        self.ahead += added.max(least);
        let completed = self.seen(completion.completed);
        let asked = self.in_flight.iter().position(|(hidden, _)| *hidden == completion.io);
        let (_, io) = self.in_flight.swap_remove(asked.expect("answers what was asked"));
        let submitted = submitted.max(io.at).min(completed);
        Some(Completion { io, submitted, completed, ..completion })
    }
}
