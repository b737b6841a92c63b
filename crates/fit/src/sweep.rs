//! Fits the closed form of the cost of uniform writes to measurements at several fill levels.

use flashscope_block::Bytes;
use flashscope_document::twin::{FillFit, FillModel, Level, PolicyFit, Range};

use super::closed_form::{Curve, POLICIES, error, fitted};
use super::{FitError, amplification};

/// The relative error of the closed forms for drives that meet their assumptions (reference results
/// of the formulas).
const EXACT: f64 = 0.005;

/// The relative error of a measured throughput. The closed forms predict the throughput of real
/// drives to within 1.3 and 2.5 % (docs/twin.md), so an error of 1 % excludes no policy.
const STEADY: f64 = 0.01;

/// A policy fits worse than the best policy if its error is larger by more than this factor.
const AS_WELL: f64 = 2.0;

/// The minimum number of fill levels of a fit. With fewer, no error can be estimated.
const MIN_LEVELS: usize = 3;

/// The number of random draws from which intervals are computed.
const DRAWS: usize = 200;

/// Fits the closed form to `levels`. Draws come from `seed`; intervals contain the true value with
/// probability `confidence`.
///
/// # Errors
/// If there are too few levels, or their values are impossible.
pub fn fit_fill(levels: &[Level], seed: u64, confidence: f64) -> Result<FillFit, FitError> {
    let levels = checked(levels)?;
    let curves = POLICIES.each_ref().map(Curve::of);
    let fit = |curve: &Curve| {
        let model = fitted(curve, &levels, None);
        let error = error(&model, curve, &levels);
        PolicyFit { model, error, fits_as_well: false }
    };
    let mut policies = curves.each_ref().map(fit).to_vec();
    policies.sort_by(|one, other| one.error.total_cmp(&other.error));
    let is_identified = levels.iter().any(|level| level.write_amplification.is_some());
    let most = (AS_WELL * policies[0].error).max(if is_identified { EXACT } else { STEADY });
    policies.iter_mut().for_each(|fit| fit.fits_as_well = fit.error <= most);
    let draws = drawn(&policies, &curves, &levels, seed);
    let range = |of: fn(&FillModel) -> Option<f64>| {
        let values: Vec<f64> = draws.iter().filter_map(of).collect();
        Some(Range::around(of(&policies[0].model)?, values, confidence))
    };
    let always = |of| range(of).unwrap_or_default();
    let unidentified =
        (!is_identified).then(|| amplification::ranges(&policies, &draws, &levels, most));
    let mut fit = FillFit {
        flash_bytes: always(|model| Some(model.flash_bytes)),
        kappa: always(|model| Some(model.kappa)),
        bare_bytes_per_second: range(|model| model.bare_bytes_per_second),
        moved: range(|model| model.moved),
        levels,
        policies,
        unidentified,
        draws,
    };
    fit.kappa = amplification::kappa(&fit);
    Ok(fit)
}

/// Sorts the levels and checks that each has plausible values.
fn checked(levels: &[Level]) -> Result<Vec<Level>, FitError> {
    let mut levels = levels.to_vec();
    levels.sort_by_key(|level| level.fill);
    let mut fills: Vec<Bytes> = levels.iter().map(|level| level.fill).collect();
    fills.dedup();
    if fills.len() < MIN_LEVELS {
        return Err(FitError::TooFew {
            what: format!("{} fill levels", fills.len()),
            needed: format!(
                "measure uniform writes at {MIN_LEVELS} fill levels at least, such as a half, \
                 three quarters and all of the drive"
            ),
        });
    }
    let all = |of: fn(&Level) -> Option<f64>| levels.iter().all(|level| of(level).is_some());
    if !all(|level| level.write_amplification) && !all(|level| level.bytes_per_second) {
        return Err(FitError::TooFew {
            what: "no column that has a value at every fill level".into(),
            needed: "give the write amplification or the throughput of every fill level".into(),
        });
    }
    for level in &levels {
        let bad = level.write_amplification.is_some_and(|wa| !(0.9..1e4).contains(&wa))
            || level.bytes_per_second.is_some_and(|rate| !(rate > 0.0 && rate.is_finite()))
            || level.fill == Bytes(0);
        if bad {
            return Err(FitError::Contradiction(format!(
                "the level of {} has a value that no drive has: write amplification is 1 or more, \
                 throughput above 0",
                level.fill
            )));
        }
    }
    rising(&levels)?;
    Ok(levels)
}

/// Checks that uniform writes cost more on a fuller drive. Levels of two different drives rarely
/// pass this check.
fn rising(levels: &[Level]) -> Result<(), FitError> {
    const LEEWAY: f64 = 1.05;
    for pair in levels.windows(2) {
        let falls = |of: fn(&Level) -> Option<f64>| {
            of(&pair[0]).zip(of(&pair[1])).is_some_and(|(less, more)| more * LEEWAY < less)
        };
        if falls(|level| level.write_amplification)
            || falls(|level| level.bytes_per_second.map(f64::recip))
        {
            return Err(FitError::Contradiction(format!(
                "uniform writes over {} cost less than over {}: are these results of two drives, or was the \
                 drive not steady yet? Overwrite each level three times before you measure it",
                pair[1].fill, pair[0].fill
            )));
        }
    }
    Ok(())
}

/// Returns models fitted to the measured levels plus random errors, which are as large as the
/// errors of the best fit. Alternates between the policies that fit as well.
fn drawn(policies: &[PolicyFit], curves: &[Curve], levels: &[Level], seed: u64) -> Vec<FillModel> {
    let mut rng = fastrand::Rng::with_seed(seed);
    let as_well: Vec<&PolicyFit> = policies.iter().filter(|fit| fit.fits_as_well).collect();
    #[allow(clippy::cast_precision_loss, reason = "there are few levels")]
    let spent = (levels.len() as f64 / (levels.len() as f64 - 2.0)).sqrt();
    let deviation = (policies[0].error * spent).max(EXACT / 2.0);
    (0..DRAWS)
        .filter_map(|nth| {
            let fit = as_well[nth % as_well.len()];
            let curve = curves.iter().find(|curve| curve.policy == fit.model.policy)?;
            let mut off = |value: f64| value * (deviation * normal(&mut rng)).exp();
            let level = |level: &Level| Level {
                fill: level.fill,
                write_amplification: level.write_amplification.map(&mut off),
                bytes_per_second: level.bytes_per_second.map(&mut off),
                queue_depth: level.queue_depth,
            };
            let levels: Vec<Level> = levels.iter().map(level).collect();
            Some(fitted(curve, &levels, Some(&fit.model)))
        })
        .collect()
}

/// Returns a random number with a standard normal distribution (G. E. P. Box and M. E. Muller,
/// 1958).
pub(super) fn normal(rng: &mut fastrand::Rng) -> f64 {
    (-2.0 * (1.0 - rng.f64()).ln()).sqrt() * (std::f64::consts::TAU * rng.f64()).cos()
}
