//! C. Sun and Y. Zhang, "Flash Drives: Performance Study Based On Benchmarks".

mod contents;
mod large;
mod reads;
mod segments;
mod summary;
mod writes;

pub(crate) use contents::{FIGURE_9, FIGURE_13};
pub(crate) use large::{FIGURE_16, FIGURE_18};
pub(crate) use reads::{FIGURE_2, FIGURE_3, FIGURE_7, FIGURE_8};
pub(crate) use segments::TABLE_2;
pub(crate) use summary::{TABLE_1, TABLE_3};
pub(crate) use writes::{FIGURE_4, FIGURE_5};

use crate::times::numbered;
use crate::{Input, Series};

/// The 1 GB drive of unknown make.
const DRIVE: Input = Input {
    name: "drive",
    summary: "the simulated drive: the 1 GB drive of unknown make",
    value: "sun-zhang-unknown",
    other: "sun-zhang-unknown?flash.page_program=500us&interface.request_overhead=600us&groups.count=2",
};

/// The size of a request, in bytes.
const PAGE: u64 = 4096;

/// The number of trials: "1000 or more" (section 3.2).
const TRIALS: u32 = 1000;

/// The seed of random addresses.
const SEED: u64 = 2008;

/// The tolerance of printed times: the authors' clock adds "around 5% overhead" (section 3.1), and
/// the values are read off figures.
const READ_OFF: f64 = 0.05;

/// Returns the share of times in the range from `from` to below `to`.
#[allow(clippy::cast_precision_loss, reason = "far fewer than 2^53 requests")]
fn share(times: &[f64], from: f64, to: f64) -> f64 {
    times.iter().filter(|time| (from..to).contains(*time)).count() as f64 / times.len() as f64
}

/// Plots times by trial, with horizontal lines at the printed values, in ms.
fn trials(what: &str, times: &[f64], printed: &[f64]) -> Vec<Series> {
    [vec![Series::dots(what, numbered(times))], levels(printed)].concat()
}

/// Returns a horizontal line over all trials for each printed value, in ms.
fn levels(printed: &[f64]) -> Vec<Series> {
    let all = [1.0, f64::from(TRIALS)];
    printed.iter().map(|ms| Series::printed_level(format!("{ms} ms"), *ms, all)).collect()
}

/// Returns the cumulative time in ms by the cumulative size in KiB.
fn cumulative(times: &[f64], kib: f64) -> Vec<[f64; 2]> {
    let mut sum = 0.0;
    let sums = times.iter().map(|time| {
        sum += time;
        sum
    });
    (1_u32..).zip(sums).map(|(nth, sum)| [f64::from(nth) * kib, sum]).collect()
}
