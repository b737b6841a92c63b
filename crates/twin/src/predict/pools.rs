//! A drive as models see it: pools that work each for itself.

use std::ops::Range;

use flashscope_model::OutOfRange;
use flashscope_model::trace::{Predictor, Space, Total};
use flashscope_sim::ftl::{Family, Layout};

use super::{Chosen, Pieces, Request};

/// Predictors of the pools of a drive, among which consecutive stripes of logical pages are divided in
/// turn.
pub struct Pools {
    /// Logical pages of a stripe.
    stripe: usize,
    pools: Vec<Box<dyn Predictor>>,
}

impl Pools {
    /// Those of a drive, each predicted by what is chosen.
    ///
    /// # Errors
    /// Where the drive is beyond what the model knows.
    pub fn new(layout: &Layout, chosen: Chosen, pieces: Pieces) -> Result<Pools, OutOfRange> {
        Ok(Pools { stripe: layout.stripe as usize, pools: chosen.predictors(layout, pieces)? })
    }

    /// The next request of the host.
    pub fn request(&mut self, request: Request) {
        let from = request.page as usize;
        let to = from + request.pages() as usize;
        if let [only] = &mut self.pools[..] {
            return put(&mut **only, request, from..to);
        }
        let count = self.pools.len();
        let stripes = from / self.stripe..to.div_ceil(self.stripe);
        for stripe in stripes.take(count) {
            let pool = stripe % count;
            let before = |page| pages_before(page, pool, count, self.stripe);
            put(&mut *self.pools[pool], request, before(from)..before(to));
        }
    }

    /// What all requests so far come to.
    pub fn total(&mut self) -> Total {
        let pools = self.pools.iter_mut().map(|pool| pool.total());
        pools.fold(Total::default(), |sum, pool| sum.plus(&pool))
    }

    /// How often log blocks have come round, in the pool where that is least often.
    #[must_use]
    pub fn turns(&self) -> f64 {
        self.pools.iter().map(|pool| pool.turns()).fold(f64::INFINITY, f64::min)
    }
}

/// Puts the part of a request that is of these pages of a pool.
fn put(pool: &mut dyn Predictor, request: Request, pages: Range<usize>) {
    let (page, count) = (pages.start as u64, pages.len() as u64);
    if request.is_write() {
        pool.write(page, count);
    } else {
        pool.read(page, count);
    }
}

/// How many logical pages before `page` belong to `pool` of `count`.
fn pages_before(page: usize, pool: usize, count: usize, stripe: usize) -> usize {
    let round = stripe * count;
    page / round * stripe + (page % round).saturating_sub(pool * stripe).min(stripe)
}

/// What a pool of a drive has.
///
/// Of page-mapped drives the blocks that are always free or open hold nothing that counts (reference:
/// T excludes the reserve): they are left out. Of drives with log blocks these are the free ones.
#[must_use]
pub fn space(layout: &Layout) -> Space {
    let block = layout.slots_per_block();
    let logical = layout.logical_pages_per_pool.div_ceil(block);
    let free = match layout.ftl.family {
        Family::LogBlock(_) => layout.logs.per_pool,
        Family::PageMapped { .. } => {
            let lanes = layout.lanes_per_pool;
            let in_use = layout
                .blocks_per_lane()
                .saturating_sub(layout.slc_blocks_per_lane + layout.clean_below);
            (lanes * in_use).saturating_sub(logical)
        }
    };
    Space { pages_per_block: block, logical_blocks: logical, free_blocks: free }
}

#[cfg(test)]
mod tests {
    use flashscope_sim::profile;
    use proptest::prelude::*;

    use super::*;

    // Does a pool that is cleaned in parts have the blocks of all of them, of which each keeps some free?
    #[test]
    fn a_pool_of_several_parts() {
        let of = |active: &str, ftl: &str| {
            let spec =
                format!("flashsim-2009?ftl={ftl}&flash.planes_per_die=4&active_blocks={active}");
            let layout = profile::parse(&spec).unwrap().layout().unwrap();
            (space(&layout), layout)
        };
        let (whole, one) = of("pool", "page-map");
        let (divided, four) = of("plane", "page-map");
        assert_eq!((one.lanes_per_pool, four.lanes_per_pool), (1, 4));
        let kept = |layout: &Layout| layout.lanes_per_pool * layout.clean_below;
        assert_eq!(divided.logical_blocks, whole.logical_blocks);
        assert_eq!(divided.free_blocks + kept(&four), whole.free_blocks + kept(&one));
    }

    proptest! {
        // Does every page belong to one pool, in turns of a stripe, and come there after those before it?
        #[test]
        fn pages_are_divided_in_turn(page in 0_usize..10_000, count in 1_usize..9, stripe in 1_usize..17) {
            let before = |page, pool| pages_before(page, pool, count, stripe);
            prop_assert_eq!((0..count).map(|pool| before(page, pool)).sum::<usize>(), page);
            let owner = page / stripe % count;
            for pool in 0..count {
                let grows = usize::from(pool == owner);
                prop_assert_eq!(before(page + 1, pool) - before(page, pool), grows);
            }
        }
    }
}
