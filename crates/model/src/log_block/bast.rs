//! BAST, a hybrid log-block FTL in which each log block serves one data block (Boboila, section
//! III.A).

use crate::fragments::Fragments;
use crate::{Merges, Prediction, Uniform};

/// Predicts merges by equations 4 to 6, and erases by equation 7.
///
/// The paper takes f as the share of data blocks that have a log block. The paper does not cover f
/// above 1. There, f counts as 1: every data block already has a log block, and further log blocks
/// change nothing.
#[must_use]
pub fn predict(uniform: &Uniform) -> Prediction {
    let fragments = Fragments::printed(uniform);
    let (block, with_log) = (uniform.pages_per_block(), uniform.free_space().min(1.0));
    let without = 1.0 - with_log;
    let merges = Merges {
        switch: fragments.middles * without,
        partial: fragments.tails * without * without,
        full: (fragments.middles + fragments.tails) * with_log + fragments.heads * without,
    };
    // A full merge copies a whole block; a partial merge copies the pages that the tail left out.
    let rest = block - fragments.tail_len(block);
    Prediction {
        erasures: merges.switch + merges.partial + 2.0 * merges.full,
        copies: merges.full * block + merges.partial * rest,
        merges: Some(merges),
    }
}
