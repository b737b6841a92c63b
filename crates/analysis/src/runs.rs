use flashscope_block::{Nanos, Record};
use flashscope_result::{Error, Rows};
use flashscope_stats::Summary;

use crate::facts::{Latency, RunFacts};

/// The statistics of the run `run`, its first `ignore` IOs left out; `None` where no IO counts.
pub(crate) fn run_facts(run: u32, ignore: u64, rows: &Rows) -> Result<Option<RunFacts>, Error> {
    let mut gathered = Gathered::default();
    rows.for_each(|record| gathered.push(record, ignore))?;
    Ok(gathered.facts(run, ignore))
}

#[derive(Default)]
struct Gathered {
    seen: u64,
    errors: u64,
    bytes: u64,
    first: Option<Nanos>,
    last: Nanos,
    latency: Summary,
}

impl Gathered {
    fn push(&mut self, record: &Record, ignore: u64) {
        self.seen += 1;
        if record.result.is_err() {
            self.errors += 1;
        } else if self.seen > ignore {
            self.bytes += record.len.0;
            self.first.get_or_insert(record.submitted);
            self.last = self.last.max(record.completed());
            self.latency.push(record.latency.0);
        }
    }

    #[allow(clippy::cast_precision_loss)]
    fn facts(&self, run: u32, ignore: u64) -> Option<RunFacts> {
        let quantile = |q| self.latency.quantile(q);
        let duration_ns = Nanos(self.last.0.saturating_sub(self.first?.0));
        Some(RunFacts {
            run,
            ios: self.latency.count(),
            errors: self.errors,
            ignored: ignore.min(self.seen),
            latency_ns: Latency {
                mean: self.latency.mean(),
                standard_deviation: self.latency.standard_deviation(),
                min: self.latency.min()?,
                max: self.latency.max()?,
                p50: quantile(0.5)?,
                p99: quantile(0.99)?,
                p999: quantile(0.999)?,
            },
            duration_ns,
            throughput_bytes_per_s: self.bytes as f64 / duration_ns.as_secs_f64().max(1e-9),
        })
    }
}

#[cfg(test)]
mod tests {
    use flashscope_block::{Bytes, Errno, Op};

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
        }
    }

    // Are ignored and failed IOs left out of every number but their own count?
    #[test]
    fn counts_what_counts() {
        let mut gathered = Gathered::default();
        gathered.push(&record(0, 1_000_000, Ok(())), 1);
        gathered.push(&record(1_000, 100, Ok(())), 1);
        gathered.push(&record(1_100, 7_000_000, Err(Errno::EIO)), 1);
        gathered.push(&record(1_200, 300, Ok(())), 1);
        let facts = gathered.facts(4, 1).unwrap();
        assert_eq!((facts.run, facts.ios, facts.errors, facts.ignored), (4, 2, 1, 1));
        let latency = facts.latency_ns;
        assert_eq!((latency.min, latency.max, latency.mean.value), (100, 300, 200.0));
        assert_eq!(facts.duration_ns, Nanos(500));
        assert!((facts.throughput_bytes_per_s - 2000.0 / 500e-9).abs() < 1.0);
    }

    // Is a run without a single good IO without facts, rather than with zeros?
    #[test]
    fn nothing_of_nothing() {
        let mut gathered = Gathered::default();
        gathered.push(&record(0, 1, Err(Errno::EIO)), 0);
        assert_eq!(gathered.facts(1, 0), None);
    }
}
