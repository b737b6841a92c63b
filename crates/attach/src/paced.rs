//! A drive on virtual time, whose requests are answered when the machine's time has come.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard};
use std::time::Duration;

use flashscope_block::{Bytes, Completion, Data, Device, Errno, Io, Nanos, Op};
use flashscope_drive::Clock;

use crate::attached::Tell;
use crate::in_flight::InFlight;
use crate::lock;
use crate::pace::{Pace, Speed, Timing};
use crate::request::{Answer, Answered, Asked, Request};
use crate::round_trip::RoundTrip;
use crate::statistics::{Lateness, Snapshot, Statistics, histogram};
use crate::store::Store;

/// How long before an answer is due sleeping ends and spinning begins: Linux wakes a thread up to
/// 50 µs late (its timer slack), and waking takes a while.
const SPIN: Nanos = Nanos::micros(100);

/// How long after an answer it is not slept: the next request of a client that waits for one at a time
/// comes soon, and to wake a thread takes as long as a short answer may.
const LINGER: Nanos = Nanos::micros(200);

/// See the module.
pub(crate) struct Paced<A> {
    core: Mutex<Core<A>>,
    store: Store,
    /// Of the machine, from when the drive was attached.
    clock: Clock,
    lateness_ns: Mutex<Lateness>,
    /// None where nothing is held back.
    pace: Option<Pace>,
    round_trip: RoundTrip,
    /// When the next answer is due, on the machine's clock.
    due: AtomicU64,
    /// Until when the thread that answers sleeps; 0 while it is awake.
    asleep: AtomicU64,
    bed: (Mutex<()>, Condvar),
    stopped: AtomicBool,
}

/// A request that the drive works on, or will.
struct Work<A> {
    asked: Asked<A>,
    arrived: Nanos,
    /// Whether it is a durable write or trim that is done, but for the flush.
    written: bool,
}

/// An answer, and when it is due on the clock of the drive.
type Due<A> = (Answered<A>, Nanos);

struct Core<A> {
    device: Box<dyn Device + Send>,
    capacity: Bytes,
    in_flight: InFlight<Work<A>>,
    /// What is more than the drive takes at once, first come first served.
    waiting: VecDeque<Work<A>>,
    statistics: Statistics,
    tell: Option<Tell>,
}

impl<A: Answer> Paced<A> {
    /// Of `device` the first `capacity` bytes. What is done is told to `tell`.
    pub(crate) fn new(
        device: Box<dyn Device + Send>,
        capacity: Bytes,
        store: Store,
        timing: Timing,
        tell: Option<Tell>,
    ) -> Paced<A> {
        let pace = match timing.speed {
            Speed::Times(times) => Some(Pace::new(device.now(), times)),
            Speed::Max => None,
        };
        Paced {
            pace,
            round_trip: timing.round_trip,
            core: Mutex::new(Core {
                device,
                capacity,
                in_flight: InFlight::new(),
                waiting: VecDeque::new(),
                statistics: Statistics::new(),
                tell,
            }),
            store,
            clock: Clock::new(),
            lateness_ns: Mutex::new(histogram()),
            due: AtomicU64::new(Nanos::MAX.0),
            asleep: AtomicU64::new(0),
            bed: (Mutex::new(()), Condvar::new()),
            stopped: AtomicBool::new(false),
        }
    }

    /// Hands over requests. Those that are due at once are answered before this returns.
    pub(crate) fn submit(&self, batch: &mut Vec<Asked<A>>) {
        let mut done = Vec::new();
        let mut ready = Vec::with_capacity(batch.len());
        let mut refused = Vec::new();
        // To move the data is a part of the time that the drive takes.
        let arrived = self.pace.as_ref().map_or(Nanos(0), Pace::machine);
        // Data is moved before the lock is taken. A read that meets a write in flight may see
        // either; what a write that was answered wrote is there.
        for mut asked in batch.drain(..) {
            match self.move_data(&mut asked.request) {
                Ok(()) => ready.push(asked),
                Err(errno) => refused.push((asked, errno)),
            }
        }
        let mut core = lock(&self.core);
        for asked in ready {
            let made = self.made(&asked.request, arrived, &core);
            core.take_done(made, &self.store, &mut done);
            let made = made.max(core.device.now());
            let work = core.arrival(asked, made);
            core.take(work, made, &self.store, &mut done);
        }
        let now = self.drive_now(&core);
        for (asked, errno) in refused {
            let work = core.arrival(asked, now);
            core.answer(work, Err(errno), now, &mut done);
        }
        core.take_done(self.horizon(now), &self.store, &mut done);
        self.leave(core, done);
    }

