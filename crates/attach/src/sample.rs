//! The activity of an attached drive between two snapshots.

use std::fmt;

use flashscope_block::{Bytes, Nanos, Op};
use hdrhistogram::Histogram;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::statistics::{OpStatistics, Snapshot, ratio};

/// Quantiles of times in nanoseconds, within 0.1 %.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Quantiles {
    /// The median.
    pub median_ns: u64,
    /// The 99th percentile.
    pub p99_ns: u64,
    /// The 99.9th percentile.
    pub p999_ns: u64,
    /// The maximum.
    pub max_ns: u64,
}

impl Quantiles {
    /// Returns the quantiles, or `None` without times.
    pub fn of(times: &Histogram<u64>) -> Option<Quantiles> {
        (!times.is_empty()).then(|| Quantiles {
            median_ns: times.value_at_quantile(0.5),
            p99_ns: times.value_at_quantile(0.99),
            p999_ns: times.value_at_quantile(0.999),
            max_ns: times.max(),
        })
    }
}

/// The rates of one operation.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct OpSample {
    /// The operation.
    pub op: Op,
    /// Completed requests, including failed ones, per second on the machine's clock.
    pub requests_per_s: f64,
    /// Bytes of successful requests, per second on the machine's clock.
    pub bytes_per_s: f64,
    /// Failed requests.
    pub errors: u64,
    /// The time from the arrival of a request until its reply is due, on the clock of the drive;
    /// absent without requests.
    pub latency: Option<Quantiles>,
}

/// The activity of an attached drive between two snapshots, usually 1 s apart, and its state at the
/// later snapshot.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Sample {
    /// The end of the interval, in seconds on the machine's clock since the drive was attached.
    pub at_s: f64,
    /// The rates of each operation: read, write, trim, flush.
    pub ops: Vec<OpSample>,
    /// The latency of all requests.
    pub latency: Option<Quantiles>,
    /// Requests that wait for a reply.
    pub in_flight: u64,
    /// Bytes programmed per byte that the host wrote; absent if the host wrote none, and for drives
    /// that do not report it.
    pub write_amplification: Option<f64>,
    /// Free blocks in percent of all blocks; absent for drives that do not report them.
    pub free_blocks_percent: Option<f64>,
    /// The delay of replies past their due time, on the clock of the machine; absent without
    /// replies, or if replies are not delayed.
    pub lateness: Option<Quantiles>,
}

impl Sample {
    /// Returns the activity between two snapshots of a drive.
    pub fn between(earlier: &Snapshot, later: &Snapshot) -> Sample {
        let seconds = later.machine.as_secs_f64() - earlier.machine.as_secs_f64();
        let pairs = earlier.ops.iter().zip(&later.ops);
        let latencies: Vec<_> =
            pairs.clone().map(|(then, now)| since(&then.latency_ns, &now.latency_ns)).collect();
        let mut all = Histogram::new_from(&later.lateness_ns);
        latencies.iter().for_each(|times| all += times);
        let op =
            |((then, now), times): ((&OpStatistics, &OpStatistics), &Histogram<u64>)| OpSample {
                op: now.op,
                requests_per_s: per(now.requests - then.requests, seconds),
                bytes_per_s: per(now.bytes - then.bytes, seconds),
                errors: now.errors - then.errors,
                latency: Quantiles::of(times),
            };
        let flash = earlier.flash.zip(later.flash);
        Sample {
            at_s: later.machine.as_secs_f64(),
            ops: pairs.zip(&latencies).map(op).collect(),
            latency: Quantiles::of(&all),
            in_flight: later.in_flight as u64,
            write_amplification: flash.and_then(|(then, now)| {
                let programmed = now.programmed - then.programmed;
                ratio(programmed, now.host_written - then.host_written)
            }),
            free_blocks_percent: later.flash.map(|flash| flash.free_blocks_percent()),
            lateness: Quantiles::of(&since(&earlier.lateness_ns, &later.lateness_ns)),
        }
    }
}

impl fmt::Display for Sample {
    /// Formats a line for a terminal of 100 columns.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sum = |of: fn(&OpSample) -> f64| self.ops.iter().map(of).sum::<f64>();
        #[allow(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "rates are not negative, and the cast saturates"
        )]
        let bytes = Bytes(sum(|op| op.bytes_per_s) as u64);
        if let Some(amplification) = self.write_amplification {
            write!(f, "WA {amplification:.2}  ")?;
        }
        write!(f, "{:.0} IO/s  {bytes}/s", sum(|op| op.requests_per_s))?;
        if let Some(latency) = self.latency {
            write!(f, "  p50 {}  p99 {}", Nanos(latency.median_ns), Nanos(latency.p99_ns))?;
        }
        write!(f, "  QD {}", self.in_flight)?;
        if let Some(free) = self.free_blocks_percent {
            write!(f, "  free {free:.0} %")?;
        }
        if let Some(late) = self.lateness {
            write!(f, "  late p99 {}", Nanos(late.p99_ns))?;
        }
        match self.ops.iter().map(|op| op.errors).sum() {
            0u64 => Ok(()),
            failed => write!(f, "  FAILED {failed}"),
        }
    }
}

