use flashscope_block::Bytes;
use flashscope_document::rounds::Metric;
use flashscope_workload::pattern::Address;

use super::{MAX_ROUNDS, Test};

/// Large sequential reads and writes. Each size is a separate test, starting with a purge.
pub(super) const THROUGHPUT: Test = Test {
    name: "pts-throughput",
    title: "SNIA PTS throughput, 1 MiB",
    question: "How many bytes a second does the drive read and write in sequence in its steady \
               state, in IOs of 1 MiB?",
    source: "SNIA SSS PTS 2.0, throughput test",
    preconditioning: 2,
    address: Address::Sequential,
    reads_percent: &[100, 0],
    sizes: &[Bytes::mib(1)],
    queue_depth: None,
    tracked: &[(0, Bytes::mib(1))],
    metric: Metric::Throughput,
    max_rounds: MAX_ROUNDS,
    until_steady: true,
    max_capacities: None,
};

/// The same test with the smaller IOs that the specification requires for enterprise drives.
pub(super) const THROUGHPUT_128K: Test = Test {
    name: "pts-throughput-128k",
    title: "SNIA PTS throughput, 128 KiB",
    question: "How many bytes a second does the drive read and write in sequence in its steady \
               state, in IOs of 128 KiB?",
    sizes: &[Bytes::kib(128)],
    tracked: &[(0, Bytes::kib(128))],
    ..THROUGHPUT
};
