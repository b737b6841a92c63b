//! A drive on virtual time that sends each reply when it is due on the machine's clock.

use std::collections::{BTreeMap, VecDeque};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard};
use std::time::Duration;

use flashscope_block::{Bytes, Completion, Data, Device, Errno, Io, Nanos, Op, StreamId, Zone};
use flashscope_drive::Clock;

use crate::faults::{Fate, FaultInjector, Presence};
use crate::hooks::CompletionHook;
use crate::in_flight::InFlight;
use crate::lock;
use crate::pace::{Pace, Speed, Timing};
use crate::request::{Answer, CompletedRequest, PendingRequest, Request, RequestError};
use crate::round_trip::RoundTrip;
use crate::statistics::{Lateness, Snapshot, Statistics, histogram};
use crate::store::Store;
use crate::zones::{self, ZoneChange, ZoneSelection};

/// The time before a reply is due at which the thread stops sleeping and starts to spin: Linux
/// wakes a thread up to 50 µs late (its timer slack), and waking takes some time.
const SPIN: Nanos = Nanos::micros(100);

/// The time after a reply during which the thread does not sleep. A client that waits for each
/// reply sends its next request soon, and waking a thread may take as long as a short request.
const LINGER: Nanos = Nanos::micros(200);

/// A drive on virtual time whose replies are sent when they are due.
pub(crate) struct PacedDrive<A> {
    core: Mutex<Core<A>>,
    store: Store,
    /// True if the drive has zones. Only the drive can then determine the address of an append.
    is_zoned: bool,
    /// The machine's time since the drive was attached.
    clock: Clock,
    lateness_ns: Mutex<Lateness>,
    /// `None` if replies are not delayed.
    pace: Option<Pace>,
    round_trip: RoundTrip,
    faults: Option<Arc<FaultInjector>>,
    /// The time at which the next reply is due, on the machine's clock.
    due: AtomicU64,
    /// The time until which the replying thread sleeps; 0 while it is awake.
    asleep: AtomicU64,
    sleeper: (Mutex<()>, Condvar),
    stopped: AtomicBool,
}

/// A request that the drive processes, or that waits for the drive.
struct Work<A> {
    pending: PendingRequest<A>,
    arrived: Nanos,
    /// The delay that a fault adds to the reply.
    delay: Nanos,
    /// The time at which a durable write or trim was complete except for its flush.
    written: Option<Nanos>,
}

/// A request that the drive has completed, and its result.
type Outcome<A> = (Work<A>, Result<(), RequestError>);

/// A completed request and its due time on the clock of the drive.
type Due<A> = (CompletedRequest<A>, Nanos);

struct Core<A> {
    device: Box<dyn Device + Send>,
    capacity: Bytes,
    in_flight: InFlight<Work<A>>,
    /// Requests in excess of the drive's queue depth, in order of arrival.
    waiting: VecDeque<Work<A>>,
    faults: Option<Arc<FaultInjector>>,
    /// The completed requests whose replies faults may delay, by the time at which the reply is due
    /// and a number.
    held: BTreeMap<(Nanos, u64), Outcome<A>>,
    /// The number of requests inserted into `held` so far.
    ever_held: u64,
    statistics: Statistics,
    hook: Option<CompletionHook>,
}

impl<A: Answer> PacedDrive<A> {
    /// Attaches the first `capacity` bytes of `device`. `hook` is called for each completed
    /// request.
    pub(crate) fn new(
        (mut device, capacity): (Box<dyn Device + Send>, Bytes),
        store: Store,
        timing: Timing,
        hook: Option<CompletionHook>,
        faults: Option<Arc<FaultInjector>>,
    ) -> PacedDrive<A> {
        let pace = match timing.speed {
            Speed::Times(times) => Some(Pace::new(device.now(), times)),
            Speed::Max => None,
        };
        PacedDrive {
            is_zoned: device.zones().is_some(),
            pace,
            round_trip: timing.round_trip,
            faults: faults.clone(),
            core: Mutex::new(Core {
                device,
                capacity,
                in_flight: InFlight::new(),
                waiting: VecDeque::new(),
                faults,
                held: BTreeMap::new(),
                ever_held: 0,
                statistics: Statistics::new(),
                hook,
            }),
            store,
            clock: Clock::new(),
            lateness_ns: Mutex::new(histogram()),
            due: AtomicU64::new(Nanos::MAX.0),
            asleep: AtomicU64::new(0),
            sleeper: (Mutex::new(()), Condvar::new()),
            stopped: AtomicBool::new(false),
        }
    }

