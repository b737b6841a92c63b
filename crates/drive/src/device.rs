use std::collections::VecDeque;
use std::sync::Arc;

use flashscope_block::{
    Completion, Device, DeviceInfo, Erase, EraseError, Erasure, Errno, Io, Nanos, Op,
};

use crate::clock::Clock;
use crate::content::Content;
use crate::engine::{self, Engine, Setup};
use crate::erase;
use crate::error::OpenError;
use crate::guard::Created;
use crate::hardware::Hardware;
use crate::options::OpenOptions;
use crate::target::Target;

/// A block device or a file.
///
/// IOs queue up in `submit` and reach the kernel in `complete`, as many as there are in one system
/// call. Completions that came together are given out one by one.
///
/// An IO that cannot be right (past the end, not a multiple of the logical block, longer than
/// [`OpenOptions::max_io`]) is answered with `EINVAL`, a write without write access with `EROFS`,
/// and a read that ends before its range, as in a file that was cut, with `ENODATA`. The device
/// goes on working after each of these. Nothing is ever written beyond what the file or device
/// held when it was opened.
///
/// A drive that has not answered for as long as [`OpenOptions::patience`], where there is nothing but its
/// answers to wait for, is given up: what is in flight then is never answered, and everything else with
/// `ENODEV`.
///
/// At queue depth 1, the engine psync returns from `complete` when the IO is done, be it later
/// than the deadline: a system call under way cannot be left. There, and with polled queues, a drive that is
/// silent is what the kernel makes of it.
pub struct RealDevice {
    info: DeviceInfo,
    clock: Clock,
    writable: bool,
    max_io: u64,
    /// The bits that are zero in a multiple of the logical block.
    misaligned: u64,
    refused: VecDeque<(Io, Errno)>,
    given_up: bool,
    /// When the latest completion that was given out came.
    last: Nanos,
    target: Arc<Target>,
    engine: Box<dyn Engine>,
}

/// Opens a block device or a file, after the guards agreed where it is to be written.
///
/// # Errors
/// [`OpenError`], which says what is wrong and what to do.
pub fn open(options: &OpenOptions) -> Result<RealDevice, OpenError> {
    options.check()?;
    let (target, created) = Target::open_new(options)?;
    let setup = Setup {
        clock: Clock::new(),
        content: Arc::new(Content::new(options.seed)),
        depth: usize::try_from(options.queue_depth).expect("bounded by MAX_QUEUE_DEPTH"),
        max_io: usize::try_from(options.max_io.0).expect("bounded by MAX_IO"),
        writable: options.writes(),
        target: Arc::new(target),
        patience: options.patience,
    };
    let (engine, engine_and_why) = engine::start(options.engine, &setup)?;
    created.into_iter().for_each(Created::keep);
    let target = &setup.target;
    let hardware = Hardware::of(target.identity());
    Ok(RealDevice {
        info: target.info(options, hardware, Some(engine_and_why)),
        clock: setup.clock.clone(),
        writable: options.writes(),
        max_io: options.max_io.0,
        misaligned: target.logical_block().0 - 1,
        refused: VecDeque::new(),
        given_up: false,
        last: Nanos(0),
        target: setup.target,
        engine,
    })
}

impl RealDevice {
    /// The clock that [`Device::now`] reads.
    pub fn clock(&self) -> &Clock {
        &self.clock
    }

    #[inline]
    fn check(&self, io: &Io) -> Result<(), Errno> {
        if !self.writable && io.op.modifies() {
            return Err(Errno::EROFS);
        }
        if io.op == Op::Flush {
            return Ok(());
        }
        // The buffers bound what is moved; a trim moves nothing.
        let too_long = io.op != Op::Trim && io.len.0 > self.max_io;
        let misaligned = (io.offset.0 | io.len.0) & self.misaligned != 0;
        if io.end() > self.info.capacity || io.len.0 == 0 || too_long || misaligned {
            return Err(Errno::EINVAL);
        }
        Ok(())
    }

    /// The answer to an IO that never reached the kernel.
    fn refusal(&mut self) -> Option<Completion> {
        let (io, errno) = self.refused.pop_front()?;
        let now = self.clock.now();
        Some(Completion { io, submitted: now, completed: now, result: Err(errno) })
    }
}

impl Device for RealDevice {
    fn info(&self) -> &DeviceInfo {
        &self.info
    }

    #[inline]
    fn now(&self) -> Nanos {
        self.clock.now()
    }

    fn submit(&mut self, io: &Io) {
        let checked = if self.given_up { Err(Errno::ENODEV) } else { self.check(io) };
        match checked {
            Ok(()) => self.engine.submit(io),
            Err(errno) => self.refused.push_back((*io, errno)),
        }
    }

    fn complete(&mut self, until: Nanos) -> Option<Completion> {
        let mut completion = if self.given_up {
            if self.refused.is_empty() && until != Nanos::MAX {
                self.clock.sleep_until(until);
            }
            self.refusal()
        } else if self.refused.is_empty() {
            let answer = self.engine.complete(until);
            // Asked only where nothing came.
            self.given_up = answer.is_none() && self.engine.has_given_up();
            answer
        } else {
            // What came before a refusal is answered first.
            self.engine.reaped().or_else(|| self.refusal())
        }?;
        // Of two threads of an engine, one may be overtaken between taking the time and telling
        // it. It is given the time of the other (some 100 ns), so that completions stay in order.
        completion.completed = completion.completed.max(self.last);
        self.last = completion.completed;
        if completion.result.is_err() && self.target.is_gone() {
            completion.result = Err(Errno::ENODEV);
        }
        Some(completion)
    }

    fn eraser(&self, erasure: Erasure) -> Result<Box<dyn Erase + '_>, EraseError> {
        erase::eraser(&self.target, erasure, self.writable)
    }
}
