//! The flash array: packages of dies of planes of blocks of pages, what a command on them takes,
//! and which commands are legal.
//!
//! Nothing above this module counts flash operations: every command is counted here, once, by
//! its [`Cause`].

mod array;
mod blocks;
mod geometry;
mod timing;

pub use array::{Array, ByCause, Cause, FlashCounters};
pub use blocks::Illegal;
pub use geometry::{BlockId, Geometry, Lpn, Page, Ppn};
pub use timing::{Timing, later, transfer_time};
