//! A derivation of FAST by renewal theory: heads survive in a ring of log blocks.
//!
//! Write lengths are geometric. The FTL reclaims a log block when the ring has come round once.
//! With n log blocks, this is after n - 1.5 of them were filled, on average: one is for sequential
//! writes, and one is half full. A head in the reclaimed log block causes a full merge of its data
//! block, unless an earlier merge has already superseded the head. One merge serves all heads of
//! the same data block:
//!
//! - x_h = f' L_f, with f' = (n - 1.5) / V_L and L_f heads in a log block: heads to the same data
//!   block during one round of the ring;
//! - x_c = x_h (F_m + F_t) / F_h: middles and tails to the same data block in that round, each of
//!   which supersedes the heads of the block;
//! - S = exp(-x_c) / (1 + x_h (1 - exp(-x_c)) / x_c): full merges for each head.
//!
//! The number of erases is E = F_m + F_t + F_h S + F_h / L_f. E agrees with a simulation to within
//! 1 % at f = .07 and w from 1 to 2500, and to within 2.7 % for f from .01 to 1.

use super::fast::with_logs;
use crate::fragments::Fragments;
use crate::{Merges, Prediction, Uniform};

/// Predicts merges and erases by the equations above. For fewer than 1.75 log blocks, the ring
/// counts as a quarter of a log block.
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
