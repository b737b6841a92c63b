use flashscope_block::{Bytes, Nanos, Op, Record};
use flashscope_document::manifest::Run;
use flashscope_stats::{Estimate, Ratio, Summary, mean_interval};
use flashscope_workload::pattern::Reference;

use flashscope_document::facts::{Latency, OpenLoop, OperationFacts, RunFacts, UniformFacts};

/// The statistics of a run.
pub(crate) struct RunStatistics {
    pub facts: RunFacts,
    /// The standard error of the mean response time in ns, if there are enough data.
    pub standard_error: Option<f64>,
    /// The mean response time in ns of the first IOs: as many as other runs of the pattern may
    /// have. For runs of the preparation only.
    pub head: Option<Estimate>,
}

/// Maximum number of response times stored for the interval of their mean. With more, the interval
/// comes from batch means, which need constant memory.
const MAX_KEPT: usize = 1 << 22;

/// The confidence level of intervals.
const CONFIDENCE: f64 = 0.95;

/// Computes the statistics of a run without its first `IOIgnore` IOs; `None` if no IO counts.
/// `records` passes each record of the run to its argument, in order. `head` is the number of
/// counted IOs at the start that also get a separate mean.
pub(crate) fn find<E>(
    run: &Run,
    head: Option<u64>,
    records: impl FnOnce(&mut dyn FnMut(&Record)) -> Result<(), E>,
) -> Result<Option<RunStatistics>, E> {
    let mut accumulator = RunAccumulator::new(&run.reference);
    records(&mut |record| accumulator.push(record))?;
    let period = run.length.map_or(1, |length| length.period_ios);
    let head = head.and_then(|ios| accumulator.head(ios));
    let statistics = |facts| RunStatistics { head, ..accumulator.with_interval(facts, period) };
    Ok(accumulator.facts(run.id).map(statistics))
}

struct RunAccumulator<'a> {
    reference: &'a Reference,
    ignore: u64,
    seen: u64,
    errors: u64,
    bytes: u64,
    first: Option<Nanos>,
    last: Nanos,
    latency: Summary,
    /// A summary for each pattern or job; empty if there is only one.
    parts: Vec<Summary>,
    /// A summary and the bytes for each operation of a trace, a blend or jobs.
    operations: Vec<(Summary, u64)>,
    open_loop: Option<OpenLoopSummary>,
    /// For concurrent streams: the times that IOs spend on the drive, and whether any IO waited in
    /// the host first.
    service: Option<(Summary, bool)>,
    /// The ns per byte of uniform writes.
    per_byte: Option<Ratio>,
    /// The response times in order, up to [`MAX_KEPT`].
    values: Vec<f64>,
}

#[derive(Default)]
struct OpenLoopSummary {
    latency: Summary,
    late: Summary,
}

