use std::collections::VecDeque;

use crate::{Bytes, Completion, Device, DeviceInfo, DeviceKind, Errno, Io, Nanos};

/// A drive that answers at once and does nothing: what remains is the cost of the harness.
///
/// The clock is passed in: the machine's to measure the harness, a counter in tests.
pub struct NullDevice<C> {
    info: DeviceInfo,
    clock: C,
    in_flight: VecDeque<Io>,
    /// One reading for all IOs handed over since the last completion, as one system call would.
    submitted: Nanos,
}

impl<C: Fn() -> Nanos> NullDevice<C> {
    /// A null drive of `capacity` bytes that accepts `queue_depth` IOs at once.
    pub fn new(capacity: Bytes, queue_depth: u32, clock: C) -> Self {
        NullDevice {
            info: DeviceInfo {
                name: "null:".into(),
                kind: DeviceKind::Null,
                capacity,
                logical_block: Bytes(512),
                queue_depth,
                model: None,
                serial: None,
                firmware: None,
                engine: None,
            },
            submitted: Nanos(0),
            in_flight: VecDeque::with_capacity(queue_depth as usize),
            clock,
        }
    }
}

impl<C: Fn() -> Nanos> Device for NullDevice<C> {
    fn info(&self) -> &DeviceInfo {
        &self.info
    }

    fn now(&self) -> Nanos {
        (self.clock)()
    }

    fn submit(&mut self, io: &Io) {
        assert!(self.in_flight.len() < self.info.queue_depth as usize, "queue depth exceeded");
        if self.in_flight.is_empty() {
            self.submitted = (self.clock)();
        }
        self.in_flight.push_back(*io);
    }

    fn complete(&mut self, until: Nanos) -> Option<Completion> {
        let Some(io) = self.in_flight.pop_front() else {
            while until != Nanos::MAX && (self.clock)() < until {
                std::hint::spin_loop();
            }
            return None;
        };
        let in_range = io.end() <= self.info.capacity;
        let result = if in_range { Ok(()) } else { Err(Errno::EINVAL) };
        Some(Completion { io, submitted: self.submitted, completed: (self.clock)(), result })
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;
    use crate::contract;

    // Does the null drive keep the duties of a device, one IO at a time and many?
    #[test]
    fn keeps_the_contract() {
        for depth in [1, 32] {
            let ticks = Cell::new(0);
            let clock = || {
                ticks.set(ticks.get() + 1);
                Nanos(ticks.get())
            };
            contract::check(&mut NullDevice::new(Bytes::MIB, depth, clock), true);
        }
    }
}
