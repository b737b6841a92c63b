//! The host interface: the time that commands and data take on the link, and the order of the
//! answers.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

use flashscope_block::{Bytes, Completion, Errno, Io, Nanos, Op};

use crate::footprint::{Size, grown};
use crate::nand::{later, transfer_time};

/// The times that a request spends on the interface.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Costs {
    /// The controller's work on each request, one request at a time.
    pub(crate) request: Nanos,
    /// The transfer of 1024 bytes of data in either direction.
    pub(crate) per_kib: Nanos,
    /// The time for which a core works on a command.
    pub(crate) command: Nanos,
    /// The number of cores.
    pub(crate) cores: u32,
}

impl Costs {
    pub(crate) fn transfer(&self, len: Bytes) -> Nanos {
        transfer_time(len, self.per_kib)
    }
}

/// An IO while the drive computes its result.
pub(crate) struct Request<'a> {
    /// A reference, because a copy is slow: the fields were written a moment ago in pieces of other
    /// sizes, and loading them stalls the processor.
    pub(crate) io: &'a Io,
    pub(crate) submitted: Nanos,
    /// The number of the request in the order of submission.
    pub(crate) sequence: u64,
    pub(crate) result: Result<(), Errno>,
    /// The time at which the drive is done with the request, except for sending data to the host.
    pub(crate) ready: Nanos,
}

impl Request<'_> {
    #[inline]
    fn pending(&self, parts: u32, answer: Answer) -> Pending {
        let Request { io, submitted, sequence, result, ready } = *self;
        Pending { io: *io, submitted, sequence, result, ready, parts, answer, next: None }
    }
}

/// A request whose result is computed but not yet reported: see [`Request`].
#[derive(Debug, Clone, Copy)]
struct Pending {
    io: Io,
    submitted: Nanos,
    sequence: u64,
    result: Result<(), Errno>,
    /// See [`Request::ready`].
    ready: Nanos,
    /// The number of flash commands that the request still waits for.
    parts: u32,
    answer: Answer,
    /// The start of the request's next part, if this is not the last.
    next: Option<u64>,
}

/// A finished part of a request that another part follows.
pub(crate) struct DonePart {
    request: Pending,
    /// The start of the next part.
    pub(crate) next: u64,
    /// The data that a part of a read sends, and the time of its first page.
    sending: Option<Sending>,
}

impl DonePart {
    /// Returns true if the part sends data to the host: a part of a read, or the wait of a read for
    /// its turn.
    pub(crate) const fn is_read(&self) -> bool {
        self.sending.is_some()
    }

    /// Returns the request. Its `ready` is the time at which this part was done.
    pub(crate) fn request(&self) -> Request<'_> {
        let Pending { io, submitted, sequence, result, ready, .. } = &self.request;
        Request { io, submitted: *submitted, sequence: *sequence, result: *result, ready: *ready }
    }
}

/// The condition on which a request is answered.
#[derive(Debug, Clone, Copy)]
enum Answer {
    /// The request is ready.
    Acknowledgement,
    /// The request is ready and its data has been sent.
    Data(Sending),
    /// All earlier requests are answered.
    Flush,
    /// No condition: the request was already answered, or its next part has another entry.
    Answered,
}

/// The data of a read on its way to the host.
#[derive(Debug, Clone, Copy)]
struct Sending {
    /// The time at which the first page is available and sending may begin.
    first: Nanos,
    /// The time to send all of the data.
    transfer: Nanos,
    /// The time to send the last page of the data.
    last_transfer: Nanos,
}

impl Pending {
    #[inline]
    fn completed(&self, completed: Nanos) -> Completion {
        Completion { io: self.io, submitted: self.submitted, completed, result: self.result }
    }
}

/// A request in a heap. The earliest request comes first; requests of equal times are in the order
/// of submission.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Place {
    ready: Nanos,
    sequence: u64,
    number: u32,
}

/// The queue that the next answer comes from.
#[derive(Clone, Copy)]
enum Source {
    Acknowledged,
    FetchedRead,
    Flush,
}

