//! The vocabulary that every other crate shares: requests ([`Io`]), completions, units, and the
//! [`Device`] trait of real, simulated and null drives.
//!
//! This crate reads no clock, performs no IO and draws no random numbers.

pub mod canary;
pub mod column;
pub mod contract;
mod device;
mod errno;
pub mod faulty;
mod io;
mod names;
mod null;
mod placement;
mod units;
mod zones;

pub use device::{Device, DeviceInfo, DeviceKind, Erase, EraseError, Erasure, Flash, WriteData};
pub use errno::Errno;
pub use io::{Completion, Data, Io, MOVED_STREAM, Op, Record, StreamId};
pub use names::{did_you_mean, nearest, suggestion};
pub use null::NullDevice;
pub use placement::{PlacedDevice, PlacementLimits};
pub use units::{Bytes, Nanos, ParseUnitError, parse_count, parse_share};
pub use zones::{Zone, ZoneLimits, ZoneState, ZonedDevice};
