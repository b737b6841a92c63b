//! A RAID-0 controller over several drives. Agrawal et al. use one for their larger workloads
//! (USENIX ATC 2008, section 4.3), after Patterson, Gibson and Katz, SIGMOD 1988.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

use flashscope_block::{Bytes, Completion, Device, DeviceInfo, Errno, Io, Nanos, Op};

use crate::footprint::{Size, fixed, grown};

/// Maps addresses to drives: stripe unit `n` of the array is on member `n % members`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stripes {
    /// The number of drives, at least one.
    pub members: u32,
    /// The size of a stripe unit in bytes, at least one.
    pub unit: Bytes,
}

impl Stripes {
    /// Returns the part of the range `start..end` that is on `member`, as a range of that drive.
    /// This part is always contiguous.
    pub fn part(&self, member: u32, start: Bytes, end: Bytes) -> (Bytes, Bytes) {
        (self.before(member, start), self.before(member, end))
    }

    /// Returns how many of the bytes before `address` are on `member`.
    fn before(&self, member: u32, address: Bytes) -> Bytes {
        let row = u64::from(self.members) * self.unit.0;
        let (rows, rest) = (address.0 / row, address.0 % row);
        let in_row = rest.saturating_sub(u64::from(member) * self.unit.0).min(self.unit.0);
        Bytes(rows * self.unit.0 + in_row)
    }
}

/// A request in flight.
struct Request {
    io: Io,
    submitted: Nanos,
    /// The order of submission.
    sequence: u64,
    result: Result<(), Errno>,
    /// The number of unfinished parts.
    parts: u32,
}

/// A part of a request: the request to a member, and the index in [`Raid0::requests`].
#[derive(Clone, Copy)]
struct Part {
    io: Io,
    request: usize,
}

/// The parts in flight and waiting at one drive.
#[derive(Default)]
struct Queue {
    in_flight: VecDeque<Part>,
    /// Parts beyond the queue depth of the drive, in order of arrival.
    waiting: VecDeque<Part>,
}

impl Queue {
    fn submit(&mut self, drive: &mut impl Device, part: Part) {
        if self.in_flight.len() < drive.info().queue_depth as usize {
            drive.submit(&part.io);
            self.in_flight.push_back(part);
        } else {
            self.waiting.push_back(part);
        }
    }

    /// Returns the completion that is due at `due`, and submits a waiting part in its place.
    fn complete(
        &mut self,
        drive: &mut impl Device,
        due: Nanos,
    ) -> Option<(Part, Result<(), Errno>)> {
        let completion = drive.complete(due)?;
        // Identical parts are interchangeable.
        let place = self.in_flight.iter().position(|part| part.io == completion.io)?;
        let part = self.in_flight.remove(place)?;
        if let Some(mut next) = self.waiting.pop_front() {
            next.io.at = next.io.at.max(due);
            self.submit(drive, next);
        }
        Some((part, completion.result))
    }
}

/// An array of equal drives. It stripes bytes over them, splits each request into a part for each
/// drive concerned, and completes it when its last part is done. The controller itself adds no
/// time.
///
/// A flush goes to every drive. If a part fails, the request fails with the error of the failed
/// part that was answered first; the other parts are still carried out. The queue depth of the
/// array is the sum of the queue depths of its drives, at most 65,536. Parts beyond the queue depth
/// of a drive wait.
///
/// The array advances the clock of a drive only when it needs the drive. The clock of an idle
/// drive may lag behind.
pub struct Raid0<D> {
    info: DeviceInfo,
    stripes: Stripes,
    now: Nanos,
    members: Vec<D>,
    queues: Vec<Queue>,
    requests: Vec<Request>,
    /// The free indexes of `requests`.
    vacant: Vec<usize>,
    submitted: u64,
    /// Requests that are done and not yet answered: time, order of submission, and index.
    done: BinaryHeap<Reverse<(Nanos, u64, usize)>>,
}

/// Returns the memory that an array needs in addition to its drives, each of queue depth
/// `queue_depth`.
pub(crate) fn footprint(drives: u32, queue_depth: u32) -> Size {
    let most = max_in_flight(drives, queue_depth);
    // At most one part of each request waits at a drive.
    let parts = grown::<Part>(queue_depth) + grown::<Part>(most);
    (fixed::<Queue>(1u32) + parts) * drives.into()
        + grown::<Request>(most)
        + grown::<usize>(most)
        + grown::<Reverse<(Nanos, u64, usize)>>(most)
}

/// Returns the queue depth of an array.
fn max_in_flight(drives: u32, queue_depth: u32) -> u32 {
    queue_depth.saturating_mul(drives).min(1 << 16)
}

