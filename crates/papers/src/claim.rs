use std::fmt;

use schemars::JsonSchema;
use serde::Serialize;

/// The verdict on a claim or an item, from best to worst.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum State {
    /// The measured result agrees with the printed result.
    AsPrinted,
    /// The measured result differs from the printed result. A derivation predicts the measured
    /// result, and shows that the print is wrong.
    PrintWrong,
    /// flashscope does not reproduce the claim: the results differ, or a substitute replaces
    /// something that the paper used. The explanation names the missing condition, if it is known.
    NotReproduced,
}

impl fmt::Display for State {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            State::AsPrinted => "as printed",
            State::PrintWrong => "print is wrong",
            State::NotReproduced => "not reproduced",
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
    /// The reason for the verdict. If the print is wrong, this is the derivation. If the claim is
    /// not reproduced, it is the missing condition, or null if that is unknown. If the claim is as
    /// printed, it is a note or null.
    pub explanation: Option<String>,
    /// The verdict.
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
        let state = if holds { State::AsPrinted } else { State::NotReproduced };
        Claim { finding, explanation: None, state }
    }

    /// Returns true if the claim is not reproduced for an unknown reason.
    #[must_use]
    pub fn is_unexplained(&self) -> bool {
        self.state == State::NotReproduced && self.explanation.is_none()
    }

    /// Gives an unexplained claim this verdict for this reason, if `applies` is true.
    fn settle(mut self, applies: bool, state: State, why: &str) -> Claim {
        if self.is_unexplained() && applies {
            self.state = state;
            self.explanation = Some(why.into());
        }
        self
    }

    /// Returns true if the measured number is `expected` within `tolerance`.
    fn is_near(&self, expected: f64, tolerance: Tolerance) -> bool {
        matches!(&self.finding, Finding::Number(number) if tolerance.holds(expected, number.found))
    }

    /// Marks the print of a claim that does not hold as wrong, if `applies` is true. `derivation`
    /// shows the error.
    #[must_use]
    pub(crate) fn print_wrong_if(self, applies: bool, derivation: &str) -> Claim {
        self.settle(applies, State::PrintWrong, derivation)
    }

    /// Marks the print of a number as wrong, if the measured value is `expected` within
    /// `tolerance`. `derivation` leads to the expected value.
    #[must_use]
    pub(crate) fn print_wrong_by(
        self,
        expected: f64,
        tolerance: Tolerance,
        derivation: &str,
    ) -> Claim {
        let near = self.is_near(expected, tolerance);
        self.print_wrong_if(near, derivation)
    }

    /// Adds the reason why a claim that does not hold is not reproduced, if `applies` is true.
    #[must_use]
    pub(crate) fn not_reproduced_if(self, applies: bool, missing: &str) -> Claim {
        self.settle(applies, State::NotReproduced, missing)
    }

    /// Adds the reason why a number is not reproduced, if the reason predicts the measured value:
    /// `expected` within `tolerance`.
    #[must_use]
    pub(crate) fn not_reproduced_by(
        self,
        expected: f64,
        tolerance: Tolerance,
        missing: &str,
    ) -> Claim {
        let near = self.is_near(expected, tolerance);
        self.not_reproduced_if(near, missing)
    }

    /// Accepts a number whose measured value rounds to the printed value.
    ///
    /// The two differ by at most `half`: half a unit of the last printed digit.
    #[must_use]
    pub(crate) fn rounded(self, half: f64, rounding: &str) -> Claim {
        let Finding::Number(number) = &self.finding else { return self };
        let near = self.is_near(number.published, Tolerance::Absolute(half));
        self.settle(near, State::AsPrinted, rounding)
    }

    /// Adds a note to a claim that holds.
    #[must_use]
    pub(crate) fn with_note(mut self, note: &str) -> Claim {
        if self.state == State::AsPrinted {
            self.explanation = Some(note.into());
        }
        self
    }

    /// Marks a claim that was checked on a substitute for what the paper used: another workload,
    /// geometry or threshold. Even if the claim holds, the test is not the paper's, and the paper's
    /// result is not reproduced.
    #[must_use]
    pub(crate) fn on_substitute(mut self, substitute: &str) -> Claim {
        if self.state == State::AsPrinted {
            self.state = State::NotReproduced;
            self.explanation = Some(substitute.into());
        }
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_claim_about_a_substitute_is_never_as_printed() {
        let claim = |holds| Claim::statement("it rises", "it rises", holds);
        let found = [true, false].map(|holds| claim(holds).on_substitute("another drive"));
        assert!(found.iter().all(|claim| claim.state == State::NotReproduced));
        assert_eq!(found.map(|claim| claim.is_unexplained()), [false, true]);
    }

    #[test]
    fn a_number_outside_its_tolerance_is_explained_only_by_the_expected_value() {
        let claim = |found| Claim::number(("x", "us"), 100.0, found, Tolerance::Share(0.01));
        let wrong = |found| claim(found).print_wrong_by(110.0, Tolerance::Absolute(1.0), "summary");
        assert_eq!(
            [99.5, 110.5, 112.0].map(|found| wrong(found).state),
            [State::AsPrinted, State::PrintWrong, State::NotReproduced]
        );
        assert!(wrong(112.0).is_unexplained());
        let missing = claim(110.5).not_reproduced_by(110.0, Tolerance::Absolute(1.0), "merges");
        assert_eq!((missing.state, missing.is_unexplained()), (State::NotReproduced, false));
    }

    #[test]
    fn a_number_that_rounds_to_the_printed_one_is_as_printed() {
        let claim = |found| Claim::number(("x", ""), 2.0, found, Tolerance::Share(0.01));
        let states = [2.4, 1.6, 2.6].map(|found| claim(found).rounded(0.5, "whole numbers").state);
        assert_eq!(states, [State::AsPrinted, State::AsPrinted, State::NotReproduced]);
    }
}
