use flashscope_block::{Bytes, Io, Nanos, Op, StreamId};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::blend::{self, BlendStream};
use super::{Pattern, PatternError, PatternStream, UniformWrites};
use crate::job::Job;
use crate::playback::{Pace, Playback};
use crate::{Stream, seed_for};

/// A reference pattern: the work of one run (uFLIP section 3.2, principle 1).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case", tag = "kind", deny_unknown_fields)]
pub enum Reference {
    /// One process with one pattern.
    Basic {
        /// The pattern.
        pattern: Pattern,
    },
    /// One process that alternates between `ratio` IOs of the first pattern and one of the second.
    ///
    /// `IOCount` and `IOIgnore` of the first pattern are not used. The counts of the run are those
    /// of the second pattern, scaled by `ratio`, as section 5.1 requires. A start-up phase of 128
    /// writes also takes 128 writes in a mix.
    Mixed {
        /// Pattern #1 of Table 1.
        first: Pattern,
        /// Pattern #2 of Table 1.
        second: Pattern,
        /// IOs of the first pattern per IO of the second.
        ratio: u64,
    },
    /// `degree` processes execute the same pattern concurrently, each on its share of the target
    /// space: the p-th from `TargetOffset + p × TargetSize/degree` on. The processes also divide
    /// `IOCount`, so that runs of different degrees do the same work.
    Parallel {
        /// The pattern of each process.
        pattern: Pattern,
        /// The number of processes.
        degree: u16,
    },
    /// One process that executes the patterns in sequence, without pauses.
    Sequence {
        /// The patterns, in order.
        patterns: Vec<Pattern>,
    },
    /// One process that keeps several IOs of a pattern in flight. Each IO is a read with a given
    /// probability, independently.
    Blend {
        /// The pattern before some of its IOs become reads; `IOCount` is the maximum number of IOs.
        pattern: Pattern,
        /// The average number of reads per hundred IOs.
        reads_percent: u8,
        /// The maximum number of IOs in flight.
        queue_depth: u32,
        /// The time on the clock of the drive after which no IO is issued; absent if only `IOCount`
        /// ends the run.
        #[serde(rename = "time_ns", default, skip_serializing_if = "Option::is_none")]
        time: Option<Nanos>,
    },
    /// One process that writes uniformly.
    Uniform {
        /// The writes.
        writes: UniformWrites,
    },
    /// Jobs that run at the same time.
    Jobs {
        /// The jobs, whose processes are numbered in this order.
        jobs: Vec<Job>,
        /// The number of initial IOs that the statistics ignore.
        io_ignore: u64,
        /// The initial time whose IOs the statistics ignore; the run turns it into `io_ignore`.
        #[serde(rename = "ramp_ns", default, skip_serializing_if = "Option::is_none")]
        ramp: Option<Nanos>,
    },
    /// The requests of a trace.
    Trace {
        /// The trace and its pacing.
        playback: Playback,
        /// The maximum number of IOs in flight.
        queue_depth: u32,
        /// The number of IOs that the requests become.
        ios: u64,
        /// True if some of the IOs change the content of the drive.
        modifies: bool,
    },
}

impl Reference {
    /// Returns the patterns that the reference is composed of, unchanged.
    pub fn patterns(&self) -> Vec<&Pattern> {
        match self {
            Reference::Basic { pattern }
            | Reference::Parallel { pattern, .. }
            | Reference::Blend { pattern, .. } => vec![pattern],
            Reference::Mixed { first, second, .. } => vec![first, second],
            Reference::Sequence { patterns } => patterns.iter().collect(),
            Reference::Uniform { .. } | Reference::Jobs { .. } | Reference::Trace { .. } => vec![],
        }
    }

    /// Returns the same patterns as [`Reference::patterns`], mutable.
    pub fn patterns_mut(&mut self) -> Vec<&mut Pattern> {
        match self {
            Reference::Basic { pattern }
            | Reference::Parallel { pattern, .. }
            | Reference::Blend { pattern, .. } => vec![pattern],
            Reference::Mixed { first, second, .. } => vec![first, second],
            Reference::Sequence { patterns } => patterns.iter_mut().collect(),
            Reference::Uniform { .. } | Reference::Jobs { .. } | Reference::Trace { .. } => vec![],
        }
    }

