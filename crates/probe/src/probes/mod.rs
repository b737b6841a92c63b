//! The probes: one module each, with its experiment and its estimator.

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

use crate::outcome::Outcome;
use crate::{Finding, Halt, Knowledge, Lab, Parameter};

/// The cost of an experiment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Cost {
    /// Maximum number of bytes written.
    pub written: Bytes,
    /// The approximate time.
    pub time: Nanos,
}

/// The quantities from which the cost of an experiment is calculated.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Scene {
    /// The capacity of the drive.
    pub capacity: Bytes,
    /// True if the drive was filled in order, or must not be written.
    pub is_filled: bool,
    /// Maximum number of requests in flight.
    pub queue_depth: u32,
    /// The mean time of a read so far; a guess before the first read.
    pub read: Nanos,
    /// The mean time of a write so far; a guess before the first write.
    pub write: Nanos,
}

impl Scene {
    /// Returns the cost of `reads` reads and `writes` writes of `len` bytes each, and of filling
    /// the drive first if necessary.
    pub fn cost(&self, reads: u64, writes: u64, len: u64) -> Cost {
        let fill = if self.is_filled { 0 } else { self.capacity.0 };
        let fill_writes = fill / (128 << 10);
        let time = reads * self.read.0 + (writes + fill_writes) * self.write.0;
        Cost { written: Bytes(writes * len + fill), time: Nanos(time) }
    }
}

/// An experiment that finds parameters.
pub struct Probe {
    /// The name of the probe.
    pub name: &'static str,
    /// The experiment and its purpose, in a sentence.
    pub summary: &'static str,
    /// The source of the method.
    pub source: &'static str,
    /// The parameters that the probe looks for.
    pub finds: &'static [Parameter],
    /// The parameters that the probe relies on. It runs after other probes have looked for these
    /// parameters, even if they were not determined.
    pub assumes: &'static [Parameter],
    /// True if the probe cannot do without writes; it does not run on a read-only drive.
    pub writes: bool,
    /// Returns the cost of the experiment.
    pub cost: fn(&Scene, &Knowledge) -> Cost,
    /// Runs the experiment and returns its outcome.
    pub run: fn(&mut Lab<'_>, &Knowledge) -> Result<Outcome, Halt>,
}

impl Probe {
    /// Returns unknown findings for all its parameters, with the reason.
    pub fn unknown(&self, why: &str) -> Vec<Finding> {
        self.finds.iter().map(|parameter| Finding::unknown(*parameter, why)).collect()
    }
}

/// Every probe. Among equally good probes, the first in this list runs first.
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
