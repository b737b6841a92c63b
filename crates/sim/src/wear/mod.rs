//! Wear levelling: whether a block that cleaning has chosen may be recycled (Agrawal et al.,
//! section 5).
//!
//! A policy is one file and its line in the registry below.

mod migrate;
mod none;
mod rate_limit;

/// What becomes of a block that was chosen for cleaning.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// It is recycled.
    Recycle,
    /// It is spared this time; another is chosen.
    Spare,
    /// It is cleaned, and cold data is moved into it, where it rests.
    Rest,
}

/// The parameters of wear levelling.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Options {
    /// How far the remaining lifetime of a block may fall below the average, as a share of it,
    /// before the block is rate-limited.
    pub age_variance: f64,
    /// The share of the average remaining lifetime below which a block gets cold data.
    pub retirement_age: f64,
    /// Where the random numbers begin.
    pub seed: u64,
}

/// A policy of wear levelling.
pub struct Wear {
    kind: Kind,
    options: Options,
    random: fastrand::Rng,
}

/// A registered policy.
#[derive(Debug, Clone, Copy)]
pub struct Kind {
    /// Its name in a profile.
    pub name: &'static str,
    /// What it does, in a sentence.
    pub summary: &'static str,
    /// Where it is described.
    pub source: &'static str,
    /// Whether it ever says anything but [`Verdict::Recycle`].
    pub active: bool,
    /// Whether it ever says [`Verdict::Rest`].
    pub migrates: bool,
    /// Judges a block by its remaining lifetime over the average one, and a random number from 0
    /// to 1.
    judge: fn(&Options, f64, f64) -> Verdict,
}

/// Every policy, in the order in which they are shown.
pub const KINDS: &[Kind] = &[none::KIND, rate_limit::KIND, migrate::KIND];

impl Wear {
    pub(crate) fn new(kind: Kind, options: Options) -> Self {
        Wear { kind, options, random: fastrand::Rng::with_seed(options.seed) }
    }

    pub(crate) fn is_active(&self) -> bool {
        self.kind.active
    }

    pub(crate) fn migrates(&self) -> bool {
        self.kind.migrates
    }

    /// Judges a block that has `remaining` erases left where blocks have `average` in the mean.
    pub(crate) fn judge(&mut self, remaining: f64, average: f64) -> Verdict {
        let ratio = if average > 0.0 { remaining / average } else { 1.0 };
        (self.kind.judge)(&self.options, ratio, self.random.f64())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const OPTIONS: Options = Options { age_variance: 0.2, retirement_age: 0.85, seed: 1 };

    fn verdicts(kind: Kind, ratio: f64) -> [usize; 3] {
        let mut wear = Wear::new(kind, OPTIONS);
        let mut counts = [0; 3];
        for _ in 0..10_000 {
            match wear.judge(ratio * 60.0, 60.0) {
                Verdict::Recycle => counts[0] += 1,
                Verdict::Spare => counts[1] += 1,
                Verdict::Rest => counts[2] += 1,
            }
        }
        counts
    }

    // Does rate limiting recycle a block with a probability that falls linearly from 1 at 80 % of
    // the average remaining lifetime to 0 at none, as section 5 has it?
    #[test]
    fn rate_limiting_is_linear() {
        assert_eq!(verdicts(rate_limit::KIND, 0.8), [10_000, 0, 0]);
        assert_eq!(verdicts(rate_limit::KIND, 0.0), [0, 10_000, 0]);
        for ratio in [0.2, 0.4, 0.6] {
            let recycled = verdicts(rate_limit::KIND, ratio)[0];
            let expected = ratio / 0.8 * 10_000.0;
            #[allow(clippy::cast_precision_loss)] // small
            let off = (recycled as f64 - expected).abs();
            assert!(off < 200.0, "{recycled} at {ratio}, expected {expected}");
        }
    }

    // Does migration set in below 85 %, before rate limiting, and at no block above; and does the
    // greedy drive spare no block?
    #[test]
    fn migration_comes_before_rate_limiting() {
        assert_eq!(verdicts(migrate::KIND, 0.85), [10_000, 0, 0]);
        assert_eq!(verdicts(migrate::KIND, 0.849), [0, 0, 10_000]);
        assert_eq!(verdicts(migrate::KIND, 0.1), [0, 0, 10_000]);
        assert_eq!(verdicts(none::KIND, 0.0), [10_000, 0, 0]);
    }
}
