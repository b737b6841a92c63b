//! Synchronous IO: `pread(2)`, `pwrite(2)` and `fdatasync(2)`.

use std::collections::VecDeque;
use std::io;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::JoinHandle;
use std::time::Duration;

use flashscope_block::{Completion, Errno, Io, Nanos, Op, WriteData};

use super::{Engine, Setup, length, outcome};
use crate::buffer::Memory;
use crate::clock::Clock;
use crate::target::Target;

pub(super) fn start(setup: &Setup) -> io::Result<Box<dyn Engine>> {
    if setup.depth == 1 {
        let caller = Caller::new(setup)?;
        return Ok(Box::new(InThread { caller, queued: None }));
    }
    Ok(Box::new(Threads::new(setup)?))
}

/// Executes IOs one by one in the calling thread.
struct Caller {
    clock: Clock,
    target: Arc<Target>,
    content: Arc<dyn WriteData>,
    memory: Memory,
}

impl Caller {
    fn new(setup: &Setup) -> io::Result<Caller> {
        Ok(Caller {
            clock: setup.clock.clone(),
            target: Arc::clone(&setup.target),
            content: Arc::clone(&setup.content),
            memory: Memory::new(setup.max_io)?,
        })
    }

    /// Prepares the data of a write.
    fn ready(&mut self, io: &Io) {
        if io.op == Op::Write {
            self.content.fill(io, self.memory.bytes(length(io)));
        }
    }

    fn perform(&mut self, io: Io) -> Completion {
        let submitted = self.clock.now();
        let moved = self.call(&io);
        let completed = self.clock.now();
        Completion { io, submitted, completed, result: outcome(&io, moved) }
    }

    fn call(&mut self, io: &Io) -> Result<u64, Errno> {
        match io.op {
            Op::Read => self.target.read(io.offset, self.memory.bytes(length(io))),
            Op::Write => self.target.write(io.offset, self.memory.bytes(length(io))),
            Op::Trim => self.target.trim(io.offset, io.len).map(|()| 0),
            Op::Flush => self.target.flush().map(|()| 0),
        }
    }
}

/// An engine for queue depth 1: `complete` executes the IO and returns when it is done.
struct InThread {
    caller: Caller,
    queued: Option<Io>,
}

impl Engine for InThread {
    fn submit(&mut self, io: &Io) {
        assert!(self.queued.is_none(), "queue depth exceeded");
        self.caller.ready(io);
        self.queued = Some(*io);
    }

    fn reaped(&mut self) -> Option<Completion> {
        None
    }

    fn complete(&mut self, until: Nanos) -> Option<Completion> {
        if let Some(io) = self.queued.take() {
            return Some(self.caller.perform(io));
        }
        if until != Nanos::MAX {
            self.caller.clock.sleep_until(until);
        }
        None
    }

    /// Always returns false: a system call cannot be abandoned, and the kernel's own timeouts end
    /// it.
    fn has_timed_out(&self) -> bool {
        false
    }
}

/// An engine for several IOs in flight. A worker thread executes each IO and reads the clock before
/// and after. If only one IO is due, the calling thread executes it, because waking a worker often
/// takes longer than the IO.
struct Threads {
    caller: Caller,
    workers: Vec<Worker>,
    idle: Vec<usize>,
    queued: VecDeque<Io>,
    done: Receiver<(usize, Completion)>,
    in_flight: usize,
    response_timeout: Nanos,
    timed_out: bool,
}

struct Worker {
    jobs: Option<Sender<Io>>,
    thread: Option<JoinHandle<()>>,
}

impl Threads {
    fn new(setup: &Setup) -> io::Result<Threads> {
        let (sender, done) = channel();
        let worker = |number| {
            let (jobs, inbox) = channel();
            let caller = Caller::new(setup)?;
            let outbox = sender.clone();
            let thread = std::thread::Builder::new()
                .name(format!("psync-{number}"))
                .stack_size(64 << 10)
                .spawn(move || work(caller, number, &inbox, &outbox))?;
            Ok(Worker { jobs: Some(jobs), thread: Some(thread) })
        };
        Ok(Threads {
            caller: Caller::new(setup)?,
            workers: (0..setup.depth).map(worker).collect::<io::Result<_>>()?,
            idle: (0..setup.depth).rev().collect(),
            queued: VecDeque::with_capacity(setup.depth),
            done,
            in_flight: 0,
            response_timeout: setup.response_timeout,
            timed_out: false,
        })
    }

    /// Passes all queued IOs to idle workers.
    fn hand_over(&mut self) {
        while let Some(io) = self.queued.pop_front() {
            let number = self.idle.pop().expect("queue depth exceeded");
            let jobs = self.workers[number].jobs.as_ref().expect("until dropped");
            jobs.send(io).expect("a worker lives as long as its engine");
            self.in_flight += 1;
        }
    }

    fn receive(&mut self, (number, completion): (usize, Completion)) -> Completion {
        self.idle.push(number);
        self.in_flight -= 1;
        completion
    }

    fn wait(&self, timeout: Duration) -> Option<(usize, Completion)> {
        match timeout {
            Duration::ZERO => self.done.try_recv().ok(),
            timeout => self.done.recv_timeout(timeout).ok(),
        }
    }
}

/// Runs a worker: executes IOs one by one until its engine is dropped.
fn work(
    mut caller: Caller,
    number: usize,
    inbox: &Receiver<Io>,
    outbox: &Sender<(usize, Completion)>,
) {
    while let Ok(io) = inbox.recv() {
        caller.ready(&io);
        if outbox.send((number, caller.perform(io))).is_err() {
            return;
        }
    }
}

impl Engine for Threads {
    fn submit(&mut self, io: &Io) {
        self.queued.push_back(*io);
    }

    fn reaped(&mut self) -> Option<Completion> {
        let answer = self.done.try_recv().ok()?;
        Some(self.receive(answer))
    }

    fn complete(&mut self, until: Nanos) -> Option<Completion> {
        if self.in_flight == 0 && self.queued.len() == 1 {
            let io = self.queued.pop_front()?;
            self.caller.ready(&io);
            return Some(self.caller.perform(io));
        }
        self.hand_over();
        if self.in_flight == 0 {
            if until != Nanos::MAX {
                self.caller.clock.sleep_until(until);
            }
            return None;
        }
        let clock = &self.caller.clock;
        let answer = match until {
            Nanos::MAX => {
                clock.poll_with_timeout(self.response_timeout, |timeout| self.wait(timeout))
            }
            until => clock.poll_until(until, |timeout| self.wait(timeout)),
        };
        self.timed_out = until == Nanos::MAX && answer.is_none();
        answer.map(|answer| self.receive(answer))
    }

    fn has_timed_out(&self) -> bool {
        self.timed_out
    }
}

impl Drop for Threads {
    fn drop(&mut self) {
        for worker in &mut self.workers {
            worker.jobs = None;
        }
        // After a timeout, the workers may block forever.
        for worker in self.workers.iter_mut().filter(|_| !self.timed_out) {
            if let Some(thread) = worker.thread.take() {
                // A worker that panicked has already printed its message.
                let _ = thread.join();
            }
        }
    }
}
