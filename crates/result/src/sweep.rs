//! The result folder of a sweep: `NAME.flashscope/sweep.json` and `points.parquet`.
//!
//! While it goes on, rows lie in `parts/`, each file named only once it is complete; the table of all
//! is written at the end, in the order of the points, and then the parts go.

mod explored;
mod folder;
mod found;
mod measured;
mod points;

pub use explored::{Explored, ExploredPoint};
pub use folder::{SweepFolder, is_sweep, read_rows, read_sweep};
pub use found::{
    Counts, Effect, FrontPoint, Goal, Interaction, Level, Objective, Regressed, Row, RowStatus,
    SWEEP_VERSION, Setting, Skipped, Step, Sweep, SweepStatus,
};
pub use measured::{Measured, by_point, settings};
pub use points::{Column, columns};
