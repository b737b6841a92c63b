//! The status of an attached drive, reported to other programs.

use std::collections::VecDeque;
use std::io;
use std::path::Path;
use std::sync::{Arc, Mutex};

use flashscope_block::{Bytes, DeviceInfo, Flash, Op};
use flashscope_document::environment::Health;
use flashscope_status::{StatusSocket, statuses};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::attached::AttachedDrive;
use crate::health::health;
use crate::lock;
use crate::metrics;
use crate::request::Answer;
use crate::sample::{Quantiles, Sample};
use crate::statistics::{OpStatistics, Snapshot};

/// The maximum number of stored samples: five minutes at one per second.
const KEPT: usize = 300;

/// The totals of one operation since the drive was attached.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct OpTotals {
    /// The operation.
    pub op: Op,
    /// Completed requests, including failed ones.
    pub requests: u64,
    /// The bytes of successful requests.
    pub bytes: Bytes,
    /// Failed requests.
    pub errors: u64,
    /// The time from the arrival of a request until its reply is due, on the clock of the drive;
    /// absent without requests.
    pub latency: Option<Quantiles>,
}

/// The identity, totals and recent samples of an attached drive.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct DriveStatus {
    /// The ID of the process that has attached the drive.
    pub process: u32,
    /// The drive.
    pub drive: DeviceInfo,
    /// The size of the drive for clients, in bytes.
    pub size_bytes: Bytes,
    /// The addresses, paths or devices at which clients reach the drive.
    pub places: Vec<String>,
    /// The time since the drive was attached, in seconds on the machine's clock.
    pub attached_s: f64,
    /// The time during which requests were in flight, in seconds on the drive's clock.
    pub busy_s: f64,
    /// The totals of each operation: read, write, trim, flush.
    pub ops: Vec<OpTotals>,
    /// Requests that wait for a reply.
    pub in_flight: u64,
    /// The delay of replies past their due time, on the clock of the machine; absent without
    /// replies, or if replies are not delayed.
    pub lateness: Option<Quantiles>,
    /// Bytes programmed per byte that the host wrote, over the life of the drive; absent if the
    /// host wrote none, and for drives that do not report it.
    pub write_amplification: Option<f64>,
    /// The state of the flash of a simulated drive.
    pub flash: Option<Flash>,
    /// The health of a simulated drive, as an NVMe drive reports it.
    pub health: Option<Health>,
    /// The number of samples taken so far.
    pub samples_taken: u64,
    /// The requested samples, at most the last 300; one is taken each second.
    pub samples: Vec<Sample>,
}

/// Samples an attached drive and reports its [`DriveStatus`]. The monitor does not keep the drive
/// alive. After the drive was dropped, the monitor reports the state at the last sample.
pub struct Monitor {
    size: Bytes,
    /// Returns `None` after the drive was dropped.
    snapshot: Box<dyn Fn() -> Option<Snapshot> + Send + Sync>,
    places: Mutex<Vec<String>>,
    past: Mutex<Past>,
}

struct Past {
    last: Snapshot,
    samples: VecDeque<Sample>,
    taken: u64,
}

/// The kind of the status of an attached drive.
const STATUS: &str = "attached";

/// Returns the status of each attached drive of this user, in the order of the process IDs.
///
/// # Errors
/// Returns an error if the folder cannot be read.
pub fn attached_drives(folder: &Path) -> io::Result<Vec<DriveStatus>> {
    let found = statuses(folder, STATUS)?;
    Ok(found.into_iter().map(|(_, status)| status).collect())
}

impl Monitor {
    /// Starts a status socket, which reports the drive to other processes of this user.
    ///
    /// # Errors
    /// Returns an error if the socket cannot be created, or the folder belongs to another user.
    pub fn show(self: &Arc<Self>, folder: &Path) -> io::Result<StatusSocket> {
        let monitor = Arc::clone(self);
        StatusSocket::start(folder, STATUS, move || monitor.status(None))
    }

    /// Creates a monitor of a drive that clients cannot reach yet.
    pub fn new<A: Answer>(drive: &Arc<AttachedDrive<A>>) -> Monitor {
        let weak = Arc::downgrade(drive);
        let snapshot = move || Some(weak.upgrade()?.snapshot());
        Monitor::of(drive.export().size, drive.snapshot(), snapshot)
    }

    /// Creates a monitor of a drive of `size` bytes. `snapshot` returns the state of the drive, and
    /// `first` is the state now.
    pub(crate) fn of(
        size: Bytes,
        first: Snapshot,
        snapshot: impl Fn() -> Option<Snapshot> + Send + Sync + 'static,
    ) -> Monitor {
        let past = Past { last: first, samples: VecDeque::with_capacity(KEPT), taken: 0 };
        let places = Mutex::default();
        Monitor { size, snapshot: Box::new(snapshot), places, past: Mutex::new(past) }
    }