impl RunAccumulator<'_> {
    fn new(reference: &Reference) -> RunAccumulator<'_> {
        let parts = reference.parts_count();
        RunAccumulator {
            reference,
            ignore: reference.io_ignore(),
            seen: 0,
            errors: 0,
            bytes: 0,
            first: None,
            last: Nanos(0),
            latency: Summary::default(),
            parts: if parts > 1 { vec![Summary::default(); parts] } else { vec![] },
            operations: match reference {
                Reference::Trace { .. } | Reference::Blend { .. } | Reference::Jobs { .. } => {
                    vec![Default::default(); Op::ALL.len()]
                }
                _ => vec![],
            },
            open_loop: reference.is_open_loop().then(OpenLoopSummary::default),
            service: reference.is_parallel().then(Default::default),
            per_byte: matches!(reference, Reference::Uniform { .. }).then(Ratio::default),
            values: Vec::new(),
        }
    }

    fn push(&mut self, record: &Record) {
        let position = self.seen;
        self.seen += 1;
        if record.result.is_err() {
            self.errors += 1;
        } else if position >= self.ignore {
            if let Some(part) = self.parts.get_mut(self.reference.part_of(position, record.stream))
            {
                part.push(record.latency.0);
            }
            if let Some((latency, bytes)) = self.operations.get_mut(usize::from(record.op.code())) {
                latency.push(record.latency.0);
                *bytes += record.len.0;
            }
            if let Some(OpenLoopSummary { latency, late }) = &mut self.open_loop {
                latency.push(record.late.0.saturating_add(record.latency.0));
                late.push(record.late.0);
            }
            if let Some((service, waited)) = &mut self.service {
                service.push(record.latency.0.saturating_sub(record.late.0));
                *waited |= record.late.0 > 0;
            }
            if let Some(per_byte) = &mut self.per_byte {
                #[allow(clippy::cast_precision_loss)] // far below 2^53
                per_byte.push(record.latency.0 as f64, record.len.0 as f64);
            }
            self.bytes += record.len.0;
            self.first.get_or_insert(record.submitted);
            self.last = self.last.max(record.completed());
            self.latency.push(record.latency.0);
            if self.values.len() < MAX_KEPT {
                #[allow(clippy::cast_precision_loss)] // far below 2^53 ns
                self.values.push(record.latency.0 as f64);
            }
        }
    }

    /// Adds the interval of the mean over whole periods, by the method that determines the
    /// length of a run.
    fn with_interval(&self, mut facts: RunFacts, period: u64) -> RunStatistics {
        let kept = self.values.len() as u64 == facts.ios;
        let period = usize::try_from(period).unwrap_or(usize::MAX);
        let interval = kept.then(|| mean_interval(&self.values, period, CONFIDENCE)).flatten();
        if let Some(interval) = interval {
            let (low, high) = (Some(interval.low), Some(interval.high));
            facts.latency_ns.mean = Estimate { low, high, ..facts.latency_ns.mean };
        }
        let standard_error = interval.map(|interval| interval.standard_error);
        RunStatistics { facts, standard_error, head: None }
    }

    /// Returns the mean of the first `ios` IOs that count, if there are more.
    #[allow(clippy::cast_precision_loss)] // far below 2^53
    fn head(&self, ios: u64) -> Option<Estimate> {
        let ios = usize::try_from(ios).unwrap_or(usize::MAX);
        let values = self.values.get(..ios).filter(|values| values.len() < self.values.len())?;
        let interval = mean_interval(values, 1, CONFIDENCE)?;
        let value = values.iter().sum::<f64>() / values.len() as f64;
        Some(Estimate { value, low: Some(interval.low), high: Some(interval.high) })
    }

    #[allow(clippy::cast_precision_loss)]
    fn facts(&self, run: u32) -> Option<RunFacts> {
        let duration_ns = Nanos(self.last.0.saturating_sub(self.first?.0));
        Some(RunFacts {
            run,
            ios: self.latency.count(),
            errors: self.errors,
            ignored: self.ignore.min(self.seen),
            latency_ns: Latency::of(&self.latency)?,
            parts: self.parts.iter().map(Latency::of).collect(),
            operations: self.operations(),
            open_loop: self.open_loop.as_ref().and_then(|summary| {
                let (latency_ns, late_ns) =
                    (Latency::of(&summary.latency)?, Latency::of(&summary.late)?);
                Some(OpenLoop { latency_ns, late_ns })
            }),
            service_ns: self
                .service
                .as_ref()
                .filter(|(_, waited)| *waited)
                .and_then(|(service, _)| Latency::of(service)),
            uniform: self.per_byte.as_ref().and_then(|per_byte| {
                let (bytes, per_byte_ns) = (Bytes(self.bytes), per_byte.estimate()?);
                Some(UniformFacts { bytes, per_byte_ns })
            }),
            duration_ns,
            throughput_bytes_per_s: self.bytes as f64 / duration_ns.as_secs_f64().max(1e-9),
            harness_share: None,
            disturbed_by: vec![],
        })
    }
}

impl RunAccumulator<'_> {
    /// Returns the statistics of each operation, if there are several.
    fn operations(&self) -> Vec<OperationFacts> {
        let facts = |(op, (summary, bytes)): (Op, &(Summary, u64))| {
            let latency_ns = Latency::of(summary)?;
            Some(OperationFacts { op, ios: summary.count(), bytes: Bytes(*bytes), latency_ns })
        };
        let found: Vec<_> = Op::ALL.into_iter().zip(&self.operations).filter_map(facts).collect();
        if found.len() > 1 { found } else { vec![] }
    }
}

#[cfg(test)]
mod tests {
    use flashscope_block::{Bytes, Errno, Op};
    use flashscope_workload::pattern::{Address, Pattern, Timing};
    use flashscope_workload::playback::{Pace, Playback};

    use super::*;

    fn record(submitted: u64, latency: u64, result: Result<(), Errno>) -> Record {
        Record {
            submitted: Nanos(submitted),
            latency: Nanos(latency),
            offset: Bytes(0),
            len: Bytes(1000),
            op: Op::Read,
            stream: 0,
            result,
            late: Nanos(0),
        }
    }

    fn pattern(io_ignore: u64) -> Pattern {
        Pattern {
            op: Op::Read,
            address: Address::Sequential,
            timing: Timing::Consecutive,
            io_size: Bytes(1000),
            io_shift: Bytes(0),
            target_offset: Bytes(0),
            target_size: Bytes::MIB,
            io_count: 4,
            io_ignore,
            seed: 0,
        }
    }

