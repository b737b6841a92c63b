use flashscope_block::{
    Bytes, Completion, Device, DeviceInfo, DeviceKind, Errno, Flash, Io, Nanos, Op,
};

use crate::arithmetic::Divisor;
use crate::budget::{Budget, Reservation};
use crate::cache::Cache;
use crate::counters::Counters;
use crate::ftl::{AnyFtl, Ftl, Health, Recovery, Slice};
use crate::interface::{Costs, Interface, Request};
use crate::nand::{Array, BlockId, Lpn, Page, QueueEvent, Stamp, awaited, later};
use crate::observe::{Observer, ObserverHandle, ObserverSwitch};
use crate::setup::{self, Profile, ProfileError};

/// The current group of the address space: see [`setup::Groups`].
struct Groups {
    size: Divisor,
    switch_time: Nanos,
    at_hand: u64,
}

impl Groups {
    /// Returns `None` if switching between groups takes no time.
    fn new(groups: &setup::Groups, capacity: u64) -> Option<Groups> {
        let size = Divisor::new(capacity.div_ceil(groups.count.into()));
        let switch_time = groups.switch_time;
        (groups.count > 1 && switch_time > Nanos(0)).then_some(Groups {
            size,
            switch_time,
            at_hand: 0,
        })
    }

    /// Moves to the group of a request, and returns the time that this takes.
    fn switch_to(&mut self, io: &Io) -> Nanos {
        if io.len == Bytes(0) {
            return Nanos(0);
        }
        let switches = self.size.quotient(io.offset.0) != self.at_hand;
        self.at_hand = self.size.quotient(io.end().0 - 1);
        if switches { self.switch_time } else { Nanos(0) }
    }
}

/// A simulated SSD on virtual time, which advances only in [`Device::complete`] and
/// [`Device::idle_until`].
///
/// The drive computes an IO at submission: it splits the IO into pages, sends each to its allocation
/// pool, and completes the request with its last page. Errors are those of a real drive: `EINVAL`
/// for a range that is empty, unaligned or past the end, `EAGAIN` beyond the queue depth,
/// `EOPNOTSUPP` for a trim that the FTL does not support, `ENOSPC` if no page can be freed. An
/// [`Io`] that is due in the future waits until then. A write that fails midway has written the
/// pages before the failure.
pub struct SimDevice {
    info: DeviceInfo,
    now: Nanos,
    submitted: u64,
    logical_block: Divisor,
    /// Bytes of a logical page.
    page_size: Divisor,
    /// Bytes that requests are split at: of a logical page, or of all that fit on one page.
    extent: Divisor,
    cut_through: bool,
    /// True if the drive treats pages of zeros differently.
    distinguishes_zeros: bool,
    /// The least length of a long write in bytes.
    long: u64,
    /// The longest part of a request that is carried out as one, in bytes; 0 for no limit.
    largest_request: u64,
    groups: Option<Groups>,
    nand: Array,
    ftl: AnyFtl,
    /// True if pages can be trimmed.
    trims: bool,
    /// True if requests go through the buffer memory.
    cached: bool,
    cache: Cache,
    interface: Interface,
    host_pages_read: u64,
    host_pages_written: u64,
    host_pages_trimmed: u64,
    host_bytes_written: u64,
    unaligned_writes: u64,
    expects_power_cuts: bool,
    /// Is true if flash commands wait in queues.
    queued: bool,
    /// See [`Device::quiet_until`].
    quiet_until: Nanos,
    /// The queued flash commands that the present request waits for.
    awaited: Vec<Nanos>,
    /// The memory of the drive, unless it is that of its array.
    _memory: Option<Reservation>,
}

impl SimDevice {
    /// An empty drive, named `name` on the command line; one, whatever [`Profile::raid`] says.
    ///
    /// # Errors
    /// The first field of the profile that cannot work, or that it needs more memory than it may
    /// take: see [`crate::budget`].
    pub fn new(name: &str, profile: &Profile) -> Result<SimDevice, ProfileError> {
        SimDevice::within(name, profile, &Budget::default())
    }