    /// Reads what is read, and writes what is written, but for what a power cut may lose.
    fn move_data(&self, request: &mut Request) -> Result<(), Errno> {
        match request.op {
            Op::Read => {
                let len = usize::try_from(request.len.0).expect("a request fits in memory");
                request.data.resize(len, 0);
                self.store.read(request.offset, &mut request.data)
            }
            Op::Write if !self.store.heeds_power_cuts() => {
                self.store.write(request.offset, request.len, &request.data)
            }
            Op::Write | Op::Trim | Op::Flush => Ok(()),
        }
    }

    /// When a request was made that arrived at `arrived` on the clock of the machine: earlier than it
    /// arrived by what its way and that of its answer take, so that its client waits as long for it as
    /// it would for the drive.
    fn made(&self, request: &Request, arrived: Nanos, core: &Core<A>) -> Nanos {
        let Some(pace) = &self.pace else { return core.device.now() };
        let round_trip = self.round_trip.of(request.op, request.len);
        pace.of_drive(Nanos(arrived.0.saturating_sub(round_trip.0)))
    }

    /// Whether answers wait until they are due.
    pub(crate) fn holds_back(&self) -> bool {
        self.pace.is_some()
    }

    /// What the way takes by itself; none where answers do not wait.
    pub(crate) fn round_trip(&self) -> Option<RoundTrip> {
        self.holds_back().then_some(self.round_trip)
    }

    /// The time of the drive: as the machine's says, or where nothing is held back as it says.
    fn drive_now(&self, core: &Core<A>) -> Nanos {
        match &self.pace {
            Some(pace) => pace.of_drive(pace.machine()),
            None => core.device.now(),
        }
    }

    /// Up to when answers are taken at `now`.
    fn horizon(&self, now: Nanos) -> Nanos {
        if self.pace.is_some() { now } else { Nanos::MAX }
    }

    /// Says when the next answer is due, gives those that are, and notes how late they are.
    fn leave(&self, core: MutexGuard<'_, Core<A>>, done: Vec<Due<A>>) {
        let next = core.device.next_due();
        if let (Some(pace), Some(due)) = (&self.pace, next) {
            let due = pace.of_machine(due);
            self.due.store(due.0, Ordering::SeqCst);
            drop(core);
            if self.asleep.load(Ordering::SeqCst) > due.0.saturating_sub(SPIN.0) {
                let _bed = lock(&self.bed.0);
                self.bed.1.notify_one();
            }
        } else {
            self.due.store(Nanos::MAX.0, Ordering::SeqCst);
            drop(core);
        }
        if done.is_empty() {
            return;
        }
        let (mut answers, dues): (Vec<_>, Vec<Nanos>) = done.into_iter().unzip();
        // From here on it is the way's time.
        if let Some(pace) = &self.pace {
            let machine = pace.machine();
            let mut lateness = lock(&self.lateness_ns);
            for due in dues {
                lateness.saturating_record(machine.0.saturating_sub(pace.of_machine(due).0));
            }
        }
        A::answer(&mut answers);
    }

    /// Gives answers when they are due, until [`Paced::stop`].
    pub(crate) fn answer_in_time(&self) {
        let Some(pace) = &self.pace else { return };
        let mut answered = Nanos(0);
        while !self.stopped.load(Ordering::SeqCst) {
            let (due, now) = (self.due.load(Ordering::SeqCst), pace.machine());
            let left = due.saturating_sub(now.0);
            if left == 0 {
                self.give_due();
                answered = now;
            } else if left > SPIN.0 && now > answered + LINGER {
                self.sleep(due);
            } else {
                std::hint::spin_loop();
            }
        }
    }

    fn give_due(&self) {
        let mut done = Vec::new();
        let mut core = lock(&self.core);
        let now = self.drive_now(&core);
        core.take_done(now, &self.store, &mut done);
        self.leave(core, done);
    }

    /// Sleeps until shortly before `due`, unless an answer is due before that.
    fn sleep(&self, due: u64) {
        let bed = lock(&self.bed.0);
        let until = due.saturating_sub(SPIN.0);
        self.asleep.store(until, Ordering::SeqCst);
        // Whoever makes an answer due earlier looks whether someone sleeps after having said so.
        if self.due.load(Ordering::SeqCst) == due && !self.stopped.load(Ordering::SeqCst) {
            let machine = self.pace.as_ref().map_or(0, |pace| pace.machine().0);
            let time = Duration::from_nanos(until.saturating_sub(machine));
            let _woken = match due {
                u64::MAX => self.bed.1.wait(bed).map(drop).is_ok(),
                _ => self.bed.1.wait_timeout(bed, time).map(drop).is_ok(),
            };
        }
        self.asleep.store(0, Ordering::SeqCst);
    }

