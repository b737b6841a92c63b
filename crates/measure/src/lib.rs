//! How a drive is measured: the plan, the state of the drive, runs and the pauses between them
//! (uFLIP section 4). Only a [`Device`](flashscope_block::Device) is seen, never what is behind it.

mod bench;
mod execute;
pub mod machine;
mod plan;

pub use bench::{Bench, Error, Observer};
pub use execute::{Ended, execute};
pub use plan::{order, plan};

/// The present as RFC 3339 in UTC, to the second.
pub fn timestamp() -> String {
    jiff::Timestamp::now()
        .round(jiff::Unit::Second)
        .map_or_else(|_| jiff::Timestamp::now().to_string(), |rounded| rounded.to_string())
}