/// The link to the host and the requests in flight. Each direction of the link carries one transfer
/// at a time.
///
/// The direction to the drive carries commands and the data of writes, in the order of submission.
/// The direction to the host carries the data of reads, in the order in which the reads become
/// ready. Sending may begin with the first page of a read, and ends no earlier than its last page
/// can be sent. Answers without data take no time on the link.
pub(crate) struct Interface {
    costs: Costs,
    in_free: Nanos,
    out_free: Nanos,
    /// The times at which the cores become free; empty if commands need no time of a core.
    cores_free: Vec<Nanos>,
    /// The time at which a core is done with the last command; 0 without cores.
    processed: Nanos,
    /// The requests in flight by number, except for `lone`. Memory and time therefore grow with the
    /// requests in flight, not with the queue depth.
    requests: Vec<Pending>,
    free_numbers: Vec<u32>,
    acknowledged: BinaryHeap<Reverse<Place>>,
    fetched: BinaryHeap<Reverse<Place>>,
    /// The flushes, in the order of submission, because each flush waits for every earlier request.
    flushes: VecDeque<u32>,
    /// The request in flight, if it is the only one and has no data to send. It bypasses the
    /// queues, which are slower.
    lone: Option<Pending>,
}

impl Interface {
    /// Returns the memory of an interface with at most `queue_depth` requests in flight.
    pub(crate) fn footprint(queue_depth: u32, cores: u32) -> Size {
        // Requests beyond the queue depth are answered as well, with an error.
        grown::<Pending>(queue_depth)
            + grown::<Nanos>(cores)
            + grown::<u32>(queue_depth) * 2
            + grown::<Reverse<Place>>(queue_depth) * 3
    }

    pub(crate) fn new(costs: Costs) -> Self {
        let cores = if costs.command > Nanos(0) { costs.cores as usize } else { 0 };
        Interface {
            costs,
            in_free: Nanos(0),
            out_free: Nanos(0),
            cores_free: vec![Nanos(0); cores],
            processed: Nanos(0),
            requests: Vec::new(),
            free_numbers: Vec::new(),
            acknowledged: BinaryHeap::new(),
            fetched: BinaryHeap::new(),
            flushes: VecDeque::new(),
            lone: None,
        }
    }

    /// Drops the requests in flight. The link is free from `now` on.
    pub(crate) fn reset(&mut self, now: Nanos) {
        *self = Interface { in_free: now, out_free: now, ..Interface::new(self.costs) };
    }

    #[inline]
    pub(crate) fn in_flight(&self) -> usize {
        self.requests.len() - self.free_numbers.len() + usize::from(self.lone.is_some())
    }

    /// Stores a request in flight, and returns its number.
    #[inline]
    fn keep(&mut self, request: Pending) -> u32 {
        match self.free_numbers.pop() {
            Some(number) => {
                self.requests[number as usize] = request;
                number
            }
            None => {
                self.requests.push(request);
                u32::try_from(self.requests.len() - 1).expect("fewer requests than 2^32")
            }
        }
    }

    /// Receives the command of a request submitted at `at`. Returns the time at which the
    /// controller has received the command and a core, if any, has processed it.
    pub(crate) fn receive_command(&mut self, at: Nanos) -> Nanos {
        self.in_free = later(at.max(self.in_free), self.costs.request);
        if self.cores_free.is_empty() {
            return self.in_free;
        }
        self.process()
    }

    /// Lets the core that is free first work on the command that came last. Returns the time at
    /// which it is done.
    #[cold]
    fn process(&mut self) -> Nanos {
        let (arrived, command) = (self.in_free, self.costs.command);
        if let Some(core) = self.cores_free.iter_mut().min() {
            *core = later(arrived.max(*core), command);
            self.processed = *core;
        }
        self.processed
    }

    /// Receives the next `len` bytes of the request whose command came last. Returns the time at
    /// which the controller has the bytes and has processed the command.
    #[inline]
    pub(crate) fn receive_data(&mut self, len: Bytes) -> Nanos {
        if self.costs.per_kib == Nanos(0) {
            return self.in_free.max(self.processed);
        }
        self.in_free = later(self.in_free, self.costs.transfer(len));
        self.in_free.max(self.processed)
    }

