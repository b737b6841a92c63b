//! Logs of means over windows, which fio writes with `log_avg_msec`.

use std::sync::atomic::AtomicBool;

use anyhow::{Result, bail};
use flashscope_block::{Bytes, Nanos, Op, Record, StreamId};

use super::files::LogFiles;
use super::log::{Entry, entries};

/// The maximum number of IOs of an operation of a job that averaged logs describe.
const MAX_IOS: u64 = 20_000_000;

/// The IOs of one operation of a job, as fio counts them.
#[derive(Debug, Clone, Copy)]
pub(super) struct Totals {
    pub op: Op,
    pub ios: u64,
    pub mean_ns: f64,
}

impl Totals {
    /// Adds the totals of another process.
    pub(super) fn add(&mut self, other: Totals) {
        let sum = self.sum_ns() + other.sum_ns();
        self.ios += other.ios;
        #[allow(clippy::cast_precision_loss, reason = "exact up to 2^53 IOs")]
        if self.ios > 0 {
            self.mean_ns = sum / self.ios as f64;
        }
    }

    /// Returns the sum of all latencies.
    #[allow(clippy::cast_precision_loss, reason = "exact up to 2^53 IOs")]
    pub(super) fn sum_ns(&self) -> f64 {
        self.ios as f64 * self.mean_ns
    }
}

/// A window of one process.
struct Window {
    stream: StreamId,
    start_ms: u64,
    end_ms: u64,
    /// The mean latency in ns.
    latency: Option<f64>,
    /// The IOs per second, or a number proportional to this rate.
    rate: Option<f64>,
}

impl Window {
    #[allow(clippy::cast_precision_loss, reason = "windows are far below 2^53 ms")]
    fn length(&self) -> f64 {
        (self.end_ms - self.start_ms).max(1) as f64
    }

    /// Returns a number proportional to the number of IOs in the window. Without a rate, it follows
    /// from the latency by Little's law.
    fn weight(&self) -> f64 {
        match (self.rate, self.latency) {
            (Some(rate), _) => rate * self.length(),
            (None, Some(latency)) => self.length() / latency.max(1.0),
            (None, None) => 0.0,
        }
    }
}

/// Returns as many IOs of `op` as fio counted, spread over the windows of its logs, each with the
/// mean latency of its window. The order is that of the windows.
///
/// # Errors
/// If the logs cannot be read, lack the operation, or describe too many IOs.
pub(super) fn records(
    logs: &[LogFiles],
    window_ms: u64,
    totals: Totals,
    len: Bytes,
    stop: &AtomicBool,
) -> Result<Vec<Record>> {
    let Totals { op, ios, mean_ns } = totals;
    if ios == 0 {
        return Ok(vec![]);
    }
    if ios > MAX_IOS {
        bail!("the averaged logs describe {ios} IOs, and at most {MAX_IOS} can be imported");
    }
    let mut windows = Vec::new();
    for (stream, files) in (0..).zip(logs) {
        windows.extend(of_process(files, (stream, op), window_ms, stop)?);
    }
    let all: f64 = windows.iter().map(Window::weight).sum();
    if all <= 0.0 {
        bail!("the averaged logs have no {op}, and the JSON has {ios} of them");
    }
    let counts = counts(&windows, ios, all);
    let latencies = latencies(&windows, &counts, mean_ns);
    let mut records = Vec::new();
    for ((window, count), latency) in windows.iter().zip(counts).zip(latencies) {
        let start = window.start_ms.saturating_mul(1_000_000);
        let length = window.end_ms.saturating_mul(1_000_000).saturating_sub(start);
        records.extend((1..=count).map(|nth| {
            let completed = start + length / count * nth;
            Record {
                submitted: Nanos(completed.saturating_sub(latency)),
                latency: Nanos(latency),
                offset: Bytes(0),
                len,
                op,
                stream: window.stream,
                result: Ok(()),
                late: Nanos(0),
            }
        }));
    }
    Ok(records)
}

/// Returns the IOs of each window: shares of `ios` whose sum is exact.
#[allow(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "at most MAX_IOS"
)]
fn counts(windows: &[Window], ios: u64, all: f64) -> Vec<u64> {
    let (mut sum, mut given) = (0.0, 0);
    let count = |window: &Window| {
        sum += window.weight();
        let until = (ios as f64 * (sum / all)).round() as u64;
        let count = until.min(ios) - given;
        given += count;
        count
    };
    windows.iter().map(count).collect()
}

/// Returns the latency in ns of the IOs of each window. Without a log of latencies, latencies are
/// proportional to the time per IO, and their mean is fio's mean.
#[allow(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "nanoseconds below 2^53"
)]
fn latencies(windows: &[Window], counts: &[u64], mean_ns: f64) -> Vec<u64> {
    let time_per_io = |window: &Window| 1.0 / window.rate.unwrap_or(1.0).max(1e-9);
    let ios: u64 = counts.iter().sum();
    let sum: f64 = windows.iter().zip(counts).map(|(w, n)| *n as f64 * time_per_io(w)).sum();
    let scale = mean_ns * ios as f64 / sum.max(f64::MIN_POSITIVE);
    let latency = |window: &Window| {
        window.latency.unwrap_or_else(|| scale * time_per_io(window)).round() as u64
    };
    windows.iter().map(latency).collect()
}

/// Returns the windows of one process.
fn of_process(
    files: &LogFiles,
    (stream, op): (StreamId, Op),
    window_ms: u64,
    stop: &AtomicBool,
) -> Result<Vec<Window>> {
    let read = |path: &Option<std::path::PathBuf>| -> Result<Vec<Entry>> {
        let mut found = Vec::new();
        if let Some(path) = path {
            entries(path, stop, &mut |entry| {
                found.extend(Some(entry).filter(|entry| entry.op == op));
                Ok(())
            })?;
        }
        Ok(found)
    };
    let latencies = read(&files.latency)?;
    let rates = match read(&files.iops)? {
        rates if rates.is_empty() => read(&files.bandwidth)?,
        rates => rates,
    };
    let has_latencies = !latencies.is_empty();
    let of = if has_latencies { &latencies } else { &rates };
    let mut previous = None;
    #[allow(clippy::cast_precision_loss, reason = "rates and latencies are below 2^53")]
    let window = |entry: &Entry| {
        let start_ms = previous.unwrap_or_else(|| entry.ms.saturating_sub(window_ms));
        previous = Some(entry.ms);
        Window {
            stream,
            start_ms: start_ms.min(entry.ms),
            end_ms: entry.ms,
            latency: has_latencies.then_some(entry.value as f64),
            rate: nearest(&rates, entry.ms).map(|rate| {
                // fio may log rates at other times than latencies. Between two rates, Little's law
                // gives the rate.
                let then = nearest(&latencies, rate.ms).map_or(entry.value, |near| near.value);
                let ratio =
                    if has_latencies { then as f64 / entry.value.max(1) as f64 } else { 1.0 };
                rate.value as f64 * ratio
            }),
        }
    };
    Ok(of.iter().map(window).collect())
}

/// Returns the entry whose time is nearest to `ms`; the entries are in the order of their times.
fn nearest(entries: &[Entry], ms: u64) -> Option<&Entry> {
    let after = entries.partition_point(|entry| entry.ms < ms);
    let near = entries[after.saturating_sub(1)..].iter().take(2);
    near.min_by_key(|entry| entry.ms.abs_diff(ms))
}
