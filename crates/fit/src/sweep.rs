//! The cost of uniform writes by fill level, and the closed form that is fitted to it.
//!
//! `WA = kappa * A(T / F)`, where F of the T bytes of flash hold data. A is the model of a cleaning policy, and kappa accounts
//! for the drive's own writes (parity, its map). Moving a page costs `moved` times as much as writing a page for the host. With
//! the throughput `bare` at a WA of 1, `1 / throughput = (1 + moved * (WA - 1)) / bare`.

use flashscope_block::Bytes;
use flashscope_document::twin::{FillFit, FillModel, Level, PolicyFit, Range};
use flashscope_model::{d_choices, fifo, greedy, random};

use super::optimum::least;
use super::{FitError, amplification};

/// The model of a cleaning policy: write amplification as a function of physical over logical pages.
pub(super) struct Policy {
    /// The name of the policy in a profile, one of [`flashscope_sim::gc::KINDS`].
    pub name: &'static str,
    /// The write amplification of the policy.
    pub amplification: fn(f64) -> f64,
}

/// The pages per block of the model. Drives that stripe blocks over all their flash have large blocks.
const PAGES_PER_BLOCK: f64 = 1024.0;

/// The policies that a fit compares.
const POLICIES: [Policy; 4] = [
    Policy {
        name: "greedy",
        amplification: |alpha| greedy::write_amplification(alpha, PAGES_PER_BLOCK),
    },
    Policy { name: "fifo", amplification: fifo::write_amplification },
    Policy {
        name: "d-choices",
        amplification: |alpha| {
            d_choices::write_amplification(alpha, PAGES_PER_BLOCK, 5.0).unwrap_or(f64::NAN)
        },
    },
    Policy { name: "random", amplification: random::write_amplification },
];

/// The relative error of the closed forms for drives that meet their assumptions (reference results of the formulas).
const EXACT: f64 = 0.005;

/// The relative error of a measured throughput. The closed forms predict the throughput of real drives to within 1.3 and 2.5 %
/// (docs/twin.md), so an error of 1 % excludes no policy.
const STEADY: f64 = 0.01;

/// A policy fits worse than the best policy if its error is larger by more than this factor.
const AS_WELL: f64 = 2.0;

/// The minimum number of fill levels of a fit. With fewer, no error can be estimated.
const MIN_LEVELS: usize = 3;

/// The largest cost of moving a page, relative to that of writing a page for the host.
const MAX_MOVE_COST: f64 = 1000.0;

/// The number of random draws from which intervals are computed.
const DRAWS: usize = 200;

/// Fits the closed form to `levels`. Draws come from `seed`; intervals contain the true value with probability
/// `confidence`.
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

/// Checks that uniform writes cost more on a fuller drive. Levels of two different drives rarely pass this check.
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

/// Returns the write amplification of uniform writes over `fill` bytes; NaN if they do not fit on the drive.
#[must_use]
pub fn write_amplification(model: &FillModel, fill: Bytes) -> f64 {
    let policy = POLICIES.iter().find(|policy| policy.name == model.policy);
    policy.map_or(f64::NAN, |policy| model.amplified(fill, policy.amplification))
}

/// Returns the bytes that the host writes per second; `None` if throughput was not measured.
#[must_use]
pub fn bytes_per_second(model: &FillModel, fill: Bytes) -> Option<f64> {
    model.rate(write_amplification(model, fill))
}

/// A table of a policy's write amplification, which a fit evaluates a hundred thousand times.
pub(super) struct Curve {
    policy: &'static str,
    /// ln(amplification - 1), at equal steps of ln(alpha - 1).
    points: Vec<f64>,
}

/// The ends of the table and its step, in ln(alpha - 1).
const ENDS: (f64, f64, f64) = (-7.0, 3.0, 0.02);

/// The minimum of amplification - 1 in a table, which keeps the logarithm finite. Practically nothing is moved there.
const NOTHING_MOVED: f64 = 1e-12;

impl Curve {
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "500 points")]
    pub(super) fn of(policy: &Policy) -> Curve {
        let (low, high, step) = ENDS;
        let points = 0..=((high - low) / step).round() as u32;
        let point = |nth| {
            let alpha = 1.0 + (low + step * f64::from(nth)).exp();
            ((policy.amplification)(alpha) - 1.0).max(NOTHING_MOVED).ln()
        };
        Curve { policy: policy.name, points: points.map(point).collect() }
    }

    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "500 points")]
    pub(super) fn at(&self, alpha: f64) -> f64 {
        let (low, high, step) = ENDS;
        let place = ((alpha - 1.0).ln().clamp(low, high - step) - low) / step;
        let (from, part) = (place.floor() as usize, place.fract());
        let (one, next) = (self.points[from], self.points[from + 1]);
        1.0 + (one + part * (next - one)).exp()
    }
}