    /// Answers a request that has no data to send, when it is ready.
    #[inline]
    pub(crate) fn acknowledge(&mut self, request: &Request) {
        let request = request.pending(0, Answer::Acknowledgement);
        if self.in_flight() == 0 {
            self.lone = Some(request);
            return;
        }
        self.queue_lone();
        self.acknowledge_later(request);
    }

    #[inline]
    fn acknowledge_later(&mut self, request: Pending) {
        let number = self.keep(request);
        self.queue(number);
    }

    /// Stores a request that waits for `parts` flash commands, until [`Interface::part_done`] has
    /// been called `parts` times. Returns the number of the request. For a read, `data` holds the
    /// length of the data to send and the length of a page. `first` is the time at which the first
    /// page is available, as far as it is known. `next` is the start of the request's next part, if
    /// any.
    pub(crate) fn wait(
        &mut self,
        request: &Request,
        parts: u32,
        first: Nanos,
        data: Option<(Bytes, Bytes)>,
        next: Option<u64>,
    ) -> u32 {
        self.queue_lone();
        let answer = match data {
            Some((len, page)) => Answer::Data(self.sending(first, len, page)),
            None if request.io.op == Op::Flush => Answer::Flush,
            None => Answer::Acknowledgement,
        };
        self.keep(Pending { next, ..request.pending(parts, answer) })
    }

    /// Records that a command of waiting request `number` was done at `now`. If no other command of
    /// the part is left, answers the request; if another part follows, returns the finished part
    /// instead.
    #[inline]
    pub(crate) fn part_done(&mut self, number: u32, now: Nanos) -> Option<DonePart> {
        let waiting = self.requests.get_mut(number as usize)?;
        waiting.parts -= 1;
        waiting.ready = waiting.ready.max(now);
        if let Answer::Data(sending) = &mut waiting.answer {
            sending.first = sending.first.min(now);
        }
        if waiting.parts > 0 {
            return None;
        }
        if let Some(next) = waiting.next.filter(|_| waiting.result.is_ok()) {
            let request = *waiting;
            let sending = match request.answer {
                Answer::Data(sending) => Some(sending),
                _ => None,
            };
            waiting.answer = Answer::Answered;
            self.free_numbers.push(number);
            return Some(DonePart { request, next, sending });
        }
        self.queue(number);
        None
    }

    /// Adds a request that waits for no more commands to the queue for its kind of answer.
    #[inline]
    fn queue(&mut self, number: u32) {
        let Pending { ready, sequence, answer, .. } = self.requests[number as usize];
        let place = Reverse(Place { ready, sequence, number });
        match answer {
            Answer::Data(_) => self.fetched.push(place),
            Answer::Flush => self.flushes.push_back(number),
            Answer::Acknowledgement | Answer::Answered => self.acknowledged.push(place),
        }
    }

    /// Moves the lone request to the queues, because another request arrives.
    #[inline]
    fn queue_lone(&mut self) {
        if let Some(request) = self.lone.take() {
            self.acknowledge_later(request);
        }
    }

    /// Returns the transfer of a read's data: `len` bytes, in pages of up to `page` bytes. The
    /// first page is available at `first`.
    #[inline]
    fn sending(&self, first: Nanos, len: Bytes, page: Bytes) -> Sending {
        let [transfer, last_transfer] = [len, len.min(page)].map(|len| self.costs.transfer(len));
        Sending { first, transfer, last_transfer }
    }

    /// Returns the time at which a part of a read has been sent, as [`Interface::send_data`]
    /// computes it.
    pub(crate) fn sent(&self, first: Nanos, ready: Nanos, len: Bytes, page: Bytes) -> Nanos {
        self.sent_by(ready, &self.sending(first, len, page))
    }

    /// Returns the time at which a part is done. The data of a read has been sent by then.
    pub(crate) fn part_sent(&self, part: &DonePart) -> Nanos {
        let ready = part.request.ready;
        part.sending.as_ref().map_or(ready, |sending| self.sent_by(ready, sending))
    }

    /// Returns the time at which the data of a read has been sent. The link carries all of the data
    /// from `first` on, and the last page from `ready` on; the later of the two ends counts.
    #[inline]
    fn sent_by(&self, ready: Nanos, sending: &Sending) -> Nanos {
        let all = later(sending.first.max(self.out_free), sending.transfer);
        all.max(later(ready.max(self.out_free), sending.last_transfer))
    }

