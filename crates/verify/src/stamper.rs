use std::sync::atomic::{AtomicU64, Ordering};

use flashscope_block::{Io, WriteData};

use crate::stamp::{SECTOR, Stamp};

/// Stamps the writes in flight, for the drive. Each slot of the queue is a stream, which has one IO
/// in flight.
pub struct Stamper {
    run: u64,
    writes: Box<[AtomicU64]>,
}

impl Stamper {
    /// Creates a stamper for the verification `run`, with this many writes in flight.
    #[must_use]
    pub fn new(run: u64, queue_depth: u32) -> Stamper {
        Stamper { run, writes: (0..queue_depth).map(|_| AtomicU64::new(0)).collect() }
    }

    /// Sets the number of the next write of a stream.
    pub(crate) fn set(&self, stream: u16, write: u64) {
        // The submission of the IO publishes the number to the thread that fills the buffer.
        self.writes[usize::from(stream)].store(write, Ordering::Relaxed);
    }
}

impl WriteData for Stamper {
    fn fill(&self, io: &Io, buffer: &mut [u8]) {
        let write = self.writes[usize::from(io.stream)].load(Ordering::Relaxed);
        let first = io.offset.0 / SECTOR as u64;
        for (sector, bytes) in (first..).zip(buffer.chunks_exact_mut(SECTOR)) {
            Stamp { run: self.run, write, sector }.fill(bytes);
        }
    }
}
