//! Classes of pages in separate pools, with the spare space divided to minimize copies (Desnoyers,
//! section 5).

use super::Mix;
use crate::root::root;

/// The optimal division of the spare space.
#[derive(Debug, Clone, PartialEq)]
pub struct Pools {
    /// Pages programmed for each host page written.
    pub write_amplification: f64,
    /// The share of the spare space for each class, in the order of the classes.
    pub spare: Vec<f64>,
}

/// Divides the spare space optimally between the classes of `mix`. `alpha` is the number of
/// physical pages divided by logical pages, above 1.
///
/// `pool` returns the write amplification of a single pool for its own alpha; it must be falling
/// and convex. In the optimum, the marginal savings -(r_i / f_i) A'(alpha_i) of all pools are
/// equal.
#[must_use]
pub fn best(mix: &Mix, alpha: f64, pool: impl Fn(f64) -> f64) -> Pools {
    let spare = alpha - 1.0;
    let saving = |own: f64| {
        let step = 1e-4 * (own - 1.0);
        (pool(own - step) - pool(own + step)) / (2.0 * step)
    };
    // `own_spare` returns the spare space of a pool, divided by its live pages, at which the
    // marginal saving is `exp(worth)`. The search runs over the logarithm of that ratio.
    let (least, most) = ((1e-9 * spare).ln(), (1e3 * (1.0 + spare)).ln());
    let own_spare = |heat: f64, worth: f64| {
        let off = |log: f64| (heat * saving(1.0 + log.exp())).max(1e-300).ln() - worth;
        if off(least) <= 0.0 {
            return least.exp();
        }
        if off(most) >= 0.0 {
            return most.exp();
        }
        root(least, most, off).exp()
    };
    let heats: Vec<(f64, f64)> =
        mix.classes().iter().map(|class| (class.writes / class.space, class.space)).collect();
    let total = |worth: f64| -> f64 {
        heats.iter().map(|(heat, space)| space * own_spare(*heat, worth)).sum()
    };
    let worth = root(-60.0, 60.0, |worth| (total(worth) / spare).ln());
    // `pool` may be piecewise linear, like that of the mean-field model. Along a linear piece, the
    // marginal saving is constant and does not determine the division. The shares are interpolated
    // between the two ends of the piece, to add up to the whole spare space.
    let (more, less) = (worth - 1e-7, worth + 1e-7);
    let wide = total(more) - total(less);
    let part = if wide > 0.0 { ((total(more) - spare) / wide).clamp(0.0, 1.0) } else { 0.0 };
    let share = |(heat, space): &(f64, f64)| {
        let ends = [more, less].map(|worth| space * own_spare(*heat, worth) / spare);
        ends[0] + part * (ends[1] - ends[0])
    };
    let shares: Vec<f64> = heats.iter().map(share).collect();
    let amplified = mix.classes().iter().zip(&shares);
    Pools {
        write_amplification: amplified
            .map(|(class, share)| class.writes * pool(1.0 + share * spare / class.space))
            .sum(),
        spare: shares,
    }
}
