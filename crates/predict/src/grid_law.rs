//! Predicts the long run of a distribution on a page-mapped drive of which a grid of uniform writes
//! was measured.
//!
//! A grid has the cost of uniform writes for the free space of the workload. Skewed writes cost
//! what they would cost on the FIFO drive with the same cost of uniform writes (Desnoyers, equation
//! 16). Time and erases are linear in the write amplification, because each moved page costs the
//! same.
//!
//! Uniform writes cannot show whether a drive separates hot from cold data. The cost of skewed
//! writes therefore lies between two bounds. For one, all data share the blocks. For the other,
//! each class has separate blocks with the best share of the free space (section 5).

use flashscope_model::{Class, Mix, fifo, pools};
use flashscope_workload::synthetic::Law;

use super::InterpolatedModel;
use super::long_run::{PageDivision, PoolLaw};

/// The predicted cost per page that the host writes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LawCost {
    /// Nanoseconds.
    pub nanos: f64,
    /// Blocks erased and pages programmed; `None` if the drive does not report them.
    pub counts: Option<(f64, f64)>,
    /// The write amplification of a drive that separates data by write rate, divided by the
    /// predicted write amplification; at most 1.
    pub separated: f64,
    /// True if the writes are shorter, or the free space is smaller, than at all points of the
    /// grid.
    pub is_beyond: bool,
    /// Pages per request.
    pub pages: f64,
    /// The share of writes in the requests.
    pub writes: f64,
}

/// The largest ratio of write rates in a class, for the division of free space.
const COARSE: f64 = 1.3;

/// The largest physical space relative to live pages, beyond which GC moves nothing.
const MAX_ALPHA: f64 = 1e5;

impl InterpolatedModel {
    /// Predicts the long run of a distribution on a drive of `pages` pages of `page_size` bytes,
    /// with `free` free pages beyond these. Returns `None` unless the distribution writes, and its
    /// requests are independent and of one size, in whole pages.
    #[must_use]
    #[allow(clippy::cast_precision_loss, reason = "pages are below 2^53")]
    pub fn long_run(
        &self,
        law: &Law,
        page_size: u64,
        (pages, free): (u64, u64),
    ) -> Option<LawCost> {
        let division = PageDivision { page_size, pools: 1, stripe: pages.max(1), pages };
        let pool = PoolLaw::all(law, division)?.pop()?;
        let writes = 1.0 - law.reads - law.trims;
        if writes <= 0.0 || pool.live() <= 0.0 {
            return None;
        }
        // Trimmed pages are free.
        let written = pages as f64 - pool.static_pages;
        let free_space = (free as f64 + (written - pool.live()).max(0.0)) / pool.live();
        let at = self.at_length(pool.run);
        let amplified = |free_space: f64| match at.counts(free_space) {
            Some((_, programs)) => programs.max(1.0),
            None => fifo::write_amplification(1.0 + free_space),
        };
        let uniform = amplified(free_space);
        let (mut amplification, mut separated) = (uniform, 1.0);
        if pool.is_skewed() {
            let (alpha, mix) = (fifo_alpha(uniform), pool.mix()?);
            amplification = mix.fifo(alpha);
            let apart = pools::best(&coarse(&mix)?, alpha, fifo::write_amplification);
            separated = (apart.write_amplification.max(1.0) / amplification).min(1.0);
        }
        // The line through this free space and its neighbour in the grid.
        let more = amplification - uniform;
        let line = |of: &dyn Fn(f64) -> f64| -> f64 {
            let neighbour = at.neighbour(free_space).filter(|_| more.abs() > 1e-9);
            let steep = neighbour.map_or(0.0, |other| {
                let rise = amplified(other) - uniform;
                if rise.abs() > 1e-6 { (of(other) - of(free_space)) / rise } else { 0.0 }
            });
            of(free_space) + steep.max(0.0) * more
        };
        let erasures = at
            .counts(free_space)
            .map(|_| line(&|free_space| at.counts(free_space).map_or(0.0, |counts| counts.0)));
        Some(LawCost {
            nanos: line(&|free_space| at.nanos(free_space)),
            counts: erasures.map(|erasures| (erasures, amplification)),
            separated,
            is_beyond: !at.covers(free_space),
            pages: law.size.0 as f64 / page_size as f64,
            writes,
        })
    }
}

/// Returns the physical pages per live page with which FIFO GC has a write amplification (the
/// inverse of Desnoyers, equation 4).
fn fifo_alpha(amplification: f64) -> f64 {
    let valid = 1.0 - 1.0 / amplification;
    if valid > 0.0 { (-amplification * valid.ln()).min(MAX_ALPHA) } else { MAX_ALPHA }
}

/// Merges classes of similar write rates.
fn coarse(mix: &Mix) -> Option<Mix> {
    let rate = |class: &Class| class.writes / class.space;
    let mut sorted = mix.classes().to_vec();
    sorted.sort_by(|one, two| rate(one).total_cmp(&rate(two)));
    let (mut merged, mut least): (Vec<Class>, f64) = (Vec::new(), 0.0);
    for class in sorted {
        match merged.last_mut() {
            Some(last) if rate(&class) <= COARSE * least => {
                last.writes += class.writes;
                last.space += class.space;
            }
            _ => {
                least = rate(&class);
                merged.push(class);
            }
        }
    }
    Mix::new(merged).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn alpha_is_the_inverse_of_the_closed_form() {
        for alpha in [1.01, 1.1, 1.5, 4.0] {
            let back = fifo_alpha(fifo::write_amplification(alpha));
            assert!((back / alpha - 1.0).abs() < 1e-9, "{alpha}: {back}");
        }
        assert!((fifo_alpha(1.0) - MAX_ALPHA).abs() < 1e-9);
    }
}
