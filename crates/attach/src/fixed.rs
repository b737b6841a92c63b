use std::collections::VecDeque;

use flashscope_block::{Bytes, Completion, Device, DeviceInfo, DeviceKind, Io, Nanos};

/// A drive on virtual time with the same latency for every IO.
pub(crate) struct FixedLatencyDrive {
    info: DeviceInfo,
    takes: Nanos,
    now: Nanos,
    in_flight: VecDeque<Io>,
}

impl FixedLatencyDrive {
    pub(crate) fn new(capacity: Bytes, takes: Nanos) -> FixedLatencyDrive {
        let info = DeviceInfo::new(("fixed", DeviceKind::Sim), (capacity, Bytes(512)), 64);
        FixedLatencyDrive { info, takes, now: Nanos(0), in_flight: VecDeque::new() }
    }
}

impl Device for FixedLatencyDrive {
    fn info(&self) -> &DeviceInfo {
        &self.info
    }
    fn now(&self) -> Nanos {
        self.now
    }
    fn submit(&mut self, io: &Io) {
        assert!(io.end() <= self.info.capacity, "{io:?}");
        self.in_flight.push_back(*io);
    }
    fn complete(&mut self, until: Nanos) -> Option<Completion> {
        let due = self.next_due().filter(|due| *due <= until)?;
        self.now = self.now.max(due);
        let io = self.in_flight.pop_front()?;
        Some(Completion { io, submitted: io.at, completed: due, result: Ok(()) })
    }
    fn next_due(&self) -> Option<Nanos> {
        self.in_flight.front().map(|io| io.at + self.takes)
    }
}