    /// Ends [`Paced::answer_in_time`].
    pub(crate) fn stop(&self) {
        self.stopped.store(true, Ordering::SeqCst);
        let _bed = lock(&self.bed.0);
        self.bed.1.notify_one();
    }

    /// What was done, and where the drive stands now.
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
        Snapshot { info, now, machine, busy, ops, in_flight, lateness_ns, flash }
    }
}

impl<A> Core<A> {
    /// A request that arrived `now`.
    fn arrival(&mut self, asked: Asked<A>, now: Nanos) -> Work<A> {
        self.statistics.arrived(now);
        Work { asked, arrived: now, written: false }
    }

    /// A request is answered, `now` on the clock of the drive.
    fn answer(
        &mut self,
        work: Work<A>,
        result: Result<(), Errno>,
        now: Nanos,
        done: &mut Vec<Due<A>>,
    ) {
        let Request { op, len, .. } = work.asked.request;
        self.statistics.answered((op, len), result, work.arrived, now);
        done.push((work.asked.answered(result), now));
    }

    /// Takes a request that arrived.
    fn take(&mut self, work: Work<A>, now: Nanos, store: &Store, done: &mut Vec<Due<A>>) {
        if self.in_flight.len() < self.device.info().queue_depth as usize {
            self.start(work, now, store, done);
        } else {
            self.waiting.push_back(work);
        }
    }

    fn start(&mut self, work: Work<A>, now: Nanos, store: &Store, done: &mut Vec<Due<A>>) {
        let request = &work.asked.request;
        let (op, offset, len) = (request.op, request.offset, request.len);
        let holds = op == Op::Write && store.heeds_power_cuts() && !work.written;
        let kept = match op {
            Op::Write if holds => store.hold(offset, len, &request.data),
            Op::Trim if !work.written => store.trim(offset, len),
            _ => Ok(()),
        };
        if let Err(errno) = kept {
            return self.answer(work, Err(errno), now, done);
        }
        let io = if work.written { self.flush(request) } else { self.io(request) };
        let at = self.in_flight.insert(now.max(self.device.now()), work);
        self.device.submit(&Io { at, ..io });
        if holds {
            // What cannot be written out now stays held, and the next flush says so.
            let _ = store.settle(offset, len, self.capacity, self.lost());
        }
    }

    /// Whether a power cut would lose a range.
    fn lost(&self) -> impl Fn(Bytes, Bytes) -> bool {
        |offset, len| self.device.is_volatile(offset, len)
    }

    /// What the drive is asked: whole logical blocks.
    fn io(&self, request: &Request) -> Io {
        let block = self.device.info().logical_block;
        let start = request.offset.round_down(block);
        let end = Bytes((request.offset + request.len).0.next_multiple_of(block.0));
        let data = match request.op == Op::Write && request.is_zero() {
            true => Data::Zeros,
            false => Data::Random,
        };
        Io { op: request.op, stream: 0, offset: start, len: end - start, data, at: Nanos(0) }
    }

    fn flush(&self, request: &Request) -> Io {
        let none = Bytes(0);
        Io { op: Op::Flush, offset: none, len: none, ..self.io(request) }
    }

    /// Takes what the drive has done until `until`, and hands it what waited. Where the next is done
    /// later, the time of the drive stands still: a request may come that was made before `until`.
    fn take_done(&mut self, until: Nanos, store: &Store, done: &mut Vec<Due<A>>) {
        while self.device.next_due().is_none_or(|due| due <= until) {
            let Some(mut completion) = self.device.complete(until) else { break };
            let now = completion.completed;
            let work = self.in_flight.remove(completion.io.at);
            let mut work = work.expect("a drive answers what it was asked, once");
            let request = &work.asked.request;
            if completion.io.op == Op::Flush && completion.result.is_ok() {
                completion.result = store.settle_all(self.capacity, self.lost());
            }
            let flush_next = request.durable && !work.written && completion.result.is_ok();
            self.tell(&completion, &work);
            if flush_next {
                work.written = true;
                self.start(work, now, store, done);
                continue;
            }
            self.answer(work, completion.result, now, done);
            if let Some(next) = self.waiting.pop_front() {
                self.start(next, now, store, done);
            }
        }
    }

    /// Tells who records what was asked and when it was done.
    fn tell(&mut self, completion: &Completion, work: &Work<A>) {
        if let Some(tell) = &mut self.tell {
            let submitted = if work.written { completion.submitted } else { work.arrived };
            tell(&Completion { submitted, ..*completion });
        }
    }
}
