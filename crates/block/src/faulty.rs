//! A wrapper that injects faults into any drive, to test that callers survive them.

use std::collections::VecDeque;

use crate::{
    Bytes, Completion, Device, DeviceInfo, Erase, EraseError, Erasure, Errno, Flash, Io, Nanos, Op,
};

/// A fault that affects one IO, or this IO and all later ones.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// The drive does not execute the IO and completes it with this error.
    Refused(Errno),
    /// The drive transfers too few bytes: a read fails with `ENODATA`, a write with `ENOSPC`.
    Short,
    /// The completion is held back until this many other IOs have completed, or until no other IO
    /// is in flight.
    Overtaken(u32),
    /// The IO never completes.
    Lost,
    /// The IO completes twice.
    Repeated,
    /// The clock jumps forward by this time before the IO completes.
    Forward(Nanos),
    /// The clock jumps back by this time before the IO completes.
    Back(Nanos),
    /// The drive is removed: this IO and all later ones complete with `ENODEV`.
    Removed,
    /// The drive shrinks to this size from this IO on, without reporting the change. Beyond the new
    /// end, reads fail with `ENODATA` and writes with `ENOSPC`.
    Shrunk(Bytes),
}

/// A wrapper around a drive that injects faults into IOs according to a plan.
///
/// Apart from the effect of a fault, results and times are those of the inner drive. An IO that
/// fails by `Refused`, `Removed` or `Shrunk` is not executed and takes no time.
pub struct Faulty<D> {
    inner: D,
    /// The planned faults, each with the number of the affected IO (from 0), in ascending order.
    plan: VecDeque<(u64, Fault)>,
    submitted: u64,
    /// Offset of the wrapper's clock from the inner drive's clock, in nanoseconds.
    ahead: i64,
    removed: bool,
    end: Bytes,
    in_flight: Vec<InFlight>,
    /// Completions held back, each with the number of other IOs that must complete first.
    held: Vec<(u32, Completion)>,
    ready: VecDeque<Completion>,
    injected: Vec<(Fault, Io)>,
}

/// An IO that the inner drive is executing.
struct InFlight {
    io: Io,
    /// The request as the inner drive received it, with the due time on the inner drive's clock.
    inner: Io,
    /// Offset of the wrapper's clock at submission, in nanoseconds.
    ahead: i64,
    fault: Option<Fault>,
}

/// Shifts a time by `ahead` nanoseconds, but not below 0.
fn moved(time: Nanos, ahead: i64) -> Nanos {
    Nanos(time.0.saturating_add_signed(ahead))
}

impl<D: Device> Faulty<D> {
    /// Wraps `inner`. Each entry of `plan` is the number of an IO, from 0 in order of submission,
    /// and its fault.
    pub fn new(inner: D, plan: impl IntoIterator<Item = (u64, Fault)>) -> Faulty<D> {
        let mut plan: Vec<_> = plan.into_iter().collect();
        plan.sort_by_key(|(number, _)| *number);
        Faulty {
            end: inner.info().capacity,
            inner,
            plan: plan.into(),
            submitted: 0,
            ahead: 0,
            removed: false,
            in_flight: Vec::new(),
            held: Vec::new(),
            ready: VecDeque::new(),
            injected: Vec::new(),
        }
    }

    /// Returns the faults injected so far, each with the IO it affected.
    pub fn injected(&self) -> &[(Fault, Io)] {
        &self.injected
    }

    /// Returns the number of IOs submitted so far.
    pub fn submitted(&self) -> u64 {
        self.submitted
    }

    /// Counts the next IO and returns the fault planned for it, if any.
    fn next_fault(&mut self, io: &Io) -> Option<Fault> {
        let number = self.submitted;
        self.submitted += 1;
        let due = self.plan.front().is_some_and(|(planned, _)| *planned <= number);
        let (_, fault) = if due { self.plan.pop_front()? } else { return None };
        self.injected.push((fault, *io));
        Some(fault)
    }

    fn refuse(&mut self, io: &Io, errno: Errno) {
        let now = self.now();
        let result = Err(errno);
        self.ready.push_back(Completion { io: *io, submitted: now, completed: now, result });
    }

    /// Applies the fault to a completion of the inner drive. Returns `None` if the completion is
    /// held back.
    fn apply_fault(&mut self, inner: Completion) -> Option<Completion> {
        let index = self.in_flight.iter().position(|entry| entry.inner == inner.io)?;
        let InFlight { io, ahead, fault, .. } = self.in_flight.remove(index);
        match fault {
            Some(Fault::Forward(jump)) => self.ahead += i64::try_from(jump.0).unwrap_or(i64::MAX),
            Some(Fault::Back(jump)) => self.ahead -= i64::try_from(jump.0).unwrap_or(i64::MAX),
            _ => {}
        }
        let completion = Completion {
            io,
            submitted: moved(inner.submitted, ahead),
            completed: moved(inner.completed, self.ahead),
            result: match fault {
                Some(Fault::Short) => Err(short(io.op)),
                _ => inner.result,
            },
        };
        match fault {
            Some(Fault::Overtaken(others)) => {
                self.held.push((others, completion));
                return None;
            }
            Some(Fault::Repeated) => self.ready.push_back(completion),
            _ => {}
        }
        for (others, _) in &mut self.held {
            *others = others.saturating_sub(1);
        }
        self.ready.extend(self.held.extract_if(.., |(others, _)| *others == 0).map(|held| held.1));
        Some(completion)
    }
}

/// Returns the error of an operation that transferred too few bytes.
fn short(op: Op) -> Errno {
    if op == Op::Read { Errno::ENODATA } else { Errno::ENOSPC }
}

