//! An attached drive as a network block device.

mod clients;
mod fixed;
mod raw;
mod served;
mod session;
mod talk;
