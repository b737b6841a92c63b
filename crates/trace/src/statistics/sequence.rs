//! The sequentiality of accesses.

use flashscope_document::trace::Sequentiality;

/// The sequential accesses of a volume.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Sequence {
    last_end: Option<u64>,
    pub sequential: u64,
}

impl Sequence {
    #[inline]
    pub(super) fn push(&mut self, offset: u64, end: u64) {
        self.sequential += u64::from(self.last_end == Some(offset));
        self.last_end = Some(end);
    }
}

/// Returns the sequentiality from the number of sequential accesses.
pub(super) fn facts(sequential: u64, accesses: u64, bytes: u64) -> Option<Sequentiality> {
    // Every access that is not sequential begins a run.
    let runs = accesses - sequential;
    (runs > 0).then(|| Sequentiality {
        sequential_share: sequential as f64 / accesses as f64,
        runs,
        mean_run_requests: accesses as f64 / runs as f64,
        mean_run_bytes: bytes as f64 / runs as f64,
    })
}
