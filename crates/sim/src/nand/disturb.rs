//! Pages that become harder to read the more often they are read (read disturb): Cai, Luo, Ghose and Mutlu,
//! "Read Disturb Errors in MLC NAND Flash Memory", DSN 2015. A page that is not corrected at once is read again
//! with other reference voltages; Luo et al., "Improving 3D NAND Flash Memory Lifetime", SIGMETRICS 2018.

use std::collections::BTreeMap;

use crate::footprint::{Size, grown, tree};

use super::{BlockId, Page};

/// How reads disturb, and what is done against it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ReadDisturb {
    /// Probability that a read of the host makes its page need one more retry from then on.
    pub probability: f64,
    /// How often a page is read again before it is given up.
    pub most_retries: u32,
    /// Retries from which on the data of a page are to be written anew.
    pub refresh_from: u32,
}

/// What a read of a page takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Effort {
    pub(super) retries: u32,
    pub(super) readable: bool,
}

/// How hard each page is to read.
pub(super) struct Disturbed {
    how: ReadDisturb,
    random: fastrand::Rng,
    /// The retries that pages need which need any.
    retries: BTreeMap<(BlockId, u32), u32>,
    /// Pages that were found to be as hard to read as must not be, since they were asked for.
    to_refresh: Vec<Page>,
}

impl Disturbed {
    /// None where reads disturb nothing.
    pub(super) fn new(how: ReadDisturb, seed: u64) -> Option<Disturbed> {
        let random = fastrand::Rng::with_seed(seed.wrapping_add(1));
        let retries = BTreeMap::new();
        (how.probability > 0.0).then_some(Disturbed {
            how,
            random,
            retries,
            to_refresh: Vec::new(),
        })
    }

    /// What one takes that knows of all `pages`.
    pub(super) fn footprint(how: ReadDisturb, pages: u64) -> Size {
        match how.probability > 0.0 {
            // The entries of a block are taken out of the tree, which is divided for that.
            true => tree::<((BlockId, u32), u32)>(pages) + grown::<Page>(pages.min(1 << 16)),
            false => Size(0),
        }
    }

    /// The host reads a page.
    pub(super) fn read(&mut self, page: Page) -> Effort {
        let place = (page.block, page.index);
        let needed = self.retries.get(&place).copied().unwrap_or_default();
        if self.random.f64() < self.how.probability {
            self.retries.insert(place, needed + 1);
        }
        let readable = needed <= self.how.most_retries;
        if readable && needed >= self.how.refresh_from && !self.to_refresh.contains(&page) {
            self.to_refresh.push(page);
        }
        Effort { retries: needed.min(self.how.most_retries), readable }
    }

    /// A block was erased: what is written to it now is as new.
    pub(super) fn erased(&mut self, block: BlockId) {
        let BlockId(number) = block;
        let mut behind = self.retries.split_off(&(block, 0));
        self.retries.append(&mut behind.split_off(&(BlockId(number + 1), 0)));
    }

    pub(super) fn take_refresh(&mut self) -> Vec<Page> {
        std::mem::take(&mut self.to_refresh)
    }
}