    /// Submits requests. Replies that are already due are sent before this returns.
    pub(crate) fn submit(&self, batch: &mut Vec<PendingRequest<A>>) {
        let mut done = Vec::new();
        let mut ready = Vec::with_capacity(batch.len());
        let mut refused = Vec::new();
        // Moving the data counts as a part of the drive's time.
        let arrived = self.pace.as_ref().map_or(Nanos(0), Pace::machine);
        // Data are moved before the lock is taken. A read that overlaps a write in flight may
        // return the old or the new data; a completed write is visible.
        for mut pending in batch.drain(..) {
            let Fate { error, delay } = self.fate(&pending.request, arrived);
            let moved = error.map_or_else(|| Ok(self.move_data(&mut pending)?), Err);
            match moved {
                Ok(()) => ready.push((pending, delay)),
                Err(errno) => refused.push((pending, delay, errno)),
            }
        }
        let mut core = lock(&self.core);
        for (pending, delay) in ready {
            let submitted = self.submission_time(&pending.request, arrived, &core);
            core.take_done(submitted, &self.store, &mut done);
            let submitted = submitted.max(core.device.now());
            let work = core.arrival(pending, submitted, delay);
            core.take(work, submitted, &self.store, &mut done);
        }
        let now = self.drive_now(&core);
        for (pending, delay, error) in refused {
            let work = core.arrival(pending, now, delay);
            core.finish(work, Err(error), now, &mut done);
        }
        core.take_done(self.horizon(now), &self.store, &mut done);
        self.leave(core, done);
    }

    /// Decides which fault affects a request that arrives at `arrived` on the machine's clock.
    fn fate(&self, request: &Request, arrived: Nanos) -> Fate {
        let Some(faults) = &self.faults else { return Fate::default() };
        let now = match &self.pace {
            Some(pace) => pace.of_drive(arrived),
            None => lock(&self.core).device.now(),
        };
        faults.at_arrival(request, now)
    }

    /// Returns the state of the connections to the drive.
    pub(crate) fn presence(&self) -> Presence {
        let Some(faults) = &self.faults else { return Presence::default() };
        let now = self.drive_now(&lock(&self.core));
        faults.presence(now)
    }

    /// Moves and processes the data of a read. Moves the data of a write unless the store models
    /// power cuts or the drive has zones.
    fn move_data(&self, pending: &mut PendingRequest<A>) -> Result<(), Errno> {
        let request = &mut pending.request;
        match request.op {
            Op::Read => {
                let len = usize::try_from(request.len.0).expect("a request fits in memory");
                request.data.resize(len, 0);
                let metadata = request.metadata.as_mut();
                self.store.read(request.offset, &mut request.data, metadata)?;
                pending.from.process_read(request);
                Ok(())
            }
            Op::Write if !self.store.models_power_cuts() && !self.is_zoned => {
                let metadata = request.metadata.as_ref();
                self.store.write_blocks(request.offset, request.len, &request.data, metadata)
            }
            Op::Write | Op::Trim | Op::Flush => Ok(()),
        }
    }

