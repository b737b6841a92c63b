//! C. Sun and Y. Zhang, "Flash Drives: Performance Study Based On Benchmarks".

mod contents;
mod large;
mod reads;
mod segments;
mod summary;
mod writes;

pub use contents::{FIGURE_9, FIGURE_13};
pub use large::{FIGURE_16, FIGURE_18};
pub use reads::{FIGURE_2, FIGURE_3, FIGURE_7, FIGURE_8};
pub use segments::TABLE_2;
pub use summary::{TABLE_1, TABLE_3};
pub use writes::{FIGURE_4, FIGURE_5};

use crate::times::numbered;
use crate::{Input, Series};

/// The drive of unknown make, of 1 GB.
const DRIVE: Input = Input {
    name: "drive",
    summary: "the simulated drive: the one of unknown make, of 1 GB",
    value: "sun-zhang-unknown",
    other: "sun-zhang-unknown?flash.page_program=500us&interface.request_overhead=600us&groups.count=2",
};

/// What is read or written at once.
const PAGE: u64 = 4096;

/// How often each is tried: "1000 or more" (section 3.2).
const TRIALS: u32 = 1000;

/// Seed of random places.
const SEED: u64 = 2008;

/// What is printed of a time may be so far off: their clock adds "around 5% overhead" (section 3.1), and they are read off
/// figures.
const READ_OFF: f64 = 0.05;

/// The share of times between two.
#[allow(clippy::cast_precision_loss, reason = "counts of requests")]
fn share(times: &[f64], from: f64, to: f64) -> f64 {
    times.iter().filter(|time| (from..to).contains(*time)).count() as f64 / times.len() as f64
}

/// Times by their number, beside the heights that are printed for them, ms.
fn beside(what: &str, times: &[f64], printed: &[f64]) -> Vec<Series> {
    [vec![Series::dots(what, numbered(times))], levels(printed)].concat()
}

/// Heights that are printed for as many trials as there are, ms.
fn levels(printed: &[f64]) -> Vec<Series> {
    let all = [1.0, f64::from(TRIALS)];
    printed.iter().map(|ms| Series::printed_level(format!("{ms} ms"), *ms, all)).collect()
}

/// What all up to each took together, by how much that is: KiB and ms.
fn cumulative(times: &[f64], kib: f64) -> Vec<[f64; 2]> {
    let mut sum = 0.0;
    let sums = times.iter().map(|time| {
        sum += time;
        sum
    });
    (1_u32..).zip(sums).map(|(nth, sum)| [f64::from(nth) * kib, sum]).collect()
}
