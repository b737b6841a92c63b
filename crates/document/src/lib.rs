//! The published documents as data. Each has a version and a schema; this crate opens no files.
//!
//! [`Manifest`] and [`facts::Facts`] describe a benchmark, [`Simulation`] a simulated workload,
//! [`sweep::Sweep`] a design space, and [`what_if::WhatIf`] variants of a drive.
//! [`trace::TraceFacts`] describes a trace, [`verification::Verification`] a drive after a power
//! cut, and [`watch::WatchReport`] the health of drives. `flashscope-result` reads and writes the
//! folders that contain these documents. [`ranges`] adds the limits of numbers and texts to the
//! schemas.

pub mod collection;
pub mod comparison;
pub mod conclusion;
pub mod environment;
pub mod facts;
pub mod grid;
pub mod manifest;
pub mod marks;
pub mod methodology;
pub mod plan;
pub mod prediction;
pub mod probe;
pub mod ranges;
pub mod rounds;
pub mod running;
mod simulation;
pub mod sweep;
pub mod tool;
pub mod trace;
pub mod twin;
pub mod verification;
pub mod watch;
pub mod what_if;

pub use manifest::Manifest;
pub use simulation::{
    Cleaning, Correction, EnergyStatistics, HandleStatistics, LatencyHeatMap, LatencyNs,
    PhaseSpeed, PlacementStatistics, SIMULATION_VERSION, Simulation, SimulationSpeed,
    SimulationStatus, SimulationWarmUp, TenantAlone, TenantResult, ZoneStatistics,
};