    /// Returns the time on the drive's clock at which a request counts as submitted. `arrived` is
    /// its arrival on the machine's clock; the round trip of the transport is subtracted, so that
    /// the client observes the latency of the drive alone.
    fn submission_time(&self, request: &Request, arrived: Nanos, core: &Core<A>) -> Nanos {
        let Some(pace) = &self.pace else { return core.device.now() };
        let round_trip = self.round_trip.of(request.op, request.len);
        pace.of_drive(Nanos(arrived.0.saturating_sub(round_trip.0)))
    }

    /// Returns true if replies are delayed until they are due.
    pub(crate) fn holds_back(&self) -> bool {
        self.pace.is_some()
    }

    /// Returns the round trip of the transport; `None` if replies are not delayed.
    pub(crate) fn round_trip(&self) -> Option<RoundTrip> {
        self.holds_back().then_some(self.round_trip)
    }

    /// Returns the time of the drive: derived from the machine's time if replies are delayed,
    /// otherwise the time of the simulation.
    fn drive_now(&self, core: &Core<A>) -> Nanos {
        match &self.pace {
            Some(pace) => pace.of_drive(pace.machine()),
            None => core.device.now(),
        }
    }

    /// Returns the time up to which completions are processed at `now`.
    fn horizon(&self, now: Nanos) -> Nanos {
        if self.pace.is_some() { now } else { Nanos::MAX }
    }

    /// Publishes when the next reply is due, sends the replies in `done`, and records their
    /// lateness.
    fn leave(&self, core: MutexGuard<'_, Core<A>>, done: Vec<Due<A>>) {
        let next = core.next_due();
        if let (Some(pace), Some(due)) = (&self.pace, next) {
            let due = pace.of_machine(due);
            self.due.store(due.0, Ordering::SeqCst);
            drop(core);
            if self.asleep.load(Ordering::SeqCst) > due.0.saturating_sub(SPIN.0) {
                let _guard = lock(&self.sleeper.0);
                self.sleeper.1.notify_one();
            }
        } else {
            self.due.store(Nanos::MAX.0, Ordering::SeqCst);
            drop(core);
        }
        if done.is_empty() {
            return;
        }
        let (mut answers, dues): (Vec<_>, Vec<Nanos>) = done.into_iter().unzip();
        // The lateness does not include the time from here on, which belongs to the transport.
        if let Some(pace) = &self.pace {
            let machine = pace.machine();
            let mut lateness = lock(&self.lateness_ns);
            for due in dues {
                lateness.saturating_record(machine.0.saturating_sub(pace.of_machine(due).0));
            }
        }
        A::answer(&mut answers);
    }

    /// Sends replies when they are due, until [`PacedDrive::stop`].
    pub(crate) fn answer_in_time(&self) {
        let Some(pace) = &self.pace else { return };
        let mut last_reply = Nanos(0);
        while !self.stopped.load(Ordering::SeqCst) {
            let (due, now) = (self.due.load(Ordering::SeqCst), pace.machine());
            let left = due.saturating_sub(now.0);
            if left == 0 {
                self.send_due();
                last_reply = now;
            } else if left > SPIN.0 && now > last_reply + LINGER {
                self.sleep(due);
            } else {
                std::hint::spin_loop();
            }
        }
    }

    fn send_due(&self) {
        let mut done = Vec::new();
        let mut core = lock(&self.core);
        let now = self.drive_now(&core);
        core.take_done(now, &self.store, &mut done);
        self.leave(core, done);
    }

    /// Sleeps until shortly before `due`, unless an earlier reply becomes due.
    fn sleep(&self, due: u64) {
        let sleeper = lock(&self.sleeper.0);
        let until = due.saturating_sub(SPIN.0);
        self.asleep.store(until, Ordering::SeqCst);
        // A thread that makes a reply due earlier publishes the time first and then checks
        // `asleep`. This thread sets `asleep` first and then checks the time. At least one of the
        // two threads therefore reads the new value of the other.
        if self.due.load(Ordering::SeqCst) == due && !self.stopped.load(Ordering::SeqCst) {
            let machine = self.pace.as_ref().map_or(0, |pace| pace.machine().0);
            let time = Duration::from_nanos(until.saturating_sub(machine));
            let _woken = match due {
                u64::MAX => self.sleeper.1.wait(sleeper).map(drop).is_ok(),
                _ => self.sleeper.1.wait_timeout(sleeper, time).map(drop).is_ok(),
            };
        }
        self.asleep.store(0, Ordering::SeqCst);
    }

