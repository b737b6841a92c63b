//! N. Agrawal et al., "Design Tradeoffs for SSD Performance", USENIX ATC 2008.

mod bandwidth;
mod cleaning;
mod gangs;
mod half_full;
mod parameters;
mod samples;
mod table_3;
mod thresholds;
mod tradeoffs;
mod wear;
mod workloads;

pub use bandwidth::{FIGURE_2, SECTION_2_2};
pub use cleaning::TABLE_5;
pub use gangs::{FIGURE_6, FIGURE_7, TABLE_4};
pub use half_full::SECTION_5_2;
pub use parameters::TABLE_1;
pub use samples::TABLE_2;
pub use table_3::TABLE_3;
pub use thresholds::FIGURE_8;
pub use tradeoffs::TABLE_6;
pub use wear::TABLE_7;

/// The size of a flash page, in bytes.
const PAGE: u64 = 4096;
