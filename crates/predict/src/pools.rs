//! Divides the requests of a drive among its pools, which work independently.

use std::ops::Range;

use flashscope_model::OutOfRange;
use flashscope_model::trace::{Predictor, Space, Total};
use flashscope_sim::Design;
use flashscope_sim::ftl::Family;
use flashscope_sim::nand::Geometry;

use super::{Access, Pieces, Request, SelectedModel};

/// The predictors of a drive's pools. Pools hold consecutive stripes of logical pages in turn.
pub struct Pools {
    /// The logical pages of a stripe.
    stripe: usize,
    pools: Vec<Box<dyn Predictor>>,
    /// The pages of the free blocks of all pools; in FTLs with log blocks, the pages of the log
    /// blocks.
    free_pages: u64,
    /// Pages at the end of each block that list the logical pages of the block. The models do not
    /// include them.
    summary_pages: f64,
}

impl Pools {
    /// Creates the predictors of a drive with the model `chosen`.
    ///
    /// # Errors
    /// If the drive is outside the range of the model.
    pub fn new(
        design: &Design,
        chosen: SelectedModel,
        pieces: Pieces,
    ) -> Result<Pools, OutOfRange> {
        Ok(Pools {
            stripe: design.stripe as usize,
            pools: chosen.predictors(design, pieces)?,
            free_pages: free_pages(design),
            summary_pages: summary_pages(design),
        })
    }

    /// Passes the next request of the host to the pools that it touches.
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

    /// Returns the number of pages in the free blocks. Writes cycle through these pages and the
    /// pages that hold data.
    pub(crate) const fn free_pages(&self) -> u64 {
        self.free_pages
    }

    /// Returns the totals over all requests so far. Copies include the summary pages of as many
    /// blocks as were erased.
    pub fn total(&mut self) -> Total {
        let pools = self.pools.iter_mut().map(|pool| pool.total());
        let total = pools.fold(Total::default(), |sum, pool| sum.plus(&pool));
        Total { copies: total.copies + total.erasures * self.summary_pages, ..total }
    }

    /// Returns the number of cycles that the writes made through the log blocks, in the pool with
    /// the fewest cycles.
    #[must_use]
    pub fn turns(&self) -> f64 {
        self.pools.iter().map(|pool| pool.rounds()).fold(f64::INFINITY, f64::min)
    }
}

/// Returns the number of pages in the free blocks of all pools of a drive.
#[must_use]
pub fn free_pages(design: &Design) -> u64 {
    let Space { free_blocks, pages_per_block, .. } = space(design);
    u64::from(design.pools) * u64::from(free_blocks) * u64::from(pages_per_block)
}

/// Passes the part of a request that lies on `pages` of a pool.
fn put(pool: &mut dyn Predictor, request: Request, pages: Range<usize>) {
    let (page, count) = (pages.start as u64, pages.len() as u64);
    match request.access() {
        Access::Write => pool.write(page, count),
        Access::Read => pool.read(page, count),
        Access::Trim => pool.trim(page, count),
    }
}

/// Returns the number of logical pages before `page` that belong to `pool`, out of `count` pools.
fn pages_before(page: usize, pool: usize, count: usize, stripe: usize) -> usize {
    let round = stripe * count;
    page / round * stripe + (page % round).saturating_sub(pool * stripe).min(stripe)
}

/// Returns the number of logical pages in a flash page; below 1 if a logical page is larger.
pub(crate) fn slots_per_page(design: &Design) -> f64 {
    let Geometry { slots_per_page, pages_per_slot, .. } = design.geometry;
    f64::from(slots_per_page) / f64::from(pages_per_slot)
}

/// Returns the number of logical pages that the summary of a block occupies.
pub(crate) fn summary_pages(design: &Design) -> f64 {
    f64::from(design.geometry.summary_pages) * slots_per_page(design)
}

/// Returns the space of a pool of a drive.
///
/// For page-mapped drives, the space excludes the blocks that are always free or open, which hold
/// no valid data. The models exclude this reserve from the physical pages. For drives with log
/// blocks, `free_blocks` counts the log blocks.
#[must_use]
pub fn space(design: &Design) -> Space {
    let block = design.slots_per_block();
    let logical = design.logical_pages_per_pool.div_ceil(block);
    let free = match design.family {
        Family::LogBlock(_) => design.logs.options.blocks,
        Family::PageMapped { .. } => design.data_blocks_per_pool().saturating_sub(logical),
    };
    Space { pages_per_block: block, logical_blocks: logical, free_blocks: free }
}

#[cfg(test)]
mod tests {
    use flashscope_sim::setup;
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn pool_of_several_lanes_has_the_blocks_of_all() {
        let of = |active: &str, ftl: &str| {
            let spec =
                format!("flashsim-2009?ftl={ftl}&flash.planes_per_die=4&active_blocks={active}");
            let design = setup::parse(&spec).unwrap().design().unwrap();
            (space(&design), design)
        };
        let (whole, one) = of("pool", "page-map");
        let (divided, four) = of("plane", "page-map");
        assert_eq!((one.lanes_per_pool, four.lanes_per_pool), (1, 4));
        let kept = |design: &Design| design.lanes_per_pool * design.clean_below;
        assert_eq!(divided.logical_blocks, whole.logical_blocks);
        assert_eq!(divided.free_blocks + kept(&four), whole.free_blocks + kept(&one));
    }

    proptest! {
        #[test]
        fn each_page_belongs_to_one_pool_in_order(page in 0_usize..10_000, count in 1_usize..9, stripe in 1_usize..17) {
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