    /// Returns the offset and the size of the target space of each part; nothing for a trace.
    pub fn target_spaces(&self) -> Vec<(Bytes, Bytes)> {
        match self {
            Reference::Uniform { writes } => vec![(writes.target_offset, writes.target_size)],
            Reference::Jobs { jobs, .. } => jobs.iter().map(Job::target_space).collect(),
            _ => self.patterns().iter().map(|p| (p.target_offset, p.target_size)).collect(),
        }
    }

    /// Returns the number of IOs that a run issues; for jobs, the maximum.
    pub fn io_count(&self) -> u64 {
        match self {
            Reference::Basic { pattern } | Reference::Blend { pattern, .. } => pattern.io_count,
            Reference::Mixed { second, ratio, .. } => {
                second.io_count.saturating_mul(ratio.saturating_add(1))
            }
            Reference::Parallel { pattern, degree } => {
                (0..*degree).map(|p| share(pattern.io_count, *degree, p)).sum()
            }
            Reference::Sequence { patterns } => {
                patterns.iter().fold(0, |sum, p| sum.saturating_add(p.io_count))
            }
            Reference::Uniform { writes } => writes.io_count,
            Reference::Jobs { jobs, .. } => {
                jobs.iter().map(Job::max_total_ios).fold(0, u64::saturating_add)
            }
            Reference::Trace { ios, .. } => *ios,
        }
    }

    /// Returns the initial time whose IOs the statistics ignore, if there is one.
    pub fn ramp(&self) -> Option<Nanos> {
        match self {
            Reference::Jobs { ramp, .. } => *ramp,
            _ => None,
        }
    }

    /// Makes the statistics ignore the `ios` IOs that ended in the ramp.
    pub fn end_ramp(&mut self, ios: u64) {
        if let Reference::Jobs { io_ignore, .. } = self {
            *io_ignore = ios;
        }
    }

    /// Returns the number of initial IOs that the statistics ignore.
    pub fn io_ignore(&self) -> u64 {
        match self {
            Reference::Basic { pattern }
            | Reference::Parallel { pattern, .. }
            | Reference::Blend { pattern, .. } => pattern.io_ignore,
            Reference::Mixed { second, ratio, .. } => {
                second.io_ignore.saturating_mul(ratio.saturating_add(1))
            }
            Reference::Sequence { patterns } => patterns.first().map_or(0, |p| p.io_ignore),
            Reference::Uniform { writes } => writes.io_ignore,
            Reference::Jobs { io_ignore, .. } => *io_ignore,
            Reference::Trace { .. } => 0,
        }
    }

    /// Returns the number of parts with separate statistics: the [patterns](Reference::patterns),
    /// or the jobs.
    pub fn parts_count(&self) -> usize {
        match self {
            Reference::Jobs { jobs, .. } => jobs.len(),
            _ => self.patterns().len(),
        }
    }

    /// Returns the index of the part that issues the IO at `position` in the run, of stream
    /// `stream`.
    pub fn part_of(&self, position: u64, stream: StreamId) -> usize {
        match self {
            Reference::Basic { .. }
            | Reference::Parallel { .. }
            | Reference::Blend { .. }
            | Reference::Uniform { .. }
            | Reference::Trace { .. } => 0,
            Reference::Jobs { jobs, .. } => {
                let ends = jobs.iter().scan(0, |end, job| {
                    *end += u32::from(job.processes);
                    Some(*end)
                });
                ends.take_while(|end| *end <= u32::from(stream)).count()
            }
            Reference::Mixed { ratio, .. } => {
                usize::from(position % ratio.saturating_add(1) == *ratio)
            }
            Reference::Sequence { patterns } => {
                let ends = patterns.iter().scan(0u64, |end, pattern| {
                    *end = end.saturating_add(pattern.io_count);
                    Some(*end)
                });
                ends.take_while(|end| *end <= position).count()
            }
        }
    }

