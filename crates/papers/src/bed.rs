//! A simulated drive under experiments.

use flashscope_block::{Bytes, Data, Device, Io, Nanos, Op};
use flashscope_sim::{Profile, SimDevice};

use crate::Error;

/// A drive, and what is done with it.
pub(crate) struct Bed {
    /// The drive.
    pub drive: SimDevice,
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

    /// What trimming 4 KiB takes, ms.
    pub fn trim(&mut self, offset: u64) -> Result<f64, Error> {
        self.time(Op::Trim, Data::Random, offset, 4096)
    }

    /// Sends requests when they are due, whatever is in flight: their times count from now. The mean of what they
    /// take, us.
    ///
    /// # Errors
    /// The drive fails.
    pub fn open_loop(&mut self, requests: impl IntoIterator<Item = Io>) -> Result<f64, Error> {
        let (start, mut taken) = (self.drive.now(), Taken::default());
        for io in requests {
            let io = Io { at: Nanos(start.0 + io.at.0), ..io };
            taken.all(&mut self.drive, io.at)?;
            self.drive.submit(&io);
        }
        taken.all(&mut self.drive, Nanos::MAX)?;
        Ok(taken.mean_us())
    }

    /// Keeps so many requests of 4 KiB in flight until `count` are done, of the places that `offset` gives: how many are
    /// done in a second.
    ///
    /// # Errors
    /// The drive fails.
    #[allow(clippy::cast_precision_loss, reason = "counts are below 2^53")]
    pub fn rate(
        &mut self,
        op: Op,
        depth: u64,
        count: u64,
        mut offset: impl FnMut(u64) -> u64,
    ) -> Result<f64, Error> {
        let start = self.drive.now();
        let mut submit = |drive: &mut SimDevice, nth: u64| {
            let (at, offset) = (drive.now(), Bytes(offset(nth)));
            drive.submit(&Io { op, stream: 0, offset, len: Bytes(4096), at, data: Data::Random });
        };
        (0..depth).for_each(|nth| submit(&mut self.drive, nth));
        for nth in depth..count + depth {
            let done = self.drive.complete(Nanos::MAX).ok_or(Error::Failed)?;
            done.result.map_err(|_| Error::Failed)?;
            if nth < count {
                submit(&mut self.drive, nth);
            }
        }
        Ok(count as f64 / (self.drive.now() - start).as_secs_f64())
    }
}

/// Response times.
#[derive(Default)]
struct Taken {
    count: u64,
    nanos: u64,
}

impl Taken {
    /// Those of all that is answered until then.
    fn all(&mut self, drive: &mut SimDevice, until: Nanos) -> Result<(), Error> {
        while let Some(done) = drive.complete(until) {
            done.result.map_err(|_| Error::Failed)?;
            self.count += 1;
            self.nanos += (done.completed - done.io.at).0;
        }
        Ok(())
    }

    #[allow(clippy::cast_precision_loss, reason = "times are below 2^53 ns")]
    fn mean_us(&self) -> f64 {
        self.nanos as f64 / self.count as f64 / 1e3
    }
}
