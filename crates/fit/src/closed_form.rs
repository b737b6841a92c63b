//! The closed form of the cost of uniform writes by fill level, and its fit.
//!
//! `WA = kappa * A(T / F)`, where F of the T bytes of flash hold data. A is the model of a cleaning
//! policy, and kappa accounts for the drive's own writes (parity, its map). Moving a page costs
//! `moved` times as much as writing a page for the host. With the throughput `bare` at a WA of 1,
//! `1 / throughput = (1 + moved * (WA - 1)) / bare`.

use flashscope_block::Bytes;
use flashscope_document::twin::{FillModel, Level};
use flashscope_model::{d_choices, fifo, greedy, random};

use super::optimum::least;

/// The model of a cleaning policy: write amplification as a function of physical over logical
/// pages.
pub(super) struct Policy {
    /// The name of the policy in a profile, one of [`flashscope_sim::gc::KINDS`].
    pub name: &'static str,
    /// The write amplification of the policy.
    pub amplification: fn(f64) -> f64,
}

/// The pages per block of the model. Drives that stripe blocks over all their flash have large
/// blocks.
const PAGES_PER_BLOCK: f64 = 1024.0;

/// The policies that a fit compares.
pub(super) const POLICIES: [Policy; 4] = [
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

/// The largest cost of moving a page, relative to that of writing a page for the host.
const MAX_MOVE_COST: f64 = 1000.0;

/// Returns the write amplification of uniform writes over `fill` bytes. Returns NaN if they do not
/// fit on the drive, or if the policy is unknown.
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
    pub(super) policy: &'static str,
    /// ln(amplification - 1), at equal steps of ln(alpha - 1).
    points: Vec<f64>,
}

/// The ends of the table and its step, in ln(alpha - 1).
const ENDS: (f64, f64, f64) = (-7.0, 3.0, 0.02);

/// The minimum of amplification - 1 in a table, which keeps the logarithm finite. Practically
/// nothing is moved there.
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

/// Fits the model of a policy: first to the write amplification and then to the throughput. Fits it
/// to both at once if only some levels have a write amplification, and to throughput alone if none
/// has. The search starts at `near`, if given.
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

/// Fits the throughput: its inverse is a linear function of the write amplification. Minimizes the
/// squared relative errors.
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