impl<D: Device> Raid0<D> {
    /// Creates an array of idle `members` in stripe order, with stripe units of `unit` bytes.
    /// The remainder of a member beyond complete units is unused.
    ///
    /// # Panics
    /// Panics if `members` is empty, if the members differ, or if `unit` is larger than a member
    /// or no multiple of its logical block.
    pub fn new(members: Vec<D>, unit: Bytes) -> Self {
        let info = members[0].info();
        let usable = Bytes(info.capacity.0 / unit.0 * unit.0);
        assert!(usable > Bytes(0) && unit.is_multiple_of(info.logical_block), "stripe unit");
        let same = |other: &DeviceInfo| {
            let sizes = (info.capacity, info.logical_block, info.queue_depth);
            sizes == (other.capacity, other.logical_block, other.queue_depth)
        };
        assert!(members.iter().all(|member| same(member.info())), "the members differ");
        let count = u32::try_from(members.len()).expect("fewer than 2^32 drives");
        Raid0 {
            info: DeviceInfo {
                capacity: Bytes(u64::from(count) * usable.0),
                queue_depth: max_in_flight(count, info.queue_depth),
                model: info.model.as_ref().map(|model| format!("RAID-0 of {count} x {model}")),
                ..info.clone()
            },
            stripes: Stripes { members: count, unit },
            now: Nanos(0),
            queues: members.iter().map(|_| Queue::default()).collect(),
            members,
            requests: Vec::new(),
            vacant: Vec::new(),
            submitted: 0,
            done: BinaryHeap::new(),
        }
    }

    /// Returns the drives in stripe order.
    pub fn members(&self) -> &[D] {
        &self.members
    }

    fn check(&self, io: &Io) -> Result<(), Errno> {
        if self.requests.len() - self.vacant.len() >= self.info.queue_depth as usize {
            return Err(Errno::EAGAIN);
        }
        let block = self.info.logical_block;
        let aligned = io.offset.is_multiple_of(block) && io.len.is_multiple_of(block);
        let in_range = io.len.0 > 0 && io.end() <= self.info.capacity;
        match io.op == Op::Flush || (aligned && in_range) {
            true => Ok(()),
            false => Err(Errno::EINVAL),
        }
    }

    /// Stores a request and returns its index.
    fn keep(&mut self, request: Request) -> usize {
        match self.vacant.pop() {
            Some(place) => {
                self.requests[place] = request;
                place
            }
            None => {
                self.requests.push(request);
                self.requests.len() - 1
            }
        }
    }

    /// Submits the parts of a request to the drives. Returns the number of parts.
    fn split(&mut self, io: &Io, at: Nanos, request: usize) -> u32 {
        let mut parts = 0;
        for (index, (drive, queue)) in self.members.iter_mut().zip(&mut self.queues).enumerate() {
            let member = u32::try_from(index).expect("fewer than 2^32 drives");
            let mut part = Io { at, ..*io };
            if io.op != Op::Flush {
                let (start, end) = self.stripes.part(member, io.offset, io.end());
                (part.offset, part.len) = (start, Bytes(end.0 - start.0));
                if part.len == Bytes(0) {
                    continue;
                }
            }
            queue.submit(drive, Part { io: part, request });
            parts += 1;
        }
        parts
    }

    /// Returns the time at which the next part is done, and the index of its drive.
    fn next_part(&self) -> Option<(Nanos, usize)> {
        let due = self.members.iter().enumerate();
        due.filter_map(|(index, drive)| Some((drive.next_due()?, index))).min()
    }

    /// Advances drive `index` to `due`, and records the part that it completes, if any.
    fn collect(&mut self, due: Nanos, index: usize) {
        let answer = self.queues[index].complete(&mut self.members[index], due);
        let Some((part, result)) = answer else { return };
        let request = &mut self.requests[part.request];
        request.result = request.result.and(result);
        request.parts -= 1;
        if request.parts == 0 {
            self.done.push(Reverse((due, request.sequence, part.request)));
        }
    }

    fn wait(&mut self, until: Nanos) {
        if until == Nanos::MAX || until <= self.now {
            return;
        }
        self.now = until;
        for drive in &mut self.members {
            let answer = drive.complete(until);
            debug_assert_eq!(answer, None, "a completion before `until` is left");
        }
    }
}

impl<D: Device> Device for Raid0<D> {
    fn info(&self) -> &DeviceInfo {
        &self.info
    }

    fn now(&self) -> Nanos {
        self.now
    }

    fn submit(&mut self, io: &Io) {
        let (submitted, sequence) = (self.now.max(io.at), self.submitted);
        let result = self.check(io);
        let place = self.keep(Request { io: *io, submitted, sequence, result, parts: 0 });
        self.submitted += 1;
        match result {
            Ok(()) => self.requests[place].parts = self.split(io, submitted, place),
            Err(_) => self.done.push(Reverse((submitted, sequence, place))),
        }
    }

