//! FTLs that map pages, and clean blocks.
//!
//! All take uniform writes of single pages; FIFO alone is exact for longer ones, as what a page survives
//! does not depend on its neighbours. Where writes of w pages are longer, neighbours are invalidated
//! together, and a block of b pages behaves as one of b / w: [`units`].

mod classes;
pub mod cost_benefit;
pub mod d_choices;
pub mod desnoyers;
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

/// What is known for whole numbers of pages in a block, between them in a straight line.
pub(crate) fn between_whole(pages: f64, of_whole: impl Fn(f64) -> f64) -> f64 {
    let (low, part) = (pages.floor(), pages.fract());
    let at_low = of_whole(low);
    if part == 0.0 {
        return at_low;
    }
    at_low + part * (of_whole(low + 1.0) - at_low)
}

/// Parts of a block that are valid or not each by itself: at least 1, at most its pages.
pub(crate) fn units(pages_per_block: f64, mean_len: f64) -> f64 {
    (pages_per_block / mean_len).max(1.0)
}
