//! FTLs that map whole blocks and take writes in page-mapped log blocks.

pub mod bast;
pub mod bast_refined;
pub mod fast;
pub mod fast_refined;
