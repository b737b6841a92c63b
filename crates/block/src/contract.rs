//! A check of the duties of every [`Device`] towards its caller. Each implementation runs the check
//! in its tests.

use crate::{Bytes, Data, Device, Errno, Io, Nanos, Op};

/// Exercises `device` and panics at the first duty it breaks.
///
/// Overwrites the start of the device if `writable`. The device must hold at least 64 logical
/// blocks and have no IO in flight.
pub fn check(device: &mut dyn Device, writable: bool) {
    let block = device.info().logical_block;
    let capacity = device.info().capacity;
    assert!(
        capacity.0 >= 64 * block.0 && capacity.is_multiple_of(block),
        "capacity is below 64 logical blocks, or not a multiple of the logical block"
    );
    let ops: &[Op] = if writable { &[Op::Write, Op::Read, Op::Flush] } else { &[Op::Read] };
    for &op in ops {
        one_at_a_time(device, op, block);
        as_many_as_allowed(device, op, block);
    }
    out_of_range(device, block, capacity);
    if !writable {
        let io = request(device, Op::Write, Bytes(0), block);
        assert_eq!(
            round_trip(device, io),
            Err(Errno::EROFS),
            "a read-only device accepted a write"
        );
    }
    waits(device);
}

fn request(device: &dyn Device, op: Op, offset: Bytes, len: Bytes) -> Io {
    let len = if op == Op::Flush { Bytes(0) } else { len };
    Io { op, stream: 0, offset, len, at: device.now(), data: Data::Random }
}

fn round_trip(device: &mut dyn Device, io: Io) -> Result<(), Errno> {
    let before = device.now();
    device.submit(&io);
    let due = device.next_due();
    let done = device.complete(Nanos::MAX).expect("an IO in flight must complete");
    assert!(due.is_none_or(|due| due <= done.completed), "completed before next_due()");
    assert_eq!(done.io, io, "the completion carries another request");
    assert!(before <= done.submitted, "submission time is before the call of submit()");
    assert!(done.submitted <= done.completed, "completion time is before submission time");
    assert!(done.completed <= device.now(), "completion time is in the future");
    done.result
}

fn one_at_a_time(device: &mut dyn Device, op: Op, block: Bytes) {
    for i in 0..8 {
        let io = request(device, op, Bytes(i * block.0), block);
        assert_eq!(round_trip(device, io), Ok(()), "{io:?}");
    }
    assert_eq!(device.complete(Nanos::MAX), None, "completion without an IO in flight");
    assert_eq!(device.next_due(), None, "next_due() without an IO in flight");
}

fn as_many_as_allowed(device: &mut dyn Device, op: Op, block: Bytes) {
    let depth = u64::from(device.info().queue_depth.min(32));
    for i in 0..depth {
        let mut io = request(device, op, Bytes(i * block.0), block);
        io.stream = u16::try_from(i).expect("below 32");
        device.submit(&io);
    }
    let mut seen = vec![false; usize::try_from(depth).expect("below 32")];
    let mut last = Nanos(0);
    for _ in 0..depth {
        let done = device.complete(Nanos::MAX).expect("every IO must complete");
        assert_eq!(done.result, Ok(()), "{:?}", done.io);
        assert!(last <= done.completed, "completions out of order");
        assert!(
            !std::mem::replace(&mut seen[usize::from(done.io.stream)], true),
            "an IO completed twice"
        );
        last = done.completed;
    }
    assert_eq!(device.complete(Nanos::MAX), None);
}

fn out_of_range(device: &mut dyn Device, block: Bytes, capacity: Bytes) {
    for offset in [capacity.0, capacity.0 - block.0, u64::MAX / block.0 * block.0] {
        let io = request(device, Op::Read, Bytes(offset), Bytes(2 * block.0));
        assert_eq!(round_trip(device, io), Err(Errno::EINVAL), "{io:?}");
    }
}

fn waits(device: &mut dyn Device) {
    let until = device.now() + Nanos::micros(50);
    device.idle_until(until);
    assert!(device.now() >= until, "idle_until returned early");
    device.idle_until(Nanos(0));
}
