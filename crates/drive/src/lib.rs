//! Real drives: block devices and files behind [`flashscope_block::Device`].
//!
//! - [`open`] turns [`OpenOptions`] into a [`RealDevice`]; [`OpenOptions::parse`] reads what a
//!   person writes (`/dev/nvme1n1`, `file:scratch.img?size=1GiB`).
//! - [`Contents`] is a drive for those who bring their own data.
//! - [`guard`] decides whether a device or file may be written; nothing is opened for writing
//!   before it agreed, and what was opened is checked again by its identity.
//! - [`engine`] holds the ways to hand IOs to the kernel, and chooses one by a probe.
//! - [`inventory`] lists the block devices of the machine, and which the guards let be measured.
//! - [`health`] asks an NVMe drive for the log pages of its health.
//! - [`identify`](mod@identify) asks it what it is and can do.
//! - [`StoreFile`] keeps the data of a simulated drive in a file, which it opens through the same guards.
//! - [`record`] has the kernel trace what a drive is asked for.
//! - [`Clock`] is the machine's monotonic clock, as cheap as the machine allows.

mod buffer;
mod clock;
mod content;
mod contents;
mod device;
pub mod engine;
mod erase;
mod error;
pub mod guard;
mod hardware;
pub mod health;
pub mod identify;
pub mod inventory;
mod ioctl;
mod nvme;
mod options;
pub mod record;
mod store;
mod target;

pub use clock::{Calibration, Clock};
pub use contents::Contents;
pub use device::{RealDevice, open};
pub use engine::{ENGINES, EngineEntry, EngineKind};
pub use error::OpenError;
pub use options::{
    Access, DRIVE_OPTIONS, DriveOption, Location, MAX_QUEUE_DEPTH, OpenOptions, ParseDriveError,
};
pub use store::{DATA as STORE_DATA, StoreError, StoreFile, StoreHeader};