    /// Returns the maximum number of IOs in flight of each stream.
    pub fn queue_depths(&self) -> Vec<u32> {
        match self {
            Reference::Trace { queue_depth, .. } | Reference::Blend { queue_depth, .. } => {
                vec![*queue_depth]
            }
            Reference::Jobs { jobs, .. } => jobs
                .iter()
                .flat_map(|job| std::iter::repeat_n(job.queue_depth, job.processes.into()))
                .collect(),
            _ => vec![1; self.streams_count().into()],
        }
    }

    /// Returns the maximum number of IOs in flight.
    pub fn in_flight(&self) -> u32 {
        self.queue_depths().into_iter().fold(0, u32::saturating_add)
    }

    /// Returns true if IOs may wait in the host, because the run has more IOs in flight than the
    /// `accepted` IOs of the drive.
    pub fn queues_in_host(&self, accepted: u32) -> bool {
        self.is_parallel() && self.in_flight() > accepted
    }

    /// Returns true for processes that run at the same time. Their IOs in flight do not depend on
    /// the number of IOs that a drive accepts.
    pub fn is_parallel(&self) -> bool {
        self.streams_count() > 1 || matches!(self, Reference::Jobs { .. })
    }

    /// Returns the minimum number of IOs of a complete run; 0 for jobs, which may end by bytes or
    /// time.
    pub fn min_io_count(&self) -> u64 {
        if matches!(self, Reference::Jobs { .. }) { 0 } else { self.io_count() }
    }

    /// Returns the time limit of a run on the clock of the drive, if any.
    pub fn time(&self) -> Option<Nanos> {
        match self {
            Reference::Blend { time, .. } => *time,
            Reference::Jobs { jobs, .. } => {
                let ends = jobs.iter().map(Job::ends_after).collect::<Option<Vec<_>>>();
                ends.and_then(|ends| ends.into_iter().max())
            }
            _ => None,
        }
    }

    /// Returns true if IOs are due at their own times, independent of the IOs in flight (an open
    /// loop).
    pub fn is_open_loop(&self) -> bool {
        matches!(self, Reference::Trace { playback, .. } if playback.pace == Pace::Timed)
    }

    /// Returns the number of concurrent streams.
    pub fn streams_count(&self) -> u16 {
        match self {
            Reference::Parallel { degree, .. } => *degree,
            Reference::Jobs { jobs, .. } => {
                jobs.iter().fold(0, |sum, job| sum.saturating_add(job.processes))
            }
            _ => 1,
        }
    }

    /// Returns the size of the largest IO; 0 for a trace.
    pub fn largest_io(&self) -> Bytes {
        match self {
            Reference::Uniform { writes } => writes.longest(),
            Reference::Jobs { jobs, .. } => {
                jobs.iter().map(Job::largest_io).max().unwrap_or_default()
            }
            _ => self.patterns().iter().map(|p| p.io_size).max().unwrap_or_default(),
        }
    }

    /// Returns true if a run changes the content of the drive.
    pub fn writes(&self) -> bool {
        match self {
            Reference::Trace { modifies, .. } => *modifies,
            Reference::Uniform { .. } => true,
            Reference::Jobs { jobs, .. } => jobs.iter().any(Job::writes),
            Reference::Blend { reads_percent: blend::ALL, .. } => false,
            _ => self.patterns().iter().any(|p| p.op == Op::Write),
        }
    }

