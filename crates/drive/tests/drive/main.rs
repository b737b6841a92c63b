//! Drives behind the interface of all drives, their guards, and the list of drives.

mod contract;
mod guards;
mod inventory;
