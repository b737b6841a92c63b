//! Predicts how a workload performs on a drive that never ran it.
//!
//! The models know neither profiles nor traces, and the simulator does not know the models. This crate joins them.

pub mod drawn;
pub mod fit;
pub mod predict;
pub mod simulate;
pub mod sweep;
pub mod what_if;
