//! Whether accesses follow each other in address.

use super::facts::Sequentiality;

/// The accesses of a volume, as far as one follows the other.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Sequence {
    last_end: Option<u64>,
    pub sequential: u64,
}

impl Sequence {
    #[inline]
    pub fn push(&mut self, offset: u64, end: u64) {
        self.sequential += u64::from(self.last_end == Some(offset));
        self.last_end = Some(end);
    }
}

/// What `sequential` of `accesses` that follow the one before come to.
pub(super) fn facts(sequential: u64, accesses: u64, bytes: u64) -> Option<Sequentiality> {
    // Every access that does not follow begins a run.
    let runs = accesses - sequential;
    (runs > 0).then(|| Sequentiality {
        sequential_share: sequential as f64 / accesses as f64,
        runs,
        mean_run_requests: accesses as f64 / runs as f64,
        mean_run_bytes: bytes as f64 / runs as f64,
    })
}
