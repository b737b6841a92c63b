use flashscope_block::Bytes;
use flashscope_document::rounds::Metric;
use flashscope_workload::pattern::Address;

use super::{MAX_ROUNDS, Test};

/// Small random IOs, one at a time.
pub(super) const LATENCY: Test = Test {
    name: "pts-latency",
    title: "SNIA PTS latency",
    question: "How long does a single random IO take in the steady state of the drive, on average \
               and at most?",
    source: "SNIA SSS PTS 2.0, latency test",
    preconditioning: 2,
    address: Address::Random,
    reads_percent: &[100, 65, 0],
    sizes: &[Bytes::kib(8), Bytes::kib(4), Bytes(512)],
    queue_depth: Some(1),
    tracked: &[(0, Bytes::kib(4))],
    metric: Metric::Latency,
    max_rounds: MAX_ROUNDS,
    until_steady: true,
    max_capacities: None,
};
