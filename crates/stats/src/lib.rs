//! Samples, estimates with intervals, and quantiles: pure functions, no IO.

mod batch;
mod estimate;
mod summary;

pub use batch::BatchMeans;
pub use estimate::Estimate;
pub use summary::Summary;
