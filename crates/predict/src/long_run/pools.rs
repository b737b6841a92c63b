//! The write rates of the pages of each pool.

use flashscope_model::{Class, Mix, zipf};
use flashscope_sim::setup::Layout;
use flashscope_workload::synthetic::{Law, Shares};

use super::FEW_WRITES;

/// Pages of a pool with the same write rate.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Rate {
    /// The share of these pages in all writes of the workload.
    writes: f64,
    /// The number of pages.
    pages: f64,
}

/// The write rates of the pages of a pool.
pub(crate) struct PoolLaw {
    /// The pages that are written, in classes. With trims, the mean number of live pages.
    rates: Vec<Rate>,
    /// The live pages that are never written.
    pub static_pages: f64,
    /// The share of all writes that goes to this pool.
    pub writes: f64,
    /// The consecutive pages of the pool that a request writes together.
    pub run: f64,
}

/// The division of a drive's pages among its pools.
#[derive(Clone, Copy)]
pub(crate) struct PageDivision {
    /// Bytes of a page.
    pub page_size: u64,
    /// Pools, which hold consecutive stripes in turn.
    pub pools: u64,
    /// Pages of a stripe.
    pub stripe: u64,
    /// The pages of a pool.
    pub pages: u64,
}

impl PageDivision {
    pub(super) fn of(layout: &Layout) -> PageDivision {
        PageDivision {
            page_size: layout.logical_page_size().into(),
            pools: layout.pools.into(),
            stripe: layout.stripe.into(),
            pages: layout.logical_pages_per_pool.into(),
        }
    }
}

/// The places of a workload, each the size of a request, among the pages of a drive.
struct Places {
    /// The first page of the first place.
    first: u64,
    /// Pages per place; below 1 if places are shorter than a page.
    pages: f64,
    /// The pages that a request writes in one pool.
    run: f64,
    /// True if each place lies in one pool.
    in_one_pool: bool,
    pools: u64,
    stripe: u64,
}

impl Places {
    /// Returns the places of a workload; `None` if they are not evenly divided among pages and
    /// pools.
    #[allow(clippy::cast_precision_loss, reason = "sizes are below 2^53")]
    fn of(law: &Law, division: PageDivision) -> Option<Places> {
        let PageDivision { page_size: page, pools, stripe, .. } = division;
        let size = law.size.0;
        if !law.offset.0.is_multiple_of(page) {
            return None;
        }
        let pages = size as f64 / page as f64;
        let (run, in_one_pool) = if !size.is_multiple_of(page) {
            let several = page.is_multiple_of(size) && !matches!(law.shares, Shares::Zipf { .. });
            (several.then_some(1.0)?, true)
        } else {
            let pages = size / page;
            if pools == 1 || stripe.is_multiple_of(pages) {
                (pages as f64, true)
            } else if pages.is_multiple_of(stripe * pools) {
                ((pages / pools) as f64, false)
            } else if pages.is_multiple_of(stripe) && pages < stripe * pools {
                (stripe as f64, false)
            } else {
                return None;
            }
        };
        Some(Places { first: law.offset.0 / page, pages, run, in_one_pool, pools, stripe })
    }

    #[allow(
        clippy::cast_precision_loss,
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "pages are below 2^53"
    )]
    fn pool(&self, place: u64) -> usize {
        let page = self.first + (place as f64 * self.pages) as u64;
        (page / self.stripe % self.pools) as usize
    }
}

#[allow(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "pages are below 2^53"
)]
impl PoolLaw {
    /// Returns the write rates in each pool; `None` if they cannot be derived from the
    /// distribution.
    pub(crate) fn all(law: &Law, division: PageDivision) -> Option<Vec<PoolLaw>> {
        let places = Places::of(law, division)?;
        let count = usize::try_from(places.pools).ok()?;
        let all = law.places as f64;
        let mut pools = vec![Vec::new(); count];
        let mut divide = |places_of_class: f64, writes: f64| {
            let pages = places_of_class * places.pages / count as f64;
            let rate = Rate { writes: writes / count as f64, pages };
            pools.iter_mut().for_each(|pool: &mut Vec<Rate>| pool.push(rate));
        };
        match &law.shares {
            Shares::Uniform => divide(all, 1.0),
            Shares::HotCold { hot, writes } => {
                divide(*hot as f64, *writes);
                divide(all - *hot as f64, 1.0 - writes);
            }
            Shares::Zipf { exponent, places: place_of } => {
                let mix = zipf::classes(law.places, *exponent).ok()?;
                let mut rank = 1;
                for class in mix.classes() {
                    let ranks = (class.space * all).round();
                    if ranks == 1.0 && places.in_one_pool {
                        let pool = places.pool(place_of.of(rank));
                        pools[pool].push(Rate { writes: class.writes, pages: places.pages });
                    } else {
                        for pool in &mut pools {
                            let pages = ranks * places.pages / count as f64;
                            pool.push(Rate { writes: class.writes / count as f64, pages });
                        }
                    }
                    rank += ranks as u64;
                }
            }
        }
        trim(&mut pools, law);
        let written = all * places.pages / count as f64;
        let never = (division.pages as f64 - written).max(0.0);
        // Ignores a remainder of the drive that is too small for a request.
        let never = if never * (count as f64) < places.pages { 0.0 } else { never };
        let laws = pools.into_iter().map(|rates| {
            let (none, rates): (Vec<Rate>, Vec<Rate>) =
                rates.into_iter().partition(|rate| rate.writes == 0.0);
            let writes = rates.iter().map(|rate| rate.writes).sum();
            let untouched: f64 = none.iter().map(|rate| rate.pages).sum();
            PoolLaw { rates, static_pages: never + untouched, writes, run: places.run }
        });
        Some(laws.collect())
    }

