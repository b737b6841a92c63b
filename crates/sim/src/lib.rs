//! A simulated SSD: a [`flashscope_block::Device`] on virtual time, after Agrawal et al., "Design
//! Tradeoffs for SSD Performance", USENIX ATC 2008.
//!
//! From the outside in: [`SimDevice`] receives IOs over a host interface and splits them into
//! pages. Buffer memory ([`cache`]) may hold these pages. An FTL ([`ftl`]) maps each page to flash
//! and collects garbage, choosing victims by a policy ([`gc`]). The flash array ([`nand`])
//! determines how long each command takes, rejects illegal commands, and counts the legal ones.
//! Several drives may form an array ([`raid`]). A [`Profile`] describes all these parts.
//!
//! The simulator uses no real clock and stores no data, and draws random numbers from the seed of
//! the profile. The same IOs always give the same completions.

mod arithmetic;
pub mod budget;
pub mod cache;
mod counters;
mod design;
mod device;
mod drive;
mod energy;
mod event;
mod footprint;
pub mod ftl;
pub mod gc;
pub mod host;
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
pub use design::Design;
pub use device::SimDevice;
pub use drive::Drive;
pub use energy::EnergyUse;
pub use footprint::Footprint;
pub use host::ZoneCounts;
pub use setup::{Profile, ProfileError};

/// Opens the drive that `spec` describes. `spec` is the text after `sim:` on the command line: see
/// [`setup::parse`].
///
/// # Errors
/// Returns an error if the spec is invalid. If a field has an unusable value, the error names the
/// first such field.
pub fn open(spec: &str) -> Result<Drive, ProfileError> {
    open_within(spec, &Budget::default())
}

/// Does the same as [`open`], but reserves the memory of the drive in the budget `memory`.
///
/// # Errors
/// Returns an error if the spec is invalid, a field has an unusable value, or the budget is too
/// small.
pub fn open_within(spec: &str, memory: &Budget) -> Result<Drive, ProfileError> {
    Drive::within(&format!("sim:{spec}"), &setup::parse(spec)?, memory)
}
