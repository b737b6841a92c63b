//! Wear levelling: the policies that decide whether a block chosen by garbage collection may be
//! recycled (Agrawal et al., section 5).
//!
//! Each policy is one file and one line in the registry below.

mod migrate;
mod none;
mod rate_limit;

/// The decision about a block that garbage collection has chosen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// Recycle the block.
    Recycle,
    /// Spare the block this time and choose another.
    Spare,
    /// Collect the block, then move cold data into it so that it is rarely erased.
    Rest,
}

/// The parameters of wear levelling.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Options {
    /// Rate limiting starts when a block's remaining lifetime is less than the average by more than
    /// this share of the average.
    pub age_variance: f64,
    /// Share of the average remaining lifetime below which a block receives cold data.
    pub retirement_age: f64,
    /// Seed of the random numbers.
    pub seed: u64,
}

/// A wear-levelling policy with its state.
pub struct Wear {
    kind: Kind,
    options: Options,
    random: fastrand::Rng,
}

/// A registered policy.
#[derive(Debug, Clone, Copy)]
pub struct Kind {
    /// Name in a profile.
    pub name: &'static str,
    /// One-sentence description of its effect.
    pub summary: &'static str,
    /// Publication that describes the policy.
    pub source: &'static str,
    /// True if the policy ever returns a verdict other than [`Verdict::Recycle`].
    pub active: bool,
    /// True if the policy ever returns [`Verdict::Rest`].
    pub migrates: bool,
    /// Judges a block by the ratio of its remaining lifetime to the average, and a random number
    /// from 0 to 1.
    judge: fn(&Options, f64, f64) -> Verdict,
}

/// All policies, in display order.
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

    /// Judges a block with `remaining` erases left, where `average` is the mean over the blocks of
    /// its lane.
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

    // The probability of recycling falls from 1 at 80 % of the average remaining lifetime to 0 at
    // the end of life (section 5).
    #[test]
    fn rate_limiting_is_linear() {
        assert_eq!(verdicts(rate_limit::KIND, 0.8), [10_000, 0, 0]);
        assert_eq!(verdicts(rate_limit::KIND, 0.0), [0, 10_000, 0]);
        for ratio in [0.2, 0.4, 0.6] {
            let recycled = verdicts(rate_limit::KIND, ratio)[0];
            let expected = ratio / 0.8 * 10_000.0;
            #[allow(clippy::cast_precision_loss)] // at most 10,000
            let off = (recycled as f64 - expected).abs();
            assert!(off < 200.0, "{recycled} at {ratio}, expected {expected}");
        }
    }

    // Migration starts below 85 % of the average remaining lifetime. Without wear levelling no
    // block is spared.
    #[test]
    fn migration_comes_before_rate_limiting() {
        assert_eq!(verdicts(migrate::KIND, 0.85), [10_000, 0, 0]);
        assert_eq!(verdicts(migrate::KIND, 0.849), [0, 0, 10_000]);
        assert_eq!(verdicts(migrate::KIND, 0.1), [0, 0, 10_000]);
        assert_eq!(verdicts(none::KIND, 0.0), [10_000, 0, 0]);
    }
}
