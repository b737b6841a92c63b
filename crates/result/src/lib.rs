//! The result folder `NAME.flashscope/`: `manifest.json`, `records/*.parquet` (one row an IO),
//! `activities/*.parquet` (what a simulated drive did inside) and `facts.json`; of a simulated
//! workload, `simulation.json`; of a sweep, `sweep.json` and `points.parquet`; of a what-if, `what-if.json`; of a probed drive, `probe.json` and `records/*.parquet`. What measures
//! writes it, what analyses reads it, and neither knows the other.
//!
//! Every file appears under its name only when it is complete and on stable storage, so a result
//! is whole at every instant, whatever happens to the machine. The folder itself appears in the same way: once it
//! can be resumed, or read.

mod activities;
pub mod activity;
mod constant;
mod document;
mod error;
mod folder;
pub mod guarded;
mod probe;
mod reader;
mod recorder;
mod rows;
mod simulation;
mod staging;
pub mod sweep;
mod system;
pub mod what_if;
mod writer;

pub use error::Error;
pub use folder::{ResultFolder, activities_path, records_path, rows, write_output, write_text};
pub use probe::{ProbeFolder, is_probe, read_probe};
pub use reader::Rows;
pub use recorder::Recorder;
pub use simulation::{SimulationFolder, is_simulation, read_simulation};
pub use staging::is_unfinished;
