//! The result folder of a sweep: `NAME.flashscope/sweep.json` and `points.parquet`.
//!
//! While it goes on, rows lie in `parts/`, each file named only once it is complete; the table of all
//! is written at the end, in the order of the points, and then the parts go.

mod folder;
mod points;

pub use folder::{SweepFolder, is_sweep, read_explored, read_rows, read_sweep};
pub use points::{Column, columns};
