use flashscope_result::{Error, Rows};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::overview::{Answered, CHUNK, Overview};

/// How many points the means of a run are told at, at most: they are smooth.
const POINTS: u64 = 128;

/// How the mean response time of a run settles: at some of its IOs, the mean of all up to there.
///
/// The lists are columns of one table.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RunningMeans {
    /// The position of each of these IOs in the run, from 0.
    pub index: Vec<u64>,
    /// The mean of the IOs up to it, in ns; `null` as long as all have failed.
    pub all_ns: Vec<Option<u64>>,
    /// The mean of those of them that are not left out as start-up; `null` as long as there is none.
    pub after_start_up_ns: Vec<Option<u64>>,
}

/// The running means of a whole run whose first `ignored` IOs are left out of its statistics.
pub(super) fn running_means(
    rows: &Rows,
    overview: Option<&Overview>,
    ignored: u64,
) -> Result<RunningMeans, Error> {
    let mut start_up = Answered::default();
    rows.for_each_latency(0..ignored.min(rows.total()), |latency| start_up.push(latency))?;
    let mut means = RunningMeans::default();
    let mut so_far = Answered::default();
    let mut tell = |count: u64, so_far: &Answered| {
        means.index.push(count - 1);
        means.all_ns.push(so_far.mean());
        means.after_start_up_ns.push(so_far.since(&start_up).mean().filter(|_| count > ignored));
    };
    let total = rows.total();
    let mut points = points(total, if overview.is_some() { CHUNK } else { 1 }).peekable();
    match overview {
        Some(overview) => {
            for (first, chunk) in overview.chunks(&(0..total)) {
                so_far.join(&chunk.answered);
                let count = (first + CHUNK).min(total);
                while points.next_if(|point| *point <= count).is_some() {
                    tell(count, &so_far);
                }
            }
        }
        None => {
            let mut count = 0;
            rows.for_each_latency(0..total, |latency| {
                so_far.push(latency);
                count += 1;
                if points.next_if_eq(&count).is_some() {
                    tell(count, &so_far);
                }
            })?;
        }
    }
    Ok(means)
}

/// After how many IOs of `total` the mean is told: rising multiples of `step`, and all.
fn points(total: u64, step: u64) -> impl Iterator<Item = u64> {
    let every = total.div_ceil(POINTS).next_multiple_of(step).max(step);
    let whole = (1..).map(move |nth| nth * every).take_while(move |point| *point < total);
    whole.chain((total > 0).then_some(total))
}