    /// Answers a read with its last `len` bytes, in pages of up to `page` bytes. The first page is
    /// available at `first`.
    pub(crate) fn send_data(&mut self, request: &Request, first: Nanos, len: Bytes, page: Bytes) {
        self.queue_lone();
        let answer = Answer::Data(self.sending(first, len, page));
        let number = self.keep(request.pending(0, answer));
        self.queue(number);
    }

    /// Sends a page of `len` bytes, which is available at `first`, for the only request in flight.
    /// Returns the time at which the request is answered.
    #[inline]
    pub(crate) fn send_alone(&mut self, first: Nanos, ready: Nanos, len: Bytes) -> Nanos {
        self.out_free = self.sent(first, ready, len, len);
        self.out_free
    }

    /// Answers a flush when all earlier requests are done.
    pub(crate) fn flush(&mut self, request: &Request) {
        self.queue_lone();
        let number = self.keep(request.pending(0, Answer::Flush));
        self.queue(number);
    }

    /// Removes and returns the next completion, if it is due by `until`. The drive's clock shows
    /// `now`.
    #[inline]
    pub(crate) fn next(&mut self, now: Nanos, until: Nanos) -> Option<Completion> {
        if let Some(request) = &self.lone {
            if request.ready > until {
                return None;
            }
            let completion = request.completed(request.ready);
            self.lone = None;
            return Some(completion);
        }
        self.next_of_many(now, until)
    }

    /// Does the same as [`Interface::next`] for the requests in the queues.
    fn next_of_many(&mut self, now: Nanos, until: Nanos) -> Option<Completion> {
        let (completed, _, source) = self.earliest(now)?;
        if completed > until {
            return None;
        }
        let number = match source {
            Source::FetchedRead => {
                self.out_free = completed;
                self.fetched.pop()?.0.number
            }
            Source::Acknowledged => self.acknowledged.pop()?.0.number,
            Source::Flush => self.flushes.pop_front()?,
        };
        self.free_numbers.push(number);
        let request = &mut self.requests[number as usize];
        request.answer = Answer::Answered;
        Some(request.completed(completed))
    }

    /// Returns the time of the next completion, for a drive whose clock shows `now`.
    #[inline]
    pub(crate) fn next_due(&self, now: Nanos) -> Option<Nanos> {
        match &self.lone {
            Some(request) => Some(request.ready),
            None => self.earliest(now).map(|(completed, ..)| completed),
        }
    }

    /// Returns the time, sequence number and queue of the next completion in the queues.
    #[inline]
    fn earliest(&self, now: Nanos) -> Option<(Nanos, u64, Source)> {
        let mut earliest = self
            .acknowledged
            .peek()
            .map(|Reverse(place)| (place.ready, place.sequence, Source::Acknowledged));
        if let Some(Reverse(place)) = self.fetched.peek()
            && let Answer::Data(sending) = &self.requests[place.number as usize].answer
        {
            let sent = self.sent_by(place.ready, sending);
            if earliest.is_none_or(|(at, sequence, _)| (sent, place.sequence) < (at, sequence)) {
                earliest = Some((sent, place.sequence, Source::FetchedRead));
            }
        }
        if let Some(flush) = self.next_flush(now)
            && earliest.is_none_or(|(at, sequence, _)| (flush.0, flush.1) < (at, sequence))
        {
            earliest = Some(flush);
        }
        earliest
    }

    /// Returns the oldest flush, if no earlier request is in flight.
    fn next_flush(&self, now: Nanos) -> Option<(Nanos, u64, Source)> {
        let flush = &self.requests[*self.flushes.front()? as usize];
        let waits = self.requests.iter().any(|request| {
            let flushes = request.parts == 0 && matches!(request.answer, Answer::Flush);
            let in_flight = !flushes && !matches!(request.answer, Answer::Answered);
            in_flight && request.sequence < flush.sequence
        });
        // The last of the earlier requests was answered at `now`, or before the flush was ready.
        (!waits).then(|| (flush.ready.max(now), flush.sequence, Source::Flush))
    }
}
