//! A simulated drive for experiments, with timed requests.

use flashscope_block::{Bytes, Completion, Data, Device, Io, Nanos, Op};
use flashscope_sim::{Profile, SimDevice};

use crate::Error;

/// A simulated drive under test.
pub(crate) struct TestBed {
    /// The drive.
    pub drive: SimDevice,
}

/// The size of the requests that fill a drive, which every drive here accepts.
const FILL: u64 = 120 << 10;

impl TestBed {
    /// Creates a drive and writes all of it in order.
    ///
    /// # Errors
    /// Fails if the profile is invalid, or a write fails.
    pub(crate) fn filled(profile: &Profile, data: Data) -> Result<TestBed, Error> {
        let drive = SimDevice::new("sim:paper", profile);
        let mut bed = TestBed { drive: drive.map_err(|error| Error::input("drive", &error))? };
        let capacity = bed.capacity();
        // A request with a part of a logical page would write that page twice.
        let page = u64::from(bed.drive.nand().geometry().logical_page_size);
        let fill = page.max(FILL / page * page);
        let mut offset = 0;
        while offset < capacity {
            let len = fill.min(capacity - offset);
            bed.time(Op::Write, data, offset, len)?;
            offset += len;
        }
        Ok(bed)
    }

    /// Returns the capacity in bytes.
    pub(crate) fn capacity(&self) -> u64 {
        self.drive.info().capacity.0
    }

    /// Executes a request, and returns its response time in ms.
    ///
    /// # Errors
    /// Fails if the drive fails the request.
    pub(crate) fn time(&mut self, op: Op, data: Data, offset: u64, len: u64) -> Result<f64, Error> {
        let (at, offset, len) = (self.drive.now(), Bytes(offset), Bytes(len));
        self.drive.submit(&Io { op, stream: 0, offset, len, data, at });
        let done = self.drive.complete(Nanos::MAX).ok_or(Error::Failed)?;
        done.result.map_err(|_| Error::Failed)?;
        Ok(done.latency().as_secs_f64() * 1e3)
    }

    /// Reads 4 KiB, and returns the response time in ms.
    pub(crate) fn read(&mut self, offset: u64) -> Result<f64, Error> {
        self.time(Op::Read, Data::Random, offset, 4096)
    }

    /// Writes 4 KiB, and returns the response time in ms.
    pub(crate) fn write(&mut self, data: Data, offset: u64) -> Result<f64, Error> {
        self.time(Op::Write, data, offset, 4096)
    }

    /// Trims 4 KiB, and returns the response time in ms.
    pub(crate) fn trim(&mut self, offset: u64) -> Result<f64, Error> {
        self.time(Op::Trim, Data::Random, offset, 4096)
    }

    /// Submits each request at its time, counted from now, even if earlier requests are in flight.
    /// Returns the mean response time in us.
    ///
    /// # Errors
    /// Fails if the drive fails a request.
    pub(crate) fn open_loop(
        &mut self,
        requests: impl IntoIterator<Item = Io>,
    ) -> Result<f64, Error> {
        let (start, mut times) = (self.drive.now(), ResponseTimes::default());
        for io in requests {
            let io = Io { at: Nanos(start.0 + io.at.0), ..io };
            times.collect(&mut self.drive, io.at)?;
            self.drive.submit(&io);
        }
        times.collect(&mut self.drive, Nanos::MAX)?;
        Ok(times.mean_us())
    }

    /// Keeps `depth` requests in flight until `count` are done. `next` gives the request that
    /// follows a completion at this time. Returns the mean response time in us.
    ///
    /// # Errors
    /// Fails if the drive fails a request.
    pub(crate) fn closed_loop(
        &mut self,
        depth: usize,
        count: usize,
        mut next: impl FnMut(Nanos) -> Option<Io>,
    ) -> Result<f64, Error> {
        let mut times = ResponseTimes::default();
        for nth in 0..count {
            if nth >= depth {
                times.add(self.drive.complete(Nanos::MAX))?;
            }
            let at = self.drive.now();
            let io = next(at).ok_or(Error::Failed)?;
            self.drive.submit(&Io { at, ..io });
        }
        times.collect(&mut self.drive, Nanos::MAX)?;
        Ok(times.mean_us())
    }

    /// Keeps `depth` requests of 4 KiB in flight until `count` are done. `offset` gives the address
    /// of each. Returns the requests per second.
    ///
    /// # Errors
    /// Fails if the drive fails a request.
    #[allow(clippy::cast_precision_loss, reason = "counts are below 2^53")]
    pub(crate) fn rate(
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

/// The number and the sum of response times.
#[derive(Default)]
struct ResponseTimes {
    count: u64,
    nanos: u64,
}

impl ResponseTimes {
    /// Adds the requests that complete up to `until`.
    fn collect(&mut self, drive: &mut SimDevice, until: Nanos) -> Result<(), Error> {
        while let Some(done) = drive.complete(until) {
            self.add(Some(done))?;
        }
        Ok(())
    }

    /// Adds a request that completed.
    fn add(&mut self, done: Option<Completion>) -> Result<(), Error> {
        let done = done.ok_or(Error::Failed)?;
        done.result.map_err(|_| Error::Failed)?;
        self.count += 1;
        self.nanos += (done.completed - done.io.at).0;
        Ok(())
    }

    #[allow(clippy::cast_precision_loss, reason = "times are below 2^53 ns")]
    fn mean_us(&self) -> f64 {
        self.nanos as f64 / self.count as f64 / 1e3
    }
}
