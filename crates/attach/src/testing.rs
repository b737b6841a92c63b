//! Example data for the tests of statistics.

use flashscope_block::{Bytes, DeviceInfo, DeviceKind, Flash, Nanos, Op};

use crate::statistics::{Snapshot, Statistics, histogram};

/// Returns the state of a flash of 64 blocks of 256 KiB, a quarter of them free.
pub(crate) fn flash() -> Flash {
    Flash {
        capacity: Bytes::mib(16),
        block: Bytes::kib(256),
        host_written: Bytes::mib(1) - Bytes::kib(256),
        unaligned_writes: 1,
        programmed: Bytes::mib(3),
        read: Bytes::kib(4),
        erasures: 256,
        most_erases: 9,
        fewest_erases: 2,
        rated_erases: 10,
        free_blocks: 16,
        retired_blocks: 1,
        spare_blocks: 3,
        read_only: false,
    }
}

/// Returns the snapshot of a drive with [`flash`] that was attached 10 s ago. It completed three
/// reads, one of which failed, and two writes of 100 µs and 1 ms; one request is in flight.
pub(crate) fn snapshot() -> Snapshot {
    let mut statistics = Statistics::new();
    let page = Bytes::kib(4);
    for (op, result, took) in [
        (Op::Read, Ok(()), 50),
        (Op::Read, Ok(()), 60),
        (Op::Read, Err(flashscope_block::Errno::EIO), 70),
        (Op::Write, Ok(()), 100),
        (Op::Write, Ok(()), 1000),
    ] {
        statistics.arrived(Nanos(0));
        statistics.completed((op, page), result, Nanos(0), Nanos::micros(took));
    }
    let mut lateness_ns = histogram();
    [1000, 2000, 40_000].into_iter().for_each(|late| lateness_ns.saturating_record(late));
    Snapshot {
        info: DeviceInfo {
            model: Some("a \"test\" drive".into()),
            ..DeviceInfo::new(("sim:test", DeviceKind::Sim), (Bytes::mib(12), Bytes(512)), 32)
        },
        now: Nanos::secs(2 * 3600 + 30),
        machine: Nanos::secs(10),
        busy: Nanos::secs(61 * 60 + 1),
        ops: statistics.ops(),
        in_flight: 1,
        lateness_ns,
        flash: Some(flash()),
        faults: vec![("stall".into(), 3)],
    }
}
