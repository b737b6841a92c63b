//! The result folder of a sweep: `NAME.flashscope/sweep.json` and `points.parquet`.
//!
//! During the sweep, rows are in `parts/`, and each part appears only when complete. At the end,
//! the full table is written in the order of the points, and the parts are removed.

mod folder;
mod points;

pub use folder::{SweepFolder, is_sweep, read_explored, read_rows, read_sweep};
pub use points::{Column, columns};
