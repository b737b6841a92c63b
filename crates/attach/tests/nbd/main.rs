//! An attached drive as a network block device.

mod clients;
#[path = "../../src/fixed.rs"]
mod fixed;
mod raw;
mod served;
mod session;
mod talk;
