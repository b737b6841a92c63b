//! A simulated SSD: a [`flashscope_block::Device`] on virtual time, after Agrawal et al., "Design
//! Tradeoffs for SSD Performance", USENIX ATC 2008.
//!
//! From the outside in: [`SimDevice`] takes IOs over a host interface and splits them into
//! pages; buffer memory ([`cache`]) may hold them for a while; an FTL ([`ftl`]) finds each page a
//! place and cleans, choosing victims by a policy ([`gc`]); the flash array ([`nand`]) says how
//! long each command takes, refuses illegal ones and counts them. Several drives may form an array
//! ([`raid`]). A [`Profile`] says what all of these are like.
//!
//! No clock and no data, and what is random is drawn from the seed of the profile: the same IOs
//! give the same completions.

mod arithmetic;
pub mod budget;
pub mod cache;
mod counters;
mod device;
mod drive;
mod footprint;
pub mod ftl;
pub mod gc;
mod interface;
mod list;
mod memory;
pub mod nand;
pub mod observe;
pub mod raid;
pub mod sched;
pub mod setup;
pub mod wear;

use budget::Budget;
pub use counters::Counters;
pub use device::SimDevice;
pub use drive::Drive;
pub use footprint::Footprint;
pub use setup::{Profile, ProfileError};

/// Opens the drive that `spec`, what follows `sim:` on the command line, describes: see
/// [`setup::parse`].
///
/// # Errors
/// What is wrong with the spec, or the first field with which the drive cannot work.
pub fn open(spec: &str) -> Result<Drive, ProfileError> {
    open_within(spec, &Budget::default())
}

/// Does the same as [`open`] with memory of this budget.
///
/// # Errors
/// If the spec is invalid, a field cannot work, or the budget does not suffice.
pub fn open_within(spec: &str, memory: &Budget) -> Result<Drive, ProfileError> {
    Drive::within(&format!("sim:{spec}"), &setup::parse(spec)?, memory)
}
