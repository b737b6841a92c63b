//! A drive that keeps its data itself and takes the time that it takes: requests are passed on.

use std::sync::Mutex;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};

use flashscope_block::{Completion, Data, DeviceInfo, DeviceKind, Errno, Io, Nanos, Op};
use flashscope_drive::{Clock, Contents};

use crate::attached::Tell;
use crate::lock;
use crate::request::{Answer, Asked, Request};
use crate::statistics::{Snapshot, Statistics, histogram};

/// See the module.
pub(crate) struct Passed<A> {
    info: DeviceInfo,
    contents: Contents,
    clock: Clock,
    /// None once no more requests are taken.
    queue: Mutex<Option<SyncSender<Arrived<A>>>>,
    arrived: Mutex<Receiver<Arrived<A>>>,
    done: Mutex<Done>,
}

struct Arrived<A> {
    asked: Asked<A>,
    at: Nanos,
}

struct Done {
    statistics: Statistics,
    tell: Option<Tell>,
}

impl<A: Answer> Passed<A> {
    pub(crate) fn new(info: DeviceInfo, contents: Contents, tell: Option<Tell>) -> Passed<A> {
        let (queue, arrived) = sync_channel(info.queue_depth as usize);
        let done = Done { statistics: Statistics::new(), tell };
        Passed {
            info,
            contents,
            clock: Clock::new(),
            queue: Mutex::new(Some(queue)),
            arrived: Mutex::new(arrived),
            done: Mutex::new(done),
        }
    }

    /// Hands over requests; waits where as many as the drive takes at once wait already.
    pub(crate) fn submit(&self, batch: &mut Vec<Asked<A>>) {
        let queue = lock(&self.queue).clone();
        let at = self.clock.now();
        {
            let mut done = lock(&self.done);
            batch.iter().for_each(|_| done.statistics.arrived(at));
        }
        for asked in batch.drain(..) {
            let arrived = Arrived { asked, at };
            match &queue {
                Some(queue) => queue.send(arrived).unwrap_or_else(|lost| self.refuse(lost.0)),
                None => self.refuse(arrived),
            }
        }
    }

    fn refuse(&self, arrived: Arrived<A>) {
        self.answer(arrived, Err(Errno::ENODEV));
    }

    /// Carries requests out, one after the other, until [`Passed::stop`] and there are no more.
    pub(crate) fn work(&self) {
        loop {
            let next = lock(&self.arrived).recv();
            let Ok(mut arrived) = next else { return };
            let result = self.carry_out(&mut arrived.asked.request);
            self.answer(arrived, result);
        }
    }

    fn carry_out(&self, request: &mut Request) -> Result<(), Errno> {
        let Request { op, offset, len, data, durable } = request;
        let size = usize::try_from(len.0).expect("a request fits in memory");
        match op {
            Op::Read => {
                data.resize(size, 0);
                self.contents.read(*offset, data)
            }
            Op::Write => {
                // No data is zeros.
                data.resize(size, 0);
                self.contents.write(*offset, data)
            }
            Op::Trim => self.contents.trim(*offset, *len),
            Op::Flush => self.contents.flush(),
        }?;
        if *durable { self.contents.flush() } else { Ok(()) }
    }

    fn answer(&self, arrived: Arrived<A>, result: Result<(), Errno>) {
        let Arrived { asked, at } = arrived;
        let Request { op, offset, len, .. } = asked.request;
        let completed = self.clock.now();
        {
            let mut done = lock(&self.done);
            done.statistics.answered((op, len), result, at, completed);
            if let Some(tell) = &mut done.tell {
                let io = Io { op, stream: 0, offset, len, data: Data::Random, at };
                tell(&Completion { io, submitted: at, completed, result });
            }
        }
        A::answer(&mut vec![asked.answered(result)]);
    }

    /// Whether what was trimmed reads as zeros: a file does, of a device it is not known.
    pub(crate) fn forgets(&self) -> bool {
        self.info.kind == DeviceKind::File
    }

    /// Takes no more requests.
    pub(crate) fn stop(&self) {
        lock(&self.queue).take();
    }

    /// What was done so far.
    pub(crate) fn snapshot(&self) -> Snapshot {
        let done = lock(&self.done);
        let now = self.clock.now();
        Snapshot {
            info: self.info.clone(),
            now,
            machine: now,
            busy: done.statistics.busy_until(now),
            ops: done.statistics.ops(),
            in_flight: done.statistics.in_flight(),
            lateness_ns: histogram(),
            flash: None,
        }
    }
}
