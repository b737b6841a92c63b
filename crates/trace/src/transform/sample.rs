use flashscope_block::{Bytes, Op};

use super::super::Request;
use flashscope_workload::seed_for;

/// Selects a share of the regions of each volume, chosen by a hash of volume and region: spatial
/// sampling as in SHARDS (Waldspurger, Park, Garthwaite and Ahmad, FAST 2015).
///
/// A count over the sample, divided by the share, estimates the count over the trace. For requests
/// and bytes, the reader also counts the whole trace and reports the exact error.
#[derive(Debug, Clone)]
pub(super) struct Sample {
    share: f64,
    threshold: u64,
    seed: u64,
    region: u64,
    requests: KeptShare,
    bytes: KeptShare,
}

#[derive(Debug, Clone, Copy, Default)]
struct KeptShare {
    all: u64,
    kept: u64,
}

impl KeptShare {
    /// Counts an amount. The sums saturate, because a trace may contain any length.
    fn note(&mut self, amount: u64, kept: bool) {
        self.all = self.all.saturating_add(amount);
        self.kept = self.kept.saturating_add(if kept { amount } else { 0 });
    }

    /// Returns the error of an estimate, in percent.
    #[allow(clippy::cast_precision_loss)]
    fn error(&self, share: f64) -> f64 {
        100.0 * (self.kept as f64 / share / self.all as f64 - 1.0)
    }
}

impl Sample {
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // a share of 1 saturates
    pub(super) fn new(share: f64, seed: u64, region: Bytes) -> Sample {
        let threshold = (share * 2f64.powi(64)) as u64;
        let (requests, bytes) = (KeptShare::default(), KeptShare::default());
        Sample { share, threshold, seed, region: region.0, requests, bytes }
    }

    pub(super) fn keep(&mut self, batch: &mut Vec<Request>) {
        batch.retain(|request| {
            let region = request.offset.0 / self.region;
            let volume = seed_for(self.seed, u64::from(request.volume));
            let kept = request.op == Op::Flush || seed_for(volume, region) <= self.threshold;
            if request.op != Op::Flush {
                self.requests.note(1, kept);
                self.bytes.note(request.len.0, kept);
            }
            kept
        });
    }

    /// Returns a note with the errors of the sample.
    pub(super) fn note(&self) -> Option<String> {
        if self.requests.all == 0 {
            return None;
        }
        let Sample { share, requests, bytes, .. } = self;
        Some(format!(
            "the sample has {} of {} requests; its counts divided by {share} estimate the trace \
             with an error of {:+.1} % in requests and {:+.1} % in bytes",
            requests.kept,
            requests.all,
            requests.error(*share),
            bytes.error(*share)
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // A byte count above the maximum saturates without a panic.
    #[test]
    fn huge_amounts_do_not_overflow() {
        let mut bytes = KeptShare::default();
        for amount in [u64::MAX, 1, u64::MAX] {
            bytes.note(amount, true);
        }
        assert_eq!((bytes.all, bytes.kept), (u64::MAX, u64::MAX));
    }
}
