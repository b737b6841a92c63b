//! Hybrid log block, or BAST: each log block serves one data block (Boboila, section III.A).

use crate::fragments::Fragments;
use crate::{Merges, Prediction, Uniform};

/// Merges by equations 4 to 6, and erasures by equation 7.
///
/// The share of data blocks that have a log block is f. From f of 1 on all of them have one, and more
/// log blocks change nothing: f is clamped to 1, which the paper leaves open.
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
    // A full merge writes a whole block; a partial one what the tail leaves of it.
    let rest = block - fragments.tail_len(block);
    Prediction {
        erasures: merges.switch + merges.partial + 2.0 * merges.full,
        copies: merges.full * block + merges.partial * rest,
        merges: Some(merges),
    }
}
