//! The vocabulary that every other crate speaks: what an IO is, what comes back, and what a
//! drive (real, simulated or null) must do.
//!
//! Nothing here reads a clock, performs IO or draws a random number.

pub mod contract;
mod device;
mod errno;
pub mod faulty;
mod io;
mod names;
mod null;
mod units;

pub use device::{Device, DeviceInfo, DeviceKind, Erase, Erasure, Flash, NotErased};
pub use errno::Errno;
pub use io::{Completion, Data, Io, Op, Record, StreamId};
pub use names::nearest;
pub use null::NullDevice;
pub use units::{Bytes, Nanos, ParseUnitError, parse_share};
