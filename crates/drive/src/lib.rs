//! Real drives: block devices and files behind [`flashscope_block::Device`].
//!
//! - [`open`] turns [`OpenOptions`] into a [`RealDevice`]; [`OpenOptions::parse`] parses the
//!   notation of the command line (`/dev/nvme1n1`, `file:scratch.img?size=1GiB`).
//! - [`Contents`] is a drive for callers that supply their own data.
//! - [`guard`] decides whether a device or file may be written. Nothing is opened for writing
//!   without its approval, and the identity of the opened file is checked again.
//! - [`engine`] contains the kernel interfaces for IOs and chooses one by a probe.
//! - [`inventory`] lists the block devices of the machine, and the benchmarks that the guards
//!   allow.
//! - [`health`] reads the health log pages of an NVMe drive.
//! - [`identify`](mod@identify) reads the properties of an NVMe drive.
//! - [`StoreFile`] keeps the data of a simulated drive in a file, opened through the same guards.
//! - [`record`] traces the IOs of a drive in the kernel.
//! - [`Clock`] is the machine's monotonic clock, at the lowest cost that the machine allows.
//!
//! On systems other than Linux, only clocks and output files are available.

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
mod limits;
#[cfg(target_os = "linux")]
mod nvme;
#[cfg(target_os = "linux")]
mod options;
#[cfg(target_os = "linux")]
pub mod record;
#[cfg(target_os = "linux")]
mod store;
#[cfg(target_os = "linux")]
#[cfg(target_os = "linux")]
mod target;
#[cfg(target_os = "linux")]
mod topology;

pub use clock::{Calibration, Clock};
#[cfg(target_os = "linux")]
pub use contents::Contents;
#[cfg(target_os = "linux")]
pub use device::{RealDevice, open, open_with_data};
#[cfg(not(target_os = "linux"))]
pub use elsewhere::{OpenError, guard};
#[cfg(target_os = "linux")]
pub use engine::{ENGINES, EngineEntry, EngineKind};
#[cfg(target_os = "linux")]
pub use error::OpenError;
#[cfg(target_os = "linux")]
pub use options::{Access, DRIVE_OPTIONS, DriveOption, Location, OpenOptions, ParseDriveError};
#[cfg(target_os = "linux")]
pub use store::{DATA as STORE_DATA, StoreError, StoreFile, StoreHeader};
