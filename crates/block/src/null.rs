use crate::{Bytes, Completion, Device, DeviceInfo, DeviceKind, Errno, Io, Nanos};

/// A drive that completes every IO immediately and stores nothing. A run on it measures only the
/// overhead of the harness.
///
/// All IOs submitted since the last completion form one batch. The drive reads the clock once
/// before and once after the batch, as around one system call. The caller supplies the clock: the
/// machine's clock to measure the harness, a counter in tests.
pub struct NullDevice<C> {
    info: DeviceInfo,
    clock: C,
    queued: Vec<Io>,
    /// Completed IOs that the caller has not fetched yet, in reverse order.
    answered: Vec<Io>,
    submitted: Nanos,
    completed: Nanos,
}

impl<C: Fn() -> Nanos> NullDevice<C> {
    /// Creates a null drive of `capacity` bytes that accepts `queue_depth` IOs at once.
    pub fn new(capacity: Bytes, queue_depth: u32, clock: C) -> Self {
        NullDevice {
            info: DeviceInfo::new(("null:", DeviceKind::Null), (capacity, Bytes(512)), queue_depth),
            clock,
            queued: Vec::with_capacity(queue_depth as usize),
            answered: Vec::with_capacity(queue_depth as usize),
            submitted: Nanos(0),
            completed: Nanos(0),
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
        let in_flight = self.queued.len() + self.answered.len();
        assert!(in_flight < self.info.queue_depth as usize, "queue depth exceeded");
        self.queued.push(*io);
    }

    fn complete(&mut self, until: Nanos) -> Option<Completion> {
        if self.answered.is_empty() {
            if self.queued.is_empty() {
                while until != Nanos::MAX && (self.clock)() < until {
                    std::hint::spin_loop();
                }
                return None;
            }
            self.submitted = (self.clock)();
            self.queued.reverse();
            std::mem::swap(&mut self.queued, &mut self.answered);
            self.completed = (self.clock)();
        }
        let io = self.answered.pop()?;
        let in_range = io.end() <= self.info.capacity;
        let result = if in_range { Ok(()) } else { Err(Errno::EINVAL) };
        Some(Completion { io, submitted: self.submitted, completed: self.completed, result })
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;
    use crate::contract;

    #[test]
    fn null_device_fulfils_the_contract() {
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
