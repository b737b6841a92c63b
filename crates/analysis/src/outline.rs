use flashscope_block::Record;
use flashscope_result::{Error, Manifest, ResultFolder};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How many stretches a long run is divided into: about the pixels that a picture is wide.
const STRETCHES: u64 = 400;

/// A run as a picture can show it: its IOs in order of completion or, where there are too many,
/// the fastest, the slowest and the failed ones of each stretch. What is shown was measured as it
/// stands.
///
/// The lists are columns of one table.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Outline {
    /// The number of the run.
    pub run: u32,
    /// How many IOs the run has.
    pub ios: u64,
    /// The position of each IO shown in the run, from 0.
    pub index: Vec<u64>,
    /// When it was submitted, from the begin of the run.
    pub submitted_ns: Vec<u64>,
    /// Its response time.
    pub latency_ns: Vec<u64>,
    /// Where it began.
    pub offset_bytes: Vec<u64>,
    /// What it did: 0 read, 1 write.
    pub op: Vec<u8>,
    /// The error of each, 0 for those that succeeded.
    pub errno: Vec<i32>,
}

/// The outlines of all runs that have records.
pub fn outlines(folder: &ResultFolder, manifest: &Manifest) -> Result<Vec<Outline>, Error> {
    let mut outlines = Vec::new();
    for run in manifest.runs().filter(|run| run.progress.ios() > 0) {
        let rows = folder.records(run)?;
        let mut outliner = Outliner::new(run.id, rows.total());
        rows.for_each(|record| outliner.push(record))?;
        outlines.push(outliner.finish());
    }
    Ok(outlines)
}

struct Outliner {
    outline: Outline,
    stretch: u64,
    next: u64,
    fastest: Option<(u64, Record)>,
    slowest: Option<(u64, Record)>,
    failed: Vec<(u64, Record)>,
}

impl Outliner {
    fn new(run: u32, ios: u64) -> Outliner {
        // Two IOs are shown of each stretch; up to twice as many are all shown.
        let stretch = if ios <= 2 * STRETCHES { 1 } else { ios.div_ceil(STRETCHES) };
        let outline = Outline { run, ios, ..Outline::default() };
        Outliner { outline, stretch, next: 0, fastest: None, slowest: None, failed: vec![] }
    }

    fn push(&mut self, record: &Record) {
        let this = (self.next, *record);
        if self.fastest.is_none_or(|(_, fastest)| record.latency < fastest.latency) {
            self.fastest = Some(this);
        }
        if self.slowest.is_none_or(|(_, slowest)| record.latency > slowest.latency) {
            self.slowest = Some(this);
        }
        if record.result.is_err() {
            self.failed.push(this);
        }
        self.next += 1;
        if self.next.is_multiple_of(self.stretch) {
            self.end_stretch();
        }
    }

    fn end_stretch(&mut self) {
        let extremes = [self.fastest.take(), self.slowest.take()].into_iter().flatten();
        let mut shown: Vec<_> = extremes.chain(self.failed.drain(..)).collect();
        shown.sort_by_key(|(index, _)| *index);
        shown.dedup_by_key(|(index, _)| *index);
        for (index, record) in shown {
            self.outline.index.push(index);
            self.outline.submitted_ns.push(record.submitted.0);
            self.outline.latency_ns.push(record.latency.0);
            self.outline.offset_bytes.push(record.offset.0);
            self.outline.op.push(record.op.code());
            self.outline.errno.push(record.result.map_or_else(|errno| errno.0, |()| 0));
        }
    }

    fn finish(mut self) -> Outline {
        self.end_stretch();
        self.outline
    }
}

#[cfg(test)]
mod tests {
    use flashscope_block::{Bytes, Errno, Nanos, Op};
    use proptest::prelude::*;

    use super::*;

    /// The position of the IO that fails.
    const FAILED: usize = 777;

    fn outline(latencies: &[u64]) -> Outline {
        let mut outliner = Outliner::new(1, latencies.len() as u64);
        for (i, &latency) in latencies.iter().enumerate() {
            outliner.push(&Record {
                submitted: Nanos(i as u64 * 10),
                latency: Nanos(latency),
                offset: Bytes(i as u64 * 512),
                len: Bytes(512),
                op: Op::Write,
                stream: 0,
                result: if i == FAILED { Err(Errno::EIO) } else { Ok(()) },
                late: Nanos(0),
            });
        }
        outliner.finish()
    }

    // Is a short run shown whole?
    #[test]
    fn short_runs_are_whole() {
        let latencies: Vec<u64> = (0..800).map(|i| i * 7919 % 1000).collect();
        assert_eq!(outline(&latencies).latency_ns, latencies);
    }

    proptest! {
        // Of a long run, are the extremes and failures shown, in order, no more than a picture
        // holds, and every IO shown as it was?
        #[test]
        fn long_runs_keep_their_extremes(latencies in prop::collection::vec(1u64..1 << 40, 801..5000)) {
            let outline = outline(&latencies);
            prop_assert!(outline.index.len() as u64 <= 2 * STRETCHES + 1);
            let failed = outline.index.iter().position(|&index| index == FAILED as u64).unwrap();
            prop_assert_eq!(outline.errno[failed], 5);
            prop_assert_eq!(outline.errno.iter().filter(|&&errno| errno != 0).count(), 1);
            prop_assert!(outline.index.is_sorted_by(|a, b| a < b));
            for (&index, &latency) in outline.index.iter().zip(&outline.latency_ns) {
                prop_assert_eq!(latencies[usize::try_from(index).unwrap()], latency);
            }
            prop_assert_eq!(outline.latency_ns.iter().max(), latencies.iter().max());
            prop_assert_eq!(outline.latency_ns.iter().min(), latencies.iter().min());
        }
    }
}
