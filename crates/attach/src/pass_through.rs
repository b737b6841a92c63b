//! A real drive: requests are passed through to it, without a store and without timed replies.

use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::Duration;

use flashscope_block::{Completion, Data, DeviceInfo, DeviceKind, Errno, Io, Nanos, Op};
use flashscope_drive::{Clock, Contents};

use crate::faults::{Fate, FaultInjector, Presence};
use crate::hooks::CompletionHook;
use crate::lock;
use crate::request::{Answer, PendingRequest, Request, RequestError};
use crate::statistics::{Snapshot, Statistics, histogram};

/// A real drive to which requests are passed through.
pub(crate) struct PassThroughDrive<A> {
    info: DeviceInfo,
    contents: Contents,
    clock: Clock,
    /// `None` once the drive accepts no more requests.
    queue: Mutex<Option<SyncSender<QueuedRequest<A>>>>,
    requests: Mutex<Receiver<QueuedRequest<A>>>,
    state: Mutex<State>,
    faults: Option<Arc<FaultInjector>>,
    /// True once the drive was stopped; ends the delays of faults.
    stopped: (Mutex<bool>, Condvar),
}

struct QueuedRequest<A> {
    pending: PendingRequest<A>,
    at: Nanos,
    fate: Fate,
}

struct State {
    statistics: Statistics,
    hook: Option<CompletionHook>,
}

impl<A: Answer> PassThroughDrive<A> {
    pub(crate) fn new(
        info: DeviceInfo,
        contents: Contents,
        hook: Option<CompletionHook>,
        faults: Option<Arc<FaultInjector>>,
    ) -> PassThroughDrive<A> {
        let (queue, requests) = sync_channel(info.queue_depth as usize);
        let state = State { statistics: Statistics::new(), hook };
        PassThroughDrive {
            info,
            contents,
            clock: Clock::new(),
            queue: Mutex::new(Some(queue)),
            requests: Mutex::new(requests),
            state: Mutex::new(state),
            faults,
            stopped: (Mutex::new(false), Condvar::new()),
        }
    }

    /// Submits requests; waits while the queue of the drive is full.
    pub(crate) fn submit(&self, batch: &mut Vec<PendingRequest<A>>) {
        let queue = lock(&self.queue).clone();
        let at = self.clock.now();
        {
            let mut state = lock(&self.state);
            batch.iter().for_each(|_| state.statistics.arrived(at));
        }
        for pending in batch.drain(..) {
            let decide = |faults: &Arc<FaultInjector>| faults.at_arrival(&pending.request, at);
            let fate = self.faults.as_ref().map(decide).unwrap_or_default();
            let queued = QueuedRequest { pending, at, fate };
            match &queue {
                Some(queue) => queue.send(queued).unwrap_or_else(|lost| self.refuse(lost.0)),
                None => self.refuse(queued),
            }
        }
    }

    fn refuse(&self, queued: QueuedRequest<A>) {
        self.answer(queued, Err(Errno::ENODEV.into()));
    }

    /// Executes requests one at a time until [`PassThroughDrive::stop`] was called and the queue is
    /// empty.
    pub(crate) fn work(&self) {
        loop {
            let next = lock(&self.requests).recv();
            let Ok(mut queued) = next else { return };
            let result = match queued.fate.error {
                Some(error) => Err(error),
                None => self.execute(&mut queued.pending.request).map_err(RequestError::Drive),
            };
            let PendingRequest { request, from } = &mut queued.pending;
            if result.is_ok() && request.op == Op::Read {
                from.process_read(request);
            }
            let result = self.delayed(&queued, result);
            self.answer(queued, result);
        }
    }

    /// Waits until the reply to a request is due, and returns its result.
    fn delayed(
        &self,
        queued: &QueuedRequest<A>,
        result: Result<(), RequestError>,
    ) -> Result<(), RequestError> {
        let Some(faults) = &self.faults else { return result };
        let completed = self.clock.now() + queued.fate.delay;
        let request = &queued.pending.request;
        let (due, result) = faults.at_completion(request, queued.at, completed, result);
        let left = Duration::from_nanos(due.0.saturating_sub(self.clock.now().0));
        let (stopped, changed) = &self.stopped;
        let waited = changed.wait_timeout_while(lock(stopped), left, |stopped| !*stopped);
        drop(waited.unwrap_or_else(PoisonError::into_inner));
        result
    }

    /// Returns the state of the connections to the drive.
    pub(crate) fn presence(&self) -> Presence {
        self.faults.as_ref().map(|faults| faults.presence(self.clock.now())).unwrap_or_default()
    }

    fn execute(&self, request: &mut Request) -> Result<(), Errno> {
        let Request { op, offset, len, data, durable, .. } = request;
        let size = usize::try_from(len.0).expect("a request fits in memory");
        match op {
            Op::Read => {
                data.resize(size, 0);
                self.contents.read(*offset, data)
            }
            Op::Write => {
                // A write without data writes zeros.
                data.resize(size, 0);
                self.contents.write(*offset, data)
            }
            Op::Trim => self.contents.trim(*offset, *len),
            Op::Flush => self.contents.flush(),
        }?;
        if *durable { self.contents.flush() } else { Ok(()) }
    }

    fn answer(&self, queued: QueuedRequest<A>, result: Result<(), RequestError>) {
        let QueuedRequest { pending, at, .. } = queued;
        let Request { op, offset, len, .. } = pending.request;
        let completed = self.clock.now();
        let counted = result.map_err(RequestError::errno);
        {
            let mut state = lock(&self.state);
            state.statistics.completed((op, len), counted, at, completed);
            if let Some(hook) = &mut state.hook {
                let io = Io { op, stream: 0, offset, len, data: Data::Random, at };
                hook(&Completion { io, submitted: at, completed, result: counted });
            }
        }
        A::answer(&mut vec![pending.complete(result)]);
    }

    /// Returns true if trimmed bytes read as zeros: true for a file, unknown for a device.
    pub(crate) fn trims_to_zeros(&self) -> bool {
        self.info.kind == DeviceKind::File
    }

    /// Stops accepting requests, and ends the delays of faults.
    pub(crate) fn stop(&self) {
        lock(&self.queue).take();
        self.end_delays();
    }

    /// Ends the delays of faults.
    pub(crate) fn end_delays(&self) {
        *lock(&self.stopped.0) = true;
        self.stopped.1.notify_all();
    }

    /// Returns the counters and the present state of the drive.
    pub(crate) fn snapshot(&self) -> Snapshot {
        let state = lock(&self.state);
        let now = self.clock.now();
        Snapshot {
            info: self.info.clone(),
            now,
            machine: now,
            busy: state.statistics.busy_until(now),
            ops: state.statistics.ops(),
            in_flight: state.statistics.in_flight(),
            lateness_ns: histogram(),
            flash: None,
            faults: self.faults.as_ref().map(|faults| faults.counts()).unwrap_or_default(),
        }
    }
}
