//! GC collects the block with the fewest valid pages, approximately (Desnoyers, equation 12).

use super::{fifo, units};
use crate::{Prediction, Uniform};

/// Returns the write amplification: that of FIFO at k alpha, divided by k, with k = 1 + 1/(2b).
#[must_use]
pub fn write_amplification(alpha: f64, pages_per_block: f64) -> f64 {
    from_fifo(pages_per_block, |k| fifo::write_amplification(k * alpha))
}

/// Approximates the amplification of greedy GC for any workload. `fifo` returns the amplification
/// of FIFO GC with k times as many physical pages.
pub(crate) fn from_fifo(pages_per_block: f64, fifo: impl FnOnce(f64) -> f64) -> f64 {
    let k = 1.0 + 0.5 / pages_per_block;
    // With few pages in a block and much spare space, the approximation falls below the minimum of
    // 1.
    (fifo(k) / k).max(1.0)
}

/// Predicts the cost of uniform writes.
#[must_use]
pub fn predict(uniform: &Uniform) -> Prediction {
    let amplification =
        write_amplification(uniform.alpha(), units(uniform.pages_per_block(), uniform.mean_len()));
    Prediction::page_mapped(amplification, uniform.pages_per_block())
}
