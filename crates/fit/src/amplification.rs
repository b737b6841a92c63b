//! The range of write amplification that is consistent with measured throughput.
//!
//! The inverse of throughput is linear in the policy's write amplification A:
//! `1 / throughput = a + b * (A - 1)`. With kappa bytes programmed per byte of data,
//! [`super::closed_form`] has `a = (1 + moved * (kappa - 1)) / bare` and
//! `b = moved * kappa / bare`. A fit of throughput alone determines a and b, which are two numbers
//! for three unknowns. It assumes `kappa = 1` and finds `moved' = b / a`. For any other kappa, the
//! cost `moved = moved' / (kappa * (1 - moved') + moved')` gives exactly the same throughput at
//! every fill level.
//!
//! Write amplification is kappa times A. Its range therefore covers all policies that fit, and
//! every kappa from 1 to [`MAX_KAPPA`] with which `moved` is positive. It also covers structures
//! that no policy of a profile has, such as other sizes of blocks.

use flashscope_block::Bytes;
use flashscope_document::twin::{AmplificationRange, FillFit, FillModel, Level, PolicyFit, Range};

use flashscope_model::{d_choices, greedy};

use super::closed_form::{Curve, Policy, error, fitted, write_amplification};

/// The largest kappa of a range. A drive that programs all data twice, first in SLC blocks, has 2.
/// The additional 0.5 is for parity and the map.
pub(crate) const MAX_KAPPA: f64 = 2.5;

/// Structures between those that a fit compares: small blocks, and other numbers of blocks to
/// choose from.
const STRUCTURES: [Policy; 4] = [
    Policy { name: "greedy", amplification: |alpha| greedy::write_amplification(alpha, 32.0) },
    Policy { name: "d-choices", amplification: |alpha| choices(alpha, 2.0) },
    Policy { name: "d-choices", amplification: |alpha| choices(alpha, 3.0) },
    Policy { name: "d-choices", amplification: |alpha| choices(alpha, 10.0) },
];

fn choices(alpha: f64, choices: f64) -> f64 {
    d_choices::write_amplification(alpha, 256.0, choices).unwrap_or(f64::NAN)
}

/// The share of the limit of kappa that a range uses, because `moved` is infinite at the limit.
const BELOW_LIMIT: f64 = 0.999;

/// Returns the largest kappa with which a model that was fitted with `kappa = 1` explains the same
/// throughput.
pub(super) fn max_kappa(model: &FillModel) -> f64 {
    let moved = model.moved.unwrap_or(1.0);
    let limit = if moved > 1.0 { BELOW_LIMIT * moved / (moved - 1.0) } else { f64::INFINITY };
    limit.clamp(1.0, MAX_KAPPA)
}

/// Returns `model` for `kappa = 1`, with the same throughput.
pub(super) fn without_kappa(model: &FillModel) -> FillModel {
    let (Some(bare), Some(moved)) = (model.bare_bytes_per_second, model.moved) else {
        return FillModel { kappa: 1.0, ..model.clone() };
    };
    let own = 1.0 + moved * (model.kappa - 1.0);
    let bare_bytes_per_second = Some(bare / own);
    let moved = Some(moved * model.kappa / own);
    FillModel { kappa: 1.0, moved, bare_bytes_per_second, ..model.clone() }
}

/// Returns kappa with its interval, or with the range that is consistent with the measured
/// throughput.
pub(super) fn kappa(fill: &FillFit) -> Range {
    if fill.knows_write_amplification() {
        return fill.kappa;
    }
    let models = models(&fill.policies, &fill.draws);
    Range { value: 1.0, low: 1.0, high: models.map(max_kappa).fold(1.0, f64::max) }
}

/// Returns the range of write amplification at each level, over the policies that fit as well, the
/// draws and those of [`STRUCTURES`] whose error is at most `most`.
pub(super) fn ranges(
    policies: &[PolicyFit],
    draws: &[FillModel],
    levels: &[Level],
    most: f64,
) -> Vec<AmplificationRange> {
    let curves = STRUCTURES.each_ref().map(Curve::of);
    let others = curves.iter().map(|curve| (curve, fitted(curve, levels, None)));
    let others: Vec<_> =
        others.filter(|(curve, model)| error(model, curve, levels) <= most).collect();
    let range = |fill: Bytes| {
        let value = write_amplification(&policies[0].model, fill);
        let mut range = Range { value, low: value, high: value };
        let known = models(policies, draws).map(|model| (model, write_amplification(model, fill)));
        let other =
            |(curve, model): &(&Curve, FillModel)| model.amplified(fill, |alpha| curve.at(alpha));
        let others = others.iter().map(|one| (&one.1, other(one)));
        for (model, least) in known.chain(others) {
            range.low = range.low.min(least);
            range.high = range.high.max(least * max_kappa(model));
        }
        range
    };
    let at = |level: &Level| AmplificationRange {
        fill: level.fill,
        write_amplification: range(level.fill),
    };
    levels.iter().map(at).collect()
}

fn models<'f>(
    policies: &'f [PolicyFit],
    draws: &'f [FillModel],
) -> impl Iterator<Item = &'f FillModel> {
    let fitted = policies.iter().filter(|fit| fit.fits_as_well).map(|fit| &fit.model);
    fitted.chain(draws)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn model(kappa: f64, moved: f64) -> FillModel {
        FillModel {
            policy: "fifo".into(),
            flash_bytes: 1.2e9,
            kappa,
            bare_bytes_per_second: Some(4e8),
            moved: Some(moved),
        }
    }

    /// Returns `model`, which was fitted with `kappa = 1`, for another kappa and with the same
    /// throughput.
    fn with_kappa(model: &FillModel, kappa: f64) -> FillModel {
        let (Some(bare), Some(moved)) = (model.bare_bytes_per_second, model.moved) else {
            return FillModel { kappa, ..model.clone() };
        };
        let other = moved / (kappa * (1.0 - moved) + moved);
        let bare_bytes_per_second = Some(bare * (1.0 + other * (kappa - 1.0)));
        FillModel { kappa, moved: Some(other), bare_bytes_per_second, ..model.clone() }
    }

    #[test]
    fn every_kappa_up_to_the_limit_has_the_same_throughput() {
        for moved in [0.3, 1.0, 1.6, 4.0] {
            let fitted = model(1.0, moved);
            for share in [0.1, 0.5, 1.0] {
                let other = with_kappa(&fitted, 1.0 + share * (max_kappa(&fitted) - 1.0));
                for amplification in [1.0, 1.7, 5.0_f64] {
                    let [one, two] =
                        [&fitted, &other].map(|m| m.rate(m.kappa * amplification).unwrap());
                    assert!((one / two - 1.0).abs() < 1e-9 && other.moved > Some(0.0), "{other:?}");
                }
                let back = without_kappa(&other);
                assert!((back.moved.unwrap() / moved - 1.0).abs() < 1e-9, "{back:?}");
            }
        }
    }

    #[test]
    fn limit_of_kappa_follows_from_the_cost_of_moved_pages() {
        assert!((max_kappa(&model(1.0, 0.5)) - MAX_KAPPA).abs() < 1e-9);
        let limit = max_kappa(&model(1.0, 3.0));
        assert!((1.49..1.5).contains(&limit), "{limit}");
    }
}
