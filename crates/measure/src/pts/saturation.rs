use flashscope_block::Bytes;
use flashscope_document::rounds::Metric;
use flashscope_workload::pattern::Address;

use super::Test;

/// Random writes to a fresh drive, for a day or until they amount to four times its capacity.
pub(super) const SATURATION: Test = Test {
    name: "pts-write-saturation",
    title: "SNIA PTS write saturation",
    question: "How does the performance of random writes change on a fresh drive, until all of it \
               was written many times?",
    source: "SNIA SSS PTS 2.0, write saturation test",
    preconditioning: 0,
    address: Address::Random,
    reads_percent: &[0],
    sizes: &[Bytes::kib(4)],
    queue_depth: None,
    tracked: &[(0, Bytes::kib(4))],
    metric: Metric::Iops,
    // A day.
    max_rounds: 24 * 60,
    until_steady: false,
    max_capacities: Some(4),
};