    /// Returns the mean number of live pages that are written.
    pub(crate) fn live(&self) -> f64 {
        self.rates.iter().map(|rate| rate.pages).sum()
    }

    /// Returns the pages of a block that become invalid independently, for blocks of `slots` pages
    /// and this write amplification.
    ///
    /// The pages of a write become invalid together. If the pages of a block are no multiple of
    /// those of a write, some writes continue in the next block. The parts of such a write are then
    /// independent. Two consecutive pages are separated with probability 1/`slots` each time they
    /// are programmed. A page is programmed once more with probability 1 - 1/A, so that A/`slots`
    /// of the neighbours in the blocks are separated for small shares.
    pub(super) fn units(&self, slots: f64, amplification: f64) -> f64 {
        let stays = 1.0 - 1.0 / slots;
        let together = match self.is_parted(slots) {
            false => 1.0,
            true => stays / (amplification - (amplification - 1.0) * stays),
        };
        (slots * (1.0 - together * (1.0 - 1.0 / self.run))).max(1.0)
    }

    /// Returns true if the number of writes in a block of `slots` pages is not an integer.
    pub(super) fn is_parted(&self, slots: f64) -> bool {
        slots % self.run != 0.0
    }

    /// Returns true if the number of writes in a block of `slots` pages is not an integer, or below
    /// [`FEW_WRITES`].
    pub(super) fn is_coarse(&self, slots: f64) -> bool {
        self.is_parted(slots) || slots / self.run < FEW_WRITES
    }

    /// Returns true if write rates differ.
    pub(crate) fn is_skewed(&self) -> bool {
        let rates = || self.rates.iter().map(|rate| rate.writes / rate.pages);
        let (least, most) = (rates().fold(f64::INFINITY, f64::min), rates().fold(0.0, f64::max));
        most > least * (1.0 + 1e-9)
    }

    /// Returns the classes of the pages that are written.
    pub(crate) fn mix(&self) -> Option<Mix> {
        let live = self.live();
        let of =
            |rate: &Rate| Class { writes: rate.writes / self.writes, space: rate.pages / live };
        Mix::new(self.rates.iter().map(of).collect()).ok()
    }
}

/// Reduces the pages to the live ones. Each trim goes to a random live place of the range (Frankie
/// et al.).
///
/// There are t trims for each write and U live pages in total. A page that gets the share p of the
/// writes is live for the share p / (p + t / U) of the time. U follows from the sum over all pages.
fn trim(pools: &mut [Vec<Rate>], law: &Law) {
    let trims = law.trims / (1.0 - law.reads - law.trims);
    if trims == 0.0 {
        return;
    }
    let rates = || pools.iter().flatten();
    let all: f64 = rates().map(|rate| rate.pages).sum();
    let sum = |live: f64| -> f64 {
        let of = |rate: &Rate| rate.writes / (live * rate.writes / rate.pages + trims);
        rates().map(of).sum()
    };
    // The sum falls as the number of live pages rises.
    let (mut low, mut high) = (0.0, all);
    for _ in 0..100 {
        let middle = f64::midpoint(low, high);
        if sum(middle) > 1.0 { low = middle } else { high = middle }
    }
    for rate in pools.iter_mut().flatten() {
        let own = rate.writes / rate.pages;
        rate.pages *= own / (own + trims / low);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_of_writes_become_independent_with_each_move() {
        let rates = vec![Rate { writes: 1.0, pages: 1000.0 }];
        let pool = PoolLaw { rates, static_pages: 0.0, writes: 1.0, run: 4.0 };
        let near = |found: f64, expected: f64| assert!((found - expected).abs() < 1e-9, "{found}");
        // Whole writes stay whole.
        near(pool.units(24.0, 1.0), 6.0);
        near(pool.units(24.0, 50.0), 6.0);
        // A window of 23 pages over writes of 4 contains pages of 6.5 writes.
        near(pool.units(23.0, 1.0), 6.5);
        assert!(pool.units(23.0, 3.0) > 6.5);
        near(pool.units(23.0, 1e12), 23.0);
        assert!(pool.is_coarse(60.0) && pool.is_coarse(63.0) && !pool.is_coarse(64.0));
    }
}
