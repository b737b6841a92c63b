//! A simulated SSD: a [`flashscope_block::Device`] on virtual time, after Agrawal et al., "Design
//! Tradeoffs for SSD Performance", USENIX ATC 2008.
//!
//! From the outside in: [`SimDevice`] receives IOs over a host interface and splits them into
//! pages. Buffer memory ([`cache`]) may hold these. An FTL ([`ftl`]) maps each page to flash and
//! collects garbage, choosing victims by a policy ([`gc`]). The flash array ([`nand`]) determines
//! how long each command takes, rejects illegal commands, and counts the rest. Several drives may
//! form an array ([`raid`]). A [`Profile`] describes all of these.
//!
//! The simulator uses no real clock and stores no data, and draws random numbers from the seed of
//! the profile. The same IOs always give the same completions.

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

/// Opens the drive that `spec` describes, the text after `sim:` on the command line: see
/// [`setup::parse`].
///
/// # Errors
/// Returns an error if the spec is invalid, or that names the first field with an unusable value.
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
