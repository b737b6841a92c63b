//! A drive with reclaim unit handles for tests, on virtual time. Every IO takes 100 µs.

use flashscope_block::{
    Bytes, Completion, Device, DeviceInfo, Flash, Io, Nanos, Op, PlacedDevice, PlacementLimits,
    StreamId,
};

use crate::fixed::FixedLatencyDrive;
use crate::served::SIZE;

pub(crate) const HANDLES: u16 = 3;
pub(crate) const UNIT: u64 = 64 * 1024;

pub(crate) struct PlacedDrive {
    drive: FixedLatencyDrive,
    /// The bytes written to the current unit of each handle.
    filled: [u64; HANDLES as usize],
    written: u64,
    is_persistent: bool,
}

impl PlacedDrive {
    pub(crate) fn new(is_persistent: bool) -> PlacedDrive {
        let drive = FixedLatencyDrive::new(SIZE, Nanos::micros(100));
        PlacedDrive { drive, filled: [0; HANDLES as usize], written: 0, is_persistent }
    }
}

impl Device for PlacedDrive {
    fn info(&self) -> &DeviceInfo {
        self.drive.info()
    }
    fn now(&self) -> Nanos {
        self.drive.now()
    }
    fn submit(&mut self, io: &Io) {
        if io.op == Op::Write {
            let filled = &mut self.filled[usize::from(io.stream)];
            *filled = (*filled + io.len.0) % UNIT;
            self.written += io.len.0;
        }
        self.drive.submit(io);
    }
    fn complete(&mut self, until: Nanos) -> Option<Completion> {
        self.drive.complete(until)
    }
    fn next_due(&self) -> Option<Nanos> {
        self.drive.next_due()
    }
    fn placed(&mut self) -> Option<&mut dyn PlacedDevice> {
        Some(self)
    }
    fn flash(&self) -> Option<Flash> {
        Some(Flash {
            capacity: Bytes(2 * SIZE.0),
            block: Bytes(UNIT),
            host_written: Bytes(self.written),
            unaligned_writes: 0,
            programmed: Bytes(2 * self.written),
            read: Bytes(0),
            erasures: 7,
            most_erases: 1,
            fewest_erases: 0,
            rated_erases: 1000,
            free_blocks: 1,
            retired_blocks: 0,
            spare_blocks: 1,
            read_only: false,
        })
    }
}

impl PlacedDevice for PlacedDrive {
    fn limits(&self) -> PlacementLimits {
        let is_persistent = self.is_persistent;
        PlacementLimits { handles: HANDLES, is_persistent, unit: Bytes(UNIT) }
    }
    fn room(&self, handle: StreamId) -> Bytes {
        Bytes(UNIT - self.filled[usize::from(handle)])
    }
    fn renew(&mut self, handle: StreamId) -> Bytes {
        let filled = std::mem::take(&mut self.filled[usize::from(handle)]);
        if filled == 0 { Bytes(0) } else { Bytes(UNIT - filled) }
    }
}
