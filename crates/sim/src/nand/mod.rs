//! The flash array: packages of dies of planes of blocks of pages, what a command on them takes,
//! and which commands are legal.
//!
//! Nothing above this module counts flash operations: every command is counted here, once, by
//! its [`Cause`].

mod array;
mod blocks;
mod counters;
mod disturb;
mod faults;
mod geometry;
mod schedule;
#[cfg(test)]
mod tests;
mod timing;
mod undo;

pub use array::{Array, Moves, NOWHERE, Parts};
pub use blocks::{Entry, Illegal, Note, Stamp};
pub use counters::{ByCause, Cause, Event, Events, FlashCounters};
pub use disturb::ReadDisturb;
pub use faults::{Fault, Reliability, bad_blocks};
pub use geometry::{BlockId, Dimensions, Geometry, Lpn, Page, Slot};
pub(crate) use schedule::units;
pub use schedule::{Interleaving, Place, Sharing, Wiring};
pub use timing::{Timing, later, transfer_time};
