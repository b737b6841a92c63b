//! A drive that fails as it is told to, around any other: what those who measure have to survive.

use std::collections::VecDeque;

use crate::{
    Bytes, Completion, Device, DeviceInfo, Erase, Erasure, Errno, Flash, Io, Nanos, NotErased, Op,
};

/// What goes wrong with an IO, or from it on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// It is answered with this error, and not done.
    Refused(Errno),
    /// It moves less than it was to: a read then lacks data, and a write room.
    Short,
    /// So many others are answered before its answer is given out, where there are as many in flight.
    Overtaken(u32),
    /// It is never answered.
    Lost,
    /// It is answered twice.
    Repeated,
    /// The clock jumps forward before it is answered.
    Forward(Nanos),
    /// The clock jumps back before it is answered.
    Back(Nanos),
    /// The drive is removed: this IO and all after it are answered with `ENODEV`.
    Removed,
    /// The drive ends here from this IO on, which it does not say: beyond that reads lack data, and writes room.
    Shrunk(Bytes),
}

/// A drive around another one, on which IOs fail by a plan.
///
/// Except for what a fault is about, all is as on the drive within: the same answers at the same times.
/// A write that fails is not done, and takes no time.
pub struct Faulty<D> {
    within: D,
    /// What goes wrong, by the number of the IO from 0, in its order.
    plan: VecDeque<(u64, Fault)>,
    asked: u64,
    /// How far this clock is ahead of the one within.
    ahead: i64,
    removed: bool,
    end: Bytes,
    in_flight: Vec<Asked>,
    /// Answers that wait to be overtaken by so many others.
    held: Vec<(u32, Completion)>,
    ready: VecDeque<Completion>,
    struck: Vec<(Fault, Io)>,
}

/// An IO that the drive within has.
struct Asked {
    io: Io,
    /// The same on the clock within.
    within: Io,
    /// How far this clock was ahead when it was handed over.
    ahead: i64,
    fault: Option<Fault>,
}

/// A time on a clock that is so far ahead; there are none before 0.
fn moved(time: Nanos, ahead: i64) -> Nanos {
    Nanos(time.0.saturating_add_signed(ahead))
}

impl<D: Device> Faulty<D> {
    /// A drive on which the IOs of these numbers, counted from 0 as they are submitted, fail so.
    pub fn new(within: D, plan: impl IntoIterator<Item = (u64, Fault)>) -> Faulty<D> {
        let mut plan: Vec<_> = plan.into_iter().collect();
        plan.sort_by_key(|(number, _)| *number);
        Faulty {
            end: within.info().capacity,
            within,
            plan: plan.into(),
            asked: 0,
            ahead: 0,
            removed: false,
            in_flight: Vec::new(),
            held: Vec::new(),
            ready: VecDeque::new(),
            struck: Vec::new(),
        }
    }

    /// The faults that came to pass so far, each with the IO that it struck.
    pub fn struck(&self) -> &[(Fault, Io)] {
        &self.struck
    }

    /// How many IOs were submitted so far.
    pub fn asked(&self) -> u64 {
        self.asked
    }

    /// What goes wrong with the next IO.
    fn next_fault(&mut self, io: &Io) -> Option<Fault> {
        let number = self.asked;
        self.asked += 1;
        let due = self.plan.front().is_some_and(|(planned, _)| *planned <= number);
        let (_, fault) = if due { self.plan.pop_front()? } else { return None };
        self.struck.push((fault, *io));
        Some(fault)
    }

    fn refuse(&mut self, io: &Io, errno: Errno) {
        let now = self.now();
        let result = Err(errno);
        self.ready.push_back(Completion { io: *io, submitted: now, completed: now, result });
    }

    /// What the drive within answered, as this one does, unless it waits to be overtaken.
    fn answered(&mut self, within: Completion) -> Option<Completion> {
        let index = self.in_flight.iter().position(|asked| asked.within == within.io)?;
        let Asked { io, ahead, fault, .. } = self.in_flight.remove(index);
        match fault {
            Some(Fault::Forward(jump)) => self.ahead += i64::try_from(jump.0).unwrap_or(i64::MAX),
            Some(Fault::Back(jump)) => self.ahead -= i64::try_from(jump.0).unwrap_or(i64::MAX),
            _ => {}
        }
        let completion = Completion {
            io,
            submitted: moved(within.submitted, ahead),
            completed: moved(within.completed, self.ahead),
            result: match fault {
                Some(Fault::Short) => Err(short(io.op)),
                _ => within.result,
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

/// How an operation that moved too little is answered.
fn short(op: Op) -> Errno {
    if op == Op::Read { Errno::ENODATA } else { Errno::ENOSPC }
}

impl<D: Device> Device for Faulty<D> {
    fn info(&self) -> &DeviceInfo {
        self.within.info()
    }

    fn now(&self) -> Nanos {
        moved(self.within.now(), self.ahead)
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
                let within = Io { at: moved(io.at, -self.ahead).min(self.within.now()), ..*io };
                self.within.submit(&within);
                self.in_flight.push(Asked { io: *io, within, ahead: self.ahead, fault });
            }
        }
    }

    fn complete(&mut self, until: Nanos) -> Option<Completion> {
        let within = if until == Nanos::MAX { until } else { moved(until, -self.ahead) };
        loop {
            if let Some(completion) = self.ready.pop_front() {
                return Some(completion);
            }
            match self.within.complete(within) {
                Some(completion) => {
                    if let Some(completion) = self.answered(completion) {
                        return Some(completion);
                    }
                }
                // There is nobody left who could overtake it.
                None if until == Nanos::MAX && !self.held.is_empty() => {
                    return Some(self.held.remove(0).1);
                }
                None => return None,
            }
        }
    }

    fn flash(&self) -> Option<Flash> {
        self.within.flash()
    }

    fn is_volatile(&self, offset: Bytes, len: Bytes) -> bool {
        self.within.is_volatile(offset, len)
    }

    fn eraser(&self, erasure: Erasure) -> Result<Box<dyn Erase + '_>, NotErased> {
        self.within.eraser(erasure)
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

    /// The numbers of the IOs that are answered, of `count` handed over at once, with what they come to.
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

    // Does a drive without faults keep the duties of a device?
    #[test]
    fn without_faults_it_keeps_the_contract() {
        for depth in [1, 32] {
            let ticks = Cell::new(0);
            let null = NullDevice::new(Bytes::MIB, depth, ticking(&ticks));
            contract::check(&mut Faulty::new(null, []), true);
        }
    }

    // Does each fault do to an IO what it says, and to no other?
    #[test]
    fn faults_strike_what_they_are_to() {
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

    // Does the clock jump as far as it is to, with the answer that it strikes and all after it?
    #[test]
    fn clocks_jump() {
        for (fault, latency, moved) in
            [(Fault::Forward(Nanos(1000)), 1010, 1000_i64), (Fault::Back(Nanos(500)), 0, -500)]
        {
            let ticks = Cell::new(10_000);
            let null = NullDevice::new(Bytes::MIB, 1, ticking(&ticks));
            let mut device = Faulty::new(null, [(0, fault)]);
            device.submit(&read(0, device.now()));
            let answer = device.complete(Nanos::MAX).expect("it is answered");
            assert_eq!(answer.latency(), Nanos(latency));
            assert_eq!(device.now(), Nanos(ticks.get().saturating_add_signed(moved) - 10));
            assert_eq!(device.struck(), [(fault, answer.io)]);
        }
    }
}
