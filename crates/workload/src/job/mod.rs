//! Jobs: processes that run at the same time, each with its own IOs, as fio's job files describe
//! them.
//!
//! The semantics are those of fio 3, as its manual page fio(1) describes them. Tests of
//! `flashscope-command` compare jobs with fio itself.

mod free;
mod places;
mod sizes;
mod stream;

use std::fmt;

use flashscope_block::{Bytes, Nanos, Op, StreamId};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use places::JobAddresses;
pub use sizes::SizeShare;
use sizes::{largest, mean, smallest, words};
use stream::JobStream;

use crate::pattern::{PatternError, check_aligned, check_room};
use crate::{Stream, seed_for};

/// Maximum number of places of a job that reaches each place once with IOs of several sizes. The
/// map of the places takes 128 MiB.
const MAX_MAPPED_PLACES: u64 = 1 << 30;

/// The work of one or more equal processes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Job {
    /// The name of the job.
    pub name: String,
    /// The number of processes, 1 or more. Each process has its own random numbers.
    pub processes: u16,
    /// The distance from the start of the target space of a process to that of the next process.
    #[serde(rename = "process_shift_bytes")]
    pub process_shift: Bytes,
    /// The rule for the offsets of IOs in the target space.
    pub places: JobAddresses,
    /// The average number of reads per hundred IOs.
    pub reads_percent: u8,
    /// The operation of the other IOs.
    pub op: Op,
    /// The sizes of reads; empty if there are none.
    pub read_sizes: Vec<SizeShare>,
    /// The sizes of the other IOs; empty if there are none.
    pub other_sizes: Vec<SizeShare>,
    /// The start of the target space of the first process.
    #[serde(rename = "target_offset_bytes")]
    pub target_offset: Bytes,
    /// The size of the target space of each process.
    #[serde(rename = "target_size_bytes")]
    pub target_size: Bytes,
    /// The bytes after which a process ends; absent if only its number of IOs or its time ends it.
    #[serde(rename = "end_bytes", default, skip_serializing_if = "Option::is_none")]
    pub end: Option<Bytes>,
    /// The maximum number of IOs of a process, without flushes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub most_ios: Option<u64>,
    /// The time from its first IO, on the clock of the drive, after which a process issues no IO.
    #[serde(rename = "time_ns", default, skip_serializing_if = "Option::is_none")]
    pub time: Option<Nanos>,
    /// The time before the first IO.
    #[serde(rename = "delay_ns", default, skip_serializing_if = "is_zero")]
    pub delay: Nanos,
    /// The pauses between IOs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub think: Option<ThinkTime>,
    /// The number of writes after which a process flushes the drive, if it does not end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub flush_every: Option<u64>,
    /// The number of IOs that each process keeps in flight.
    pub queue_depth: u32,
    /// The seed of all random numbers.
    #[schemars(range(max = u64::MAX))]
    pub seed: u64,
}

/// A pause between groups of IOs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ThinkTime {
    /// The time from the completion of a group's last IO to the next IO.
    #[serde(rename = "pause_ns")]
    pub pause: Nanos,
    /// The number of IOs in a group.
    pub ios: u64,
}

// Serde requires a reference.
#[allow(clippy::trivially_copy_pass_by_ref)]
fn is_zero(time: &Nanos) -> bool {
    *time == Nanos(0)
}

impl Job {
    /// Returns the lists of sizes that are not empty.
    fn sizes(&self) -> impl Iterator<Item = &[SizeShare]> {
        [&self.read_sizes[..], &self.other_sizes[..]].into_iter().filter(|sizes| !sizes.is_empty())
    }

    /// Returns each operation that occurs, with the mean size and the share of its IOs.
    pub fn mix(&self) -> Vec<(Op, Bytes, f64)> {
        let reads = f64::from(self.reads_percent) / 100.0;
        [(Op::Read, &self.read_sizes, reads), (self.op, &self.other_sizes, 1.0 - reads)]
            .into_iter()
            .filter(|(.., share)| *share > 0.0)
            .map(|(op, sizes, share)| (op, mean(sizes), share))
            .collect()
    }

    /// Returns the one size of all IOs; `None` if there are several.
    pub fn single_size(&self) -> Option<Bytes> {
        let mut sizes = self.sizes().flatten().map(|share| share.size);
        let first = sizes.next()?;
        sizes.all(|size| size == first).then_some(first)
    }

    /// Returns the size of the largest IO.
    pub fn largest_io(&self) -> Bytes {
        self.sizes().map(largest).max().unwrap_or_default()
    }

    /// Returns true if the job changes the content of the drive.
    pub fn writes(&self) -> bool {
        self.reads_percent < 100
    }

    /// Returns the maximum number of IOs of all processes, with flushes.
    pub fn max_total_ios(&self) -> u64 {
        let least = self.sizes().map(smallest).min().unwrap_or_default().0.max(1);
        let by_bytes = self.end.map_or(u64::MAX, |end| end.0.div_ceil(least));
        let ios = by_bytes.min(self.most_ios.unwrap_or(u64::MAX));
        let flushes = match self.flush_every {
            Some(every) if ios < u64::MAX => ios / every.max(1),
            _ => 0,
        };
        ios.saturating_add(flushes).saturating_mul(self.processes.into())
    }

    /// Returns the number of IOs in flight of all processes.
    pub fn in_flight(&self) -> u32 {
        self.queue_depth.saturating_mul(self.processes.into())
    }

