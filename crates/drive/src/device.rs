use std::collections::VecDeque;
use std::sync::Arc;

use flashscope_block::{
    Completion, Device, DeviceInfo, Erase, EraseError, Erasure, Errno, Io, Nanos, Op, WriteData,
};

use crate::clock::Clock;
use crate::content::Content;
use crate::engine::{self, Engine, Setup};
use crate::erase;
use crate::error::OpenError;
use crate::guard::NewFile;
use crate::hardware::Hardware;
use crate::options::OpenOptions;
use crate::target::Target;

/// A block device or a file as a [`Device`].
///
/// `submit` queues IOs, and `complete` passes all queued IOs to the kernel in one system call.
/// Completions that arrive together are returned one by one.
///
/// The device rejects invalid IOs and continues to work after each:
///
/// - `EINVAL` for a range that is empty, exceeds the drive, or is not a multiple of the logical
///   block, and for a read or write longer than [`OpenOptions::max_io`],
/// - `EROFS` for a write or trim without write access,
/// - `ENODATA` for a read that ends early, as in a truncated file.
///
/// It never writes beyond the size that the file or device had when it was opened.
///
/// If the caller waits without a deadline, and the drive has not answered for
/// [`OpenOptions::response_timeout`], the device gives up on the drive. IOs in flight then never
/// complete, and all later IOs complete with `ENODEV`.
///
/// The engine psync cannot abandon a system call: with a single IO in flight, its `complete`
/// returns only when the IO is done, even after the deadline. In this case, and with polled queues,
/// only the kernel's own timeouts end the wait for a drive that does not answer.
pub struct RealDevice {
    info: DeviceInfo,
    clock: Clock,
    writable: bool,
    max_io: u64,
    /// A mask of the bits that are zero in a multiple of the logical block.
    misaligned: u64,
    rejected: VecDeque<(Io, Errno)>,
    timed_out: bool,
    /// The time of the latest completion returned.
    last: Nanos,
    target: Arc<Target>,
    engine: Box<dyn Engine>,
}

/// Opens a block device or a file after all guards have agreed.
///
/// # Errors
/// [`OpenError`] states the problem and the remedy.
pub fn open(options: &OpenOptions) -> Result<RealDevice, OpenError> {
    open_with_data(options, Arc::new(Content::new(options.seed)))
}

/// Opens a block device or a file like [`open`], with the caller's `data` in place of random data.
///
/// # Errors
/// The errors of [`open`].
pub fn open_with_data(
    options: &OpenOptions,
    data: Arc<dyn WriteData>,
) -> Result<RealDevice, OpenError> {
    options.check()?;
    let (target, created) = Target::open_new(options)?;
    let setup = Setup {
        clock: Clock::new(),
        content: data,
        depth: usize::try_from(options.queue_depth).expect("bounded by MAX_QUEUE_DEPTH"),
        max_io: usize::try_from(options.max_io.0).expect("bounded by MAX_IO"),
        writable: options.writes(),
        target: Arc::new(target),
        response_timeout: options.response_timeout,
    };
    let (engine, engine_description) = engine::start(options.engine, &setup)?;
    created.into_iter().for_each(NewFile::keep);
    let target = &setup.target;
    let hardware = Hardware::of(target.identity());
    Ok(RealDevice {
        info: target.info(options, hardware, Some(engine_description)),
        clock: setup.clock.clone(),
        writable: options.writes(),
        max_io: options.max_io.0,
        misaligned: target.logical_block().0 - 1,
        rejected: VecDeque::new(),
        timed_out: false,
        last: Nanos(0),
        target: setup.target,
        engine,
    })
}

impl RealDevice {
    /// Returns the clock that [`Device::now`] reads.
    pub fn clock(&self) -> &Clock {
        &self.clock
    }

    /// Checks that an IO is valid and permitted.
    #[inline]
    fn check(&self, io: &Io) -> Result<(), Errno> {
        if !self.writable && io.op.modifies() {
            return Err(Errno::EROFS);
        }
        if io.op == Op::Flush {
            return Ok(());
        }
        // The buffers bound the length of transfers; a trim transfers nothing.
        let too_long = io.op != Op::Trim && io.len.0 > self.max_io;
        let misaligned = (io.offset.0 | io.len.0) & self.misaligned != 0;
        if io.end() > self.info.capacity || io.len.0 == 0 || too_long || misaligned {
            return Err(Errno::EINVAL);
        }
        Ok(())
    }

    /// Returns the completion of a rejected IO, which never reached the kernel.
    fn rejection(&mut self) -> Option<Completion> {
        let (io, errno) = self.rejected.pop_front()?;
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
        let checked = if self.timed_out { Err(Errno::ENODEV) } else { self.check(io) };
        match checked {
            Ok(()) => self.engine.submit(io),
            Err(errno) => self.rejected.push_back((*io, errno)),
        }
    }

    fn complete(&mut self, until: Nanos) -> Option<Completion> {
        let mut completion = if self.timed_out {
            if self.rejected.is_empty() && until != Nanos::MAX {
                self.clock.sleep_until(until);
            }
            self.rejection()
        } else if self.rejected.is_empty() {
            let answer = self.engine.complete(until);
            self.timed_out = answer.is_none() && self.engine.has_timed_out();
            answer
        } else {
            // Completions that arrived before the rejection come first.
            self.engine.reaped().or_else(|| self.rejection())
        }?;
        // An engine's thread may be preempted between reading the clock and sending its completion.
        // A completion with a later time may then arrive first. Raising the time of the delayed
        // completion (by some 100 ns) keeps completions in order.
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
