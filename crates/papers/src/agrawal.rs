//! N. Agrawal et al., "Design Tradeoffs for SSD Performance", USENIX ATC 2008.

mod bandwidth;
mod cleaning;
mod gangs;
mod half_full;
mod interleaving;
mod page_size;
mod parameters;
mod samples;
mod table_3;
mod thresholds;
mod tradeoffs;
mod wear;
mod workloads;

pub(crate) use bandwidth::{FIGURE_2, SECTION_2_2};
pub(crate) use cleaning::TABLE_5;
pub(crate) use gangs::{FIGURE_7, TABLE_4};
pub(crate) use half_full::SECTION_5_2;
pub(crate) use interleaving::FIGURE_6;
pub(crate) use page_size::SECTION_3_1;
pub(crate) use parameters::TABLE_1;
pub(crate) use samples::TABLE_2;
pub(crate) use table_3::TABLE_3;
pub(crate) use thresholds::FIGURE_8;
pub(crate) use tradeoffs::TABLE_6;
pub(crate) use wear::TABLE_7;

/// The size of a flash page, in bytes.
const PAGE: u64 = 4096;
