mod fast_path;
mod groups;
mod placement;
mod power;
mod requests;
mod turns;
mod zones;

use flashscope_block::{
    Bytes, Completion, Device, DeviceInfo, DeviceKind, Errno, Flash, Io, Nanos, Op, PlacedDevice,
    PlacementLimits, ZonedDevice,
};

use groups::Groups;
use turns::Turns;

use crate::arithmetic::Divisor;
use crate::budget::{Budget, Reservation};
use crate::cache::Cache;
use crate::counters::Counters;
use crate::event::{Notice, Observer, ObserverSwitch};
use crate::ftl::{AnyFtl, Ftl, Health, PlacementCounts};
use crate::host::zones::Zones;
use crate::interface::{Costs, Interface, Request};
use crate::nand::{Array, BlockId, Lpn, Page, QueueEvent, Stamp, later};
use crate::observe::ObserverHandle;
use crate::setup::{Energy, Profile, ProfileError};

/// A simulated SSD on virtual time, which advances only in [`Device::complete`] and the methods
/// that wait for answers, and in [`SimDevice::cut_power`].
///
/// The drive computes an IO at submission: it splits the IO into pages, sends each to its
/// allocation pool, and completes the request with its last page. Errors are those of a real drive:
/// `EINVAL` for a range that is empty, unaligned or past the end, `EAGAIN` beyond the queue depth,
/// and `EOPNOTSUPP` for a trim that the drive does not support. `ENOSPC` means that no page can be
/// freed, `EROFS` means the end of life, and `EIO` means unreadable data. Zones add the errors of
/// [`ZonedDevice`]. An [`Io`] that is due in the future waits until then. A write that fails midway
/// has written the pages before the failure.
pub struct SimDevice {
    info: DeviceInfo,
    now: Nanos,
    submitted: u64,
    logical_block: Divisor,
    /// Bytes of a logical page.
    page_size: Divisor,
    /// The size in bytes of the slices that requests are split into: one logical page, or all
    /// logical pages that fit on one flash page.
    extent: Divisor,
    cut_through: bool,
    /// True if the drive treats pages of zeros differently.
    distinguishes_zeros: bool,
    /// The minimum length of a long write, in bytes.
    long: u64,
    /// The maximum length of a part of a request, in bytes; 0 for no limit. The drive executes a
    /// request part by part.
    largest_request: u64,
    groups: Option<Groups>,
    /// The power of the drive's parts; `None` if the profile states none.
    power: Option<Energy>,
    nand: Array,
    ftl: AnyFtl,
    /// See [`Layout::spare_share`](crate::setup::Layout::spare_share).
    spare_share: Option<f64>,
    /// `None` for a drive that the host can write anywhere.
    zones: Option<Box<Zones>>,
    /// The reclaim unit handles that the host can name; `None` without any.
    handles: Option<PlacementLimits>,
    /// True if pages can be trimmed.
    trims: bool,
    /// True if requests go through the buffer memory.
    cached: bool,
    /// True if an IO of one logical page may take the fast path, as far as the profile decides.
    has_fast_path: bool,
    cache: Cache,
    interface: Interface,
    host_pages_read: u64,
    host_pages_written: u64,
    host_pages_moved: u64,
    host_pages_trimmed: u64,
    host_bytes_written: u64,
    unaligned_writes: u64,
    expects_power_cuts: bool,
    /// True if flash commands wait in queues.
    queued: bool,
    /// See [`Device::quiet_until`].
    quiet_until: Nanos,
    /// The queued flash commands that the current request waits for.
    awaited: Vec<Nanos>,
    /// `None` unless reads and background work take turns.
    turns: Option<Turns>,
    /// The memory reserved for the drive; `None` if the array of the drive holds the reservation.
    _memory: Option<Reservation>,
}

impl SimDevice {
    /// Creates an empty drive, named `name` on the command line. It is a single drive even if
    /// [`Profile::raid`] describes an array.
    ///
    /// # Errors
    /// Returns an error for the first invalid field of the profile, or if the drive needs more
    /// memory than the budget allows: see [`crate::budget`].
    pub fn new(name: &str, profile: &Profile) -> Result<SimDevice, ProfileError> {
        SimDevice::within(name, profile, &Budget::default())
    }

