//! The arrival times of an open loop, which are independent of completions.

use flashscope_block::Nanos;
use rand::{Rng, RngExt};

use super::WorkloadError;
use super::values::Values;

/// The distribution of interarrival times around their mean.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Gaps {
    /// All gaps are equal to the mean.
    Constant,
    /// Exponential: a Poisson process.
    Poisson,
    /// Uniform, from zero to twice the mean.
    Uniform,
}

/// The times at which IOs arrive.
#[derive(Debug, Clone)]
pub(super) struct Arrivals {
    gaps: Gaps,
    mean_ns: f64,
    start: Option<Nanos>,
    /// The time since the start, with fractions of a nanosecond, which keeps the rate exact.
    next_ns: f64,
}

impl Arrivals {
    /// Parses the fields `rate` and `arrivals`; `None` for a closed loop.
    pub(super) fn read(values: &Values) -> Result<Option<Arrivals>, WorkloadError> {
        let rule = "it must be a number of IOs a second, from 0.001 to 1e9";
        let rate = values.number("rate", rule, |rate: &f64| (1e-3..=1e9).contains(rate))?;
        let gaps = match values.text("arrivals") {
            Some("poisson") => Gaps::Poisson,
            Some("uniform") => Gaps::Uniform,
            Some("constant") | None => Gaps::Constant,
            Some(_) => {
                let rule = "it must be one of: constant, poisson, uniform";
                return Err(values.invalid("arrivals", rule));
            }
        };
        if rate.is_none() && values.given("arrivals").is_some() {
            return Err(values.invalid("arrivals", "it needs a `rate`, in IOs a second"));
        }
        let arrivals = |rate| Arrivals { gaps, mean_ns: 1e9 / rate, start: None, next_ns: 0.0 };
        Ok(rate.map(arrivals))
    }

    /// Returns the time of the next IO. The first arrival is at `start`.
    #[inline]
    pub(super) fn next(&mut self, start: Nanos, rng: &mut impl Rng) -> Nanos {
        let start = *self.start.get_or_insert(start);
        #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // not negative
        let due = Nanos(start.0.saturating_add(self.next_ns as u64));
        self.next_ns += self.mean_ns
            * match self.gaps {
                Gaps::Constant => 1.0,
                Gaps::Poisson => -(1.0 - rng.random::<f64>()).ln(),
                Gaps::Uniform => 2.0 * rng.random::<f64>(),
            };
        due
    }
}