    fn trace(pace: Pace) -> Reference {
        let playback = Playback {
            files: vec!["t.csv".into()],
            fields: Default::default(),
            pace,
            capacity: Bytes::MIB,
            logical_block: Bytes(512),
            longest: Bytes::MIB,
        };
        Reference::Trace { playback, queue_depth: 4, ios: 3, modifies: true }
    }

    #[test]
    fn traces_separate_operations_and_count_lateness() {
        let reference = trace(Pace::Timed);
        let mut accumulator = RunAccumulator::new(&reference);
        let late =
            |latency, late, op| Record { late: Nanos(late), op, ..record(0, latency, Ok(())) };
        for (latency, submitted_late, op) in
            [(100, 0, Op::Read), (100, 50, Op::Read), (700, 900, Op::Write)]
        {
            accumulator.push(&late(latency, submitted_late, op));
        }
        let facts = accumulator.facts(1).unwrap();
        assert_eq!(facts.latency_ns.max, 700);
        let open_loop = facts.open_loop.unwrap();
        assert_eq!((open_loop.latency_ns.min, open_loop.latency_ns.max), (100, 1600));
        assert_eq!((open_loop.late_ns.min, open_loop.late_ns.max), (0, 900));
        let operations: Vec<_> =
            facts.operations.iter().map(|o| (o.op, o.ios, o.bytes.0, o.latency_ns.max)).collect();
        assert_eq!(operations, [(Op::Read, 2, 2000, 100), (Op::Write, 1, 1000, 700)]);

        let reference = trace(Pace::Asap);
        let mut accumulator = RunAccumulator::new(&reference);
        accumulator.push(&late(100, 0, Op::Read));
        let facts = accumulator.facts(1).unwrap();
        assert!(facts.open_loop.is_none() && facts.operations.is_empty());
    }

    #[test]
    fn the_service_time_leaves_out_the_queue_of_the_host() {
        let reference = Reference::Parallel { pattern: pattern(0), degree: 2 };
        let mut accumulator = RunAccumulator::new(&reference);
        accumulator.push(&record(0, 100, Ok(())));
        assert!(accumulator.facts(1).unwrap().service_ns.is_none());
        accumulator.push(&Record { late: Nanos(90), ..record(0, 200, Ok(())) });
        let facts = accumulator.facts(1).unwrap();
        assert_eq!((facts.latency_ns.max, facts.service_ns.unwrap().max), (200, 110));
    }

    #[test]
    fn ignored_and_failed_ios_do_not_count() {
        let reference = Reference::Basic { pattern: pattern(1) };
        let mut accumulator = RunAccumulator::new(&reference);
        accumulator.push(&record(0, 1_000_000, Ok(())));
        accumulator.push(&record(1_000, 100, Ok(())));
        accumulator.push(&record(1_100, 7_000_000, Err(Errno::EIO)));
        accumulator.push(&record(1_200, 300, Ok(())));
        let facts = accumulator.facts(4).unwrap();
        assert_eq!((facts.run, facts.ios, facts.errors, facts.ignored), (4, 2, 1, 1));
        let latency = facts.latency_ns;
        assert_eq!((latency.min, latency.max, latency.mean.value), (100, 300, 200.0));
        assert_eq!(facts.duration_ns, Nanos(500));
        assert!((facts.throughput_bytes_per_s - 2000.0 / 500e-9).abs() < 1.0);
        assert!(facts.parts.is_empty());
    }

    #[test]
    fn the_patterns_of_a_mix_have_separate_statistics() {
        let (first, second) = (pattern(0), pattern(0));
        let reference = Reference::Mixed { first, second, ratio: 2 };
        let mut accumulator = RunAccumulator::new(&reference);
        for i in 0..12 {
            accumulator.push(&record(i * 1000, if i % 3 == 2 { 900 } else { 100 }, Ok(())));
        }
        let facts = accumulator.facts(1).unwrap();
        let [Some(first), Some(second)] = facts.parts[..] else { panic!("two parts") };
        assert_eq!((first.min, first.max, second.min, second.max), (100, 100, 900, 900));
    }

    #[test]
    fn a_run_without_successful_ios_has_no_facts() {
        let reference = Reference::Basic { pattern: pattern(0) };
        let mut accumulator = RunAccumulator::new(&reference);
        accumulator.push(&record(0, 1, Err(Errno::EIO)));
        assert_eq!(accumulator.facts(1), None);
    }
}
