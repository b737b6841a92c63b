//! FAST, derived anew: heads that survive in a ring of log blocks, by renewal.
//!
//! Lengths are geometric. A log block is given up when the ring has come round once, after n - 1.5 of n
//! log blocks on average: one is being filled, and one is for sequential writes. A fragment of a head in
//! it costs a merge of its data block if nothing has taken that block's log pages away, and then once for
//! all fragments of this data block:
//!
//! - x_h = f' L_f, with f' = (n - 1.5) / V_L: heads to the same data block while the ring comes round;
//! - x_c = x_h (F_m + F_t) / F_h: middles and tails to it, each of which cleans it;
//! - S = exp(-x_c) / (1 + x_h (1 - exp(-x_c)) / x_c): merges for each head.
//!
//! E = F_m + F_t + F_h S + F_h / L_f. Within 1 % of a simulation at f of .07 and w of 1 to 2500, and
//! within 2.7 % from f of .01 to 1.

use super::fast::with_logs;
use crate::fragments::Fragments;
use crate::{Merges, Prediction, Uniform};

/// Merges and erasures as above. Of fewer than two log blocks a quarter of one is taken to be behind the
/// one that is filled.
#[must_use]
pub fn predict(uniform: &Uniform) -> Prediction {
    let fragments = Fragments::geometric(uniform);
    let block = uniform.pages_per_block();
    let per_log = block / fragments.head_len;
    let logs = uniform.free_space() * uniform.logical_blocks();
    let behind = (logs - 1.5).max(0.25) / uniform.logical_blocks();
    let heads = behind * per_log;
    let cleaners = heads * (fragments.middles + fragments.tails) / fragments.heads;
    let survive = (-cleaners).exp() / (1.0 + heads * -(-cleaners).exp_m1() / cleaners);
    let merges = Merges {
        switch: fragments.middles,
        partial: fragments.tails,
        full: fragments.heads * survive,
    };
    with_logs(&fragments, merges, fragments.heads / per_log, block)
}