/// Returns a rate per second; 0 if no time passed.
#[allow(clippy::cast_precision_loss, reason = "exact up to 2^53")]
fn per(count: u64, seconds: f64) -> f64 {
    if seconds > 0.0 { count as f64 / seconds } else { 0.0 }
}

/// Returns the values added to a histogram between two snapshots.
fn since(then: &Histogram<u64>, now: &Histogram<u64>) -> Histogram<u64> {
    let mut added = now.clone();
    added.subtract(then).expect("counts never decrease");
    added
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{flash, snapshot};

    /// Returns two snapshots 2 s apart, between which 512 KiB were written and 768 KiB programmed.
    fn pair() -> [Snapshot; 2] {
        let (then, mut now) = (snapshot(), snapshot());
        now.machine = Nanos::secs(12);
        now.in_flight = 7;
        let write = &mut now.ops[1];
        write.requests += 128;
        write.bytes += 512 * 1024;
        (0..128).for_each(|n| write.latency_ns.saturating_record(200_000 + 1000 * n));
        now.lateness_ns.saturating_record(9_000);
        let mut flash = flash();
        flash.host_written += Bytes::kib(512);
        flash.programmed += Bytes::kib(768);
        now.flash = Some(flash);
        [then, now]
    }

    // A sample contains only the activity between the two snapshots, as rates per second.
    #[test]
    fn a_sample_contains_the_activity_between_snapshots() {
        let [then, now] = pair();
        let sample = Sample::between(&then, &now);
        let write = &sample.ops[1];
        assert_eq!((write.requests_per_s, write.bytes_per_s), (64.0, 262_144.0));
        assert_eq!((sample.ops[0].requests_per_s, sample.ops[0].latency), (0.0, None));
        assert_eq!(write.latency, sample.latency, "there were no other requests");
        let latency = sample.latency.unwrap();
        assert!((262_000..265_000).contains(&latency.median_ns), "{latency:?}");
        assert!((326_000..329_000).contains(&latency.p99_ns), "{latency:?}");
        assert_eq!(sample.write_amplification, Some(1.5));
        assert_eq!((sample.free_blocks_percent, sample.in_flight), (Some(25.0), 7));
        let late = sample.lateness.unwrap();
        assert!((8_990..=9_010).contains(&late.median_ns) && late.max_ns < 9_010, "{late:?}");
    }

    // Without requests, or without passed time, quotients are 0 or absent.
    #[test]
    fn a_sample_of_no_activity_has_no_quotients() {
        let sample = Sample::between(&snapshot(), &snapshot());
        assert_eq!((sample.ops[1].requests_per_s, sample.write_amplification), (0.0, None));
        assert_eq!((sample.latency, sample.lateness), (None, None));
    }

    // A line contains the values that exist, and fits 100 columns even with the longest ones.
    #[test]
    fn a_line_fits_100_columns() {
        let [then, mut now] = pair();
        assert_eq!(
            Sample::between(&then, &now).to_string(),
            "WA 1.50  64 IO/s  256 KiB/s  p50 263 µs  p99 326 µs  QD 7  free 25 %  late p99 9.01 µs"
        );
        now.flash = None;
        now.ops[0].errors += 2;
        now.ops[0].requests += 2;
        let line = Sample::between(&then, &now).to_string();
        assert!(!line.contains("WA") && line.ends_with("FAILED 2"), "{line}");
        let quantiles =
            Quantiles { median_ns: 999_400_000, p99_ns: 123_456, p999_ns: 0, max_ns: 0 };
        let rates = OpSample {
            op: Op::Read,
            requests_per_s: 1_234_567.0,
            bytes_per_s: 1012.0 * 1024.0 * 1024.0,
            errors: 0,
            latency: None,
        };
        let most = Sample {
            at_s: 1.0,
            ops: vec![rates],
            latency: Some(quantiles),
            in_flight: 1024,
            write_amplification: Some(123.456),
            free_blocks_percent: Some(100.0),
            lateness: Some(quantiles),
        };
        let line = most.to_string();
        assert!(line.chars().count() <= 100, "{line}: {}", line.chars().count());
    }
}
