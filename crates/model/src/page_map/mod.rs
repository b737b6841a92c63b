//! FTLs that map single pages, by GC policy.
//!
//! All models assume uniform writes of single pages. FIFO and random GC are exact for longer writes
//! too, because the fate of a page does not depend on its neighbours. For the other policies, a
//! write of w pages invalidates neighbours together. A block of b pages then behaves like a block
//! of b / w pages that become invalid independently ([`units`]).

mod classes;
pub mod cost_benefit;
pub mod d_choices;
pub mod desnoyers;
pub mod equivalent;
pub mod fifo;
pub mod greedy;
pub mod pools;
pub mod random;
mod translation;
pub mod trim;
pub mod windowed;
pub mod zipf;

pub use classes::{Class, Mix};
pub use translation::Translation;

/// Returns the value of `of_whole` at `pages` pages in a block. Interpolates linearly between whole
/// numbers of pages, for which alone `of_whole` is defined.
pub(crate) fn between_whole(pages: f64, of_whole: impl Fn(f64) -> f64) -> f64 {
    let (low, part) = (pages.floor(), pages.fract());
    let at_low = of_whole(low);
    if part == 0.0 {
        return at_low;
    }
    at_low + part * (of_whole(low + 1.0) - at_low)
}

/// Returns the number of units in a block that become invalid independently: at least 1, at most
/// the number of pages.
pub(crate) fn units(pages_per_block: f64, mean_len: f64) -> f64 {
    (pages_per_block / mean_len).max(1.0)
}
