//! Statistics as pure functions: summaries, estimates with intervals, quantiles, change points and
//! periods.

mod batch;
mod change;
mod estimate;
mod heat_map;
mod interval;
mod knee;
mod length;
mod lingering;
mod period;
mod phases;
mod ratio;
mod regression;
mod repeats;
#[cfg(test)]
mod scripted;
mod slow;
mod spread;
mod steady;
mod summary;
mod wear;

pub(crate) use batch::BatchMeans;
pub use estimate::Estimate;
pub use heat_map::HeatMap;
pub use interval::{Interval, mean_interval, quantile_interval};
pub use knee::{Knee, knee};
pub use length::{Length, MIN_COUNT, Rule, Statistic};
pub use lingering::{Lingering, lingering};
pub use period::{Period, period};
pub use phases::{Phases, StartUp};
pub use ratio::Ratio;
pub use regression::{Regression, regression};
pub use repeats::{Repeats, RunMean, mean_of_repeats, repeats};
pub use slow::min_length;
pub use spread::Spread;
pub use steady::Steadiness;
pub use summary::Summary;
pub use wear::{LOAD_WINDOW_S, MIN_STEPS, UnknownWear, WearForecast, WearReading, wear_forecast};