    /// Records that clients can reach the drive at `place` from now on.
    pub fn attached_at(&self, place: &str) {
        lock(&self.places).push(place.into());
    }

    fn snapshot(&self) -> Snapshot {
        (self.snapshot)().unwrap_or_else(|| lock(&self.past).last.clone())
    }

    /// Takes a sample of the time since the previous sample. Must be called once a second.
    pub fn sample(&self) -> Sample {
        let now = self.snapshot();
        let mut past = lock(&self.past);
        let sample = Sample::between(&past.last, &now);
        past.last = now;
        if past.samples.len() == KEPT {
            past.samples.pop_front();
        }
        past.samples.push_back(sample.clone());
        past.taken += 1;
        sample
    }

    /// Returns the status now, with the samples taken after the first `after` samples, or only the
    /// last sample if `after` is `None`.
    pub fn status(&self, after: Option<u64>) -> DriveStatus {
        let now = self.snapshot();
        let past = lock(&self.past);
        let after = after.unwrap_or(past.taken.saturating_sub(1));
        let requested = usize::try_from(past.taken.saturating_sub(after)).unwrap_or(usize::MAX);
        let skipped = past.samples.len().saturating_sub(requested);
        DriveStatus {
            process: std::process::id(),
            size_bytes: self.size,
            places: lock(&self.places).clone(),
            attached_s: now.machine.as_secs_f64(),
            busy_s: now.busy.as_secs_f64(),
            ops: now.ops.iter().map(totals).collect(),
            in_flight: now.in_flight as u64,
            lateness: Quantiles::of(&now.lateness_ns),
            write_amplification: now.write_amplification(),
            flash: now.flash,
            health: health(&now),
            drive: now.info,
            samples_taken: past.taken,
            samples: past.samples.iter().skip(skipped).cloned().collect(),
        }
    }

    /// Returns the metrics now in the text format of Prometheus: see [`metrics::text`].
    pub fn metrics(&self) -> String {
        metrics::text(self.snapshot())
    }
}

fn totals(op: &OpStatistics) -> OpTotals {
    let OpStatistics { op, requests, bytes, errors, ref latency_ns } = *op;
    OpTotals { op, requests, bytes: Bytes(bytes), errors, latency: Quantiles::of(latency_ns) }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU64, Ordering};

    use flashscope_block::Nanos;

    use super::*;
    use crate::testing::{flash, snapshot};

    /// Returns a monitor of an idle drive, and its clock in seconds. The drive counts as dropped
    /// while the clock shows 0.
    fn monitor() -> (Monitor, Arc<AtomicU64>) {
        let second = Arc::new(AtomicU64::new(10));
        let now = Arc::clone(&second);
        let source = move || {
            let machine = Nanos::secs(now.load(Ordering::SeqCst));
            (machine > Nanos(0)).then(|| Snapshot { machine, ..snapshot() })
        };
        (Monitor::of(Bytes::mib(1), snapshot(), source), second)
    }

    // A status contains the samples since `after`, at most [`KEPT`], and by default the last
    // sample.
    #[test]
    fn a_status_contains_the_samples_after_a_given_one() {
        let (monitor, second) = monitor();
        assert_eq!(monitor.status(None).samples, []);
        for at in 11..=320 {
            second.store(at, Ordering::SeqCst);
            monitor.sample();
        }
        let times = |after| -> Vec<f64> {
            monitor.status(after).samples.iter().map(|sample| sample.at_s).collect()
        };
        assert_eq!(times(None), [320.0]);
        assert_eq!(times(Some(308)), [319.0, 320.0]);
        assert_eq!(times(Some(0)).len(), KEPT);
        assert_eq!(times(Some(310)), [0.0; 0]);
        assert_eq!(times(Some(u64::MAX)), [0.0; 0]);
        assert_eq!(monitor.status(None).samples_taken, 310);
        second.store(0, Ordering::SeqCst);
        assert_eq!(monitor.status(None).attached_s, 320.0, "the last state is reported");
    }

    // The totals of a status are those of the snapshot.
    #[test]
    fn totals_are_those_of_the_snapshot() {
        let monitor = monitor().0;
        monitor.attached_at("/dev/test");
        let status = monitor.status(None);
        assert_eq!(status.places, ["/dev/test"]);
        assert_eq!((status.size_bytes, status.attached_s), (Bytes::mib(1), 10.0));
        assert_eq!(status.write_amplification, Some(4.0));
        assert_eq!((status.ops[1].requests, status.ops[1].bytes), (2, Bytes::kib(8)));
        assert_eq!(status.ops[0].errors, 1);
        assert_eq!((status.flash, status.ops[2].latency), (Some(flash()), None));
        assert_eq!(status.health.unwrap().percentage_used, 40);
        let max = status.ops[1].latency.unwrap().max_ns;
        assert!((1_000_000..1_001_000).contains(&max), "{max}");
    }
}
