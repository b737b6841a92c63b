//! Generated series of response times with known properties, for the tests of this crate.

use rand::distr::{Distribution, Open01};
use rand::rand_core::SeedableRng;
use rand_xoshiro::Xoshiro256PlusPlus;

/// The response time of a fast IO in microseconds, from the paper's example (section 4.2).
pub(crate) const FAST: f64 = 400.0;

/// The response time of a slow IO in microseconds, from the paper's example (section 4.2).
pub(crate) const SLOW: f64 = 27_000.0;

/// The distribution of response times in the running phase.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Kind {
    /// Constant, with a jitter of 1 %.
    Plain,
    /// Independent noise of 30 %.
    Noise,
    /// Independent and Pareto-distributed with exponent 2.5, which has a finite variance but no
    /// third moment.
    HeavyTails,
    /// Three in ten IOs are slow, at random.
    Bimodal,
    /// Noise of 30 % with a correlation of 0.9 from one IO to the next.
    Dependent,
    /// Response times rise by 30 % every 10,000 IOs.
    Drift,
    /// Response times reach four times the initial value after 10,000 IOs.
    SteepDrift,
    /// Every n-th IO is slow.
    Spikes(usize),
    /// Half a period at twice the fast response time, then half a period at the fast response time.
    Square(usize),
    /// A sine wave of 40 % with this period, under noise of 40 %.
    Wave(usize),
}

/// The kinds without a period.
pub(crate) const APERIODIC: [Kind; 7] = [
    Kind::Plain,
    Kind::Noise,
    Kind::HeavyTails,
    Kind::Bimodal,
    Kind::Dependent,
    Kind::Drift,
    Kind::SteepDrift,
];

/// A generator of a series of one kind.
pub(crate) struct Script {
    pub kind: Kind,
    rng: Xoshiro256PlusPlus,
    state: f64,
    offset: usize,
    next: usize,
}

impl Script {
    /// Creates a series that begins at a random point of its period.
    pub(crate) fn new(kind: Kind, seed: u64) -> Script {
        let mut script = Script::aligned(kind, seed);
        let period = kind.period().unwrap_or(1);
        let place = script.uniform();
        script.offset = (0..period).filter(|&i| (i as f64) < place * period as f64).count();
        script
    }

    /// Creates a series that begins with a full period. The first IO is slow if the kind has slow
    /// IOs.
    pub(crate) fn aligned(kind: Kind, seed: u64) -> Script {
        let rng = Xoshiro256PlusPlus::seed_from_u64(seed);
        let mut script = Script { kind, rng, state: 0.0, offset: 0, next: 0 };
        script.state = script.normal();
        script
    }

    /// Returns a uniform random number between 0 and 1.
    pub(crate) fn uniform(&mut self) -> f64 {
        Open01.sample(&mut self.rng)
    }

    fn normal(&mut self) -> f64 {
        let (radius, angle) = (self.uniform(), self.uniform());
        (-2.0 * radius.ln()).sqrt() * (std::f64::consts::TAU * angle).cos()
    }

    /// Returns log-normal noise with mean 1.
    pub(crate) fn noise(&mut self, sigma: f64) -> f64 {
        (sigma * self.normal() - sigma * sigma / 2.0).exp()
    }

    /// Returns the next value.
    pub(crate) fn value(&mut self) -> f64 {
        let expected = self.kind.expected(self.next + self.offset);
        let first = self.next == 0;
        self.next += 1;
        match self.kind {
            Kind::Plain => expected * self.noise(0.01),
            Kind::Noise => expected * self.noise(0.3),
            Kind::HeavyTails => expected * 0.6 * self.uniform().powf(-0.4),
            Kind::Bimodal => {
                let is_slow = self.uniform() < 0.3 || first;
                (if is_slow { SLOW } else { FAST }) * self.noise(0.1)
            }
            Kind::Dependent => {
                self.state = 0.9 * self.state + (1.0_f64 - 0.81).sqrt() * self.normal();
                expected * (0.3 * self.state - 0.045).exp()
            }
            Kind::Wave(_) => expected * self.noise(0.4),
            Kind::Drift | Kind::SteepDrift | Kind::Spikes(_) | Kind::Square(_) => {
                expected * self.noise(0.1)
            }
        }
    }

    /// Returns the next `count` values.
    pub(crate) fn take(&mut self, count: usize) -> Vec<f64> {
        (0..count).map(|_| self.value()).collect()
    }

    /// Returns the expected mean of `count` values after the first `skip`.
    pub(crate) fn mean(&self, skip: usize, count: usize) -> f64 {
        let sum: f64 = (skip..skip + count).map(|i| self.kind.expected(i + self.offset)).sum();
        sum / count as f64
    }
}

impl Kind {
    /// Returns the period of the series, if it has one.
    pub(crate) fn period(self) -> Option<usize> {
        match self {
            Kind::Spikes(period) | Kind::Square(period) | Kind::Wave(period) => Some(period),
            _ => None,
        }
    }

    /// Returns the expected value of the `i`-th IO.
    fn expected(self, i: usize) -> f64 {
        match self {
            Kind::Plain | Kind::Noise | Kind::HeavyTails | Kind::Dependent => FAST,
            Kind::Bimodal => 0.3 * SLOW + 0.7 * FAST,
            Kind::Drift => FAST * (1.0 + 0.3 * i as f64 / 10_000.0),
            Kind::SteepDrift => FAST * (1.0 + 3.0 * i as f64 / 10_000.0),
            Kind::Spikes(period) if i.is_multiple_of(period) => SLOW,
            Kind::Spikes(_) => FAST,
            Kind::Square(period) if i % period < period / 2 => 2.0 * FAST,
            Kind::Square(_) => FAST,
            Kind::Wave(period) => {
                let turn = (i % period) as f64 / period as f64;
                FAST * (1.0 + 0.4 * (std::f64::consts::TAU * turn).sin())
            }
        }
    }
}

/// Generates a start-up phase of `startup` IOs at a third of the fast response time, followed by
/// the kind's own series. The start-up phase has noise of 30 % for noisy kinds, else 10 %.
pub(crate) fn with_startup(kind: Kind, startup: usize, count: usize, seed: u64) -> Vec<f64> {
    let mut script = Script::aligned(kind, seed);
    let sigma =
        if matches!(kind, Kind::Noise | Kind::Dependent | Kind::Wave(_)) { 0.3 } else { 0.1 };
    let mut values: Vec<f64> = (0..startup).map(|_| FAST / 3.0 * script.noise(sigma)).collect();
    values.extend(script.take(count - startup));
    values
}
