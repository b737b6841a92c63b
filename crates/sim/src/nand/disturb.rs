//! Read disturb: pages become harder to read the more often they are read. Source: Cai, Luo, Ghose
//! and Mutlu, "Read Disturb Errors in MLC NAND Flash Memory", DSN 2015.
//!
//! A page whose first read cannot be corrected is read again with other reference voltages. Source:
//! Luo et al., "Improving 3D NAND Flash Memory Lifetime", SIGMETRICS 2018.

use std::collections::BTreeMap;

use crate::footprint::{Size, grown, tree};

use super::{BlockId, Page};

/// The settings of read disturb and of the retries and refreshes that counter it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ReadDisturb {
    /// Probability that a host read makes its page need one more retry from then on.
    pub probability: f64,
    /// Maximum number of retries before the read fails.
    pub max_retries: u32,
    /// Number of retries from which a page must be refreshed: its data rewritten elsewhere.
    pub refresh_from: u32,
}

/// The outcome of a page read: the number of retries, and true if the page is readable.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct ReadOutcome {
    pub(super) retries: u32,
    pub(super) readable: bool,
}

/// The number of read retries that each page needs.
pub(super) struct DisturbState {
    how: ReadDisturb,
    random: fastrand::Rng,
    /// Retries for each page that needs any, by block and page index.
    retries: BTreeMap<(BlockId, u32), u32>,
    /// Pages that must be refreshed, collected since the last [`DisturbState::take_refresh`].
    to_refresh: Vec<Page>,
}

impl DisturbState {
    /// Creates the state, or returns `None` if reads disturb no pages.
    pub(super) fn new(how: ReadDisturb, seed: u64) -> Option<DisturbState> {
        let random = fastrand::Rng::with_seed(seed.wrapping_add(1));
        let retries = BTreeMap::new();
        (how.probability > 0.0).then_some(DisturbState {
            how,
            random,
            retries,
            to_refresh: Vec::new(),
        })
    }

    /// Returns the memory that the state needs, with an entry for each of `pages` pages.
    pub(super) fn footprint(how: ReadDisturb, pages: u64) -> Size {
        match how.probability > 0.0 {
            // Removing the entries of a block splits the tree in two.
            true => tree::<((BlockId, u32), u32)>(pages) + grown::<Page>(pages.min(1 << 16)),
            false => Size(0),
        }
    }

    /// Records a host read of a page, and returns the retries that it needs.
    pub(super) fn read(&mut self, page: Page) -> ReadOutcome {
        let place = (page.block, page.index);
        let needed = self.retries.get(&place).copied().unwrap_or_default();
        if self.random.f64() < self.how.probability {
            self.retries.insert(place, needed + 1);
        }
        let readable = needed <= self.how.max_retries;
        if readable && needed >= self.how.refresh_from && !self.to_refresh.contains(&page) {
            self.to_refresh.push(page);
        }
        ReadOutcome { retries: needed.min(self.how.max_retries), readable }
    }

    /// Forgets the retries of an erased block: its pages read like new.
    pub(super) fn erased(&mut self, block: BlockId) {
        let BlockId(number) = block;
        let mut behind = self.retries.split_off(&(block, 0));
        self.retries.append(&mut behind.split_off(&(BlockId(number + 1), 0)));
    }

    pub(super) fn take_refresh(&mut self) -> Vec<Page> {
        std::mem::take(&mut self.to_refresh)
    }
}
