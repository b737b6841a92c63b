//! How far predictions were off where the truth is known, and the intervals that follow.
//!
//! The cases are those of `make bench-models`, which writes `validation.csv`: the simulator beside each
//! model, over real traces and generated workloads. An interval is conformal (V. Vovk, A. Gammerman and
//! G. Shafer, *Algorithmic Learning in a Random World*, 2005; J. Lei et al., JASA 2018, section 2): for a
//! case that is drawn as those were, the error exceeds the ceil((n + 1) level)-th smallest of n errors
//! with a chance of at most 1 - level.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Where a prediction is expected.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Interval {
    /// The lower end.
    pub low: f64,
    /// The upper end.
    pub high: f64,
}

/// A case where the truth is known.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Case<'c> {
    /// What predicted.
    pub model: &'c str,
    /// How the drive's pages were mapped.
    pub ftl: &'c str,
    /// The workload.
    pub workload: &'c str,
    /// The logarithm of predicted over simulated erases.
    pub erases: f64,
    /// The same of the write amplification.
    pub write_amplification: f64,
}

/// The cases of `make bench-models`.
pub fn cases() -> impl Iterator<Item = Case<'static>> {
    include_str!("validation.csv").lines().skip(1).filter_map(case)
}

fn case(line: &'static str) -> Option<Case<'static>> {
    let mut fields = line.split(',');
    let (model, ftl, workload) = (fields.next()?, fields.next()?, fields.next()?);
    let mut number = || fields.next()?.parse().ok();
    Some(Case { model, ftl, workload, erases: number()?, write_amplification: number()? })
}

#[allow(clippy::cast_precision_loss, clippy::cast_possible_truncation, clippy::cast_sign_loss)]
fn factor(mut errors: Vec<f64>, level: f64) -> Option<f64> {
    errors.iter_mut().for_each(|error| *error = error.abs());
    errors.sort_unstable_by(f64::total_cmp);
    let rank = ((errors.len() as f64 + 1.0) * level).ceil() as usize;
    Some(errors.get(rank.checked_sub(1)?)?.exp())
}

/// By which factors a prediction may be off, at most, either way.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Factors {
    /// Of erases.
    pub erases: f64,
    /// Of the write amplification.
    pub write_amplification: f64,
}

impl Factors {
    /// Those at which `level` (0 to 1) of the cases that are like `cases` lie within; nothing where these are
    /// too few to say.
    #[must_use]
    pub fn of(cases: &[Case<'_>], level: f64) -> Option<Factors> {
        let of = |error: fn(&Case<'_>) -> f64| factor(cases.iter().map(error).collect(), level);
        Some(Factors {
            erases: of(|case| case.erases)?,
            write_amplification: of(|case| case.write_amplification)?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // Is the error of nine cases in ten that of the right rank, and is nothing said of too few?
    #[test]
    fn ranks() {
        let errors: Vec<f64> =
            (1..=19).map(|nth| if nth % 2 == 0 { 0.01 } else { -0.01 } * f64::from(nth)).collect();
        assert_eq!(factor(errors.clone(), 0.9), Some(0.18_f64.exp()));
        assert_eq!(factor(errors[..8].to_vec(), 0.9), None);
        assert_eq!(factor(errors[..9].to_vec(), 0.9), Some(0.09_f64.exp()));
        assert_eq!(factor(Vec::new(), 0.9), None);
    }
}
