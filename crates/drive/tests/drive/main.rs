//! Tests real drives: the contract of `Device`, the guards against overwriting data, and the list
//! of block devices.

mod contract;
mod guards;
mod inventory;
