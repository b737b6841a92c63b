use std::fmt;

use schemars::JsonSchema;
use serde::Serialize;

/// The state of a claim or an item, from best to worst.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum State {
    /// The measured result agrees with the printed one.
    Pass,
    /// The two results differ for a stated reason.
    Explained,
    /// The two results differ without a known reason.
    Fail,
}

impl fmt::Display for State {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            State::Pass => "pass",
            State::Explained => "explained",
            State::Fail => "FAIL",
        })
    }
}

/// The largest allowed difference between the measured and the printed value.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Tolerance {
    /// A share of the printed value, in either direction.
    Share(f64),
    /// An absolute difference, in either direction.
    Absolute(f64),
}

impl Tolerance {
    pub(crate) fn holds(self, published: f64, found: f64) -> bool {
        let off = (found - published).abs();
        match self {
            Tolerance::Share(share) => off <= share * published.abs(),
            Tolerance::Absolute(most) => off <= most,
        }
    }
}

/// A printed number and its measured counterpart.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Number {
    /// The name of the quantity.
    pub what: String,
    /// The unit; empty for a count or a ratio.
    pub unit: &'static str,
    /// The printed value.
    pub published: f64,
    /// The measured value.
    pub found: f64,
    /// The largest allowed difference.
    pub tolerance: Tolerance,
}

impl Number {
    /// Returns the relative difference of the measured from the printed value, or `None` if the
    /// printed value is 0.
    #[must_use]
    pub fn difference(&self) -> Option<f64> {
        (self.published != 0.0).then(|| self.found / self.published - 1.0)
    }
}

/// A printed statement in words, for example about a figure, and the measured counterpart.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Statement {
    /// The printed statement.
    pub published: String,
    /// The measured result, in words.
    pub found: String,
    /// True if the statement holds.
    pub holds: bool,
}

/// The subject of a claim.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Finding {
    /// A number.
    Number(Number),
    /// A statement.
    Statement(Statement),
}

/// A claim of a paper, compared with a measured result.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Claim {
    /// The printed and the measured result.
    pub finding: Finding,
    /// The reason for a difference, or the reason why the claim is wrong in print, if it is known.
    pub explanation: Option<String>,
    /// The state of the claim.
    pub state: State,
}

impl Claim {
    /// Creates a claim about a number.
    #[must_use]
    pub fn number(
        (what, unit): (impl Into<String>, &'static str),
        published: f64,
        found: f64,
        tolerance: Tolerance,
    ) -> Claim {
        let holds = tolerance.holds(published, found);
        let number = Number { what: what.into(), unit, published, found, tolerance };
        Claim::of(Finding::Number(number), holds)
    }

    /// Creates a claim in words.
    #[must_use]
    pub fn statement(published: impl Into<String>, found: impl Into<String>, holds: bool) -> Claim {
        let statement = Statement { published: published.into(), found: found.into(), holds };
        Claim::of(Finding::Statement(statement), holds)
    }

    /// Creates a claim that a number is as printed within a relative tolerance.
    #[must_use]
    pub(crate) fn within(
        what: (impl Into<String>, &'static str),
        published: f64,
        found: f64,
        share: f64,
    ) -> Claim {
        Claim::number(what, published, found, Tolerance::Share(share))
    }

    /// Creates a claim that a count is exactly as printed.
    #[must_use]
    pub(crate) fn exact(what: impl Into<String>, published: f64, found: f64) -> Claim {
        Claim::number((what, ""), published, found, Tolerance::Absolute(0.0))
    }

    fn of(finding: Finding, holds: bool) -> Claim {
        let state = if holds { State::Pass } else { State::Fail };
        Claim { finding, explanation: None, state }
    }

    /// Explains a claim: if it does not hold and `applies` is true, its state becomes `Explained`.
    #[must_use]
    pub(crate) fn explained_if(mut self, applies: bool, why: &str) -> Claim {
        if self.state == State::Fail && applies {
            self.state = State::Explained;
        }
        self.explanation = Some(why.into());
        self
    }

    /// Marks a claim that was checked on a substitute for what the paper used: another workload,
    /// geometry or threshold. Even if the claim holds, the test is not the paper's, and the state
    /// is `Explained`.
    #[must_use]
    pub(crate) fn on_substitute(mut self, substitute: &str) -> Claim {
        self.state = self.state.max(State::Explained);
        self.explanation = Some(substitute.into());
        self
    }

    /// Explains a number that differs from the printed one: its state becomes `Explained` if the
    /// measured value is `expected` within `tolerance`, where `expected` is derived by the
    /// explanation.
    #[must_use]
    pub(crate) fn explained_by(mut self, expected: f64, tolerance: Tolerance, why: &str) -> Claim {
        let Finding::Number(number) = &self.finding else { return self };
        if self.state == State::Fail && tolerance.holds(expected, number.found) {
            self.state = State::Explained;
        }
        self.explanation = Some(why.into());
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_claim_about_a_substitute_never_passes() {
        let claim = |holds| Claim::statement("it rises", "it rises", holds);
        let states = [true, false].map(|holds| claim(holds).on_substitute("another drive").state);
        assert_eq!(states, [State::Explained, State::Fail]);
    }

    #[test]
    fn a_number_outside_its_tolerance_passes_only_as_the_explained_value() {
        let claim = |found| Claim::number(("x", "us"), 100.0, found, Tolerance::Share(0.01));
        let explained =
            |found| claim(found).explained_by(110.0, Tolerance::Absolute(1.0), "a summary").state;
        assert_eq!(
            [claim(101.0), claim(101.1)].map(|claim| claim.state),
            [State::Pass, State::Fail]
        );
        assert_eq!(
            [99.5, 110.5, 112.0].map(explained),
            [State::Pass, State::Explained, State::Fail]
        );
    }
}
