use flashscope_block::{Bytes, Completion, Device, DeviceInfo, DeviceKind, Errno, Io, Nanos, Op};

use crate::counters::Counters;
use crate::ftl::{AnyFtl, Ftl, Health, Recovery, Slice};
use crate::interface::{Costs, Interface, Pending};
use crate::nand::{Array, Lpn, Page, Stamp};
use crate::observe::{Observed, Observer};
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
    /// Bytes of a logical page.
    page_size: u64,
    /// Bytes that requests are split at: of a logical page, or of all that fit on one page.
    extent: u64,
    cut_through: bool,
    nand: Array,
    ftl: AnyFtl,
    interface: Interface,
    host_pages_read: u64,
    host_pages_written: u64,
    host_pages_trimmed: u64,
    expects_power_cuts: bool,
}

impl SimDevice {
    /// An empty drive, named `name` on the command line.
    ///
    /// # Errors
    /// The first field of the profile that cannot work.
    pub fn new(name: &str, profile: &Profile) -> Result<SimDevice, ProfileError> {
        let layout = profile.layout()?;
        let geometry = layout.geometry;
        let page_size = u64::from(geometry.logical_page_size);
        let mut nand = Array::new(&layout.parts());
        let interface = &profile.interface;
        let costs =
            Costs { request: interface.request_overhead, per_kib: interface.transfer_per_kib };
        Ok(SimDevice {
            info: DeviceInfo {
                name: name.into(),
                kind: DeviceKind::Sim,
                capacity: Bytes(u64::from(layout.logical_pages()) * page_size),
                logical_block: interface.logical_block,
                queue_depth: interface.queue_depth,
                model: Some(profile.model.clone()),
                serial: None,
                firmware: None,
                engine: None,
            },
            now: Nanos(0),
            submitted: 0,
            page_size,
            extent: page_size.max(geometry.element_page()),
            cut_through: interface.cut_through,
            ftl: (layout.ftl.new)(&layout, &mut nand),
            nand,
            interface: Interface::new(costs, interface.queue_depth),
            host_pages_read: 0,
            host_pages_written: 0,
            host_pages_trimmed: 0,
            expects_power_cuts: false,
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

    /// When the newest copy of a logical page was written, as a number that grows with each page
    /// written; it travels with the data. None for a page that holds nothing; always 0 where
    /// nothing asks for it.
    ///
    /// # Panics
    /// If `lpn` is beyond the capacity.
    pub fn stamp(&self, lpn: Lpn) -> Option<Stamp> {
        let entry = self.nand.entry(self.ftl.slot(lpn)?)?;
        Some(entry.stamp)
    }

    /// Where the drive stands in its life.
    pub fn health(&self) -> Health {
        self.ftl.health()
    }

    /// The free blocks of each lane: see [`crate::ftl::Layout::lanes`].
    pub fn free_blocks(&self) -> Vec<u32> {
        self.ftl.free_blocks()
    }

    /// Adds someone who looks on; the handle is to ask what was seen.
    pub fn observe<O: Observer + 'static>(&mut self, observer: O) -> Observed<O> {
        let observed = Observed::new(observer);
        self.nand.observe(Box::new(observed.clone()));
        observed
    }

    /// From now on, remembers what [`SimDevice::cut_power`] would take back. For a drive that
    /// nothing was written to yet.
    pub fn expect_power_cuts(&mut self) {
        self.expects_power_cuts = true;
        self.nand.expect_power_cuts();
        self.ftl.expect_power_cuts();
    }

    /// Cuts the power at the present time of the clock, and lets it come back at once. Requests in
    /// flight are never answered; flash commands that have not begun are not carried out, and those
    /// under way leave pages that cannot be read. The clock stands at the end of the recovery.
    ///
    /// # Errors
    /// `EIO` when the flash refuses a command, `ENOSPC` or `EROFS` when there is no room left.
    ///
    /// # Panics
    /// If the drive does not expect power cuts.
    pub fn cut_power(&mut self) -> Result<Recovery, Errno> {
        assert!(self.expects_power_cuts, "call expect_power_cuts on the new drive first");
        self.nand.cut_power(self.now);
        self.interface.reset(self.now);
        let recovery = self.ftl.recover(&mut self.nand, self.now)?;
        self.now = recovery.done;
        Ok(recovery)
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

    /// The parts of an IO within the capacity, each on one logical page or, where several fit on
    /// a page of the flash, on those.
    #[inline]
    fn slices(&self, io: &Io) -> impl Iterator<Item = Slice> + use<> {
        let (page_size, extent, stream) = (self.page_size, self.extent, io.stream);
        let (mut from, end) = (io.offset.0, io.end().0);
        std::iter::from_fn(move || {
            if from >= end {
                return None;
            }
            let to = (from - from % extent + extent).min(end);
            let lpn = from / page_size;
            let within = |bytes: u64| u32::try_from(bytes).expect("a page fits in a u32");
            let slice = Slice {
                lpn: Lpn(within(lpn)),
                start: within(from - lpn * page_size),
                len: within(to - from),
                stream,
            };
            from = to;
            Some(slice)
        })
    }

    /// How many logical pages a slice falls on.
    #[inline]
    fn pages_in(&self, slice: &Slice) -> u64 {
        match self.extent == self.page_size {
            true => 1,
            false => u64::from(slice.start + slice.len).div_ceil(self.page_size),
        }
    }

    fn write(&mut self, mut request: Pending) {
        let mut arrived = request.ready;
        if !self.cut_through {
            arrived = self.interface.receive_data(request.io.len);
        }
        for slice in self.slices(&request.io) {
            if self.cut_through {
                arrived = self.interface.receive_data(Bytes(u64::from(slice.len)));
            }
            self.host_pages_written += self.pages_in(&slice);
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
            self.host_pages_read += self.pages_in(&slice);
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
        self.interface.send_data(request, first, Bytes(self.extent));
    }

    /// Forgets the pages that are trimmed as a whole.
    fn trim(&mut self, mut request: Pending) {
        let page_size = self.page_size;
        let whole = request.io.offset.0.div_ceil(page_size)..request.io.end().0 / page_size;
        for lpn in whole {
            self.host_pages_trimmed += 1;
            let lpn = Lpn(u32::try_from(lpn).expect("the pages of a drive fit in a u32"));
            if let Err(errno) = self.ftl.trim(&mut self.nand, lpn, request.ready) {
                request.result = Err(errno);
                break;
            }
        }
        self.interface.acknowledge(request);
    }

    /// Puts everything on the flash that a power cut would lose.
    fn flush(&mut self, mut request: Pending) {
        match self.ftl.flush(&mut self.nand, request.ready) {
            Ok(done) => request.ready = request.ready.max(done),
            Err(errno) => request.result = Err(errno),
        }
        self.interface.flush(request);
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
        self.nand.next_request();
        match (request.result, io.op) {
            (Err(_), _) => self.interface.acknowledge(request),
            (Ok(()), Op::Write) => self.write(request),
            (Ok(()), Op::Read) => self.read(request),
            (Ok(()), Op::Trim) => self.trim(request),
            (Ok(()), Op::Flush) => self.flush(request),
        }
    }

    #[inline]
    fn complete(&mut self, until: Nanos) -> Option<Completion> {
        let completion = self.interface.next(self.now, until);
        match &completion {
            Some(completion) => self.now = self.now.max(completion.completed),
            None => self.wait(until),
        }
        if self.expects_power_cuts {
            self.nand.settle(self.now);
            self.ftl.settle(self.now);
        }
        if let Some(completion) = &completion {
            self.nand.observers().iter_mut().for_each(|observer| observer.request(completion));
        }
        completion
    }
}
