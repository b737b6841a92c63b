//! A real drive, which keeps its own data and takes its own time: requests are passed through.

use std::sync::Mutex;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};

use flashscope_block::{Completion, Data, DeviceInfo, DeviceKind, Errno, Io, Nanos, Op};
use flashscope_drive::{Clock, Contents};

use crate::attached::CompletionHook;
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
}

struct QueuedRequest<A> {
    pending: PendingRequest<A>,
    at: Nanos,
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
            let queued = QueuedRequest { pending, at };
            match &queue {
                Some(queue) => queue.send(queued).unwrap_or_else(|lost| self.refuse(lost.0)),
                None => self.refuse(queued),
            }
        }
    }

    fn refuse(&self, queued: QueuedRequest<A>) {
        self.answer(queued, Err(Errno::ENODEV));
    }

    /// Executes requests one at a time until [`PassThroughDrive::stop`] was called and the queue is
    /// empty.
    pub(crate) fn work(&self) {
        loop {
            let next = lock(&self.requests).recv();
            let Ok(mut queued) = next else { return };
            let result = self.execute(&mut queued.pending.request);
            self.answer(queued, result);
        }
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

    fn answer(&self, queued: QueuedRequest<A>, result: Result<(), Errno>) {
        let QueuedRequest { pending, at } = queued;
        let Request { op, offset, len, .. } = pending.request;
        let completed = self.clock.now();
        {
            let mut state = lock(&self.state);
            state.statistics.completed((op, len), result, at, completed);
            if let Some(hook) = &mut state.hook {
                let io = Io { op, stream: 0, offset, len, data: Data::Random, at };
                hook(&Completion { io, submitted: at, completed, result });
            }
        }
        A::answer(&mut vec![pending.complete(result.map_err(RequestError::Drive))]);
    }

    /// Returns true if trimmed bytes read as zeros: true for a file, unknown for a device.
    pub(crate) fn trims_to_zeros(&self) -> bool {
        self.info.kind == DeviceKind::File
    }

    /// Stops accepting requests.
    pub(crate) fn stop(&self) {
        lock(&self.queue).take();
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
        }
    }
}
