use flashscope_block::Bytes;
use flashscope_document::rounds::Metric;
use flashscope_workload::pattern::Address;

use super::{MAX_ROUNDS, Test};

/// Random IOs of all sizes and mixes.
pub(super) const IOPS: Test = Test {
    name: "pts-iops",
    title: "SNIA PTS IOPS",
    question: "How many random IOs a second does the drive do in its steady state, for each size \
               and share of writes?",
    source: "SNIA SSS PTS 2.0, IOPS test",
    preconditioning: 2,
    address: Address::Random,
    reads_percent: &[100, 95, 65, 50, 35, 5, 0],
    sizes: &[
        Bytes::mib(1),
        Bytes::kib(128),
        Bytes::kib(64),
        Bytes::kib(32),
        Bytes::kib(16),
        Bytes::kib(8),
        Bytes::kib(4),
        Bytes(512),
    ],
    queue_depth: None,
    tracked: &[(0, Bytes::kib(4)), (65, Bytes::kib(64)), (100, Bytes::mib(1))],
    metric: Metric::Iops,
    max_rounds: MAX_ROUNDS,
    until_steady: true,
    max_capacities: None,
};
