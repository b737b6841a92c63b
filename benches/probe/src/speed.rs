//! Measures the duration of a probe, and how much of it is spent outside the drive, on analysis.

use std::fmt::Write;
use std::time::{Duration, Instant};

use flashscope_block::{Completion, Device, DeviceInfo, Io, Nanos};

use crate::trial::{DRIVE_WRITES, probe};

/// Simulated drives of 1 GB, with a page map and with log blocks.
const DRIVES: [&str; 2] = ["demo", "sun-zhang-unknown"];

/// The maximum durations of a probe, and of its analysis.
const LIMITS: [Duration; 2] = [Duration::from_secs(60), Duration::from_secs(10)];

/// A drive that sums up the wall-clock time spent in it.
struct TimedDrive<D> {
    inner: D,
    spent: Duration,
}

impl<D: Device> TimedDrive<D> {
    fn time<T>(&mut self, work: impl FnOnce(&mut D) -> T) -> T {
        let begin = now();
        let result = work(&mut self.inner);
        self.spent += begin.elapsed();
        result
    }
}

#[allow(clippy::disallowed_methods, reason = "a benchmark reads clocks")]
fn now() -> Instant {
    Instant::now()
}

impl<D: Device> Device for TimedDrive<D> {
    fn info(&self) -> &DeviceInfo {
        self.inner.info()
    }

    fn now(&self) -> Nanos {
        self.inner.now()
    }

    fn submit(&mut self, io: &Io) {
        self.time(|inner| inner.submit(io));
    }

    fn complete(&mut self, until: Nanos) -> Option<Completion> {
        self.time(|inner| inner.complete(until))
    }

    fn idle_until(&mut self, until: Nanos) {
        self.time(|inner| inner.idle_until(until));
    }
}

/// Returns a table with the durations for all drives of 1 GB and their limits. All time outside the
/// drive counts as analysis.
///
/// # Panics
/// Panics if a drive is invalid; they are built-in profiles.
pub fn table() -> String {
    let mut table = format!(
        "{:<26} {:>10} {:>6} {:>12} {:>6} {:>13} {:>6}\n",
        "drive", "probe, s", "limit", "analysis, s", "limit", "drive-writes", "limit"
    );
    for name in DRIVES {
        let inner = flashscope_sim::open(name).expect("a built-in profile");
        let mut drive = TimedDrive { inner, spent: Duration::ZERO };
        let begin = now();
        let outcome = probe(&mut drive, 0, &[], &mut |_| {}).expect("the probe is not interrupted");
        let whole = begin.elapsed();
        let [whole_limit, analysis_limit] = LIMITS.map(|limit| limit.as_secs());
        writeln!(
            table,
            "{:<26} {:>10.1} {whole_limit:>6} {:>12.1} {analysis_limit:>6} {:>13.1} \
             {DRIVE_WRITES:>6}",
            format!("sim:{name}"),
            whole.as_secs_f64(),
            whole.saturating_sub(drive.spent).as_secs_f64(),
            outcome.drive_writes,
        )
        .expect("a String can always be written to");
    }
    table
}
