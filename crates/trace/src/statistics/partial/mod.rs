//! Partial statistics of volumes. They merge exactly, in any order and from any division of the
//! requests.

mod histogram;
mod sample;
#[cfg(test)]
mod tests;
mod volume;

use flashscope_block::Nanos;
use flashscope_document::collection::{CollectionTotal, VolumeStatistics};
use flashscope_stats::Estimate;

use super::ratio;
pub use volume::{Place, VolumePart};

/// Gathers the statistics of complete volumes, one after the other, and their total.
#[derive(Default)]
pub struct Total {
    sums: volume::Sums,
    volumes: Vec<VolumeStatistics>,
}

impl Total {
    /// Adds a volume. All its parts must be merged.
    pub fn push(&mut self, volume: VolumePart) {
        let (statistics, sums) = volume.finish();
        self.sums.merge(&sums);
        self.volumes.push(statistics);
    }

    /// Returns the total, and the volumes in the order in which they were added.
    pub fn finish(self) -> (CollectionTotal, Vec<VolumeStatistics>) {
        let Total { sums, volumes } = self;
        let (requests, bytes) = (sums.requests(), sums.bytes());
        let written_bytes = sum(volumes.iter().map(|volume| volume.written_bytes));
        let total = CollectionTotal {
            volumes: volumes.len() as u64,
            requests,
            bytes,
            start_ns: volumes.iter().map(|volume| volume.start_ns).min().unwrap_or(Nanos(0)),
            end_ns: volumes.iter().map(|volume| volume.end_ns).max().unwrap_or(Nanos(0)),
            read_sizes: sums.read_sizes().facts(),
            write_sizes: sums.write_sizes().facts(),
            latency_ns: sums.latencies().facts(),
            sequential_share: sums.sequential_share(),
            accessed_bytes: sum(volumes.iter().map(|volume| volume.accessed_bytes)),
            written_bytes,
            overwrite_ratio: ratio(bytes.written.0, &written_bytes).filter(|_| requests.writes > 0),
        };
        (total, volumes)
    }
}

/// Adds independent estimates: the squares of the half widths add up.
fn sum(estimates: impl Iterator<Item = Estimate>) -> Estimate {
    let (value, squares) = estimates.fold((0.0, 0.0), |(value, squares), one| {
        let half = one.high.map_or(0.0, |high| high - one.value);
        (value + one.value, squares + half * half)
    });
    Estimate::symmetric(value, Some(f64::sqrt(squares)))
}
