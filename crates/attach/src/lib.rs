//! Any drive as a block device that the operating system can use.
//!
//! [`AttachedDrive`] is the drive: [`AttachedDrive::submit`] accepts requests with their data, and
//! the drive answers each request when its reply is due. A simulated drive computes the due time in
//! virtual time, which [`Speed`] ties to the machine's clock; a [`Store`] keeps its data. A real
//! drive answers at its own speed and stores the data itself.
//!
//! Requests arrive by a transport (NBD, NVMe over TCP, FUSE or ublk). Each transport is a module
//! that does not depend on the kind of drive.

mod attached;
mod cpu_latency;
mod faults;
mod fixed;
pub mod fuse;
mod health;
mod hooks;
mod in_flight;
mod listed;
mod live;
mod metadata;
pub mod metrics;
pub mod nbd;
mod net;
pub mod nvme;
mod pace;
mod paced;
mod pass_through;
mod request;
mod round_trip;
mod sample;
mod statistics;
mod store;
#[cfg(test)]
mod testing;
#[cfg(test)]
mod tests;
mod trial;
pub mod ublk;
mod zones;

use std::sync::{Mutex, MutexGuard, PoisonError};

pub use attached::{AttachedDrive, Export};
pub use faults::{
    FaultEffect, FaultHook, FaultPlan, FaultPlanError, FaultRule, InjectedError, InjectedFault,
};
pub use health::health;
pub use hooks::{CompletionHook, Hooks};
pub use listed::DeviceList;
pub use live::{DriveStatus, Monitor, OpTotals, attached_drives};
pub use metadata::Metadata;
pub use pace::{ParseSpeedError, Speed, Timing};
pub use request::{Answer, CompletedRequest, PendingRequest, Request, RequestError, ZoneError};
pub use round_trip::RoundTrip;
pub use sample::{OpSample, Quantiles, Sample};
pub use statistics::{Lateness, OpStatistics, Snapshot};
pub use store::Store;
pub use zones::{ZoneChange, ZoneSelection};

/// Locks a mutex, even after a panic: no code here panics while it changes the data.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
