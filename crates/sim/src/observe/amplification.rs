use std::collections::BTreeMap;

use flashscope_block::{Completion, Device, Nanos, Op};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::sums::Sums;
use super::{Command, CommandKind, Kind, Observer, Relocation};
use crate::SimDevice;
use crate::arithmetic::Divisor;
use crate::nand::{Cause, later};

pub(super) const KIND: Kind = Kind {
    name: "amplification",
    summary: "the flash commands over time by cause, which show the causes of write amplification",
    yields: "pages programmed, pages read and blocks erased in each interval of time, by cause",
};

/// The maximum number of buckets in a report.
const BUCKETS: usize = 256;

/// The lane of the bytes that the host wrote. The lanes of the commands precede it.
const HOST_BYTES: usize = 3 * Cause::ALL.len();

/// The counters: pages programmed, pages read, blocks erased. Each has a lane for each cause.
const PROGRAMS: usize = 0;
const READS: usize = 1;
const ERASES: usize = 2;

/// Flash commands over time, by cause. Each list has a number for each bucket; the sum of the list
/// is the counter of the same name. Causes without commands are left out.
///
/// The write amplification of a bucket is the sum of all its programs, times `page_bytes`, divided
/// by its `host_bytes`. It is undefined for a bucket in which the host wrote nothing. A command
/// belongs to the bucket in which it starts. The last buckets may therefore begin after the last
/// completion.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AmplificationReport {
    /// The start of the first bucket and of the measurement, on the clock of the drive.
    pub from_ns: Nanos,
    /// The length of each bucket; the last is incomplete.
    pub bucket_ns: Nanos,
    /// Bytes of a flash page; 0 in older documents.
    #[serde(default)]
    pub page_bytes: u64,
    /// Bytes of the logical pages that the answered writes covered, whole or in part. Empty in
    /// older documents.
    #[serde(default)]
    pub host_bytes: Vec<u64>,
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
    /// Bytes of a logical page, and of a flash page.
    pages: (Divisor, u64),
}

impl Amplification {
    /// Creates an observer that starts now.
    pub fn new(drive: &SimDevice) -> Self {
        let from = drive.now();
        let geometry = drive.nand().geometry();
        let pages = (Divisor::new(geometry.logical_page_size.into()), geometry.page_size.0);
        Amplification { from, sums: Sums::new(from, HOST_BYTES + 1, BUCKETS), pages }
    }

    /// Returns the counts of all issued commands.
    pub fn report(&self, _until: Nanos) -> AmplificationReport {
        AmplificationReport {
            from_ns: self.from,
            bucket_ns: self.sums.bucket(),
            page_bytes: self.pages.1,
            host_bytes: self.sums.lane(HOST_BYTES),
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

/// Returns the lane of commands of this kind and cause.
const fn lane(kind: CommandKind, cause: Cause) -> usize {
    let what = match kind {
        CommandKind::Program | CommandKind::CopyBack => PROGRAMS,
        CommandKind::Read => READS,
        CommandKind::Erase => ERASES,
    };
    what * Cause::ALL.len() + cause as usize
}

impl Observer for Amplification {
    fn needs_commands(&self) -> bool {
        false
    }

    fn relocation(&mut self, relocation: &Relocation) {
        let Relocation { cause, start, read, count, .. } = *relocation;
        let (step, programs) = (relocation.step(), later(start, read));
        self.sums.add_series((start, step, count), lane(CommandKind::Read, cause));
        self.sums.add_series((programs, step, count), lane(CommandKind::Program, cause));
    }

    fn command(&mut self, command: &Command) {
        self.sums.add(command.start, lane(command.kind, command.cause), 1);
    }

    fn request(&mut self, completion: &Completion) {
        let Completion { io, completed, result, .. } = completion;
        if io.op == Op::Write && result.is_ok() && io.len.0 > 0 {
            let logical = self.pages.0;
            let pages = logical.quotient(io.end().0 - 1) + 1 - logical.quotient(io.offset.0);
            self.sums.add(*completed, HOST_BYTES, pages * logical.value());
        }
    }

    fn restart(&mut self, now: Nanos) {
        self.from = now;
        self.sums.restart(now);
    }

    fn resume(&mut self, drive: &SimDevice) {
        self.restart(drive.now());
    }
}