    /// Ends [`PacedDrive::answer_in_time`].
    pub(crate) fn stop(&self) {
        self.stopped.store(true, Ordering::SeqCst);
        let _guard = lock(&self.sleeper.0);
        self.sleeper.1.notify_one();
    }

    /// Returns zones in their current states.
    pub(crate) fn report_zones(&self, numbers: std::ops::Range<u32>) -> Vec<Zone> {
        self.at_present(|core, _| match core.device.zones() {
            Some(zones) => numbers.map(|number| zones.zone(number)).collect(),
            None => Vec::new(),
        })
    }

    /// Changes the states of zones.
    pub(crate) fn change_zones(
        &self,
        change: ZoneChange,
        selection: ZoneSelection,
    ) -> Result<(), RequestError> {
        self.at_present(|core, store| core.change_zones(change, selection, store))
    }

    /// Returns the bytes that can still be written to the reclaim unit of each handle.
    pub(crate) fn unit_free_bytes(&self) -> Vec<Bytes> {
        self.at_present(|core, _| match core.device.placed() {
            Some(placed) => {
                (0..placed.limits().handles).map(|handle| placed.room(handle)).collect()
            }
            None => Vec::new(),
        })
    }

    /// Moves handles to empty reclaim units. Returns the bytes that could still be written to each
    /// of the previous units.
    pub(crate) fn assign_new_units(&self, handles: &[StreamId]) -> Vec<Bytes> {
        self.at_present(|core, _| match core.device.placed() {
            Some(placed) => handles.iter().map(|handle| placed.renew(*handle)).collect(),
            None => Vec::new(),
        })
    }

    /// Processes all completions up to the current time of the drive, then calls `with`.
    fn at_present<T>(&self, with: impl FnOnce(&mut Core<A>, &Store) -> T) -> T {
        let mut done = Vec::new();
        let mut core = lock(&self.core);
        let now = self.drive_now(&core);
        core.take_done(self.horizon(now), &self.store, &mut done);
        let result = with(&mut core, &self.store);
        self.leave(core, done);
        result
    }

    /// Returns the counters and the present state of the drive.
    pub(crate) fn snapshot(&self) -> Snapshot {
        let mut done = Vec::new();
        let mut core = lock(&self.core);
        let now = self.drive_now(&core);
        core.take_done(now, &self.store, &mut done);
        let (info, flash) = (core.device.info().clone(), core.device.flash());
        let (ops, in_flight) = (core.statistics.ops(), core.statistics.in_flight());
        let busy = core.statistics.busy_until(now);
        self.leave(core, done);
        let lateness_ns = lock(&self.lateness_ns).clone();
        let machine = self.clock.now();
        let faults = self.faults.as_ref().map(|faults| faults.counts()).unwrap_or_default();
        Snapshot { info, now, machine, busy, ops, in_flight, lateness_ns, flash, faults }
    }
}

impl<A> Core<A> {
    /// Counts a request that arrived at `now`.
    fn arrival(&mut self, pending: PendingRequest<A>, now: Nanos, delay: Nanos) -> Work<A> {
        self.statistics.arrived(now);
        Work { pending, arrived: now, delay, written: None }
    }

    /// Returns the time at which the next reply may be due.
    fn next_due(&self) -> Option<Nanos> {
        let held = self.held.first_key_value().map(|((due, _), _)| *due);
        self.device.next_due().into_iter().chain(held).min()
    }

