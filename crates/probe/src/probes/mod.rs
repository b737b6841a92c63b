//! The probes: one file each, with its experiment and its estimator.

mod cleaning;
mod content;
mod groups;
mod log_list;
mod map_cache;
mod medium;
mod page;
mod parallel;
mod read_ahead;
mod requests;
mod segment;
mod slc_cache;
mod slc_cache_kind;
mod volumes;
mod write_buffer;
mod write_buffer_kind;

use flashscope_block::{Bytes, Nanos};

use crate::investigate::Outcome;
use crate::{Finding, Halt, Knowledge, Lab, Parameter};

/// What an experiment costs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Cost {
    /// The bytes that it writes at most.
    pub written: Bytes,
    /// The time that it takes, about.
    pub time: Nanos,
}

/// What the cost of an experiment is reckoned from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Scene {
    /// Bytes of the drive.
    pub capacity: Bytes,
    /// Whether the drive was filled in order.
    pub is_filled: bool,
    /// Requests that may be in flight at once.
    pub queue_depth: u32,
    /// What a read took so far, on average.
    pub read: Nanos,
    /// What a write took so far, on average.
    pub write: Nanos,
}

impl Scene {
    /// The cost of so many reads and so many writes of `len` bytes each, and of filling the drive
    /// before, where that was not done.
    pub fn cost(&self, reads: u64, writes: u64, len: u64) -> Cost {
        let fill = if self.is_filled { 0 } else { self.capacity.0 };
        let fill_writes = fill / (128 << 10);
        let time = reads * self.read.0 + (writes + fill_writes) * self.write.0;
        Cost { written: Bytes(writes * len + fill), time: Nanos(time) }
    }
}

/// An experiment that finds parameters.
pub struct Probe {
    /// Its name.
    pub name: &'static str,
    /// What it does and what it looks for, in a sentence.
    pub summary: &'static str,
    /// Where it comes from.
    pub source: &'static str,
    /// What it states something about.
    pub finds: &'static [Parameter],
    /// What it goes by: it runs after these were looked at, whether or not they were found.
    pub assumes: &'static [Parameter],
    /// Whether it writes, beyond filling the drive so that there is something to read.
    pub writes: bool,
    /// What it costs.
    pub cost: fn(&Scene, &Knowledge) -> Cost,
    /// Runs it.
    pub run: fn(&mut Lab<'_>, &Knowledge) -> Result<Outcome, Halt>,
}

impl Probe {
    /// That nothing is known of all that it looks for, and why.
    pub fn unknown(&self, why: &str) -> Vec<Finding> {
        self.finds.iter().map(|parameter| Finding::unknown(*parameter, why)).collect()
    }
}

/// Every probe; among those that are as good, the first is run first.
pub const PROBES: &[Probe] = &[
    medium::PROBE,
    requests::PROBE,
    groups::PROBE,
    page::PROBE,
    content::PROBE,
    write_buffer::PROBE,
    write_buffer_kind::PROBE,
    map_cache::PROBE,
    slc_cache::PROBE,
    slc_cache_kind::PROBE,
    read_ahead::PROBE,
    parallel::PROBE,
    volumes::PROBE,
    segment::PROBE,
    log_list::PROBE,
    cleaning::PROBE,
];
