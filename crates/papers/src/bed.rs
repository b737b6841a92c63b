//! A simulated drive under experiments of one request after the other.

use flashscope_block::{Bytes, Data, Device, Io, Nanos, Op};
use flashscope_sim::{Profile, SimDevice};

use crate::Error;

/// A drive, and what may end an experiment early.
pub(crate) struct Bed {
    drive: SimDevice,
}

/// Requests that fill a drive are as long as any drive here takes.
const FILL: u64 = 120 << 10;

impl Bed {
    /// A drive on which everything was written, in order.
    ///
    /// # Errors
    /// There is no such drive, or it fails.
    pub fn filled(profile: &Profile, data: Data) -> Result<Bed, Error> {
        let drive = SimDevice::new("sim:paper", profile);
        let mut bed = Bed { drive: drive.map_err(|error| Error::input("drive", &error))? };
        let capacity = bed.capacity();
        let mut offset = 0;
        while offset < capacity {
            let len = FILL.min(capacity - offset);
            bed.time(Op::Write, data, offset, len)?;
            offset += len;
        }
        Ok(bed)
    }

    /// Its bytes.
    pub fn capacity(&self) -> u64 {
        self.drive.info().capacity.0
    }

    /// What a request takes, ms.
    ///
    /// # Errors
    /// The drive fails.
    pub fn time(&mut self, op: Op, data: Data, offset: u64, len: u64) -> Result<f64, Error> {
        let (at, offset, len) = (self.drive.now(), Bytes(offset), Bytes(len));
        self.drive.submit(&Io { op, stream: 0, offset, len, data, at });
        let done = self.drive.complete(Nanos::MAX).ok_or(Error::Failed)?;
        done.result.map_err(|_| Error::Failed)?;
        Ok(done.latency().as_secs_f64() * 1e3)
    }

    /// What reading 4 KiB takes, ms.
    pub fn read(&mut self, offset: u64) -> Result<f64, Error> {
        self.time(Op::Read, Data::Random, offset, 4096)
    }

    /// What writing 4 KiB takes, ms.
    pub fn write(&mut self, data: Data, offset: u64) -> Result<f64, Error> {
        self.time(Op::Write, data, offset, 4096)
    }
}