    /// Returns the offset and the size of the space that all processes use.
    pub(crate) fn target_space(&self) -> (Bytes, Bytes) {
        let shifts = u64::from(self.processes.saturating_sub(1));
        let shift = self.process_shift.0.saturating_mul(shifts);
        (self.target_offset, Bytes(self.target_size.0.saturating_add(shift)))
    }

    /// Returns the time after which no process issues an IO, if there is one.
    pub(crate) fn ends_after(&self) -> Option<Nanos> {
        self.time.map(|time| Nanos(time.0.saturating_add(self.delay.0)))
    }

    /// Checks that the job can run on a drive of `capacity` bytes with that logical block.
    ///
    /// # Errors
    /// The first wrong parameter, by fio's name (the target space by uFLIP's), and its rule.
    pub fn validate(&self, capacity: Bytes, logical_block: Bytes) -> Result<(), PatternError> {
        let error = |parameter, value: String, rule: &str| {
            Err(PatternError { parameter, value, rule: rule.into() })
        };
        for (parameter, value) in
            [("numjobs", u64::from(self.processes)), ("iodepth", self.queue_depth.into())]
        {
            if value == 0 {
                return error(parameter, "0".into(), "at least one");
            }
        }
        if self.reads_percent > 100 {
            return error("rwmixread", self.reads_percent.to_string(), "at most 100");
        }
        let is_missing = (self.reads_percent > 0 && self.read_sizes.is_empty())
            || (self.writes() && self.other_sizes.is_empty());
        if is_missing || self.sizes().flatten().any(|share| share.size == Bytes(0)) {
            return error("bs", "0 B".into(), "an IO has at least one logical block");
        }
        if self.sizes().flatten().any(|share| share.weight == 0) {
            return error("bssplit", "0 %".into(), "each size must have a share");
        }
        if self.writes() && !matches!(self.op, Op::Write | Op::Trim) {
            return error("rw", self.op.to_string(), "a job reads, writes or trims");
        }
        let sizes = self.sizes().flatten().map(|share| ("bs", share.size));
        let more = [("offset", self.target_offset), ("offset_increment", self.process_shift)];
        check_aligned(&sizes.chain(more).collect::<Vec<_>>(), logical_block)?;
        let (offset, size) = self.target_space();
        check_room(offset, size, capacity)?;
        if self.largest_io() > self.target_size {
            let rule = format!("an IO of {} does not fit", self.largest_io());
            return error("size", self.target_size.to_string(), &rule);
        }
        if self.end.is_none() && self.most_ios.is_none() && self.time.is_none() {
            return error("runtime", "0".into(), "nothing else ends the job");
        }
        if self.max_total_ios() == 0 || self.time == Some(Nanos(0)) {
            return error("size", self.target_size.to_string(), "the job has no IO");
        }
        if self.flush_every == Some(0) {
            return error("fsync", "0".into(), "at least one");
        }
        if self.think.is_some_and(|think| think.ios == 0) {
            return error("thinktime_blocks", "0".into(), "at least one");
        }
        self.check_places()
    }

    fn check_places(&self) -> Result<(), PatternError> {
        self.places.check()?;
        if self.places != JobAddresses::Covering || self.single_size().is_some() {
            return Ok(());
        }
        let smallest: Vec<Bytes> = self.sizes().map(smallest).collect();
        let (parameter, value, rule) = if smallest.iter().any(|size| *size != smallest[0]) {
            let sizes = smallest.iter().map(ToString::to_string).collect::<Vec<_>>();
            ("bs", sizes.join(", "), "reads and writes must have the same smallest size")
        } else if self.target_size.0 / smallest[0].0 > MAX_MAPPED_PLACES {
            ("size", self.target_size.to_string(), "IOs of several sizes have too many offsets")
        } else {
            return Ok(());
        };
        let rule = format!("{rule} if each offset is used once; `norandommap` removes this limit");
        Err(PatternError { parameter, value, rule })
    }

    /// Returns the IOs of each process, numbered from `first`. The job must be
    /// [valid](Job::validate).
    pub fn streams(
        &self,
        first: StreamId,
    ) -> impl Iterator<Item = Box<dyn Stream + Send>> + use<'_> {
        (0..self.processes).map(move |process| {
            let offset = self.target_offset.0 + u64::from(process) * self.process_shift.0;
            let seed = seed_for(self.seed, process.into());
            Box::new(JobStream::new(self, first + process, offset, seed)) as Box<dyn Stream + Send>
        })
    }
}

impl fmt::Display for Job {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let order = match self.places {
            JobAddresses::Sequential => "sequential".into(),
            JobAddresses::Covering | JobAddresses::Independent => "random".into(),
            JobAddresses::Zipf { exponent } => format!("zipf {exponent}"),
            JobAddresses::Pareto { share } => format!("pareto {share}"),
        };
        let parts = [(Op::Read, &self.read_sizes), (self.op, &self.other_sizes)];
        let parts = parts.into_iter().filter(|(_, sizes)| !sizes.is_empty());
        let parts: Vec<_> = parts.map(|(op, sizes)| format!("{op}s of {}", words(sizes))).collect();
        write!(f, "{}: {order} {}", self.name, parts.join(" and "))?;
        if self.reads_percent > 0 && self.writes() {
            write!(f, ", {} % reads", self.reads_percent)?;
        }
        if self.processes > 1 {
            write!(f, ", {} processes", self.processes)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