    /// Completes a request at `now`; a fault may delay its reply, or cut its connection earlier.
    fn finish(
        &mut self,
        work: Work<A>,
        result: Result<(), RequestError>,
        now: Nanos,
        done: &mut Vec<Due<A>>,
    ) {
        let Some(faults) = &self.faults else { return self.answer(work, result, now, done) };
        let request = &work.pending.request;
        let (due, result) = faults.at_completion(request, work.arrived, now + work.delay, result);
        // The number keeps requests that are due at the same time in their order.
        self.held.insert((due, self.ever_held), (work, result));
        self.ever_held += 1;
    }

    /// Completes the held requests whose replies are due at `until`.
    fn release(&mut self, until: Nanos, done: &mut Vec<Due<A>>) {
        while let Some(entry) = self.held.first_entry().filter(|entry| entry.key().0 <= until) {
            let ((due, _), (work, result)) = entry.remove_entry();
            self.answer(work, result, due, done);
        }
    }

    /// Completes a request at `now` on the clock of the drive.
    fn answer(
        &mut self,
        work: Work<A>,
        result: Result<(), RequestError>,
        now: Nanos,
        done: &mut Vec<Due<A>>,
    ) {
        let counted = result.map_err(RequestError::errno);
        self.call_hook(&work, counted, now);
        let Request { op, len, .. } = work.pending.request;
        self.statistics.completed((op, len), counted, work.arrived, now);
        done.push((work.pending.complete(result), now));
    }

    /// Starts a request that arrived, or queues it if the drive's queue is full.
    fn take(&mut self, work: Work<A>, now: Nanos, store: &Store, done: &mut Vec<Due<A>>) {
        if self.has_room() {
            self.start(work, now, store, done);
        } else {
            self.waiting.push_back(work);
        }
    }

    /// Returns true if the drive accepts another request.
    fn has_room(&self) -> bool {
        self.in_flight.len() < self.device.info().queue_depth as usize
    }

    fn start(&mut self, mut work: Work<A>, now: Nanos, store: &Store, done: &mut Vec<Due<A>>) {
        let is_first = work.written.is_none();
        let kept = if is_first { self.keep(&mut work.pending.request, store) } else { Ok(()) };
        if let Err(error) = kept {
            return self.finish(work, Err(error), now, done);
        }
        let request = &work.pending.request;
        let (op, offset, len) = (request.op, request.offset, request.len);
        let io = self.next_io(&work);
        let at = self.in_flight.insert(now.max(self.device.now()), work);
        self.device.submit(&Io { at, ..io });
        if op == Op::Write && is_first {
            self.settle(offset, len, store);
        }
    }

    /// Trims the store, or moves the data of a write that [`PacedDrive::move_data`] did not move.
    /// First checks a write to a zone, and sets the address of an append.
    fn keep(&mut self, request: &mut Request, store: &Store) -> Result<(), RequestError> {
        let Request { op, len, .. } = *request;
        let zones = self.device.zones();
        let is_zoned = zones.is_some();
        match (op, zones) {
            (Op::Write, Some(zones)) => zones::place(zones, request)?,
            (Op::Write, None) => {}
            (Op::Trim, Some(zones)) => {
                for zone in zones::to_reset(zones, request)? {
                    store.trim(zone.start, zone.size)?;
                }
                return Ok(());
            }
            (Op::Trim, None) => return Ok(store.trim(request.offset, len)?),
            (Op::Read | Op::Flush, _) => return Ok(()),
        }
        if store.models_power_cuts() {
            store.hold(request.offset, len, &request.data)?;
        } else if is_zoned {
            store.write(request.offset, len, &request.data)?;
        }
        Ok(())
    }

    /// Writes the data of a submitted write to the store, as far as a power cut would not lose
    /// them. Data that a zone refused are discarded.
    fn settle(&mut self, offset: Bytes, len: Bytes, store: &Store) {
        if let Some(zones) = self.device.zones()
            && !zones::has_taken(zones, offset, len)
        {
            let _ = store.trim(offset, len);
        }
        if store.models_power_cuts() {
            // Data that cannot be written to the store now stay in memory, and the next flush
            // fails.
            let _ = store.settle(offset, len, self.capacity, self.lost());
        }
    }

