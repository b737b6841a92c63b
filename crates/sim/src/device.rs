use flashscope_block::{Bytes, Completion, Device, DeviceInfo, DeviceKind, Errno, Io, Nanos, Op};

use crate::counters::Counters;
use crate::ftl::{AnyFtl, Ftl, Slice};
use crate::interface::{Costs, Interface, Pending};
use crate::nand::{Array, Lpn, Page};
use crate::profile::{Profile, ProfileError};

/// A simulated SSD on virtual time, which stands still except in [`Device::complete`] and
/// [`Device::idle_until`].
///
/// An IO is worked out when it is submitted: it is split into pages, each goes to its allocation
/// pool, and the request is done when its last page is. It answers as a drive would: `EINVAL` for
/// a range that is empty, unaligned or past the end, `EAGAIN` beyond the queue depth, `ENOSPC` if
/// no page can be freed. An [`Io`] that is due in the future is held until then. A write that
/// fails part of the way has written the pages before.
pub struct SimDevice {
    info: DeviceInfo,
    now: Nanos,
    submitted: u64,
    page_size: u64,
    nand: Array,
    ftl: AnyFtl,
    interface: Interface,
    host_pages_read: u64,
    host_pages_written: u64,
    host_pages_trimmed: u64,
}

impl SimDevice {
    /// An empty drive, named `name` on the command line.
    ///
    /// # Errors
    /// The first field of the profile that cannot work.
    pub fn new(name: &str, profile: &Profile) -> Result<SimDevice, ProfileError> {
        let layout = profile.layout()?;
        let geometry = layout.geometry;
        let interface = &profile.interface;
        let costs =
            Costs { request: interface.request_overhead, per_kib: interface.transfer_per_kib };
        Ok(SimDevice {
            info: DeviceInfo {
                name: name.into(),
                kind: DeviceKind::Sim,
                capacity: Bytes(u64::from(layout.logical_pages()) * geometry.page_size.0),
                logical_block: interface.logical_block,
                queue_depth: interface.queue_depth,
                model: Some(profile.model.clone()),
                serial: None,
                firmware: None,
                engine: None,
            },
            now: Nanos(0),
            submitted: 0,
            page_size: geometry.page_size.0,
            nand: Array::new(geometry, layout.timing, layout.interleaving),
            ftl: (layout.ftl.new)(&layout),
            interface: Interface::new(costs, interface.queue_depth),
            host_pages_read: 0,
            host_pages_written: 0,
            host_pages_trimmed: 0,
        })
    }

    /// What the drive has done so far.
    pub fn counters(&self) -> Counters {
        Counters {
            host_pages_read: self.host_pages_read,
            host_pages_written: self.host_pages_written,
            host_pages_trimmed: self.host_pages_trimmed,
            flash: self.nand.counters(),
        }
    }

    /// The flash of the drive.
    pub fn nand(&self) -> &Array {
        &self.nand
    }

    /// Where the newest copy of a logical page is, if there is one.
    ///
    /// # Panics
    /// If `lpn` is beyond the capacity.
    pub fn locate(&self, lpn: Lpn) -> Option<Page> {
        self.ftl.locate(&self.nand, lpn)
    }

    /// Whether the drive can do an IO at all.
    fn check(&self, io: &Io) -> Result<(), Errno> {
        if self.interface.in_flight() >= self.info.queue_depth as usize {
            return Err(Errno::EAGAIN);
        }
        let block = self.info.logical_block;
        let aligned = io.offset.is_multiple_of(block) && io.len.is_multiple_of(block);
        let in_range = io.len.0 > 0 && io.end() <= self.info.capacity;
        if io.op != Op::Flush && !(aligned && in_range) {
            return Err(Errno::EINVAL);
        }
        Ok(())
    }

    /// The pages that an IO within the capacity falls on.
    fn slices(&self, io: &Io) -> impl Iterator<Item = Slice> + use<> {
        let (page_size, stream) = (self.page_size, io.stream);
        let (start, end) = (io.offset.0, io.end().0);
        let first = start / page_size;
        let mut page_start = first * page_size;
        let mut lpn = u32::try_from(first).expect("the pages of a drive fit in a u32");
        std::iter::from_fn(move || {
            if page_start >= end {
                return None;
            }
            let page_end = page_start + page_size;
            let (from, to) = (start.max(page_start), end.min(page_end));
            let within = |bytes: u64| u32::try_from(bytes).expect("a page fits in a u32");
            let slice = Slice {
                lpn: Lpn(lpn),
                start: within(from - page_start),
                len: within(to - from),
                stream,
            };
            page_start = page_end;
            lpn += 1;
            Some(slice)
        })
    }

    fn write(&mut self, mut request: Pending) {
        for slice in self.slices(&request.io) {
            let arrived = self.interface.receive_data(Bytes(u64::from(slice.len)));
            self.host_pages_written += 1;
            match self.ftl.write(&mut self.nand, slice, arrived) {
                Ok(done) => request.ready = request.ready.max(done),
                Err(errno) => {
                    request.ready = request.ready.max(arrived);
                    request.result = Err(errno);
                    break;
                }
            }
        }
        self.interface.acknowledge(request);
    }

    fn read(&mut self, mut request: Pending) {
        let arrived = request.ready;
        let mut first = Nanos::MAX;
        for slice in self.slices(&request.io) {
            self.host_pages_read += 1;
            match self.ftl.read(&mut self.nand, slice, arrived) {
                Ok(done) => {
                    first = first.min(done);
                    request.ready = request.ready.max(done);
                }
                Err(errno) => {
                    request.result = Err(errno);
                    return self.interface.acknowledge(request);
                }
            }
        }
        self.interface.send_data(request, first, Bytes(self.page_size));
    }

    /// Forgets the pages that are trimmed as a whole.
    fn trim(&mut self, mut request: Pending) {
        let whole = self.page_size;
        for slice in self.slices(&request.io).filter(|slice| u64::from(slice.len) == whole) {
            self.host_pages_trimmed += 1;
            if let Err(errno) = self.ftl.trim(&mut self.nand, slice.lpn, request.ready) {
                request.result = Err(errno);
                break;
            }
        }
        self.interface.acknowledge(request);
    }

    /// Lets the clock reach `until` with nothing to answer.
    fn wait(&mut self, until: Nanos) {
        if until == Nanos::MAX || until <= self.now {
            return;
        }
        self.now = until;
        // A command that the flash refuses is reported with the next IO that needs it.
        let background = self.ftl.background(&mut self.nand, until);
        debug_assert_eq!(background, Ok(()));
    }
}

impl Device for SimDevice {
    fn info(&self) -> &DeviceInfo {
        &self.info
    }

    fn now(&self) -> Nanos {
        self.now
    }

    fn submit(&mut self, io: &Io) {
        let submitted = self.now.max(io.at);
        let request = Pending {
            io: *io,
            submitted,
            sequence: self.submitted,
            result: self.check(io),
            ready: self.interface.receive_command(submitted),
        };
        self.submitted += 1;
        match (request.result, io.op) {
            (Err(_), _) => self.interface.acknowledge(request),
            (Ok(()), Op::Write) => self.write(request),
            (Ok(()), Op::Read) => self.read(request),
            (Ok(()), Op::Trim) => self.trim(request),
            (Ok(()), Op::Flush) => self.interface.flush(request),
        }
    }

    #[inline]
    fn complete(&mut self, until: Nanos) -> Option<Completion> {
        let completion = self.interface.next(self.now, until);
        match &completion {
            Some(completion) => self.now = self.now.max(completion.completed),
            None => self.wait(until),
        }
        completion
    }
}
