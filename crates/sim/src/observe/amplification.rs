use std::collections::BTreeMap;

use flashscope_block::{Device, Nanos};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::sums::Sums;
use super::{Command, CommandKind, Kind, Observer};
use crate::SimDevice;
use crate::nand::Cause;

pub(super) const KIND: Kind = Kind {
    name: "amplification",
    summary: "the flash commands over time by cause, which show the causes of write amplification",
    yields: "pages programmed, pages read and blocks erased in each interval of time, by cause",
};

/// The maximum number of buckets in a report.
const BUCKETS: usize = 256;

/// The counters: pages programmed, pages read, blocks erased. Each has a lane for each cause.
const PROGRAMS: usize = 0;
const READS: usize = 1;
const ERASES: usize = 2;

/// Flash commands over time, by cause. Each list has a number for each bucket; the sum of the list
/// is the counter of the same name. Causes without commands are left out.
///
/// The write amplification of a bucket is the sum of all its programs divided by those for `host`.
/// It is undefined for a bucket without programs for `host`. A command belongs to the bucket in
/// which it starts. A command that starts after the last answer belongs to the last bucket.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AmplificationReport {
    /// The start of the first bucket and of the measurement, on the clock of the drive.
    pub from_ns: Nanos,
    /// The length of each bucket; the last is incomplete.
    pub bucket_ns: Nanos,
    /// Flash pages programmed, by cause (see `flash_programs`).
    pub programs: BTreeMap<String, Vec<u64>>,
    /// Flash pages read, by cause (see `flash_reads`).
    pub reads: BTreeMap<String, Vec<u64>>,
    /// Blocks erased, by cause (see `erases`).
    pub erases: BTreeMap<String, Vec<u64>>,
}

/// Counts commands by cause, over time.
pub struct Amplification {
    from: Nanos,
    sums: Sums,
}

impl Amplification {
    /// Creates an observer that starts now.
    pub fn new(drive: &SimDevice) -> Self {
        let from = drive.now();
        Amplification { from, sums: Sums::new(from, 3 * Cause::ALL.len(), BUCKETS) }
    }

    /// Returns the counts of all issued commands.
    pub fn report(&self, _until: Nanos) -> AmplificationReport {
        AmplificationReport {
            from_ns: self.from,
            bucket_ns: self.sums.bucket(),
            programs: self.by_cause(PROGRAMS),
            reads: self.by_cause(READS),
            erases: self.by_cause(ERASES),
        }
    }

    fn by_cause(&self, what: usize) -> BTreeMap<String, Vec<u64>> {
        let lane = |cause: &Cause| self.sums.lane(what * Cause::ALL.len() + *cause as usize);
        let counted = Cause::ALL.iter().map(|cause| (cause.name().to_string(), lane(cause)));
        counted.filter(|(_, counts)| counts.iter().any(|count| *count > 0)).collect()
    }
}

impl Observer for Amplification {
    fn command(&mut self, command: &Command) {
        let what = match command.kind {
            CommandKind::Program | CommandKind::CopyBack => PROGRAMS,
            CommandKind::Read => READS,
            CommandKind::Erase => ERASES,
        };
        self.sums.add(command.start, what * Cause::ALL.len() + command.cause as usize, 1);
    }

    fn restart(&mut self, now: Nanos) {
        self.from = now;
        self.sums.restart(now);
    }

    fn resume(&mut self, drive: &SimDevice) {
        self.restart(drive.now());
    }
}
