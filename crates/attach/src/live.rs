//! What an attached drive is, did and does, as others are told.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

use flashscope_block::{Bytes, DeviceInfo, Flash, Op};
use flashscope_document::environment::Health;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::attached::Attached;
use crate::health::health;
use crate::lock;
use crate::metrics;
use crate::request::Answer;
use crate::sample::{Quantiles, Sample, ratio};
use crate::statistics::{OpStatistics, Snapshot};

/// How many samples are kept: five minutes of one a second.
const KEPT: usize = 300;

/// What was done of one operation since the drive was attached.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct OpTotals {
    /// The operation.
    pub op: Op,
    /// Requests answered, failed ones included.
    pub requests: u64,
    /// Bytes of those that did not fail.
    pub bytes: Bytes,
    /// Requests that failed.
    pub errors: u64,
    /// From when a request arrived to when it was due to be answered, on the clock of the drive;
    /// absent where none was.
    pub latency: Option<Quantiles>,
}

/// What an attached drive is, did and does.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Live {
    /// The process that has it attached.
    pub process: u32,
    /// The drive.
    pub drive: DeviceInfo,
    /// Bytes that clients see of it.
    pub size_bytes: Bytes,
    /// Where clients find it: an address, a path or a device.
    pub places: Vec<String>,
    /// For how long it is attached, in seconds of the machine.
    pub attached_s: f64,
    /// For how long requests were in flight, in seconds of the drive.
    pub busy_s: f64,
    /// What was done, by operation: read, write, trim, flush.
    pub ops: Vec<OpTotals>,
    /// Requests that arrived and were not answered yet.
    pub in_flight: u64,
    /// By how much answers came late, on the clock of the machine; absent where there were none, or
    /// nothing is held back.
    pub lateness: Option<Quantiles>,
    /// Bytes that were programmed for each that the host wrote, over the life of the drive; absent
    /// where it wrote none, and of drives that do not tell.
    pub write_amplification: Option<f64>,
    /// What a simulated drive tells of its flash.
    pub flash: Option<Flash>,
    /// What a simulated drive tells of its health, as an NVMe drive would.
    pub health: Option<Health>,
    /// How many samples were taken.
    pub samples_taken: u64,
    /// The last samples that were asked for, at most 300, of which there is one a second.
    pub samples: Vec<Sample>,
}

/// Watches an attached drive: see [`Live`]. It does not keep the drive: once that is gone, what it
/// did last is told.
pub struct Monitor {
    size: Bytes,
    /// None of a drive that is gone.
    snapshot: Box<dyn Fn() -> Option<Snapshot> + Send + Sync>,
    places: Mutex<Vec<String>>,
    past: Mutex<Past>,
}

struct Past {
    last: Snapshot,
    samples: VecDeque<Sample>,
    taken: u64,
}

impl Monitor {
    /// Of a drive, which clients do not find anywhere yet.
    pub fn new<A: Answer>(drive: &Arc<Attached<A>>) -> Monitor {
        let weak = Arc::downgrade(drive);
        let snapshot = move || Some(weak.upgrade()?.snapshot());
        Monitor::of(drive.export().size, drive.snapshot(), snapshot)
    }

    /// Of what `snapshot` takes them of, after `first`, of which clients see `size` bytes.
    pub(crate) fn of(
        size: Bytes,
        first: Snapshot,
        snapshot: impl Fn() -> Option<Snapshot> + Send + Sync + 'static,
    ) -> Monitor {
        let past = Past { last: first, samples: VecDeque::with_capacity(KEPT), taken: 0 };
        let places = Mutex::default();
        Monitor { size, snapshot: Box::new(snapshot), places, past: Mutex::new(past) }
    }

    /// Clients find the drive at `place` from now on.
    pub fn attached_at(&self, place: &str) {
        lock(&self.places).push(place.into());
    }

    fn snapshot(&self) -> Snapshot {
        (self.snapshot)().unwrap_or_else(|| lock(&self.past).last.clone())
    }

    /// Takes a sample, of what was done since the one before. To be called once a second.
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