impl<D: Device> Device for Faulty<D> {
    fn info(&self) -> &DeviceInfo {
        self.inner.info()
    }

    fn now(&self) -> Nanos {
        moved(self.inner.now(), self.ahead)
    }

    fn submit(&mut self, io: &Io) {
        let fault = self.next_fault(io);
        match fault {
            Some(Fault::Removed) => self.removed = true,
            Some(Fault::Shrunk(end)) => self.end = end,
            _ => {}
        }
        match fault {
            _ if self.removed => self.refuse(io, Errno::ENODEV),
            Some(Fault::Refused(errno)) => self.refuse(io, errno),
            Some(Fault::Lost) => {}
            _ if io.end() > self.end && self.end < self.info().capacity => {
                self.refuse(io, short(io.op));
            }
            _ => {
                let inner = Io { at: moved(io.at, -self.ahead).min(self.inner.now()), ..*io };
                self.inner.submit(&inner);
                self.in_flight.push(InFlight { io: *io, inner, ahead: self.ahead, fault });
            }
        }
    }

    fn complete(&mut self, until: Nanos) -> Option<Completion> {
        let inner_until = if until == Nanos::MAX { until } else { moved(until, -self.ahead) };
        loop {
            if let Some(completion) = self.ready.pop_front() {
                return Some(completion);
            }
            match self.inner.complete(inner_until) {
                Some(completion) => {
                    if let Some(completion) = self.apply_fault(completion) {
                        return Some(completion);
                    }
                }
                // All other IOs have completed: release the oldest completion that is held back.
                None if until == Nanos::MAX && !self.held.is_empty() => {
                    return Some(self.held.remove(0).1);
                }
                None => return None,
            }
        }
    }

    fn flash(&self) -> Option<Flash> {
        self.inner.flash()
    }

    fn is_volatile(&self, offset: Bytes, len: Bytes) -> bool {
        self.inner.is_volatile(offset, len)
    }

    fn eraser(&self, erasure: Erasure) -> Result<Box<dyn Erase + '_>, EraseError> {
        self.inner.eraser(erasure)
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;
    use crate::{Data, NullDevice, contract};

    /// A clock that ticks by 10 at each reading.
    fn ticking(ticks: &Cell<u64>) -> impl Fn() -> Nanos {
        || Nanos(ticks.replace(ticks.get() + 10))
    }

    fn read(number: u16, at: Nanos) -> Io {
        let offset = Bytes(u64::from(number) * 4096);
        Io { op: Op::Read, stream: number, offset, len: Bytes(4096), at, data: Data::Random }
    }

    /// Submits `count` IOs at once and returns the number and result of each completion, in order.
    fn answers(count: u16, plan: &[(u64, Fault)]) -> Vec<(u16, Result<(), Errno>)> {
        let ticks = Cell::new(0);
        let null = NullDevice::new(Bytes::MIB, 32, ticking(&ticks));
        let mut device = Faulty::new(null, plan.iter().copied());
        for number in 0..count {
            device.submit(&read(number, device.now()));
        }
        let answers = std::iter::from_fn(|| device.complete(Nanos::MAX));
        answers.map(|answer| (answer.io.stream, answer.result)).collect()
    }

    #[test]
    fn without_faults_it_fulfils_the_contract() {
        for depth in [1, 32] {
            let ticks = Cell::new(0);
            let null = NullDevice::new(Bytes::MIB, depth, ticking(&ticks));
            contract::check(&mut Faulty::new(null, []), true);
        }
    }

    #[test]
    fn each_fault_affects_its_own_io() {
        let ok = |number: u16| (number, Ok(()));
        let refused = Fault::Refused(Errno::ETIMEDOUT);
        assert_eq!(answers(3, &[(1, refused)]), [(1, Err(Errno::ETIMEDOUT)), ok(0), ok(2)]);
        assert_eq!(answers(3, &[(1, Fault::Short)]), [ok(0), (1, Err(Errno::ENODATA)), ok(2)]);
        assert_eq!(answers(3, &[(0, Fault::Overtaken(1))]), [ok(1), ok(0), ok(2)]);
        assert_eq!(answers(3, &[(0, Fault::Overtaken(9))]), [ok(1), ok(2), ok(0)]);
        assert_eq!(answers(3, &[(1, Fault::Lost)]), [ok(0), ok(2)]);
        assert_eq!(answers(3, &[(1, Fault::Repeated)]), [ok(0), ok(1), ok(1), ok(2)]);
        let gone = Err(Errno::ENODEV);
        assert_eq!(answers(3, &[(1, Fault::Removed)]), [(1, gone), (2, gone), ok(0)]);
        let shrunk = Fault::Shrunk(Bytes(8192));
        assert_eq!(answers(3, &[(1, shrunk)]), [(2, Err(Errno::ENODATA)), ok(0), ok(1)]);
    }

    #[test]
    fn clock_faults_shift_all_later_times() {
        for (fault, latency, moved) in
            [(Fault::Forward(Nanos(1000)), 1010, 1000_i64), (Fault::Back(Nanos(500)), 0, -500)]
        {
            let ticks = Cell::new(10_000);
            let null = NullDevice::new(Bytes::MIB, 1, ticking(&ticks));
            let mut device = Faulty::new(null, [(0, fault)]);
            device.submit(&read(0, device.now()));
            let answer = device.complete(Nanos::MAX).expect("the IO completes");
            assert_eq!(answer.latency(), Nanos(latency));
            assert_eq!(device.now(), Nanos(ticks.get().saturating_add_signed(moved) - 10));
            assert_eq!(device.injected(), [(fault, answer.io)]);
        }
    }
}
