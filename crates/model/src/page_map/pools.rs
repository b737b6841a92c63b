//! Classes in pools of their own, with the spare space shared out so that least is moved (Desnoyers,
//! section 5).

use super::Mix;
use crate::root::root;

/// How the spare space is shared out best.
#[derive(Debug, Clone, PartialEq)]
pub struct Pools {
    /// Programs for each page that the host writes.
    pub write_amplification: f64,
    /// The share of the spare space that each class has, in the order of the classes.
    pub spare: Vec<f64>,
}

/// The best shares for the classes of a mix, of `alpha` physical over logical pages (above 1), where a
/// pool by itself amplifies as `pool` says of its own alpha, which must fall, ever more slowly.
///
/// At the best shares a page more saves the same everywhere: the marginal savings
/// -(r_i / f_i) A'(alpha_i) of all pools are equal.
#[must_use]
pub fn best(mix: &Mix, alpha: f64, pool: impl Fn(f64) -> f64) -> Pools {
    let spare = alpha - 1.0;
    let saving = |own: f64| {
        let step = 1e-4 * (own - 1.0);
        (pool(own - step) - pool(own + step)) / (2.0 * step)
    };
    // The spare space of a pool over its live pages, as a logarithm, where saving a page more is worth
    // so much, as a logarithm.
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
    // Amplification may fall in straight lines, as that of the mean field does: along one, all shares are
    // worth the same, and what is left is shared out between its ends.
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
