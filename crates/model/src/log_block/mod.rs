//! FTLs that map whole blocks and append new data to page-mapped log blocks.

pub mod bast;
pub mod bast_refined;
pub mod fast;
pub mod fast_refined;
