//! Any drive as a block device that the operating system can use.
//!
//! [`Attached`] is the drive: requests come in with their data by [`Attached::submit`] and are
//! answered when their time has come. A simulated drive says when that is, on virtual time, which
//! [`Speed`] ties to the machine's clock; what was written is kept in a [`Store`]. A real drive takes the
//! time that it takes and keeps its data itself.
//!
//! How requests get here is the business of a transport, one file each, which knows nothing of
//! what it serves.

mod attached;
mod awake;
mod fixed;
pub mod fuse;
mod health;
mod in_flight;
mod listed;
mod live;
pub mod metrics;
pub mod nbd;
mod pace;
mod paced;
mod passed;
mod request;
mod round_trip;
mod sample;
mod statistics;
mod store;
#[cfg(test)]
mod testing;
#[cfg(test)]
mod tests;
mod told;
pub mod ublk;

use std::sync::{Mutex, MutexGuard, PoisonError};

pub use attached::{Attached, Export, Tell};
pub use health::health;
pub use listed::Listed;
pub use live::{Live, Monitor, OpTotals};
pub use pace::{ParseSpeedError, Speed, Timing};
pub use request::{Answer, Answered, Asked, Request};
pub use round_trip::RoundTrip;
pub use sample::{OpSample, Quantiles, Sample};
pub use statistics::{Lateness, OpStatistics, Snapshot};
pub use store::Store;
pub use told::{Told, attached};

/// What a thread that panicked held is whole: nothing here panics half-way.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