    /// Changes the states of zones. The store records full zones.
    fn change_zones(
        &mut self,
        change: ZoneChange,
        selection: ZoneSelection,
        store: &Store,
    ) -> Result<(), RequestError> {
        let block = self.device.info().logical_block;
        let Some(zones) = self.device.zones() else { return Ok(()) };
        for number in change.selected(zones, selection)? {
            let zone = zones.zone(number);
            change.apply(zones, number)?;
            match change {
                // The store counts a zone as full if its last block has data.
                ZoneChange::Finish => store.occupy(zone.end() - block, block)?,
                ZoneChange::TakeOffline => store.trim(zone.start, zone.size)?,
                ZoneChange::Open | ZoneChange::Close => {}
            }
        }
        Ok(())
    }

    /// Returns a function that returns true if a power cut would lose a range.
    fn lost(&self) -> impl Fn(Bytes, Bytes) -> bool {
        |offset, len| self.device.is_volatile(offset, len)
    }

    /// Returns the IO for a request, extended to complete logical blocks.
    fn io(&self, request: &Request) -> Io {
        let block = self.device.info().logical_block;
        let start = request.offset.round_down(block);
        let end = Bytes((request.offset + request.len).0.next_multiple_of(block.0));
        let data = match request.op == Op::Write && request.is_zero() {
            true => Data::Zeros,
            false => Data::Random,
        };
        let (op, stream, len) = (request.op, request.stream, end - start);
        Io { op, stream, offset: start, len, data, at: Nanos(0) }
    }

    /// Returns the next IO of a request: the request itself, or the flush that makes it durable.
    fn next_io(&self, work: &Work<A>) -> Io {
        let io = self.io(&work.pending.request);
        let none = Bytes(0);
        match work.written {
            Some(_) => Io { op: Op::Flush, offset: none, len: none, ..io },
            None => io,
        }
    }

    /// Processes the completions up to `until` and starts waiting requests. The drive's clock does
    /// not advance past its last completion, because a request from before `until` may still
    /// arrive.
    fn take_done(&mut self, until: Nanos, store: &Store, done: &mut Vec<Due<A>>) {
        while self.device.next_due().is_none_or(|due| due <= until) {
            let Some(mut completion) = self.device.complete(until) else { break };
            let now = completion.completed;
            let work = self.in_flight.remove(completion.io.at);
            let mut work = work.expect("a drive completes each request exactly once");
            let request = &work.pending.request;
            if completion.io.op == Op::Flush && completion.result.is_ok() {
                completion.result = store.settle_all(self.capacity, self.lost());
            }
            let is_ok = completion.result.is_ok();
            if request.durable && work.written.is_none() && is_ok {
                self.call_hook(&work, Ok(()), now);
                work.written = Some(now);
                self.start(work, now, store, done);
                continue;
            }
            let Request { op, offset, len, .. } = work.pending.request;
            let error = |errno| zones::error_of(self.device.zones(), (op, offset, len), errno);
            let result = completion.result.map_err(error);
            self.finish(work, result, now, done);
            // If a request fails immediately, the next request can start.
            while self.has_room()
                && let Some(next) = self.waiting.pop_front()
            {
                self.start(next, now, store, done);
            }
        }
        self.release(until, done);
    }

    /// Calls the hook for an IO of a request that is complete at `completed`.
    fn call_hook(&mut self, work: &Work<A>, result: Result<(), Errno>, completed: Nanos) {
        if self.hook.is_none() {
            return;
        }
        // A cut may end a request before its flush was submitted.
        let submitted = work.written.unwrap_or(work.arrived).min(completed);
        let io = Io { at: submitted, ..self.next_io(work) };
        if let Some(hook) = &mut self.hook {
            hook(&Completion { io, submitted, completed, result });
        }
    }
}