    /// What there is to tell now, with the samples that were taken after the first `after`; where
    /// that is `None`, with the last one.
    pub fn live(&self, after: Option<u64>) -> Live {
        let now = self.snapshot();
        let past = lock(&self.past);
        let after = after.unwrap_or(past.taken.saturating_sub(1));
        let wanted = usize::try_from(past.taken.saturating_sub(after)).unwrap_or(usize::MAX);
        let skipped = past.samples.len().saturating_sub(wanted);
        Live {
            process: std::process::id(),
            size_bytes: self.size,
            places: lock(&self.places).clone(),
            attached_s: now.machine.as_secs_f64(),
            busy_s: now.busy.as_secs_f64(),
            ops: now.ops.iter().map(totals).collect(),
            in_flight: now.in_flight as u64,
            lateness: Quantiles::of(&now.lateness_ns),
            write_amplification: write_amplification(&now),
            flash: now.flash,
            health: health(&now),
            drive: now.info,
            samples_taken: past.taken,
            samples: past.samples.iter().skip(skipped).cloned().collect(),
        }
    }

    /// What there is to tell now, as Prometheus reads it: see [`metrics::text`].
    pub fn metrics(&self) -> String {
        metrics::text(self.snapshot())
    }
}

fn totals(op: &OpStatistics) -> OpTotals {
    let OpStatistics { op, requests, bytes, errors, ref latency_ns } = *op;
    OpTotals { op, requests, bytes: Bytes(bytes), errors, latency: Quantiles::of(latency_ns) }
}

/// Over the life of a drive.
pub(crate) fn write_amplification(snapshot: &Snapshot) -> Option<f64> {
    let flash = snapshot.flash?;
    ratio(flash.programmed, flash.host_written)
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU64, Ordering};

    use flashscope_block::Nanos;

    use super::*;
    use crate::testing::{flash, snapshot};

    /// Of a drive that is asked for nothing and gone at second 0, and the second at which it is.
    fn monitor() -> (Monitor, Arc<AtomicU64>) {
        let second = Arc::new(AtomicU64::new(10));
        let now = Arc::clone(&second);
        let source = move || {
            let machine = Nanos::secs(now.load(Ordering::SeqCst));
            (machine > Nanos(0)).then(|| Snapshot { machine, ..snapshot() })
        };
        (Monitor::of(Bytes::mib(1), snapshot(), source), second)
    }

    // Does who asks get the samples since it last asked, no more than are kept, and by default the
    // last?
    #[test]
    fn samples_are_handed_out() {
        let (monitor, second) = monitor();
        assert_eq!(monitor.live(None).samples, []);
        for at in 11..=320 {
            second.store(at, Ordering::SeqCst);
            monitor.sample();
        }
        let times = |after| -> Vec<f64> {
            monitor.live(after).samples.iter().map(|sample| sample.at_s).collect()
        };
        assert_eq!(times(None), [320.0]);
        assert_eq!(times(Some(308)), [319.0, 320.0]);
        assert_eq!(times(Some(0)).len(), KEPT);
        assert_eq!(times(Some(310)), [0.0; 0]);
        assert_eq!(times(Some(u64::MAX)), [0.0; 0]);
        assert_eq!(monitor.live(None).samples_taken, 310);
        second.store(0, Ordering::SeqCst);
        assert_eq!(monitor.live(None).attached_s, 320.0, "what it did last is told");
    }

    // Is what is told what the snapshot says?
    #[test]
    fn totals_are_told() {
        let monitor = monitor().0;
        monitor.attached_at("/dev/test");
        let live = monitor.live(None);
        assert_eq!(live.places, ["/dev/test"]);
        assert_eq!((live.size_bytes, live.attached_s), (Bytes::mib(1), 10.0));
        assert_eq!(live.write_amplification, Some(4.0));
        assert_eq!((live.ops[1].requests, live.ops[1].bytes), (2, Bytes::kib(8)));
        assert_eq!(live.ops[0].errors, 1);
        assert_eq!((live.flash, live.ops[2].latency), (Some(flash()), None));
        assert_eq!(live.health.unwrap().percentage_used, 40);
        let max = live.ops[1].latency.unwrap().max_ns;
        assert!((1_000_000..1_001_000).contains(&max), "{max}");
    }
}
