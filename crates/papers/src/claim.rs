use std::fmt;

use schemars::JsonSchema;
use serde::Serialize;

/// How a claim, or an item, stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum State {
    /// What is found is what is printed.
    Pass,
    /// It is not, for a reason that is given.
    Explained,
    /// It is not.
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

/// How far what is found may be from what is printed.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Tolerance {
    /// By this share of what is printed, either way.
    Share(f64),
    /// By so much, either way.
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

/// A number that is printed, and ours.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Number {
    /// What it is.
    pub what: String,
    /// Its unit; empty for a count or a ratio.
    pub unit: &'static str,
    /// What is printed.
    pub published: f64,
    /// What is found.
    pub found: f64,
    /// How far these may be apart.
    pub tolerance: Tolerance,
}

impl Number {
    /// What is found less what is printed, as a share of that; none where that is 0.
    #[must_use]
    pub fn difference(&self) -> Option<f64> {
        (self.published != 0.0).then(|| self.found / self.published - 1.0)
    }
}

/// Something that is said in words, of a figure for instance, and what was found.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Statement {
    /// What is said.
    pub published: String,
    /// What is found.
    pub found: String,
    /// Whether that is so.
    pub holds: bool,
}

/// What a claim is of.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Finding {
    /// A number.
    Number(Number),
    /// A statement.
    Statement(Statement),
}

/// Something that a paper says, and what is found.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Claim {
    /// Both.
    pub finding: Finding,
    /// Why they differ, or the claim is wrong in print, where that is known.
    pub explanation: Option<String>,
    /// How it stands.
    pub state: State,
}

impl Claim {
    /// Of a number.
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

    /// Of a statement.
    #[must_use]
    pub fn statement(published: impl Into<String>, found: impl Into<String>, holds: bool) -> Claim {
        let statement = Statement { published: published.into(), found: found.into(), holds };
        Claim::of(Finding::Statement(statement), holds)
    }

    /// That a number is as printed within a share.
    #[must_use]
    pub(crate) fn close(
        what: (impl Into<String>, &'static str),
        published: f64,
        found: f64,
        share: f64,
    ) -> Claim {
        Claim::number(what, published, found, Tolerance::Share(share))
    }

    /// That a count is as printed.
    #[must_use]
    pub(crate) fn same(what: impl Into<String>, published: f64, found: f64) -> Claim {
        Claim::number((what, ""), published, found, Tolerance::Absolute(0.0))
    }

    fn of(finding: Finding, holds: bool) -> Claim {
        let state = if holds { State::Pass } else { State::Fail };
        Claim { finding, explanation: None, state }
    }

    /// What stands in the way of a statement, where it does not hold: it counts as explained if `so` is what is found.
    #[must_use]
    pub fn since(mut self, so: bool, why: &str) -> Claim {
        if self.state == State::Fail && so {
            self.state = State::Explained;
        }
        self.explanation = Some(why.into());
        self
    }

    /// Why what is printed is not what is found, where it is not; `expected` is what must be found then,
    /// by derivation: a claim that is neither fails all the same.
    #[must_use]
    pub fn unless(mut self, expected: f64, tolerance: Tolerance, why: &str) -> Claim {
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

    // Does a number pass within its tolerance and no further, and is one that is off explained only
    // where it is what the explanation says?
    #[test]
    fn states() {
        let claim = |found| Claim::number(("x", "us"), 100.0, found, Tolerance::Share(0.01));
        let explained =
            |found| claim(found).unless(110.0, Tolerance::Absolute(1.0), "a summary").state;
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