    /// Does the same as [`SimDevice::new`] with memory of this budget.
    ///
    /// # Errors
    /// Returns an error if a field of the profile is invalid, or if the drive needs more memory
    /// than the budget allows.
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

    /// Returns the size of a logical page.
    #[must_use]
    pub fn page_size(&self) -> Bytes {
        Bytes(self.page_size.value())
    }

    /// See [`Layout::spare_share`](crate::setup::Layout::spare_share).
    #[must_use]
    pub const fn spare_share(&self) -> Option<f64> {
        self.spare_share
    }

    /// Does the same as [`SimDevice::new`], but reserves no memory, because the caller has reserved
    /// it.
    pub(crate) fn of_array(name: &str, profile: &Profile) -> Result<SimDevice, ProfileError> {
        let design = profile.design()?;
        let layout = &design.layout;
        let geometry = layout.geometry;
        let page_size = u64::from(geometry.logical_page_size);
        let mut nand = Array::new(&layout.parts());
        if layout.background_below > 0 {
            nand.report_idle();
        }
        let interface = &profile.interface;
        let costs = Costs {
            request: interface.request_overhead,
            per_kib: interface.transfer_per_kib,
            command: interface.command_time,
            cores: interface.cores,
        };
        let capacity = layout.capacity();
        let groups = Groups::new(&profile.groups, capacity.0);
        let has_fast_path = fast_path::is_in(interface, layout, groups.as_ref());
        Ok(SimDevice {
            info: DeviceInfo {
                model: Some(profile.model.clone()),
                ..DeviceInfo::new(
                    (name, DeviceKind::Sim),
                    (capacity, interface.logical_block),
                    interface.queue_depth,
                )
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
            groups,
            power: profile.energy.is_on().then_some(profile.energy),
            ftl: (design.ftl.new)(layout, design.policies, &mut nand),
            nand,
            spare_share: layout.spare_share(),
            zones: Zones::new(layout).map(Box::new),
            handles: placement::limits(layout),
            trims: design.ftl.trims(),
            cached: layout.cache.is_some(),
            has_fast_path,
            cache: Cache::new(layout, design.buffer),
            interface: Interface::new(costs),
            host_pages_read: 0,
            host_pages_written: 0,
            host_pages_moved: 0,
            host_pages_trimmed: 0,
            host_bytes_written: 0,
            unaligned_writes: 0,
            expects_power_cuts: false,
            queued: layout.queues.is_some(),
            quiet_until: Nanos(0),
            awaited: Vec::new(),
            turns: layout.queues.filter(|queues| queues.turns).map(|_| Turns::default()),
            _memory: None,
        })
    }

    /// Returns the counts of operations so far.
    pub fn counters(&self) -> Counters {
        let (read_hits, write_hits) = self.cache.hits();
        let geometry = self.nand.geometry();
        let flash_page = geometry.page_size.0;
        Counters {
            read_hits,
            write_hits,
            host_pages_read: self.host_pages_read,
            host_pages_written: self.host_pages_written,
            host_pages_moved: self.host_pages_moved,
            host_pages_trimmed: self.host_pages_trimmed,
            flash: self.nand.counters(),
            logical_page: geometry.logical_page_size,
            flash_page: u32::try_from(flash_page).expect("a flash page fits in a u32"),
        }
    }

    /// Returns the power of the drive's parts, if the profile states it.
    pub(crate) const fn power(&self) -> Option<&Energy> {
        self.power.as_ref()
    }

    /// Returns the flash of the drive. Pages that the last few writes have superseded may still
    /// count as valid there: see [`SimDevice::catch_up`].
    pub fn nand(&self) -> &Array {
        &self.nand
    }

    /// Invalidates the pages whose invalidation was deferred. This does not change what the drive
    /// does.
    pub fn catch_up(&mut self) {
        self.ftl.catch_up(&mut self.nand);
    }

    /// Returns the buffer memory of the drive.
    pub fn cache(&self) -> &Cache {
        &self.cache
    }

    /// Returns the address of the newest copy of a logical page on the flash, if there is one. The
    /// buffer may hold a newer copy. Logical pages are numbered without the holes of zones.
    ///
    /// # Panics
    /// If `lpn` is beyond the capacity.
    pub fn locate(&self, lpn: Lpn) -> Option<Page> {
        self.ftl.locate(&self.nand, lpn)
    }

    /// Returns the stamp of the newest copy of a logical page on the flash: a number that grows
    /// with each page written. Moving a page keeps its stamp. Returns `None` for a page without
    /// data. The stamp is always 0 if no part of the drive uses stamps.
    ///
    /// # Panics
    /// If `lpn` is beyond the capacity.
    pub fn stamp(&self, lpn: Lpn) -> Option<Stamp> {
        let entry = self.nand.entry(self.ftl.slot(lpn)?)?;
        Some(entry.stamp)
    }

    /// Keeps the stamps of all pages written from now on for [`SimDevice::stamp`] and
    /// [`Array::entry`], even if no part of the drive uses stamps. This does not change what the
    /// drive does.
    pub fn keep_stamps(&mut self) {
        self.nand.keep_stamps();
    }

    /// Returns true if pages can be trimmed.
    pub fn trims(&self) -> bool {
        self.trims
    }

    /// Returns the wear and the remaining life of the drive.
    pub fn health(&self) -> Health {
        self.ftl.health()
    }

    /// Returns the counts of the drive's work on data that the host has placed: see
    /// [`crate::setup::Placement`].
    pub fn placement(&self) -> PlacementCounts {
        match self.zones {
            // Zones use the handles, not the host.
            Some(_) => PlacementCounts::default(),
            None => self.ftl.placement(),
        }
    }

    /// Returns the number of free blocks of each lane: see [`crate::setup::Layout::lanes`].
    pub fn free_blocks(&self) -> Vec<u32> {
        self.ftl.free_blocks()
    }

    /// Attaches an observer, and returns a handle that gives access to its report.
    pub fn observe<O: Observer + 'static>(&mut self, observer: O) -> ObserverHandle<O> {
        self.heed();
        self.nand.deliver();
        let observed = ObserverHandle::new(observer);
        self.nand.observe(Box::new(observed.clone()));
        observed
    }

