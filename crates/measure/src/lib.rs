//! Measures a drive: the plan, the enforced state, the runs and the pauses between them (uFLIP
//! section 4). This crate uses only the trait [`Device`](flashscope_block::Device), and no
//! implementation of it.

mod again;
mod bench;
mod budget;
mod costs;
mod disturbance;
mod estimate;
mod execute;
mod execution;
mod findings;
pub mod grid;
mod length;
mod level;
mod load;
pub mod machine;
mod placement;
mod plan;
mod progress;
pub mod pts;
mod rounds;
mod self_check;
mod state;
mod steady;
mod surroundings;
mod warm_up;

pub use again::again;
pub use bench::{Bench, Error, Observer, forgets};
pub use budget::{BudgetedPlan, Unaffordable, fitting};
pub use costs::{Sample, measure_costs};
pub use estimate::estimate;
pub use execute::{FailedIo, RunEnd, execute};
pub use findings::{MIN_RUN_PAUSE, PAUSE_MARGIN, start_up};
pub use load::{
    Gauge, IoCallback, Latencies, Length, Load, Measurement, Outcome, Phase, Session,
    WarmUpOutcome, fill_drive,
};
pub use plan::{jobs_benchmark, jobs_plan, order, place, plan, plan_where, trace_plan};
pub use progress::{PartialResult, Progress, Step, Unit};
pub use self_check::harness_cost;
pub use state::{StateSize, check_state};
pub use steady::{Criterion, PTS, STEADY};
pub use surroundings::{IoCount, Snapshot, Surroundings};
pub use warm_up::{MAX_IOS, ParseWarmUpError, WarmUp};

/// Returns a seed that was never used before: the current time in nanoseconds.
///
/// Use it only for the data written to a real drive. That data must not repeat what an earlier
/// benchmark wrote, because a drive that deduplicates would recognize it. The user seeds everything
/// else.
pub fn fresh_seed() -> u64 {
    wall_clock_ns().cast_unsigned()
}

/// Returns the time of day in ns since 1970. Unlike the clock of a drive, it may jump.
pub fn wall_clock_ns() -> i64 {
    // 64 bits reach to the year 2262.
    i64::try_from(jiff::Timestamp::now().as_nanosecond()).unwrap_or(i64::MAX)
}

/// Returns the current time as RFC 3339 in UTC, to the second.
pub fn timestamp() -> String {
    jiff::Timestamp::now()
        .round(jiff::Unit::Second)
        .map_or_else(|_| jiff::Timestamp::now().to_string(), |rounded| rounded.to_string())
}

/// Returns a time in seconds since 1970 as RFC 3339 in UTC. A time out of range becomes 1970.
pub fn timestamp_of(seconds: i64) -> String {
    jiff::Timestamp::from_second(seconds).unwrap_or_default().to_string()
}

/// Converts a time in RFC 3339 to seconds since 1970; `None` if the text is not in RFC 3339 or the
/// time is before 1970.
pub fn seconds_of(timestamp: &str) -> Option<u64> {
    let time: jiff::Timestamp = timestamp.parse().ok()?;
    u64::try_from(time.as_second()).ok()
}
