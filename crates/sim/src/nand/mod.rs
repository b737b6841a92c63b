//! The flash array: packages, dies, planes, blocks and pages, the time that each command takes, and
//! the rules that make a command legal.
//!
//! This module alone counts flash operations: each command once, by its [`Cause`].

mod array;
mod blocks;
mod counters;
mod disturb;
mod due;
mod errors;
mod faults;
mod geometry;
mod page_types;
mod schedule;
#[cfg(test)]
mod tests;
mod timing;
mod undo;
mod wiring;

pub use crate::arithmetic::later;
pub(crate) use array::Moves;
pub use array::{Array, Event as QueueEvent, Levels, NOWHERE, Parts, Queues};
pub use blocks::{Entry, IllegalCommand, Note, Stamp};
pub use counters::{BusyTimes, ByCause, Cause, Event, Events, FlashCounters};
pub use disturb::ReadDisturb;
pub(crate) use due::{FAR, awaited};
pub use errors::{BitErrors, Code, Growth};
pub(crate) use faults::bad_blocks;
pub use faults::{Fault, Reliability};
pub use geometry::{BlockId, Dimensions, Geometry, Lpn, Page, Slot};
pub use page_types::PageTypes;
pub use schedule::Place;
pub use timing::Timing;
pub(crate) use timing::transfer_time;
pub use wiring::{GangSharing, Interleaving, PlaneAddresses, Wiring};
pub(crate) use wiring::{bus_has_one_die, units};