    /// Checks that a run is possible on a drive of `capacity` bytes with that logical block.
    ///
    /// # Errors
    /// The first wrong parameter, and its rule.
    pub fn validate(&self, capacity: Bytes, logical_block: Bytes) -> Result<(), PatternError> {
        let at_least_one = |parameter, value: u64| PatternError {
            parameter,
            value: value.to_string(),
            rule: "at least one".into(),
        };
        match self {
            Reference::Mixed { ratio: 0, .. } => return Err(at_least_one("Ratio", 0)),
            Reference::Parallel { degree: 0, .. } => return Err(at_least_one("ParallelDegree", 0)),
            Reference::Sequence { patterns } if patterns.is_empty() => {
                return Err(at_least_one("patterns", 0));
            }
            Reference::Blend { queue_depth: 0, .. } => return Err(at_least_one("QueueDepth", 0)),
            Reference::Blend { reads_percent, .. } if *reads_percent > blend::ALL => {
                return Err(PatternError {
                    parameter: "Reads",
                    value: format!("{reads_percent} %"),
                    rule: format!("at most {} %", blend::ALL),
                });
            }
            Reference::Uniform { writes } => return writes.validate(capacity, logical_block),
            Reference::Jobs { jobs, .. } if jobs.is_empty() => {
                return Err(at_least_one("jobs", 0));
            }
            Reference::Jobs { jobs, .. } => {
                let processes = jobs.iter().map(|job| u64::from(job.processes)).sum::<u64>();
                if processes > u64::from(StreamId::MAX) {
                    let (parameter, value) = ("numjobs", processes.to_string());
                    let rule = format!("at most {} in a run", StreamId::MAX);
                    return Err(PatternError { parameter, value, rule });
                }
                return jobs.iter().try_for_each(|job| job.validate(capacity, logical_block));
            }
            Reference::Parallel { pattern, degree } => {
                pattern.validate(capacity, logical_block)?;
                return process(pattern, *degree, 0).validate(capacity, logical_block);
            }
            _ => {}
        }
        self.patterns().iter().try_for_each(|p| p.validate(capacity, logical_block))
    }

    /// Returns the concurrent streams of a run. The reference must be [valid](Reference::validate).
    ///
    /// # Errors
    /// `open` fails to open a trace.
    pub fn streams<E>(
        &self,
        open: impl FnOnce(&Playback) -> Result<Box<dyn Stream + Send>, E>,
    ) -> Result<Vec<Box<dyn Stream + Send>>, E> {
        Ok(match self {
            Reference::Basic { pattern } => vec![Box::new(pattern.stream(0))],
            Reference::Mixed { first, second, ratio } => {
                let endless = Pattern { io_count: u64::MAX, ..*first };
                vec![Box::new(MixedStream {
                    first: endless.stream(0),
                    second: second.stream(0),
                    ratio: *ratio,
                    left_of_first: *ratio,
                })]
            }
            Reference::Parallel { pattern, degree } => (0..*degree)
                .map(|p| Box::new(process(pattern, *degree, p).stream(p)) as Box<dyn Stream + Send>)
                .collect(),
            Reference::Sequence { patterns } => vec![Box::new(SequenceStream {
                streams: patterns.iter().map(|p| p.stream(0)).collect(),
                current: 0,
            })],
            Reference::Blend { pattern, reads_percent, .. } => {
                vec![Box::new(BlendStream::new(pattern, *reads_percent))]
            }
            Reference::Uniform { writes } => vec![Box::new(writes.stream())],
            Reference::Jobs { jobs, .. } => {
                let mut streams: Vec<Box<dyn Stream + Send>> = Vec::new();
                for job in jobs {
                    let first = StreamId::try_from(streams.len()).unwrap_or(StreamId::MAX);
                    streams.extend(job.streams(first));
                }
                streams
            }
            Reference::Trace { playback, .. } => vec![open(playback)?],
        })
    }
}

/// Returns the share of process `p` if `degree` processes divide `count` IOs.
fn share(count: u64, degree: u16, p: StreamId) -> u64 {
    count / u64::from(degree) + u64::from(u64::from(p) < count % u64::from(degree))
}

