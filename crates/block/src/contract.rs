//! What every [`Device`] owes its caller, as a check that each implementation runs in its tests.

use crate::{Bytes, Data, Device, Errno, Io, Nanos, Op};

/// Drives `device` through its duties and panics at the first that is not met.
///
/// Writes at the start of the device if `writable`. The device must hold at least 64 logical
/// blocks and have nothing in flight.
pub fn check(device: &mut dyn Device, writable: bool) {
    let block = device.info().logical_block;
    let capacity = device.info().capacity;
    assert!(capacity.0 >= 64 * block.0 && capacity.is_multiple_of(block), "odd capacity");
    let ops: &[Op] = if writable { &[Op::Write, Op::Read, Op::Flush] } else { &[Op::Read] };
    for &op in ops {
        one_at_a_time(device, op, block);
        as_many_as_allowed(device, op, block);
    }
    out_of_range(device, block, capacity);
    if !writable {
        let io = request(device, Op::Write, Bytes(0), block);
        assert_eq!(round_trip(device, io), Err(Errno::EROFS), "a write to a read-only device");
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
    let done = device.complete(Nanos::MAX).expect("an IO in flight completes");
    assert!(due.is_none_or(|due| due <= done.completed), "completed before it was due");
    assert_eq!(done.io, io, "a completion carries its request");
    assert!(before <= done.submitted, "submitted before it was handed over");
    assert!(done.submitted <= done.completed, "completed before it was submitted");
    assert!(done.completed <= device.now(), "completed in the future");
    done.result
}

fn one_at_a_time(device: &mut dyn Device, op: Op, block: Bytes) {
    for i in 0..8 {
        let io = request(device, op, Bytes(i * block.0), block);
        assert_eq!(round_trip(device, io), Ok(()), "{io:?}");
    }
    assert_eq!(device.complete(Nanos::MAX), None, "nothing in flight, nothing to wait for");
    assert_eq!(device.next_due(), None, "nothing in flight, nothing due");
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
        let done = device.complete(Nanos::MAX).expect("every IO completes");
        assert_eq!(done.result, Ok(()), "{:?}", done.io);
        assert!(last <= done.completed, "completions out of order");
        assert!(!std::mem::replace(&mut seen[usize::from(done.io.stream)], true), "answered twice");
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
