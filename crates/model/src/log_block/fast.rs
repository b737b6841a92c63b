//! FAST: one log block for sequential writes; all data blocks share the others (Boboila, section
//! III.B).

use crate::fragments::Fragments;
use crate::{Merges, Prediction, Uniform};

/// Predicts merges by equations 8 to 14, with equation 12 corrected ([`crate::head_len`]), and
/// erases by equation 15.
///
/// Equation 13 stands as printed, with f (L_f F_m + F_h) in it. Renewal theory gives f (F_m + F_t +
/// F_h). The printed factor L_f on the middles stands in for the missing tails, and the fit is
/// worse without it: at f = .07 and w = 256, it gives .791 without and .817 with it, against .813
/// in a simulation. [`crate::fast_refined`] is a derivation without such an empirical factor.
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
