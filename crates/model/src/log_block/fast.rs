//! FAST: one log block for sequential writes, and all others shared (Boboila, section III.B).

use crate::fragments::Fragments;
use crate::{Merges, Prediction, Uniform};

/// Merges by equations 8 to 14, with equation 12 corrected ([`crate::head_len`]), and erasures by
/// equation 15.
///
/// Equation 13 is kept as printed. Renewal theory would have f (F_m + F_t + F_h) where it has
/// f (L_f F_m + F_h): the factor L_f on the middles stands for the tails that it leaves out, and without
/// it the fit is worse (f = .07, w = 256: .791, where a simulation has .813 and the equation .817). It is an
/// empirical fit; [`crate::fast_refined`] is the derivation.
#[must_use]
pub fn predict(uniform: &Uniform) -> Prediction {
    let fragments = Fragments::printed(uniform);
    let (block, free) = (uniform.pages_per_block(), uniform.free_space());
    let per_log = block / fragments.head_len;
    let heads = fragments.heads;
    let valid = heads / (free * (per_log * fragments.middles + heads) + heads / per_log);
    let logs = heads / per_log;
    let merges = Merges { switch: fragments.middles, partial: fragments.tails, full: logs * valid };
    with_logs(&fragments, merges, logs, block)
}

/// What merges cost where `logs` log blocks are given up for each page written.
pub(super) fn with_logs(
    fragments: &Fragments,
    merges: Merges,
    logs: f64,
    block: f64,
) -> Prediction {
    let rest = block - fragments.tail_len(block);
    Prediction {
        erasures: merges.switch + merges.partial + merges.full + logs,
        copies: merges.full * block + merges.partial * rest,
        merges: Some(merges),
    }
}
