//! Twins fitted to measurements of drives that are known.

mod fill_sweep;
mod parameters;
mod synthetic;
mod versions;
