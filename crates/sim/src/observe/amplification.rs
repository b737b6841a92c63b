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
    summary: "what the flash did over time and what for, of which write amplification is made",
    yields: "pages programmed, pages read and blocks erased in each stretch of time, by cause",
};

/// How many stretches of time there are at most.
const BUCKETS: usize = 256;

/// Pages programmed, pages read, blocks erased: a lane for each cause of each.
const PROGRAMS: usize = 0;
const READS: usize = 1;
const ERASES: usize = 2;

/// What the flash did over time, by cause. Every list has a number for each stretch of time, and
/// adds up to the counter of its name; a cause that there was nothing for is left out.
///
/// The write amplification of a stretch is the sum of all its programs over those for `host`, as
/// that of the whole is; a stretch without any for `host` has none. A command belongs to the stretch
/// in which it began; one that the flash began after the last answer, to the last.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AmplificationReport {
    /// Where the first stretch begins, on the clock of the drive: where the measurement does.
    pub from_ns: Nanos,
    /// How long each is; the last is not over yet.
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
    /// One for this drive, from now on.
    pub fn new(drive: &SimDevice) -> Self {
        let from = drive.now();
        Amplification { from, sums: Sums::new(from, 3 * Cause::ALL.len(), BUCKETS) }
    }

    /// What was done by commands given so far.
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

    fn look_again(&mut self, drive: &SimDevice) {
        self.restart(drive.now());
    }
}