    /// Does the same as [`SimDevice::new`] with memory of this budget.
    ///
    /// # Errors
    /// If a field of the profile cannot work, or the budget does not suffice.
    pub fn within(
        name: &str,
        profile: &Profile,
        memory: &Budget,
    ) -> Result<SimDevice, ProfileError> {
        let mut one = profile.clone();
        one.raid.drives = 1;
        let memory = Some(one.reserve(name, memory)?);
        let mut drive = SimDevice::of_array(name, profile)?;
        drive._memory = memory;
        Ok(drive)
    }

    /// As [`SimDevice::new`], in memory that is reserved already.
    pub(crate) fn of_array(name: &str, profile: &Profile) -> Result<SimDevice, ProfileError> {
        let layout = profile.layout()?;
        let geometry = layout.geometry;
        let page_size = u64::from(geometry.logical_page_size);
        let mut nand = Array::new(&layout.parts());
        if layout.background_below > 0 {
            nand.report_idle();
        }
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
            logical_block: Divisor::new(interface.logical_block.0),
            page_size: Divisor::new(page_size),
            extent: Divisor::new(page_size.max(geometry.element_page())),
            cut_through: interface.cut_through,
            distinguishes_zeros: layout.timing.distinguishes_zeros(),
            long: layout.logs.long,
            largest_request: interface.largest_request.0,
            groups: Groups::new(&profile.groups, u64::from(layout.logical_pages()) * page_size),
            ftl: (layout.ftl.new)(&layout, &mut nand),
            nand,
            trims: layout.ftl.trims(),
            cached: layout.cache.is_some(),
            cache: Cache::new(&layout),
            interface: Interface::new(costs),
            host_pages_read: 0,
            host_pages_written: 0,
            host_pages_trimmed: 0,
            host_bytes_written: 0,
            unaligned_writes: 0,
            expects_power_cuts: false,
            queued: layout.queues.is_some(),
            quiet_until: Nanos(0),
            awaited: Vec::new(),
            _memory: None,
        })
    }

    /// Returns the counts of operations so far.
    pub fn counters(&self) -> Counters {
        let (read_hits, write_hits) = self.cache.hits();
        Counters {
            read_hits,
            write_hits,
            host_pages_read: self.host_pages_read,
            host_pages_written: self.host_pages_written,
            host_pages_trimmed: self.host_pages_trimmed,
            flash: self.nand.counters(),
        }
    }

    /// The flash of the drive. What the last few writes have superseded may still count as valid
    /// there: see [`SimDevice::catch_up`].
    pub fn nand(&self) -> &Array {
        &self.nand
    }

    /// Brings which pages of the flash are valid up to date. Nothing that the drive does depends on
    /// it.
    pub fn catch_up(&mut self) {
        self.ftl.catch_up(&mut self.nand);
    }

    /// The buffer memory of the drive.
    pub fn cache(&self) -> &Cache {
        &self.cache
    }

    /// Returns the place of the newest copy of a logical page on the flash, if there is one. The
    /// buffer may hold a newer copy.
    ///
    /// # Panics
    /// If `lpn` is beyond the capacity.
    pub fn locate(&self, lpn: Lpn) -> Option<Page> {
        self.ftl.locate(&self.nand, lpn)
    }

    /// When the newest copy of a logical page on the flash was written, as a number that grows with
    /// each page written; it travels with the data. None for a page that holds nothing; always 0
    /// where nothing asks for it.
    ///
    /// # Panics
    /// If `lpn` is beyond the capacity.
    pub fn stamp(&self, lpn: Lpn) -> Option<Stamp> {
        let entry = self.nand.entry(self.ftl.slot(lpn)?)?;
        Some(entry.stamp)
    }

    /// Returns true if pages can be trimmed.
    pub fn trims(&self) -> bool {
        self.trims
    }

    /// Returns the wear and the remaining life of the drive.
    pub fn health(&self) -> Health {
        self.ftl.health()
    }

    /// The free blocks of each lane: see [`crate::setup::Layout::lanes`].
    pub fn free_blocks(&self) -> Vec<u32> {
        self.ftl.free_blocks()
    }

    /// Attaches an observer, and returns a handle that gives access to its report.
    pub fn observe<O: Observer + 'static>(&mut self, observer: O) -> ObserverHandle<O> {
        self.heed();
        let observed = ObserverHandle::new(observer);
        self.nand.observe(Box::new(observed.clone()));
        observed
    }

    /// Returns the switch that pauses and resumes all observers. They are active at first.
    pub fn observer_switch(&self) -> ObserverSwitch {
        self.nand.observer_switch().clone()
    }

    /// Pauses or resumes the observers if their switch has just changed.
    #[inline]
    fn heed(&mut self) {
        if self.nand.observers_changed() {
            self.heed_news();
        }
    }

    #[cold]
    fn heed_news(&mut self) {
        if self.nand.update_observed() {
            let mut observers = std::mem::take(self.nand.observers());
            observers.iter_mut().for_each(|observer| observer.resume(self));
            *self.nand.observers() = observers;
        }
    }

    /// Starts to log changes, so that [`SimDevice::cut_power`] can revert them. Call this before the
    /// first write.
    pub fn expect_power_cuts(&mut self) {
        self.expects_power_cuts = true;
        self.nand.expect_power_cuts();
        self.ftl.expect_power_cuts();
        self.cache.expect_power_cuts();
    }

    /// Cuts the power now and restores it at once. Requests in flight get no answer. Flash commands that
    /// have not begun are dropped, and commands in progress leave unreadable pages. A protected buffer
    /// is written out. Afterwards the clock is at the end of the recovery.
    ///
    /// # Errors
    /// `EIO` if the flash refuses a command, `ENOSPC` or `EROFS` if no space is left.
    ///
    /// # Panics
    /// If the drive does not expect power cuts.
    pub fn cut_power(&mut self) -> Result<Recovery, Errno> {
        self.cut_power_and_again(&[])
    }

    /// Cuts the power like [`SimDevice::cut_power`], and cuts it again during the recovery: after the
    /// first of these times, then after the second during the next recovery, and so on. A recovery that
    /// finishes earlier ends the series. A protected buffer keeps its data until all of it is written
    /// out.
    ///
    /// # Errors
    /// The errors of [`SimDevice::cut_power`].
    ///
    /// # Panics
    /// If the drive does not expect power cuts.
    pub fn cut_power_and_again(&mut self, after: &[Nanos]) -> Result<Recovery, Errno> {
        assert!(self.expects_power_cuts, "call expect_power_cuts on the new drive first");
        self.heed();
        self.interface.reset(self.now);
        let cut = self.now;
        self.cache.settle(&self.nand, cut);
        let mut recovery = self.recover(cut)?;
        for wait in after {
            let again = later(self.now, *wait);
            if again >= recovery.done {
                break;
            }
            self.now = again;
            recovery = self.recover(cut)?;
        }
        self.cache.clear();
        recovery.done = self.nand.resume_queues(recovery.done);
        self.now = recovery.done;
        self.quiet_until = self.now;
        Ok(recovery)
    }

    /// The power comes back now, after it was cut at `cut` and perhaps more than once since.
    fn recover(&mut self, cut: Nanos) -> Result<Recovery, Errno> {
        let Self { cache, ftl, nand, now, .. } = self;
        ftl.expect_cut(nand, *now);
        nand.cut_power(*now);
        let mut recovery = ftl.recover(nand, *now)?;
        recovery.done = cache.write_out(ftl, nand, cut, recovery.done)?;
        Ok(recovery)
    }

    /// Checks that the drive can carry out an IO.
    ///
    /// # Errors
    /// The error code for the host.
    #[inline]
    fn check(&self, io: &Io) -> Result<(), Errno> {
        if self.interface.in_flight() >= self.info.queue_depth as usize {
            return Err(Errno::EAGAIN);
        }
        let block = self.logical_block;
        let aligned = block.remainder(io.offset.0) == 0 && block.remainder(io.len.0) == 0;
        let in_range = io.len.0 > 0 && io.end() <= self.info.capacity;
        if io.op != Op::Flush && !(aligned && in_range) {
            return Err(Errno::EINVAL);
        }
        if io.op == Op::Trim && !self.trims {
            return Err(Errno::EOPNOTSUPP);
        }
        Ok(())
    }

    /// The part of a range within the capacity, from `from` on, that is on one logical page or,
    /// where several fit on a page of the flash, on those.
    #[inline]
    fn slice(&self, io: &Io, from: u64, end: u64) -> Slice {
        let to = ((self.extent.quotient(from) + 1) * self.extent.value()).min(end);
        let lpn = self.page_size.quotient(from);
        let within = |bytes: u64| u32::try_from(bytes).expect("a page fits in a u32");
        Slice {
            lpn: Lpn(within(lpn)),
            start: within(from - lpn * self.page_size.value()),
            len: within(to - from),
            long: false,
            zero: self.distinguishes_zeros && io.data.is_zero(Bytes(from), Bytes(to - from)),
            stream: io.stream,
        }
    }

    /// How many logical pages a slice falls on.
    #[inline]
    fn pages_in(&self, slice: &Slice) -> u64 {
        match self.extent.value() == self.page_size.value() {
            true => 1,
            false => u64::from(slice.start + slice.len).div_ceil(self.page_size.value()),
        }
    }

    /// The end of the part of a request that begins at `from`: see
    /// [`crate::setup::HostInterface::largest_request`].
    #[inline]
    fn end_of_part(&self, io: &Io, from: u64) -> u64 {
        match self.largest_request {
            0 => io.end().0,
            largest => from.saturating_add(largest).min(io.end().0),
        }
    }

    fn write(&mut self, request: &mut Request) {
        self.unaligned_writes += u64::from(self.page_size.remainder(request.io.offset.0) > 0);
        self.write_from(request, request.io.offset.0, request.ready);
    }

    /// Writes from `from` on, part by part, where the first command reached the controller at
    /// `arrived`.
    #[inline]
    fn write_from(&mut self, request: &mut Request, from: u64, arrived: Nanos) {
        let (mut from, mut arrived) = (from, arrived);
        loop {
            let end = self.end_of_part(request.io, from);
            self.write_part(request, from, end, arrived);
            if end == request.io.end().0 || request.result.is_err() {
                break;
            }
            if !self.awaited.is_empty() {
                return self.answer_later(request, Nanos::MAX, None, Some(end));
            }
            (from, arrived) = (end, self.interface.receive_command(request.ready));
        }
        self.answer(request, Nanos::MAX, None);
    }

    /// Answers a request when what it waits for is done: with `data`, the lengths of all of it and of
    /// a page, whose first page is there at `first` as far as that is known.
    #[inline]
    fn answer(&mut self, request: &Request, first: Nanos, data: Option<(Bytes, Bytes)>) {
        if !self.awaited.is_empty() {
            return self.answer_later(request, first, data, None);
        }
        match data {
            Some((len, page)) => self.interface.send_data(request, first, len, page),
            None => self.interface.acknowledge(request),
        }
    }

    /// Does the same for a request that waits for commands in the queues of the flash; or goes on
    /// with the part that begins at `next`.
    fn answer_later(
        &mut self,
        request: &Request,
        first: Nanos,
        data: Option<(Bytes, Bytes)>,
        next: Option<u64>,
    ) {
        let parts = u32::try_from(self.awaited.len()).expect("fewer than the pages of a drive");
        let number = self.interface.wait(request, parts, first, data, next);
        for at in self.awaited.drain(..) {
            self.nand.notify_done(at, number);
        }
    }

    /// Records that a command in the queues of the flash is done for which a request waits, and goes
    /// on with the next part of that if this was the last one of a part.
    fn part_done(&mut self, number: u32, at: Nanos) {
        let Some(part) = self.interface.part_done(number, at) else { return };
        let mut request = part.request();
        let arrived = self.interface.receive_command(self.interface.part_sent(&part));
        match part.is_read() {
            true => self.read_from(&mut request, part.next, arrived),
            false => self.write_from(&mut request, part.next, arrived),
        }
    }

    /// Lets the buffer write back in the background.
    fn write_back(&mut self, at: Nanos) {
        self.cache.background(&mut self.ftl, &mut self.nand, later(at, Nanos(1)));
    }

    /// Lets a request wait until `done`, which may stand for a command that waits in a queue.
    #[inline]
    fn await_part(&mut self, request: &mut Request, done: Nanos) {
        if self.queued && awaited(done).is_some() {
            self.awaited.push(done);
        } else {
            request.ready = request.ready.max(done);
        }
    }

    /// Writes from `from` to before `end`, where the command reached the controller at `arrived`.
    #[inline]
    fn write_part(&mut self, request: &mut Request, from: u64, end: u64, arrived: Nanos) {
        let (mut from, mut arrived, long) = (from, arrived, end - from >= self.long);
        if !self.cut_through {
            arrived = self.interface.receive_data(Bytes(end - from));
        }
        while from < end && request.result.is_ok() {
            let slice = Slice { long, ..self.slice(request.io, from, end) };
            if self.cut_through {
                arrived = self.interface.receive_data(Bytes(u64::from(slice.len)));
            }
            let written = match self.cached {
                false => self.ftl.write(&mut self.nand, slice, arrived),
                true => self.cache.write(&mut self.ftl, &mut self.nand, slice, arrived),
            };
            match written {
                Ok(done) => {
                    self.host_pages_written += self.pages_in(&slice);
                    self.host_bytes_written += u64::from(slice.len);
                    self.await_part(request, done);
                }
                Err(errno) => {
                    request.ready = request.ready.max(arrived);
                    request.result = Err(errno);
                }
            }
            from += u64::from(slice.len);
        }
    }

    fn read(&mut self, request: &mut Request) {
        self.read_from(request, request.io.offset.0, request.ready);
    }

    /// Reads from `from` on, part by part, where the first command reached the controller at
    /// `arrived`.
    #[inline]
    fn read_from(&mut self, request: &mut Request, from: u64, arrived: Nanos) {
        let (mut from, mut arrived) = (from, arrived);
        let (first, len) = loop {
            let end = self.end_of_part(request.io, from);
            let first = self.read_part(request, from, end, arrived);
            if end == request.io.end().0 || request.result.is_err() {
                break (first, Bytes(end - from));
            }
            let (len, page) = (Bytes(end - from), Bytes(self.extent.value()));
            if !self.awaited.is_empty() {
                return self.answer_later(request, first, Some((len, page)), Some(end));
            }
            let answered = self.interface.sent(first, request.ready, len, page);
            (from, arrived) = (end, self.interface.receive_command(answered));
        };
        self.refresh(request.ready);
        if request.result.is_err() {
            return self.answer(request, first, None);
        }
        if self.cached {
            self.cache.read_ahead(&mut self.ftl, &mut self.nand, request.io, arrived);
        }
        self.answer(request, first, Some((len, Bytes(self.extent.value()))));
    }

    /// Reads from `from` to before `end`, where the command reached the controller at `arrived`.
    /// Returns when the first page is there.
    #[inline]
    fn read_part(&mut self, request: &mut Request, from: u64, end: u64, arrived: Nanos) -> Nanos {
        let (mut from, mut first) = (from, Nanos::MAX);
        while from < end {
            let slice = self.slice(request.io, from, end);
            from += u64::from(slice.len);
            let read = match self.cached {
                false => self.ftl.read(&mut self.nand, slice, arrived),
                true => self.cache.read(&mut self.ftl, &mut self.nand, slice, arrived),
            };
            match read {
                Ok(done) => {
                    self.host_pages_read += self.pages_in(&slice);
                    first = first.min(done);
                    self.await_part(request, done);
                }
                Err(errno) => {
                    request.result = Err(errno);
                    break;
                }
            }
        }
        first
    }

    /// Rewrites the pages that the last reads found hard to read. A page stays in place if there is no
    /// free page for it.
    #[inline]
    fn refresh(&mut self, at: Nanos) {
        let pages = self.nand.take_refresh();
        if !pages.is_empty() {
            self.write_anew(&pages, at);
        }
    }

    #[cold]
    fn write_anew(&mut self, pages: &[Page], at: Nanos) {
        let geometry = *self.nand.geometry();
        self.nand.set_refreshing(true);
        for page in pages {
            let first = page.index / geometry.pages_per_slot * geometry.slots_per_page;
            for slot in (first..first + geometry.slots_per_page)
                .map(|index| geometry.slot(page.block, index))
            {
                let Some(entry) = self.nand.entry(slot) else { continue };
                let Lpn(number) = entry.lpn;
                let of_host = u64::from(number) < self.info.capacity.0 / self.page_size.value();
                if of_host && self.ftl.slot(entry.lpn) == Some(slot) {
                    let len = geometry.logical_page_size;
                    let (start, stream, long) = (0, 0, false);
                    let slice =
                        Slice { lpn: entry.lpn, start, len, zero: entry.zero, stream, long };
                    // A write that fails here for lack of space also fails when the host writes.
                    let _ = self.ftl.write(&mut self.nand, slice, at);
                }
            }
        }
        self.nand.set_refreshing(false);
    }

    /// Forgets the pages that are trimmed as a whole.
    fn trim(&mut self, request: &mut Request) {
        let page_size = self.page_size.value();
        let whole = request.io.offset.0.div_ceil(page_size)..request.io.end().0 / page_size;
        for lpn in whole {
            let lpn = Lpn(u32::try_from(lpn).expect("the pages of a drive fit in a u32"));
            let at = request.ready;
            if let Err(errno) = self.cache.trim(&mut self.ftl, &mut self.nand, lpn, at) {
                request.result = Err(errno);
                break;
            }
            self.host_pages_trimmed += 1;
        }
        self.interface.acknowledge(request);
    }

    /// Puts everything on the flash that a power cut would lose.
    fn flush(&mut self, request: &mut Request) {
        match self.cache.flush(&mut self.ftl, &mut self.nand, request.ready) {
            Ok(done) => {
                let ready = self.nand.both(request.ready, done);
                let done = self.nand.after_writes(ready, done);
                self.await_part(request, done);
            }
            Err(errno) => request.result = Err(errno),
        }
        if !self.awaited.is_empty() {
            return self.answer_later(request, Nanos::MAX, None, None);
        }
        self.interface.flush(request);
    }

    /// Lets the commands in the queues of the flash be carried out until the next answer is known, or
    /// up to `until`.
    fn advance(&mut self, until: Nanos) {
        loop {
            let due = self.interface.next_due(self.now).map_or(until, |due| due.min(until));
            match self.nand.advance(due) {
                None => return,
                Some((QueueEvent::Done(QueueEvent::WRITE_BACK), at)) => self.write_back(at),
                Some((QueueEvent::Done(number), at)) => self.part_done(number, at),
                Some((QueueEvent::Idle, at)) => {
                    let worked = self.ftl.background(&mut self.nand, later(at, Nanos(1)));
                    debug_assert!(worked.is_ok(), "{worked:?}");
                }
                Some((QueueEvent::Timer, at)) => self.write_back(at),
            }
        }
    }

    /// Lets the clock reach `until` with nothing to answer.
    fn wait(&mut self, until: Nanos) {
        if until == Nanos::MAX || until <= self.now {
            return;
        }
        self.heed();
        self.now = until;
        let buffer = self.cache.background(&mut self.ftl, &mut self.nand, until);
        // A command that the flash refuses is reported with the next IO that needs it.
        let ftl = self.ftl.background(&mut self.nand, until);
        debug_assert!(ftl.is_ok(), "{ftl:?}");
        self.nand.end_request();
        self.quiet_until = match self.queued {
            false => buffer.min(ftl.unwrap_or(Nanos::MAX)),
            true => self.nand.next_event().map_or(Nanos::MAX, |_| until),
        };
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
        if io.op == Op::Write {
            self.ftl.expect(Lpn(
                u32::try_from(self.page_size.quotient(io.offset.0)).unwrap_or(u32::MAX)
            ));
        }
        // A write or a trim may leave background work.
        self.quiet_until = Nanos(0);
        let submitted = self.now.max(io.at);
        let switch = match &mut self.groups {
            Some(groups) => groups.switch_to(io),
            None => Nanos(0),
        };
        let mut request = Request {
            io,
            submitted,
            sequence: self.submitted,
            result: self.check(io),
            ready: later(self.interface.receive_command(submitted), switch),
        };
        self.submitted += 1;
        self.heed();
        self.nand.next_request();
        match (request.result, io.op) {
            (Err(_), _) => self.interface.acknowledge(&request),
            (Ok(()), Op::Write) => self.write(&mut request),
            (Ok(()), Op::Read) => self.read(&mut request),
            (Ok(()), Op::Trim) => self.trim(&mut request),
            (Ok(()), Op::Flush) => self.flush(&mut request),
        }
        if self.queued {
            self.nand.end_request();
        }
    }

    #[inline]
    fn complete(&mut self, until: Nanos) -> Option<Completion> {
        // Without a request in flight or a limit, the clock stands still.
        if self.queued && (until != Nanos::MAX || self.interface.in_flight() > 0) {
            self.advance(until);
        }
        let completion = self.interface.next(self.now, until);
        match &completion {
            Some(completion) => self.now = self.now.max(completion.completed),
            None => self.wait(until),
        }
        if self.expects_power_cuts {
            self.nand.settle(self.now);
            self.ftl.settle(&self.nand, self.now);
            self.cache.settle(&self.nand, self.now);
        }
        if let Some(completion) = &completion {
            self.nand.notify(|observer| observer.request(completion));
        }
        completion
    }

    fn next_due(&self) -> Option<Nanos> {
        let known = self.interface.next_due(self.now);
        if !self.queued || self.interface.in_flight() == 0 {
            return known;
        }
        known.into_iter().chain(self.nand.next_event()).min()
    }

    fn quiet_until(&self) -> Nanos {
        self.quiet_until
    }

    /// Looks at every block, to see which was erased most.
    fn flash(&self) -> Option<Flash> {
        let (geometry, health) = (self.nand.geometry(), self.ftl.health());
        let commands = self.nand.counters();
        // A block of an element is one of each of its packages.
        let span = u64::from(geometry.span);
        let block = Bytes(geometry.page_size.0 * u64::from(geometry.pages_per_block));
        let blocks = span * u64::from(geometry.blocks());
        let data_of_block = u64::from(geometry.slots_per_block) * self.page_size.value();
        let taken = span * self.info.capacity.0.div_ceil(data_of_block);
        let retired = span * (health.failed_blocks + health.expired_blocks);
        let good = (0..geometry.blocks()).map(BlockId).filter(|block| !self.nand.is_bad(*block));
        let (fewest, most) = good
            .map(|block| self.nand.erases(block))
            .fold((u32::MAX, 0), |(fewest, most), erases| (fewest.min(erases), most.max(erases)));
        Some(Flash {
            capacity: Bytes(blocks * block.0),
            block,
            host_written: Bytes(self.host_bytes_written),
            unaligned_writes: self.unaligned_writes,
            programmed: Bytes(commands.programs.total() * geometry.page_size.0),
            read: Bytes(
                (commands.reads.total() + commands.copy_backs.total()) * geometry.page_size.0,
            ),
            erasures: commands.erases.total(),
            most_erases: most,
            fewest_erases: fewest.min(most),
            rated_erases: self.nand.block_lifetime(),
            free_blocks: span * self.free_blocks().into_iter().map(u64::from).sum::<u64>(),
            retired_blocks: retired,
            spare_blocks: blocks.saturating_sub(taken + span * health.factory_bad_blocks + retired),
            read_only: health.end_of_life.is_some(),
        })
    }

    fn is_volatile(&self, offset: Bytes, len: Bytes) -> bool {
        if !self.cached || self.cache.protected() || len == Bytes(0) {
            return false;
        }
        let page = |at: u64| u32::try_from(self.page_size.quotient(at)).unwrap_or(u32::MAX);
        let pages = page(offset.0)..=page(offset.0 + len.0 - 1);
        pages.into_iter().any(|lpn| self.cache.holds(Lpn(lpn)))
    }
}
