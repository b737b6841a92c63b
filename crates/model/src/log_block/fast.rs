//! FAST: one log block for sequential writes; all data blocks share the other log blocks (Boboila,
//! section III.B).

use crate::fragments::Fragments;
use crate::{Merges, Prediction, Uniform};

/// Predicts merges by equations 8 to 14, with equation 12 corrected ([`crate::head_len`]), and
/// erases by equation 15.
///
/// Equation 13 is used as printed, with the term f (L_f F_m + F_h). Renewal theory gives f (F_m +
/// F_t + F_h) instead. The printed factor L_f on the middles makes up for the missing tails, and
/// the agreement is worse without this factor. At f = .07 and w = 256, r is .791 without it and
/// .817 with it, against .813 in a simulation. [`crate::fast_refined`] is a derivation without such
/// an empirical factor.
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

/// Returns the cost of merges if the FTL reclaims `logs` log blocks for each host page written.
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
