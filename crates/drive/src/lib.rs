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
//!
//! Where the system is not Linux there are clocks and the files of output alone.

#[cfg(target_os = "linux")]
mod buffer;
mod clock;
#[cfg(target_os = "linux")]
mod content;
#[cfg(target_os = "linux")]
mod contents;
#[cfg(target_os = "linux")]
mod denied;
#[cfg(target_os = "linux")]
mod device;
#[cfg(not(target_os = "linux"))]
mod elsewhere;
#[cfg(target_os = "linux")]
pub mod engine;
#[cfg(target_os = "linux")]
mod erase;
#[cfg(target_os = "linux")]
mod error;
#[cfg(target_os = "linux")]
pub mod guard;
#[cfg(target_os = "linux")]
mod hardware;
#[cfg(target_os = "linux")]
pub mod health;
#[cfg(target_os = "linux")]
pub mod identify;
#[cfg(target_os = "linux")]
pub mod inventory;
#[cfg(target_os = "linux")]
mod ioctl;
#[cfg(target_os = "linux")]
mod nvme;
#[cfg(target_os = "linux")]
mod options;
#[cfg(target_os = "linux")]
pub mod record;
#[cfg(target_os = "linux")]
mod store;
#[cfg(target_os = "linux")]
mod target;

pub use clock::{Calibration, Clock};
#[cfg(target_os = "linux")]
pub use contents::Contents;
#[cfg(target_os = "linux")]
pub use device::{RealDevice, open};
#[cfg(not(target_os = "linux"))]
pub use elsewhere::{OpenError, guard};
#[cfg(target_os = "linux")]
pub use engine::{ENGINES, EngineEntry, EngineKind};
#[cfg(target_os = "linux")]
pub use error::OpenError;
#[cfg(target_os = "linux")]
pub use options::{
    Access, DRIVE_OPTIONS, DriveOption, Location, MAX_QUEUE_DEPTH, OpenOptions, ParseDriveError,
};
#[cfg(target_os = "linux")]
pub use store::{DATA as STORE_DATA, StoreError, StoreFile, StoreHeader};