/// Returns the root mean square of the relative errors of a model.
#[allow(clippy::cast_precision_loss, reason = "few levels")]
pub(super) fn error(model: &FillModel, curve: &Curve, levels: &[Level]) -> f64 {
    let (mut sum, mut count) = (0.0, 0.0);
    for level in levels {
        let amplified = model.amplified(level.fill, |alpha| curve.at(alpha));
        let wa = level.write_amplification.map(|wa| (amplified / wa).ln());
        let rate = model.rate(amplified).zip(level.bytes_per_second);
        for error in wa.into_iter().chain(rate.map(|(model, measured)| (model / measured).ln())) {
            (sum, count) = (sum + error * error, count + 1.0);
        }
    }
    f64::sqrt(sum / count)
}

/// Fits the model of a policy: first to the write amplification and then to the throughput. Fits it to both at once if only
/// some levels have a write amplification, and to throughput alone if none has. The search starts at `near`, if given.
#[allow(clippy::cast_precision_loss, reason = "bytes of drives are below 2^53")]
pub(super) fn fitted(curve: &Curve, levels: &[Level], near: Option<&FillModel>) -> FillModel {
    let fullest = levels.last().map_or(1.0, |level| level.fill.0 as f64);
    let amplified = levels.iter().filter(|level| level.write_amplification.is_some()).count();
    let timed = levels.iter().all(|level| level.bytes_per_second.is_some());
    let model = |x: &[f64]| FillModel {
        policy: curve.policy.into(),
        flash_bytes: fullest * (1.0 + x[0].exp()),
        kappa: x.get(1).map_or(1.0, |x| x.exp()),
        bare_bytes_per_second: None,
        moved: None,
    };
    let start = near.map_or([-1.5, 0.0], |near| {
        [(near.flash_bytes / fullest - 1.0).max(1e-6).ln(), near.kappa.ln()]
    });
    if amplified < levels.len() {
        let start = if amplified == 0 { &start[..1] } else { &start[..] };
        let cost = |x: &[f64]| error(&with_rates(model(x), curve, levels), curve, levels);
        return with_rates(model(&least(start, 0.3, cost)), curve, levels);
    }
    let best = model(&least(&start, 0.3, |x| error(&model(x), curve, levels)));
    if timed { with_rates(best, curve, levels) } else { best }
}

/// Fits the throughput: its inverse is a linear function of the write amplification. Minimizes the squared relative errors.
fn with_rates(model: FillModel, curve: &Curve, levels: &[Level]) -> FillModel {
    // Solves 1 = (intercept + slope * (WA - 1)) * rate by least squares.
    let (mut xx, mut xy, mut yy, mut x, mut y) = (0.0, 0.0, 0.0, 0.0, 0.0);
    for level in levels {
        let Some(rate) = level.bytes_per_second else { continue };
        // Prefers the write amplification that the drive reports to the model's.
        let wa = level.write_amplification;
        let wa = wa.unwrap_or_else(|| model.amplified(level.fill, |alpha| curve.at(alpha)));
        let slope = (wa - 1.0) * rate;
        (xx, xy, yy) = (xx + rate * rate, xy + rate * slope, yy + slope * slope);
        (x, y) = (x + rate, y + slope);
    }
    let determinant = xx * yy - xy * xy;
    let (mut intercept, mut slope) =
        ((x * yy - y * xy) / determinant, (y * xx - x * xy) / determinant);
    // The times to write and to move a page are not negative.
    if slope <= 0.0 {
        (intercept, slope) = (x / xx, 0.0);
    } else if intercept <= slope / MAX_MOVE_COST {
        slope = y / yy;
        intercept = slope / MAX_MOVE_COST;
    }
    let bare_bytes_per_second = Some(intercept.recip());
    FillModel { bare_bytes_per_second, moved: Some(slope / intercept), ..model }
}

/// Returns models fitted to the measured levels after random errors were added, which are as large as the errors of the best fit.
/// Alternates between the policies that fit as well.
fn drawn(policies: &[PolicyFit], curves: &[Curve], levels: &[Level], seed: u64) -> Vec<FillModel> {
    let mut rng = fastrand::Rng::with_seed(seed);
    let as_well: Vec<&PolicyFit> = policies.iter().filter(|fit| fit.fits_as_well).collect();
    #[allow(clippy::cast_precision_loss, reason = "few")]
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

/// Returns a random number with a standard normal distribution (G. E. P. Box and M. E. Muller, 1958).
pub(super) fn normal(rng: &mut fastrand::Rng) -> f64 {
    (-2.0 * (1.0 - rng.f64()).ln()).sqrt() * (std::f64::consts::TAU * rng.f64()).cos()
}