    fn complete(&mut self, until: Nanos) -> Option<Completion> {
        loop {
            let done = self.done.peek().map(|Reverse((done, ..))| *done);
            match (self.next_part(), done) {
                (Some((due, index)), done) if due <= done.unwrap_or(until).min(until) => {
                    self.collect(due, index);
                }
                (_, Some(done)) if done <= until => break,
                _ => {
                    self.wait(until);
                    return None;
                }
            }
        }
        let Reverse((completed, _, place)) = self.done.pop()?;
        self.now = self.now.max(completed);
        self.vacant.push(place);
        let Request { io, submitted, result, .. } = self.requests[place];
        Some(Completion { io, submitted, completed, result })
    }

    fn next_due(&self) -> Option<Nanos> {
        let part = self.next_part().map(|(due, _)| due);
        let done = self.done.peek().map(|Reverse((done, ..))| *done);
        part.into_iter().chain(done).min()
    }

    fn quiet_until(&self) -> Nanos {
        self.members.iter().map(Device::quiet_until).min().unwrap_or_default()
    }

    fn is_volatile(&self, offset: Bytes, len: Bytes) -> bool {
        (0..).zip(&self.members).any(|(member, drive)| {
            let (start, end) = self.stripes.part(member, offset, offset + len);
            end > start && drive.is_volatile(start, end - start)
        })
    }
}

#[cfg(test)]
mod tests {
    use flashscope_block::DeviceKind;
    use proptest::prelude::*;

    use super::*;

    /// A drive that answers `delay` after submission with `result`, and records the requests it
    /// received.
    struct Fake {
        info: DeviceInfo,
        now: Nanos,
        delay: u64,
        result: Result<(), Errno>,
        in_flight: VecDeque<Io>,
        asked: Vec<(u64, u64)>,
    }

    fn fake(delay: u64, result: Result<(), Errno>) -> Fake {
        let info = DeviceInfo::new(("fake", DeviceKind::Sim), (Bytes(4096), Bytes(1)), 4);
        let (in_flight, asked) = (VecDeque::new(), Vec::new());
        Fake { info, now: Nanos(0), delay, result, in_flight, asked }
    }

    impl Device for Fake {
        fn info(&self) -> &DeviceInfo {
            &self.info
        }
        fn now(&self) -> Nanos {
            self.now
        }
        fn submit(&mut self, io: &Io) {
            self.asked.push((io.offset.0, io.len.0));
            self.in_flight.push_back(*io);
        }
        fn complete(&mut self, until: Nanos) -> Option<Completion> {
            let completed = self.next_due().filter(|due| *due <= until)?;
            self.now = completed;
            let io = self.in_flight.pop_front()?;
            Some(Completion { io, submitted: io.at, completed, result: self.result })
        }
        fn next_due(&self) -> Option<Nanos> {
            self.in_flight.front().map(|io| Nanos(io.at.0 + self.delay))
        }
    }

    #[test]
    fn a_failed_part_fails_its_request_after_all_parts_are_done() {
        let members =
            vec![fake(10, Ok(())), fake(30, Err(Errno::EIO)), fake(20, Err(Errno::ENOSPC))];
        let mut array = Raid0::new(members, Bytes(8));
        let io = |offset, len| Io {
            op: Op::Write,
            stream: 0,
            offset: Bytes(offset),
            len: Bytes(len),
            at: Nanos(0),
            data: flashscope_block::Data::Random,
        };
        for (offset, len) in [(4, 32), (0, 8), (24, 3)] {
            array.submit(&io(offset, len));
        }
        let answers: Vec<_> = std::iter::from_fn(|| array.complete(Nanos::MAX))
            .map(|done| (done.io.offset.0, done.completed.0, done.result))
            .collect();
        assert_eq!(answers, [(0, 10, Ok(())), (24, 10, Ok(())), (4, 30, Err(Errno::ENOSPC))]);
        let asked: Vec<_> = array.members().iter().map(|member| member.asked.clone()).collect();
        assert_eq!(asked, [vec![(4, 12), (0, 8), (8, 3)], vec![(0, 12)], vec![(0, 8)]]);
    }

    proptest! {
        // Compares each part with a list that assigns the addresses of the range one by one.
        #[test]
        fn stripes_are_dealt_out(
            members in 1u32..7,
            unit in 1u64..20,
            start in 0u64..400,
            len in 1u64..200,
        ) {
            let stripes = Stripes { members, unit: Bytes(unit) };
            let mut expected = vec![Vec::new(); members as usize];
            for address in start..start + len {
                let (nth, within) = (address / unit, address % unit);
                let member = usize::try_from(nth % u64::from(members)).expect("small");
                expected[member].push(nth / u64::from(members) * unit + within);
            }
            for (member, expected) in (0..).zip(expected) {
                let (from, to) = stripes.part(member, Bytes(start), Bytes(start + len));
                prop_assert_eq!((from.0..to.0).collect::<Vec<_>>(), expected);
            }
        }
    }
}
