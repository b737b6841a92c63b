//! How a drive is measured: the plan, the state of the drive, runs and the pauses between them
//! (uFLIP section 4). Only a [`Device`](flashscope_block::Device) is seen, never what is behind it.

mod again;
mod bench;
mod budget;
mod costs;
mod estimate;
mod execute;
mod execution;
mod findings;
pub mod grid;
mod length;
mod level;
mod load;
pub mod machine;
mod plan;
pub mod pts;
mod rounds;
mod self_check;
mod state;
mod steady;
mod surroundings;
mod warm_up;

pub use again::again;
pub use bench::{Bench, Error, Observer};
pub use budget::{Planned, Unaffordable, fitting};
pub use costs::{Sample, measure_costs};
pub use estimate::estimate;
pub use execute::{Ended, FailedIo, execute};
pub use findings::{LEAST_RUN_PAUSE, PAUSE_MARGIN, learn, start_up};
pub use load::{
    Each, Fill, Gauge, Latencies, Length, Load, Measured, Outcome, Phase, Session, WarmedUp,
    fill_drive,
};
pub use plan::{order, place, plan, plan_where, trace_plan};
pub use self_check::harness_cost;
pub use state::check_state;
pub use steady::{Criterion, PTS, STEADY};
pub use surroundings::{Asked, Snapshot, Surroundings};
pub use warm_up::{MOST_IOS, ParseWarmUpError, WarmUp};

/// A seed that was never used before: the present in nanoseconds.
///
/// For the data written to a real drive alone, which must not repeat what an earlier benchmark
/// wrote: a drive that finds duplicates would know them. Everything else is seeded by the user.
pub fn fresh_seed() -> u64 {
    // The low bits, which differ, are what is wanted.
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
    let seed = jiff::Timestamp::now().as_nanosecond() as u64;
    seed
}

/// The present as RFC 3339 in UTC, to the second.
pub fn timestamp() -> String {
    jiff::Timestamp::now()
        .round(jiff::Unit::Second)
        .map_or_else(|_| jiff::Timestamp::now().to_string(), |rounded| rounded.to_string())
}