    /// Returns the switch that pauses and resumes all observers. They are active at first.
    pub fn observer_switch(&self) -> ObserverSwitch {
        self.nand.observer_switch().clone()
    }

    /// Pauses, resumes or restarts the observers if their switch requests it.
    #[inline]
    fn heed(&mut self) {
        if self.nand.observers_changed() {
            self.apply_observer_news();
        }
    }

    #[cold]
    fn apply_observer_news(&mut self) {
        self.nand.deliver();
        let mut observers = std::mem::take(self.nand.observers());
        let resumes = self.nand.observer_switch().is_enabled() && !self.nand.is_observed();
        if resumes {
            observers.iter_mut().for_each(|observer| observer.resume(self));
        }
        if let Some(now) = self.nand.observer_switch().take_restart() {
            observers.iter_mut().for_each(|observer| observer.restart(now));
        }
        *self.nand.observers() = observers;
        self.nand.update_observed();
    }

    /// Returns the logical page of the first byte of an IO, which may be beyond the capacity.
    #[inline]
    fn first_page(&self, io: &Io) -> Lpn {
        match io.offset < self.info.capacity {
            true => self.numbered(self.page_size.quotient(io.offset.0)),
            false => Lpn(u32::MAX),
        }
    }

    /// Returns the logical page that the host addresses as `page`. For an address in the hole of a
    /// zone, returns a page beyond the capacity.
    #[inline]
    fn numbered(&self, page: u64) -> Lpn {
        match &self.zones {
            None => Lpn(u32::try_from(page).unwrap_or(u32::MAX)),
            Some(zones) => zones.page(page).unwrap_or(Lpn(u32::MAX)),
        }
    }

