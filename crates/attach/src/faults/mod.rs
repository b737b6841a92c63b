//! Faults for the clients of an attached drive: delays, stalls, errors, media errors that a write
//! heals, resets, and a drive that disappears and returns.
//!
//! A [`FaultPlan`] is a file of rules. When a request arrives, the injector decides whether the
//! drive executes it. When the request is complete, the injector decides whether its reply is late
//! or lost.

mod injector;
mod plan;
mod range_set;
#[cfg(test)]
mod tests;
mod window;

pub(crate) use injector::{Fate, FaultInjector};
pub use injector::{FaultHook, InjectedFault};
pub use plan::{FaultEffect, FaultPlan, FaultPlanError, FaultRule, InjectedError};

/// The state of the connections to a drive.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Presence {
    /// False while the drive has disappeared: no client can connect.
    pub(crate) is_present: bool,
    /// The number of times at which all connections were cut.
    pub(crate) cuts: u64,
}

impl Default for Presence {
    fn default() -> Presence {
        Presence { is_present: true, cuts: 0 }
    }
}
