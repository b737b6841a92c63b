//! The errors of predictions in cases that were simulated, and the intervals that follow from them.
//!
//! The cases come from `make bench-intervals`, which writes `validation.csv`: each model next to
//! the simulator, on random drives with random workloads. The intervals are conformal within strata
//! (V. Vovk, A. Gammerman and G. Shafer, *Algorithmic Learning in a Random World*, 2005; J. Lei et
//! al., JASA 2018, section 2). For a new case from the same distribution, the error exceeds the
//! ceil((n + 1) level)-th smallest of n errors with probability at most 1 - level.
//! docs/intervals.md has the share of intervals that contain the simulated value, on drives and
//! workloads of other kinds.

use std::fmt;

/// A class of cases, determined by the prediction alone. Errors differ between strata.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Stratum {
    /// The work of GC.
    pub load: Load,
    /// True if the workload has trims.
    pub trims: bool,
}

/// The work of GC, by the predicted write amplification.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Load {
    /// At most 1.05.
    Light,
    /// At most 2.
    Moderate,
    /// Above 2.
    Heavy,
}

impl Stratum {
    /// Returns the stratum of a prediction.
    #[must_use]
    pub fn of(write_amplification: f64, trims: bool) -> Stratum {
        let load = match write_amplification {
            ..=1.05 => Load::Light,
            ..=2.0 => Load::Moderate,
            _ => Load::Heavy,
        };
        Stratum { load, trims }
    }

    /// Returns the stratum with this name.
    #[must_use]
    pub fn named(name: &str) -> Option<Stratum> {
        let (load, trims) = match name.strip_suffix("+trims") {
            Some(load) => (load, true),
            None => (name, false),
        };
        let load = match load {
            "light" => Load::Light,
            "moderate" => Load::Moderate,
            "heavy" => Load::Heavy,
            _ => return None,
        };
        Some(Stratum { load, trims })
    }
}

impl fmt::Display for Stratum {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        let load = match self.load {
            Load::Light => "light",
            Load::Moderate => "moderate",
            Load::Heavy => "heavy",
        };
        write!(to, "{load}{}", if self.trims { "+trims" } else { "" })
    }
}

/// A case in which a prediction was compared with a simulation.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Case<'c> {
    /// The name of the model.
    pub model: &'c str,
    /// The FTL of the drive.
    pub ftl: &'c str,
    /// The stratum.
    pub stratum: Stratum,
    /// The logarithm of predicted erases divided by simulated erases.
    pub erases: f64,
    /// The logarithm of predicted write amplification divided by simulated write amplification.
    pub write_amplification: f64,
}

/// Returns the cases in `validation.csv`, which `make bench-intervals` writes.
pub fn cases() -> impl Iterator<Item = Case<'static>> {
    include_str!("validation.csv").lines().skip(1).filter_map(case)
}

fn case(line: &'static str) -> Option<Case<'static>> {
    let mut fields = line.split(',');
    let (model, ftl, stratum) = (fields.next()?, fields.next()?, Stratum::named(fields.next()?)?);
    let mut number = || fields.next()?.parse().ok();
    Some(Case { model, ftl, stratum, erases: number()?, write_amplification: number()? })
}

#[allow(clippy::cast_precision_loss, clippy::cast_possible_truncation, clippy::cast_sign_loss)]
pub(crate) fn factor(mut errors: Vec<f64>, level: f64) -> Option<f64> {
    errors.iter_mut().for_each(|error| *error = error.abs());
    errors.sort_unstable_by(f64::total_cmp);
    let rank = ((errors.len() as f64 + 1.0) * level).ceil() as usize;
    Some(errors.get(rank.checked_sub(1)?)?.exp())
}

/// The factors by which a prediction may be off in either direction.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Factors {
    /// The factor for erases.
    pub erases: f64,
    /// The factor for the write amplification.
    pub write_amplification: f64,
    /// An additional factor by which both may be lower: 1, unless the work of GC depends on the
    /// idle time of the drive.
    pub lower: f64,
    /// An additional factor by which both may be higher: 1, unless the work of GC depends on the
    /// idle time of the drive.
    pub upper: f64,
}

impl Factors {
    /// Returns the factors that contain the share `level` (0 to 1) of cases like `cases`; `None` if
    /// there are too few cases.
    #[must_use]
    pub fn of(cases: &[Case<'_>], level: f64) -> Option<Factors> {
        let of = |error: fn(&Case<'_>) -> f64| factor(cases.iter().map(error).collect(), level);
        Some(Factors {
            erases: of(|case| case.erases)?,
            write_amplification: of(|case| case.write_amplification)?,
            lower: 1.0,
            upper: 1.0,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strata_have_names_and_follow_the_prediction() {
        for trims in [false, true] {
            for (amplification, load) in [
                (1.0, Load::Light),
                (1.06, Load::Moderate),
                (2.1, Load::Heavy),
                (f64::NAN, Load::Heavy),
            ] {
                let stratum = Stratum::of(amplification, trims);
                assert_eq!(stratum, Stratum { load, trims });
                assert_eq!(Stratum::named(&stratum.to_string()), Some(stratum));
            }
        }
        assert_eq!(Stratum::named("light trims"), None);
    }

    #[test]
    fn every_line_of_the_cases_can_be_read() {
        let lines = include_str!("validation.csv").lines().count();
        assert_eq!(cases().count(), lines - 1);
    }

    #[test]
    fn factor_is_the_error_of_the_right_rank_or_absent() {
        let errors: Vec<f64> =
            (1..=19).map(|nth| if nth % 2 == 0 { 0.01 } else { -0.01 } * f64::from(nth)).collect();
        assert_eq!(factor(errors.clone(), 0.9), Some(0.18_f64.exp()));
        assert_eq!(factor(errors[..8].to_vec(), 0.9), None);
        assert_eq!(factor(errors[..9].to_vec(), 0.9), Some(0.09_f64.exp()));
        assert_eq!(factor(Vec::new(), 0.9), None);
    }
}