    /// Checks that the drive can carry out an IO.
    ///
    /// # Errors
    /// Returns the error code for the host.
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
        if io.op == Op::Read && self.is_offline(io) {
            return Err(Errno::EIO);
        }
        if io.op == Op::Trim && (!self.trims || !self.covers_whole_zones(io)) {
            return Err(Errno::EOPNOTSUPP);
        }
        Ok(())
    }

    /// Executes the queued flash commands until the next answer is known, but not past `until`.
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

    /// Advances the clock to `until`. No answer is due before that time.
    fn wait(&mut self, until: Nanos) {
        if until == Nanos::MAX || until <= self.now {
            return;
        }
        self.heed();
        self.now = until;
        let buffer = self.cache.background(&mut self.ftl, &mut self.nand, until);
        // If the flash refuses a command here, the next IO that needs the command reports the
        // error.
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
        if matches!(io.op, Op::Read | Op::Write) {
            self.ftl.prefetch(self.first_page(io));
        }
        // A write or a trim may leave background work.
        self.quiet_until = Nanos(0);
        let submitted = self.now.max(io.at);
        let result = self.check(io);
        let in_turn = self.turns.is_some() && io.op == Op::Read && result.is_ok();
        let ready = if in_turn { submitted } else { self.receive(io, submitted) };
        let mut request = Request { io, submitted, sequence: self.submitted, result, ready };
        self.submitted += 1;
        self.heed();
        self.nand.next_request();
        match (request.result, io.op) {
            (Err(_), op) => {
                if op == Op::Read {
                    self.count_read();
                }
                self.interface.acknowledge(&request);
            }
            (Ok(()), Op::Write) => self.write(&mut request),
            (Ok(()), Op::Read) if in_turn => self.read_in_turn(&mut request),
            (Ok(()), Op::Read) => self.read(&mut request),
            (Ok(()), Op::Trim) => self.trim(&mut request),
            (Ok(()), Op::Flush) => self.flush(&mut request),
        }
        if self.queued {
            self.nand.end_request();
        }
        self.nand.deliver();
    }

    #[inline]
    fn complete(&mut self, until: Nanos) -> Option<Completion> {
        self.heed();
        // Without a request in flight and without a time limit, the clock does not advance.
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
            if completion.io.op == Op::Read {
                self.end_read();
            }
            self.nand.notify(|| Notice::Request(*completion));
        }
        self.nand.deliver();
        completion
    }

    fn announce(&mut self, near: &[Io], far: &[Io]) {
        self.heed();
        self.nand.deliver();
        near.iter().for_each(|io| self.ftl.prefetch_data(&self.nand, self.first_page(io)));
        far.iter().for_each(|io| self.ftl.prefetch(self.first_page(io)));
    }

    #[inline]
    fn round_trip(&mut self, io: &Io) -> Option<Completion> {
        self.heed();
        if let Some(slice) = self.plain_slice(io) {
            return Some(self.run_plain(io, slice));
        }
        self.submit(io);
        self.complete(Nanos::MAX)
    }

    fn next_due(&self) -> Option<Nanos> {
        let known = self.interface.next_due(self.now);
        if !self.queued || self.interface.in_flight() == 0 {
            return known;
        }
        known.into_iter().chain(self.nand.next_event()).min()
    }

    fn zones(&mut self) -> Option<&mut dyn ZonedDevice> {
        match self.zones {
            Some(_) => Some(self),
            None => None,
        }
    }

    fn placed(&mut self) -> Option<&mut dyn PlacedDevice> {
        match self.handles {
            Some(_) => Some(self),
            None => None,
        }
    }

    fn quiet_until(&self) -> Nanos {
        self.quiet_until
    }

    /// Visits every block to find the smallest and the largest erase count.
    fn flash(&self) -> Option<Flash> {
        let (geometry, health) = (self.nand.geometry(), self.ftl.health());
        let commands = self.nand.counters();
        // A block of an element consists of one block of each of its packages.
        let span = u64::from(geometry.span);
        let block = Bytes(geometry.page_size.0 * u64::from(geometry.pages_per_block));
        let blocks = span * u64::from(geometry.blocks());
        let data_of_block = u64::from(geometry.slots_per_block) * self.page_size.value();
        let taken = span * self.data_capacity().div_ceil(data_of_block);
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
            read_only: health.end_of_life.is_some() && self.are_zones_lost(),
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
