//! Reads and writes result folders, `NAME.flashscope/`. A benchmark result contains
//! `manifest.json`, `records/*.parquet` (one row per IO), `activities/*.parquet` (internal
//! operations of a simulated drive) and `facts.json`. A simulation contains `simulation.json`; a
//! sweep `sweep.json` and `points.parquet`; a collection of traces `collection.json`; a what-if
//! `what-if.json`; a prediction `prediction.json`; a probe `probe.json` and `records/*.parquet`; a
//! watch `watch.json` and `readings.jsonl`. A twin is a file, `NAME.twin.json`. The format of
//! results is the only link between the crates that measure and the crates that analyse.
//!
//! Every file appears only when it is complete and on stable storage; only `readings.jsonl` grows,
//! line by line. A result is therefore
//! consistent even after a crash or power cut. The folder itself appears as soon as it can be read
//! or resumed.

mod activities;
pub mod activity;
pub mod collection;
mod constant;
mod document;
mod error;
mod files;
mod folder;
pub mod guarded;
mod names;
mod output;
pub mod prediction;
mod probe;
mod reader;
mod recorder;
mod rows;
mod simulation;
mod staging;
pub mod sweep;
mod system;
pub mod twin;
pub mod watch;
pub mod what_if;
mod writer;

pub use error::Error;
pub use files::write_text;
pub use folder::{ResultFolder, rows};
pub use names::{activities_path, records_path};
pub use output::write_output;
pub use probe::{ProbeFolder, is_probe, read_probe};
pub use reader::Rows;
pub use recorder::Recorder;
pub use simulation::{SimulationFolder, is_simulation, read_simulation};
pub use staging::is_unfinished;