/// Returns the pattern of process `p` of `degree` (Table 1, Parallelism).
fn process(pattern: &Pattern, degree: u16, p: StreamId) -> Pattern {
    // Rounds to whole IOs, so that every process stays aligned.
    let target_size = Bytes(pattern.target_size.0 / u64::from(degree)).round_down(pattern.io_size);
    Pattern {
        target_offset: Bytes(pattern.target_offset.0 + u64::from(p) * target_size.0),
        target_size,
        io_count: share(pattern.io_count, degree, p),
        io_ignore: 0,
        seed: seed_for(pattern.seed, u64::from(p)),
        ..*pattern
    }
}

struct MixedStream {
    first: PatternStream,
    second: PatternStream,
    ratio: u64,
    left_of_first: u64,
}

impl Stream for MixedStream {
    fn next(&mut self, previous: Nanos) -> Option<Io> {
        if self.left_of_first > 0 && self.second.left > 0 {
            self.left_of_first -= 1;
            return self.first.next(previous);
        }
        self.left_of_first = self.ratio;
        self.second.next(previous)
    }
}

struct SequenceStream {
    streams: Vec<PatternStream>,
    current: usize,
}

impl Stream for SequenceStream {
    fn next(&mut self, previous: Nanos) -> Option<Io> {
        while let Some(stream) = self.streams.get_mut(self.current) {
            if let Some(io) = stream.next(previous) {
                return Some(io);
            }
            self.current += 1;
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::pattern::{Address, Timing};

    fn pattern(op: Op, address: Address, target_offset: Bytes, io_count: u64) -> Pattern {
        Pattern {
            op,
            address,
            timing: Timing::Consecutive,
            io_size: Bytes::kib(4),
            io_shift: Bytes(0),
            target_offset,
            target_size: Bytes::kib(64),
            io_count,
            io_ignore: 2,
            seed: 7,
        }
    }

    fn ios(reference: &Reference) -> Vec<Vec<Io>> {
        let collect = |mut stream: Box<dyn Stream + Send>| {
            std::iter::from_fn(move || stream.next(Nanos(0))).collect::<Vec<_>>()
        };
        reference.streams(|_| Err("a trace")).unwrap().into_iter().map(collect).collect()
    }

    // A mix issues `ratio` IOs of the first pattern per IO of the second, and scales the counts.
    #[test]
    fn mixed_keeps_its_ratio() {
        let first = pattern(Op::Read, Address::Sequential, Bytes(0), 99);
        let second = pattern(Op::Write, Address::Random, Bytes::kib(64), 5);
        let mix = Reference::Mixed { first, second, ratio: 3 };
        let stream = &ios(&mix)[0];
        let ops: String =
            stream.iter().map(|io| if io.op == Op::Read { 'R' } else { 'W' }).collect();
        assert_eq!(ops, "RRRW".repeat(5));
        assert_eq!((mix.io_count(), mix.io_ignore()), (20, 8));
        let parts: String = (0..20).map(|i| ["R", "W"][mix.part_of(i, 0)]).collect();
        assert_eq!(parts, ops);
    }

    // Counts from a manifest saturate if their sum overflows.
    #[test]
    fn huge_counts_do_not_wrap() {
        let all =
            Pattern { io_ignore: 9, ..pattern(Op::Read, Address::Random, Bytes(0), u64::MAX) };
        let mix = Reference::Mixed { first: all, second: all, ratio: u64::MAX };
        assert_eq!((mix.io_count(), mix.io_ignore()), (u64::MAX, u64::MAX));
        assert_eq!([0, u64::MAX - 1].map(|position| mix.part_of(position, 0)), [0, 0]);
        let sequence = Reference::Sequence { patterns: vec![all, all] };
        assert_eq!((sequence.io_count(), sequence.part_of(u64::MAX - 1, 0)), (u64::MAX, 0));
    }

    // Parallel processes work on disjoint parts, and their total work is the same at every degree.
    #[test]
    fn parallel_processes_share_the_target_space() {
        let pattern = pattern(Op::Read, Address::Random, Bytes::kib(8), 30);
        for degree in [1u16, 3, 4, 16] {
            let reference = Reference::Parallel { pattern, degree };
            reference.validate(Bytes::mib(1), Bytes(512)).unwrap();
            let streams = ios(&reference);
            assert_eq!(streams.iter().map(Vec::len).sum::<usize>(), 30);
            assert_eq!(reference.io_count(), 30);
            let share =
                Bytes(pattern.target_size.0 / u64::from(degree)).round_down(pattern.io_size);
            for (p, stream) in streams.iter().enumerate() {
                let start = pattern.target_offset.0 + p as u64 * share.0;
                assert!(
                    stream.iter().all(|io| io.offset.0 >= start && io.end().0 <= start + share.0)
                );
                assert!(stream.iter().all(|io| usize::from(io.stream) == p));
            }
        }
    }

    // A degree of 0, or a degree that leaves no room per process, is refused.
    #[test]
    fn refuses_impossible_compositions() {
        let pattern = pattern(Op::Read, Address::Random, Bytes(0), 300);
        let check = |reference: Reference| {
            reference.validate(Bytes::mib(1), Bytes(512)).unwrap_err().parameter
        };
        assert_eq!(check(Reference::Parallel { pattern, degree: 17 }), "TargetSize");
        assert_eq!(check(Reference::Parallel { pattern, degree: 0 }), "ParallelDegree");
        let (first, second) = (pattern, pattern);
        assert_eq!(check(Reference::Mixed { first, second, ratio: 0 }), "Ratio");
        assert_eq!(check(Reference::Sequence { patterns: vec![] }), "patterns");
    }

    // A sequence executes its patterns in order.
    #[test]
    fn sequence_is_in_order() {
        let read = pattern(Op::Read, Address::Sequential, Bytes(0), 3);
        let write = pattern(Op::Write, Address::Random, Bytes(0), 3);
        let sequence = Reference::Sequence { patterns: vec![read, write, read] };
        let ops: Vec<Op> = ios(&sequence)[0].iter().map(|io| io.op).collect();
        assert_eq!(ops, [[Op::Read; 3], [Op::Write; 3], [Op::Read; 3]].concat());
        assert_eq!(sequence.io_count(), 9);
        let parts: Vec<usize> = (0..9).map(|i| sequence.part_of(i, 0)).collect();
        assert_eq!(parts, [0, 0, 0, 1, 1, 1, 2, 2, 2]);
    }

    fn any_pattern() -> impl Strategy<Value = Pattern> {
        let address = prop_oneof![
            Just(Address::Sequential),
            Just(Address::Random),
            (-9i64..9).prop_map(|incr| Address::Ordered { incr }),
            (0u64..20).prop_map(|partitions| Address::Partitioned { partitions }),
        ];
        (address, 0u64..20, 0u64..20, 0u64..200, 0u64..40, any::<u64>()).prop_map(
            |(address, io_size, io_shift, target_offset, slots, seed)| Pattern {
                op: Op::Write,
                address,
                timing: Timing::Consecutive,
                io_size: Bytes(io_size * 512),
                io_shift: Bytes(io_shift * 512),
                target_offset: Bytes(target_offset * 512),
                target_size: Bytes(slots * io_size * 512),
                io_count: 100,
                io_ignore: 0,
                seed,
            },
        )
    }

    proptest! {
        // Every accepted pattern stays within its target space, and keeps the requested alignment.
        #[test]
        fn valid_patterns_stay_inside(pattern in any_pattern(), degree in 1u16..6) {
            let reference = Reference::Parallel { pattern, degree };
            prop_assume!(reference.validate(Bytes::kib(256), Bytes(512)).is_ok());
            let streams = ios(&reference);
            prop_assert_eq!(streams.iter().map(Vec::len).sum::<usize>(), 100);
            for io in streams.iter().flatten() {
                prop_assert!(io.offset >= pattern.target_offset + pattern.io_shift);
                prop_assert!(io.end() <= pattern.target_offset + pattern.target_size);
                let from_base = io.offset - pattern.target_offset - pattern.io_shift;
                prop_assert!(from_base.is_multiple_of(pattern.io_size));
            }
        }
    }
}
