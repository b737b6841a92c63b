//! S. Boboila and P. Desnoyers, "Performance Models of Flash-based Solid-State Drives for Real
//! Workloads", MSST 2011.

mod drives;
mod equations;
mod fragments;
mod integration;
mod predictions;
mod uniform;
mod workloads;
mod writes;

pub(crate) use drives::FIGURE_4;
pub(crate) use equations::EQUATIONS;
pub(crate) use fragments::FIGURE_1;
pub(crate) use integration::EQUATION_16;
pub(crate) use predictions::FIGURE_3;
pub(crate) use uniform::FIGURE_2;

/// The number of pages written in the paper's tests (section III).
const WRITTEN: f64 = 1e7;

/// The seed of random writes.
const SEED: u64 = 2011;
