use std::ops::Range;

use flashscope_result::activity::Activity;
use flashscope_result::{Error, Rows};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::clamp;

/// Successive IOs of a run, every one as it was recorded, and what the drive did meanwhile.
///
/// The lists are columns of one table.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Ios {
    /// The number of the run.
    pub run: u32,
    /// How many IOs the run has.
    pub ios: u64,
    /// The position of the first of these, from 0, in the order of completion.
    pub from: u64,
    /// When each was submitted, from the begin of the run.
    pub submitted_ns: Vec<u64>,
    /// Its response time.
    pub latency_ns: Vec<u64>,
    /// Where it began.
    pub offset_bytes: Vec<u64>,
    /// Its length.
    pub length_bytes: Vec<u64>,
    /// What it did: 0 read, 1 write, 2 trim, 3 flush.
    pub op: Vec<u8>,
    /// The process or stream that it belongs to.
    pub stream: Vec<u16>,
    /// The error of each, 0 for those that succeeded.
    pub errno: Vec<i32>,
    /// How long after it was due it was submitted.
    pub late_ns: Vec<u64>,
    /// What the drive did inside while any of these was in flight; of simulated drives alone.
    pub activities: Vec<Activity>,
}

pub(super) fn ios(run: u32, rows: &Rows, window: Range<u64>) -> Result<Ios, Error> {
    let window = clamp(&window, rows.total());
    let mut ios = Ios { run, ios: rows.total(), from: window.start, ..Ios::default() };
    rows.for_each_in(window, |_, record| {
        ios.submitted_ns.push(record.submitted.0);
        ios.latency_ns.push(record.latency.0);
        ios.offset_bytes.push(record.offset.0);
        ios.length_bytes.push(record.len.0);
        ios.op.push(record.op.code());
        ios.stream.push(record.stream);
        ios.errno.push(record.result.map_or_else(|errno| errno.0, |()| 0));
        ios.late_ns.push(record.late.0);
    })?;
    Ok(ios)
}
